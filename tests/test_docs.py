"""The documentation: code that runs, commands that exist, links that lead somewhere."""

import doctest
import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
import typer.main

import markdown_pages as markdown
from mercer.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = markdown.markdown_files(ROOT)
DOCS = [path for path in PAGES if ROOT / "docs" in path.parents]
# Made by the build of the site: the gallery from examples/, the reference from what rooms export.
MADE = ("gallery/", "api/names/")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def test_there_are_pages():
    assert len(DOCS) > 25


@every_page
def test_python_in_pages_is_run(page):
    """Only what is written as a doctest is run with the tests."""
    for language, body in markdown.code_blocks(page.read_text(encoding="utf-8")):
        if language in ("python", "py", "pycon"):
            first = body.lstrip().splitlines()[0]
            assert first.startswith(">>> "), f"not run by the tests: {first}"
            assert doctest.DocTestParser().get_examples(body)


@pytest.mark.parametrize("name", ["from-scikit-learn", "from-river"])
def test_rows_of_tables_of_equivalents_are_run(name):
    """What a row of the first column calls is called on the page: its equivalent is no mere claim."""
    page = (ROOT / "docs" / "howto" / f"{name}.md").read_text(encoding="utf-8")
    run = "\n".join(body for language, body in markdown.code_blocks(page) if language == "python")
    rows = [row.replace("\\|", "/").split("|")[1] for row in page.splitlines() if row.startswith("| `")]
    named = [(row, call) for row in rows for call in re.findall(r"(\w+)\(", row)]
    assert len(named) > 5
    assert [row for row, call in named if f"{call}(" not in run and call not in NOT_RUN[name]] == []


# River's, in front of whose machines ours stand; what they do is tested in tests/online.
NOT_RUN = {
    "from-scikit-learn": (),
    "from-river": (*("RBFSampler", "KNNClassifier", "StatImputer", "ADWIN"),),
}


@every_page
def test_commands_in_pages_exist(page):
    commands = typer.main.get_command(app)
    for words in markdown.shell_commands(page.read_text(encoding="utf-8"), "mercer"):
        wrong = misunderstood(commands, words[1:])
        assert not wrong, f"{' '.join(words)}: there is no {wrong}"


def misunderstood(commands, words):
    """The first word that is no command, or no option of it; None where all are."""
    if words[0].startswith("-"):
        return next((word for word in words if word not in {*options(commands), *completion()}), None)
    command = commands.commands.get(words[0])
    if command is None:
        return words[0]
    asked = (word.partition("=")[0] for word in words[1:] if word.startswith("-") and len(word) > 1)
    return next(
        (word for word in asked if word not in {*options(command), "--help"} and not number(word)), None
    )


def options(command):
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


def completion():
    return {"--help", "--install-completion", "--show-completion"}


def number(word):
    return word.lstrip("-").replace(".", "").isdigit()


