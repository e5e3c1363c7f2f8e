"""Pages of the reference, made from what rooms export: a page a room, and a page a public name.

Nothing is listed by hand: a new public name has its page with the next build.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import mercer
from plain_text import escaped

# Rooms inside others, which those do not name among what they export.
INNER_ROOMS = ("functions.functionals", "theory.learnability")
# By these methods machines check, code and restore what they hold; those who use a machine do not call them.
BEHIND_THE_SCENES = {
    "admit_points",
    "begun",
    "check_X",
    "check_new",
    "check_parameters",
    "check_state",
    "input_kernel_",
    "learns_elsewhere",
    "levels_",
    "loss_for",
    "measure",
    "problem",
    "require_y",
    "scored",
    "try_state",
    "validate",
}


def rooms() -> list[str]:
    """Names of all rooms, those inside others beside them.

    >>> {"kernels", "tables.reading", "theory.learnability"} <= set(rooms())
    True
    """
    return sorted([*_rooms_in(mercer), *INNER_ROOMS])


def _rooms_in(package: ModuleType) -> Iterator[str]:
    # Rooms of `mercer` that need optional packages are in its dir() alone.
    for name in package.__all__ if package is not mercer else dir(mercer):
        thing = getattr(package, name)
        if inspect.ismodule(thing):
            yield thing.__name__.removeprefix("mercer.")
            yield from _rooms_in(thing)


def members(room: ModuleType) -> list[tuple[str, Any]]:
    """What a room exports, sorted without regard to capitals."""
    exported = ((name, getattr(room, name)) for name in sorted(room.__all__, key=str.lower))
    return [(name, thing) for name, thing in exported if not inspect.ismodule(thing)]


def kind(thing: Any) -> str:
    """The directive of autodoc that describes a thing.

    >>> kind(int), kind(len), kind(3)
    ('class', 'function', 'data')
    """
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, BaseException) else "class"
    return "function" if inspect.isroutine(thing) else "data"


def page_name(room: str, name: str, thing: Any, names: list[str]) -> str:
    """The name of the file. Two names that differ in capitals alone are one file on some machines.

    >>> page_name("theory", "mean", sum, ["Mean", "mean"]), page_name("theory", "Other", int, ["Other"])
    ('mercer.theory.mean-function', 'mercer.theory.Other')
    """
    shared = [other for other in names if other.lower() == name.lower()]
    return f"mercer.{room}.{name}" + (f"-{kind(thing)}" if len(shared) > 1 else "")


def first_sentence(thing: Any) -> str:
    """The first line of a docstring, which says what the thing is for."""
    text = inspect.getdoc(thing) or ""
    return escaped(text.partition("\n\n")[0].replace("\n", " ").strip())


class PublicPlaces:
    """Where each public class is documented: the shortest name under which it can be imported."""

    def __init__(self) -> None:
        self.name_of: dict[Any, str] = {}
        for room in sorted(rooms(), key=lambda name: -name.count(".")):
            for name, thing in members(importlib.import_module(f"mercer.{room}")):
                if inspect.isclass(thing):
                    self.name_of[thing] = f"mercer.{room}.{name}"

    def of_words(self, words: str) -> str | None:
        """The full name that is meant by the name of a class alone, or by one that needs no room."""
        room, _, name = words.rpartition(".")
        if room == "mercer" and name in mercer.__all__ and not inspect.ismodule(getattr(mercer, name)):
            return with_room(name)
        found = [full for full in self.name_of.values() if full.rpartition(".")[2] == name]
        return found[0] if not room and len(found) == 1 else None


@cache
def public_places() -> PublicPlaces:
    """Found once: hundreds of links ask for them."""
    return PublicPlaces()


def with_room(name: str) -> str:
    """The full name of one that needs no room.

    >>> with_room("KernelRidge")
    'mercer.estimators.KernelRidge'
    """
    return f"mercer.{getattr(mercer, name).__module__.split('.')[1]}.{name}"


def own_members(cls: type, places: PublicPlaces) -> tuple[list[str], dict[str, list[str]]]:
    """Members to describe on the page of a class, and for each other place the names of those found there.

    What a class defines or redefines with a docstring is its own. Members of a base that is not public have
    no other page and are described here. Those of scikit-learn and of all value objects are only named.
    """
    here: list[str] = []
    elsewhere: dict[str, list[str]] = {}
    # Machines and models have `try_state`. Elsewhere the same words may mean other things.
    hidden = BEHIND_THE_SCENES if hasattr(cls, "try_state") else {"check_state"}
    for name, owner in _public_members(cls):
        if name in hidden:
            continue
        holder = _documented_in(cls, name)
        if "sklearn" in (_library(owner), _library(holder), _library(vars(owner)[name])):
            elsewhere.setdefault("scikit-learn", []).append(name)
        elif holder is None or _library(owner) != "mercer":
            continue
        elif holder.__module__.startswith("mercer._"):
            elsewhere.setdefault("value objects", []).append(name)
        elif holder is not cls and holder in places.name_of:
            elsewhere.setdefault(places.name_of[holder], []).append(name)
        else:
            here.append(name)
    return here, elsewhere


def _library(thing: Any) -> str:
    """The library that a class or function comes from.

    >>> _library(Path)
    'pathlib'
    """
    return (getattr(thing, "__module__", None) or "").partition(".")[0]


def _public_members(cls: type) -> Iterator[tuple[str, type]]:
    """(name, class that defines it) of methods and properties whose names are public."""
    for name in sorted(dir(cls)):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if owner is not None and not name.startswith("_") and _is_described(vars(owner)[name]):
            yield name, owner


def _is_described(member: Any) -> bool:
    """Methods and properties are, values are not; `func` is what cached properties have."""
    member = getattr(member, "__func__", member)
    return inspect.isroutine(member) or isinstance(member, property) or hasattr(member, "func")


def _documented_in(cls: type, name: str) -> type | None:
    """The first class, from cls upwards, that defines the member with a docstring; None: there is none."""
    for base in cls.__mro__:
        member = vars(base).get(name)
        member = getattr(member, "__func__", member)
        written_here = getattr(member, "__qualname__", base.__name__).startswith(base.__name__)
        if getattr(member, "__doc__", None) and written_here:
            return base
    return None


def name_page(room: str, name: str, thing: Any, places: PublicPlaces) -> str:
    """reStructuredText of the page of one public name."""
    full = f"mercer.{room}.{name}"
    lines = [f"{name}", "=" * len(name), "", f".. currentmodule:: mercer.{room}", ""]
    what = kind(thing)
    lines += [f".. auto{what}:: {name}"]
    if what == "data":
        return "\n".join([*lines, "   :no-value:", "", f"   ``{thing!r}``", ""])
    home = places.name_of.get(thing) if inspect.isclass(thing) else None
    if home not in (None, full):
        lines += ["   :no-index:"]
    elif what == "class":
        lines += _class_lines(thing, places)
    return "\n".join([*lines, "", f".. minigallery:: {full}", "   :add-heading: In the gallery", ""])


def _class_lines(cls: type, places: PublicPlaces) -> list[str]:
    here, elsewhere = own_members(cls, places)
    lines = [f"   :members: {', '.join(here)}"] if here else []
    for holder, names in elsewhere.items():
        if holder.startswith("mercer"):
            links = ", ".join(f":py:obj:`~{holder}.{name}`" for name in names)
            lines += ["", f"   As every :py:obj:`~{holder}`: {links}."]
        else:
            said = {"scikit-learn": "As in scikit-learn", "value objects": "As all value objects"}[holder]
            lines += ["", f"   {said}: {', '.join(f'``{name}``' for name in names)}."]
    return lines


def room_page(room: str, pages: dict[str, str]) -> str:
    """reStructuredText of the page of a room: its docstring, and a table of what it exports."""
    title = f"mercer.{room}"
    module = importlib.import_module(title)
    lines = [title, "=" * len(title), "", f".. automodule:: {title}", ""]
    tables = {"Classes": [], "Functions": [], "Exceptions and warnings": [], "Constants": []}
    heading = {
        "class": "Classes",
        "function": "Functions",
        "exception": "Exceptions and warnings",
        "data": "Constants",
    }
    for name, thing in members(module):
        tables[heading[kind(thing)]].append(name)
    for heading_of, names in tables.items():
        if names:
            lines += [heading_of, "-" * len(heading_of), "", f".. currentmodule:: {title}", ""]
            lines += [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]
    lines += [".. toctree::", "   :hidden:", "", *(f"   {name} <{page}>" for name, page in pages.items()), ""]
    return "\n".join(lines)


def write_pages(folder: Path) -> None:
    """Write all of them. A page that would not change is left alone, so that a second build is quick."""
    places = public_places()
    written = {}
    for room in rooms():
        module = importlib.import_module(f"mercer.{room}")
        pages = {name: page_name(room, name, thing, module.__all__) for name, thing in members(module)}
        written[f"mercer.{room}"] = room_page(room, pages)
        for name, thing in members(module):
            written[pages[name]] = name_page(room, name, thing, places)
    written["mercer"] = top_page()
    written = {f"{name}.rst": text for name, text in written.items()}
    # The first page of the reference includes these.
    written |= {"top-level.txt": "\n".join(top_level_names()), "modules.txt": "\n".join(modules())}
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.name not in written:
            path.unlink()
    for name, text in written.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def class_pages() -> Iterator[tuple[str, type]]:
    """(name of the page, class) of all public classes."""
    for room in rooms():
        module = importlib.import_module(f"mercer.{room}")
        for name, thing in members(module):
            if inspect.isclass(thing):
                yield page_name(room, name, thing, module.__all__), thing


def top_page() -> str:
    """The page of `mercer` itself: what `import mercer` gives, and all modules with their first sentences."""
    lines = ["mercer", "======", "", ".. automodule:: mercer", "", ".. currentmodule:: mercer", ""]
    lines += [
        "Top-level names",
        "---------------",
        "",
        *top_level_names(),
        "Modules",
        "-------",
        "",
        *modules(),
    ]
    lines += [".. toctree::", "   :hidden:", "", *(f"   mercer.{room}" for room in rooms()), ""]
    return "\n".join(lines)


def top_level_names() -> list[str]:
    """A table of what can be imported from `mercer` itself, each with its first sentence."""
    links = (f":py:obj:`mercer.{name} <{with_room(name)}>`" for name, _ in _at_the_top())
    return _table(zip(links, (first_sentence(thing) for _, thing in _at_the_top())))


def modules() -> list[str]:
    """A table of all modules, each with its first sentence; paths begin at docs/, so that any page has it."""
    return _table(
        (
            f":doc:`mercer.{room} </api/names/mercer.{room}>`",
            first_sentence(importlib.import_module(f"mercer.{room}")),
        )
        for room in rooms()
    )


def _at_the_top() -> list[tuple[str, Any]]:
    things = ((name, getattr(mercer, name)) for name in mercer.__all__ if not name.startswith("_"))
    return [(name, thing) for name, thing in things if not inspect.ismodule(thing)]


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    """reStructuredText of a table of two columns: what it is, and what it is for."""
    lines = [".. list-table::", "   :widths: 35 65", ""]
    for name, purpose in rows:
        lines += [f"   * - {name}", f"     - {purpose}"]
    return [*lines, ""]


def _before_reading(app: Sphinx) -> None:
    write_pages(Path(app.srcdir) / "api" / "names")


def _on_missing(app: Sphinx, env: Any, node: Any, words: Any) -> Any:
    """A link in a docstring that names a class of another room by its name alone."""
    if node.get("refdomain") != "py" or node.get("reftype") != "obj":
        return None
    full = public_places().of_words(node["reftarget"])
    domain = env.get_domain("py")
    return full and domain.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, words)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("builder-inited", _before_reading)
    app.connect("missing-reference", _on_missing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
