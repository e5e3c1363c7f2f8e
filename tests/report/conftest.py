"""A parser for pages, shared by the tests here."""

from html.parser import HTMLParser

import pytest

_VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Checks nesting as it reads, and collects tags, links and text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.links, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"an attribute twice in <{tag}>"
        assert not [name for name in names if name.startswith("on")]
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href", "action")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def parse():
    return Page