@every_page
def test_links_lead_somewhere(page):
    for is_image, target in markdown.links(page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith(("mailto:", *MADE)) or f"/{target}".count("/gallery/"):
            continue
        path, _, anchor = unquote(target).partition("#")
        place = (page.parent / path).resolve() if path else page
        if "docs/api/names" in place.as_posix():
            continue
        assert place.exists(), f"{target} does not exist"
        assert not is_image or place.is_file(), f"{target} is no image"
        if anchor and place.suffix == ".md":
            assert anchor in markdown.anchors(place.read_text(encoding="utf-8")), (
                f"{target} has no such heading"
            )


def test_every_page_can_be_found():
    """From the landing page, by tables of contents alone."""
    found, ahead = set(), ["index"]
    while ahead:
        name = ahead.pop()
        if name in found or name.startswith(MADE):
            continue
        found.add(name)
        page = ROOT / "docs" / f"{name}.md"
        assert page.exists(), f"a table of contents names {name}, which is no page"
        for entry in markdown.toctree_entries(page.read_text(encoding="utf-8")):
            path = ((page.parent / entry).resolve()).relative_to(ROOT / "docs")
            ahead.append(path.as_posix().removesuffix(".md"))
    assert {page.relative_to(ROOT / "docs").as_posix().removesuffix(".md") for page in DOCS} == found


# -- what reads pages is itself read ---------------------------------------------------------------------


def test_what_is_wrong_is_found():
    text = "# A b: c\n\n[x](no.md#d) ![y](z.png)\n\n    mercer fit t.csv --tarkget y | head\n\n"
    text += "```python\nx\n```\n"
    assert markdown.links(text) == [(False, "no.md#d"), (True, "z.png")]
    assert markdown.anchors(text) == {"a-b-c"}
    assert markdown.code_blocks(text) == [("python", "x\n")]
    (words,) = markdown.shell_commands(text, "mercer")
    commands = typer.main.get_command(app)
    assert misunderstood(commands, words[1:]) == "--tarkget"
    assert misunderstood(commands, ["fti", "t.csv"]) == "fti"
    assert misunderstood(commands, ["fit", "t.csv", "--target=y"]) is None


def extension(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checker(tmp_path):
    module = extension("check_links")

    def check(body):
        (tmp_path / "index.html").write_text(f"<p id='here'></p>{body}")
        return list(module.findings(tmp_path))

    return check


@pytest.mark.parametrize(
    "body, said",
    [
        ('<a href="no.html">', "does not exist"),
        ('<a href="#there">', "not on that page"),
        ('<script src="https://a.org/x.js"></script>', "loads https://a.org/x.js"),
        ('<link rel="stylesheet" href="//a.org/x.css">', "loads //a.org/x.css"),
        ('<img srcset="https://a.org/x.png 2x">', "loads https://a.org/x.png"),
        ("<p style=\"background: url('http://a.org/x')\">", "loads http://a.org/x"),
    ],
)
def test_the_checker_of_the_site_finds(checker, body, said):
    (found,) = checker(body)
    assert said in found


def test_the_checker_of_the_site_is_silent_where_all_is_well(checker):
    assert checker('<a href="#here"></a><a href="https://a.org"></a><a href="index.html#here"></a>') == []


def test_the_reference_is_made_of_what_rooms_export(tmp_path):
    import mercer
    import reference

    reference.write_pages(tmp_path)
    pages = {path.stem.partition("-")[0] for path in tmp_path.glob("*.rst")}
    for room in reference.rooms():
        module = importlib.import_module(f"mercer.{room}")
        exported = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
        assert {f"mercer.{room}", *(f"mercer.{room}.{name}" for name in exported)} <= pages
    assert all(
        f"mercer.{name}" in (tmp_path / "mercer.rst").read_text() for name in dir(mercer) if name[0] != "_"
    )
    without_case = [path.name.lower() for path in tmp_path.iterdir()]
    assert len(set(without_case)) == len(without_case)


def test_the_reference_lists_what_users_call():
    import mercer
    import reference

    here, elsewhere = reference.own_members(mercer.KernelSVC, reference.public_places())
    assert {"fit", "predict", "decision_function", "from_C", "plan", "support_"} <= set(here)
    named = {*here, *(name for names in elsewhere.values() for name in names)}
    assert not named & {"admit_points", "check_X", "require_y", "try_state", "learns_elsewhere"}


@pytest.fixture
def shown():
    """The terms that the site defines where it shows a docstring, by the same settings."""
    from docutils.core import publish_doctree
    from docutils.nodes import definition_list_item, literal
    from sphinx.ext.napoleon import Config, NumpyDocstring

    import plain_text

    def show(text):
        lines = plain_text.with_attributes(plain_text.as_markup(text.splitlines()))
        markup = str(NumpyDocstring(lines, Config(napoleon_custom_sections=["Attributes"])))
        tree = publish_doctree(markup, settings_overrides={"report_level": 5, "default_role": "literal"})
        terms = (item.children[0] for item in tree.findall(definition_list_item))
        return [code.astext() for term in terms for code in term.findall(literal)]

    return show


def test_attributes_keep_their_names_in_the_reference(shown):
    import mercer

    assert "dual_coef_" in shown(inspect.getdoc(mercer.KernelRidge))
    text = (
        "Attributes\n----------\na_, b_ : as in `C`\nd_ : int\n    How many_.\ne\n\nNotes\n-----\nf_ : no\n"
    )
    assert shown("A thing.\n\nParameters\n----------\ng_ : int\n\n" + text) == ["a_", "b_", "d_", "e"]


def test_the_checker_of_the_site_finds_attributes_that_are_not_named(tmp_path):
    page = tmp_path / "api" / "names" / "mercer.estimators.KernelRidge.html"
    page.parent.mkdir(parents=True)
    page.write_text('<span class="pre">coef_</span> <span class="pre">dual_coef</span>')
    lost = list(extension("check_links").lost_attributes(tmp_path))
    assert f"api/names/{page.name} does not name the attribute dual_coef_" in lost
    assert f"api/names/{page.name} does not name the attribute coef_" not in lost


def test_properties_have_no_type_before_a_colon():
    from sphinx.ext.napoleon import Config, NumpyDocstring

    import plain_text

    lines = ["Weights w of f: (features,).", ""]
    plain_text.on_docstring(None, "property", "coef_", None, None, lines)
    made = NumpyDocstring(lines, Config(), None, "property", "coef_").lines()
    assert "Weights w of f: (features,)." in made and not any(":type:" in line for line in made)


def test_words_from_elsewhere_are_in_the_index():
    """Search shows entries of the index first."""
    from types import SimpleNamespace

    from docutils import nodes
    from sphinx import addnodes

    import words

    def page(name):
        term = nodes.term("", "", nodes.strong("", "kernel width"), nodes.Text(", "), nodes.strong("", "RBF"))
        tree = nodes.section("", nodes.definition_list("", nodes.definition_list_item("", term)))
        transform = words.IndexWords.__new__(words.IndexWords)
        transform.document = tree
        tree.settings = SimpleNamespace(env=SimpleNamespace(docname=name))
        transform.apply()
        return [entry[1:4] for node in tree.findall(addnodes.index) for entry in node["entries"]]

    assert page("glossary") == [("kernel width", "word-kernel-width", "main"), ("RBF", "word-rbf", "main")]
    assert page("start") == []
