"""Lines of progress that stay."""

from mercer._notice import Notice


def test_it_is_the_line_and_knows_how_long_all_takes():
    notice = Notice("reading takes long", 240.0)
    assert notice == "reading takes long" and isinstance(notice, str) and notice.seconds == 240.0
    assert Notice("so it is").seconds is None
