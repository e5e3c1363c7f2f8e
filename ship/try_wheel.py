"""The wheel as people get it: built, looked into, installed where nothing else is, and used for an hour.

    python ship/try_wheel.py                      # what `make wheel` and CI do
    python ship/try_wheel.py --thorough           # README with each extra alone, not only uses of it
    python ship/try_wheel.py --python python3.13  # in an environment of another interpreter

Nothing of the source tree is imported there: `first_hour.py` runs in an empty folder, by an interpreter that
ignores paths and variables of its user. One environment serves all extras: for each of them what neither the
wheel nor that extra asks for is hidden (`hidden_beside`), which takes seconds where installing takes minutes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from email.parser import HeaderParser
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "mercer"
# For those who work on mercer, not for those who use it.
OF_DEVELOPERS = {"test", "browser", "bench", "docs", "dev"}
# Gigabytes of CUDA, of no use without a GPU: tried is what is said where it is missing.
NOT_INSTALLED = {"gpu"}


def main() -> None:
    """Build, look, install, use; the first thing that is wrong ends it."""
    parser = argparse.ArgumentParser(description="Build the wheel, and use it where nothing else is.")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the environments")
    parser.add_argument("--thorough", action="store_true", help="README with each extra alone")
    parser.add_argument("--keep", type=Path, help="a folder for the environment, kept afterwards")
    options = parser.parse_args()
    wheel = built(ROOT / "dist")
    wrong = [*wrong_files(wheel), *wrong_metadata(wheel)]
    if wrong:
        sys.exit("\n".join([f"{wheel.name}:", *wrong]))
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, contents and metadata as they should be")
    with tempfile.TemporaryDirectory() as folder:
        use(wheel, options.python, options.keep or Path(folder), options.thorough)


def built(into: Path) -> Path:
    """The wheel, from a clean build in an environment of its own."""
    shutil.rmtree(into, ignore_errors=True)
    run([*pip(), "wheel", "--quiet", "--no-deps", "--wheel-dir", into, ROOT])
    (wheel,) = into.glob("*.whl")
    return wheel


# -- what is in it -----------------------------------------------------------------------------------------


def wrong_files(wheel: Path, source: Path = SOURCE) -> Iterator[str]:
    """Files of the package that are not in it, and files in it that are none of the package."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if not name.endswith("/")}
    about = {name for name in inside if name.partition("/")[0].endswith(".dist-info")}
    package = {f"mercer/{path.relative_to(source).as_posix()}" for path in _files_of(source)}
    yield from (f"{name} is missing" for name in sorted(package - inside))
    yield from (f"{name} does not belong there" for name in sorted(inside - about - package))
    for name in ("mercer/py.typed", "mercer/lab/static/index.html"):
        if name not in inside:
            yield f"{name} is missing"
    if not any(name.endswith("/licenses/LICENSE") for name in about):
        yield "the licence is missing"


def _files_of(source: Path) -> Iterator[Path]:
    return (path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def wrong_metadata(wheel: Path) -> Iterator[str]:
    """What a registry would refuse or people would stumble over."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name)
    try:
        said = Metadata.from_email(text, validate=True)
    except ExceptionGroup as errors:
        yield from (str(error) for error in errors.exceptions)
        return
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if said.description_content_type != "text/markdown" or not (said.description or "").startswith(
        "# Mercer"
    ):
        yield "the description is not the README"
    if set(said.provides_extra or ()) != set(declared["optional-dependencies"]):
        yield f"extras are {said.provides_extra}"
    if str(said.requires_python) != declared["requires-python"]:
        yield f"it asks for Python {said.requires_python}"
    if f"Version: {version_of(SOURCE)}" not in text.decode():
        yield f"its version is {said.version}, not that of the package"


def version_of(source: Path) -> str:
    """What `mercer.__version__` says, without importing it."""
    lines = (source / "__init__.py").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith("__version__ = "))
    return line.split('"')[1]


def extras_of(wheel: Path) -> list[str]:
    """Those for people who use mercer; `all` is their union."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        said = HeaderParser().parsestr(archive.read(name).decode())
    return [extra for extra in said.get_all("Provides-Extra") if extra not in {*OF_DEVELOPERS, "all"}]


# -- the environment ---------------------------------------------------------------------------------------


def use(wheel: Path, interpreter: str, folder: Path, thorough: bool) -> None:
    """Install it alone, and use it; then with all extras, of which all or one can be seen at a time."""
    environment = folder / "environment"
    os.environ["MERCER_CACHE_DIR"] = str(folder / "code")  # compiled once, and gone afterwards
    run([sys.executable, "-m", "uv", "venv", "--quiet", "--clear", "--python", interpreter, environment])
    install(environment, wheel)
    alone = {canonicalize_name(found.name) for found in installed(environment)}
    first_hour(environment, "", set(), ["README.md"])
    extras = [extra for extra in extras_of(wheel) if extra not in NOT_INSTALLED]
    install(environment, f"{wheel}[{','.join(extras)}]")
    found = list(installed(environment))
    assert alone == closure(found, set()), "what is hidden is reckoned by what distributions say they need"
    jobs = [(",".join(extras), set(), ["README.md", "docs/start.md"])]
    jobs += [(extra, hidden_beside(found, {extra}), ["README.md"] if thorough else []) for extra in extras]
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first_hour, environment, *job) for job in jobs]:
            done.result()


def install(environment: Path, what: object) -> None:
    run([sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python_of(environment), what])


def python_of(environment: Path) -> Path:
    return environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def installed(environment: Path) -> Iterable[Distribution]:
    """What is installed there."""
    paths = {str(path.parent) for path in environment.rglob("*.dist-info")}
    return distributions(path=sorted(paths))


def closure(found: Iterable[Distribution], extras: set[str]) -> set[str]:
    """Names of the distributions that come with mercer and these extras."""
    by_name = {canonicalize_name(distribution.name): distribution for distribution in found}
    reached: dict[str, set[str]] = {}
    ask = [("mercer", extras)]
    while ask:
        name, wanted = ask.pop()
        known = reached.get(name)
        if name not in by_name or (known is not None and wanted <= known):
            continue
        reached[name] = wanted | (known or set())
        for line in by_name[name].requires or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *reached[name]}):
                ask.append((canonicalize_name(requirement.name), set(requirement.extras)))
    return set(reached)


def hidden_beside(found: list[Distribution], extras: set[str]) -> set[str]:
    """Modules that would not be there if only these extras were installed."""
    there = closure(found, extras)
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for distribution in found:
        names[canonicalize_name(distribution.name) in there] |= set(_modules_of(distribution))
    return names[False] - names[True]


def _modules_of(distribution: Distribution) -> Iterator[str]:
    for file in distribution.files or ():
        name = file.parts[0].partition(".")[0]
        if name.isidentifier() and not file.parts[0].endswith((".dist-info", ".data", ".pth")):
            yield name


def first_hour(environment: Path, extras: str, hidden: set[str], pages: list[str]) -> None:
    """Uses of every extra, and the examples of these pages, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        words = [python_of(environment), "-I", ROOT / "ship" / "first_hour.py"]
        words += ["--extras", extras, "--hide", ",".join(sorted(hidden)), *(ROOT / page for page in pages)]
        run(words, folder)


def pip() -> list[str]:
    return [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def run(words: Iterable[object], folder: Path | str | None = None) -> None:
    """Run it; where it fails, end with what it said (on its own it says it at once)."""
    done = subprocess.run([str(word) for word in words], cwd=folder)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, words))}")


if __name__ == "__main__":
    main()
