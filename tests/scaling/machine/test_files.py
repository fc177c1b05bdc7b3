import os

from scaling.machine import files
from scaling.machine.files import numbered_folders, read_text


def test_padding_around_a_text_is_left_out(tmp_path):
    for padded in (b"0-3\n\0\0", b"0-3\r\n"):
        (tmp_path / "online").write_bytes(padded)
        assert read_text(tmp_path / "online") == "0-3"


def test_a_file_that_cannot_be_read_is_none(tmp_path):
    assert read_text(tmp_path / "missing") is None
    assert read_text(tmp_path) is None


def test_what_is_no_file_or_has_no_end_is_none(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    assert read_text(tmp_path / "pipe") is None
    assert read_text(tmp_path / "zeros") is None
    monkeypatch.setattr(files, "LONGEST_FILE", 3)
    (tmp_path / "long").write_text("four")
    assert read_text(tmp_path / "long") is None


def test_nothing_that_steers_a_terminal_is_read(tmp_path):
    (tmp_path / "cpuinfo").write_bytes(b"model name\t: \x1b]0;mine\x07 \xc2\x9b2J CPU\n")
    assert read_text(tmp_path / "cpuinfo") == "model name\t: \\x1b]0;mine\\x07 \\x9b2J CPU"


def test_folders_come_by_number_and_others_are_passed_over(tmp_path):
    for name in ("cpu10", "cpu2", "cpufreq", "cpu", "xcpu1"):
        (tmp_path / name).mkdir()
    assert numbered_folders(tmp_path, "cpu") == {2: tmp_path / "cpu2", 10: tmp_path / "cpu10"}
    assert numbered_folders(tmp_path / "missing", "cpu") == {}
