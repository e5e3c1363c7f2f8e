"""What people do in their first hour, by an installed mercer; `try_wheel.py` runs it where nothing else is.

A use that needs an extra which is not there must be refused in one sentence that names it.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.FAIL_FAST
SENTENCE = re.compile(r"pip install ['\"]mercer\[([a-z,]+)\]['\"]")


class Hidden:
    """A finder that finds nothing of what is hidden, which is as if it were not installed."""

    def __init__(self, modules: set[str]):
        self.modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in self.modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


# -- uses of extras: each with those that make it work ------------------------------------------------------


def figure() -> None:
    from mercer import KernelRidge, plot

    plot.regression_1d(KernelRidge(lam=0.1).fit(*line()), *line(), plot.axes()).figure.savefig("figure.png")


def report() -> None:
    import mercer

    assert callable(mercer.tables.model_report)


def command() -> None:
    from mercer.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(["--version"])
    if code or not said.getvalue().startswith("mercer "):
        raise ImportError(said.getvalue())


def file() -> None:
    import mercer

    Path("table.csv").write_text("a,b\n1,x\n2,y\n", encoding="utf-8")
    assert mercer.tables.read("table.csv")["a"].tolist() == [1.0, 2.0]


def query() -> None:
    import mercer

    Path("table.csv").write_text("a,b\n1,x\n2,y\n", encoding="utf-8")
    assert mercer.tables.read("table.csv", query="select sum(a) as a from t")["a"].tolist() == [3.0]


def service() -> None:
    import mercer

    assert callable(mercer.tables.serve.make_app)


def lab() -> None:
    import mercer

    page = (Path(mercer.lab.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    assert mercer.lab.make_app() is not None and "<script" in page


def export() -> None:
    import mercer

    assert mercer.to_onnx(mercer.KernelRidge(lam=0.1).fit(*line())).ByteSize() > 100


def cluster() -> None:
    import numpy as np

    from mercer.engines import Dask

    try:
        Dask().place(np.array(line()[0]))
    except ValueError as error:  # Dask is there, a cluster is not
        assert "there is no Dask client" in str(error)


def gpu() -> None:
    import mercer

    try:
        mercer.KernelRidge(lam=0.1, engine="cuda").fit(*line())
    except RuntimeError as error:  # torch is there, a GPU is not
        assert "GPU" in str(error)


def line() -> tuple[list[list[float]], list[float]]:
    return [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 0.0, 1.0]


USES: dict[Callable[[], None], set[str]] = {
    figure: {"plot"},
    report: {"plot"},
    command: {"cli"},
    file: {"cli", "lab"},
    query: {"cli"},
    service: {"serve", "lab"},
    lab: {"lab", "serve"},
    export: {"export"},
    cluster: {"cluster"},
    gpu: {"gpu"},
}


def wrong_uses(extras: set[str]) -> Iterator[str]:
    """Uses that fail though their extra is there, or say something else than which one is not."""
    for use, by in USES.items():
        try:
            use()
        except Exception as error:
            said = " ".join(str(error).split())
            if by & extras:
                yield f"{use.__name__}: {type(error).__name__}: {said}"
            elif not set(_asked_for(said)) & by:
                yield f"{use.__name__}: names no extra of {sorted(by)}, but says: {said}"
        else:
            if not by & extras:
                yield f"{use.__name__} works without {sorted(by)}"


def _asked_for(said: str) -> list[str]:
    """The extras that one sentence names; none if it is more than a sentence."""
    found = SENTENCE.findall(said)
    return found[0].split(",") if len(found) == 1 and len(said) < 300 else []


# -- examples of pages -------------------------------------------------------------------------------------


class Reader(doctest.DocTestRunner):
    """Runs the examples of a block, up to one that asks for an extra."""

    def __init__(self) -> None:
        super().__init__(optionflags=FLAGS, verbose=False)
        self.asked: list[str] = []
        self.wrong: list[str] = []

    def report_failure(self, out, test, example, got):  # type: ignore[no-untyped-def]
        self.wrong.append(f"{test.name}: {example.source.strip()}\n    gave {got.strip()}")

    def report_unexpected_exception(self, out, test, example, exc_info):  # type: ignore[no-untyped-def]
        error = exc_info[1]
        named = _asked_for(" ".join(str(error).split())) if isinstance(error, ImportError) else []
        if named:
            self.asked += named
        else:
            self.wrong.append(f"{test.name}: {example.source.strip()}\n    raised {error!r}")


def read(page: Path, extras: set[str]) -> tuple[int, list[str]]:
    """How many blocks ran to their ends, and what is wrong with the others."""
    names: dict[str, object] = {"__name__": "__main__"}
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    whole, wrong = 0, []
    for i, block in enumerate(blocks):
        reader = Reader()
        test = doctest.DocTestParser().get_doctest(block, names, f"{page.name}, block {i + 1}", None, 0)
        reader.run(test, clear_globs=False)
        names = test.globs
        whole += not (reader.wrong or reader.asked)
        wrong += reader.wrong
        if set(reader.asked) & extras:
            wrong.append(f"{test.name} asks for {reader.asked}, which is installed")
    return whole, wrong


def main() -> None:
    """Say in a line what was done, and what is wrong below it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--extras", default="")
    parser.add_argument("--hide", default="")
    options = parser.parse_args()
    os.environ["MPLBACKEND"] = "agg"
    sys.meta_path.insert(0, Hidden(set(filter(None, options.hide.split(",")))))
    import mercer

    assert Path(mercer.__file__).is_relative_to(sys.prefix), f"{mercer.__file__} is not the installed one"
    extras = set(filter(None, options.extras.split(",")))
    wrong = list(wrong_uses(extras))
    parts = [f"{len(USES)} uses"]
    for page in options.pages:
        whole, errors = read(page, extras)
        parts.append(f"{whole} blocks of {page.name}")
        wrong += errors
    print(f"[{options.extras}] {', '.join(parts)}", *wrong, sep="\n  ", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
