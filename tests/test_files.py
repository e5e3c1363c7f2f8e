"""Files that appear in one step."""

import os
import stat

import pytest

from mercer._files import open_plain, replacing


def test_the_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "note"
    with replacing(path) as out:
        out.write(b"half")
        assert not path.exists()
        out.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert os.listdir(tmp_path) == ["note"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "note"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path, text=True) as out:
        out.write("new")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["note"]


def test_text_is_utf8_with_the_line_ends_it_was_given(tmp_path):
    with replacing(tmp_path / "note", text=True) as out:
        out.write("é\r\n\n")
    assert (tmp_path / "note").read_bytes() == b"\xc3\xa9\r\n\n"


@pytest.mark.skipif(os.name == "nt", reason="links and modes are not Windows'")
def test_a_link_stays_a_link_and_a_mode_stays(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with replacing(link, text=True) as out:
        out.write("new")
    assert link.is_symlink() and real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "no" / "note"):
        pass


@pytest.mark.skipif(os.name != "posix", reason="permissions are Unix's")
def test_what_is_private_stays_private_while_it_is_replaced(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o600)
    with replacing(path) as out:
        assert os.stat(out.name).st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_only_plain_files_are_opened(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    for name in ("a", "link"):
        with open_plain(tmp_path / name) as file:
            assert file.read() == b"abc"
    with pytest.raises(OSError, match="no ordinary file"):
        open_plain(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        open_plain(tmp_path)
