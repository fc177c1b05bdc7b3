import errno
import fcntl
import json
import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from scaling.errors import StoreError
from scaling.results.files import open_regular
from scaling.results.jsonl import Lines, RecordFormat, Redo, read_lines


def number_from_json(line):
    try:
        return int(json.loads(line))
    except ValueError as error:
        raise StoreError("no number") from error


NUMBERS = RecordFormat("numbers", "number", "a counter", str, number_from_json, lambda number: True)


def test_lines_come_back_in_their_order(tmp_path):
    lines = Lines(tmp_path, NUMBERS)
    for number in (3, 1, 2):
        lines.append(number)
    lines.close()
    assert list(read_lines(tmp_path, NUMBERS)) == [3, 1, 2]


def test_only_a_torn_last_line_is_passed_over(tmp_path):
    (tmp_path / NUMBERS.file).write_text("1\n2\n{")
    assert list(read_lines(tmp_path, NUMBERS)) == [1, 2]
    (tmp_path / NUMBERS.file).write_text("1\n{\n2\n")
    with pytest.raises(StoreError, match="line 2"):
        list(read_lines(tmp_path, NUMBERS))


def test_a_folder_without_the_file_is_refused_with_who_writes_it(tmp_path):
    with pytest.raises(StoreError, match="folder that a counter"):
        list(read_lines(tmp_path, NUMBERS))


def test_a_folder_of_such_folders_names_them(tmp_path):
    for number in range(8):
        (tmp_path / f"of-{number}").mkdir()
        (tmp_path / f"of-{number}" / NUMBERS.file).write_text("")
    with pytest.raises(StoreError, match="pass one of its folders: of-0, of-1, of-2, of-3, of-4, of-5 and 2 more"):
        list(read_lines(tmp_path, NUMBERS))


def test_links_and_pipes_in_the_place_of_the_file_are_refused(tmp_path):
    keys, folder = tmp_path / "authorized_keys", tmp_path / "received"
    folder.mkdir()
    keys.write_text("mine\n")
    (folder / NUMBERS.file).symlink_to(keys)
    with pytest.raises(StoreError, match="cannot be written"):
        Lines(folder, NUMBERS)
    assert keys.read_text() == "mine\n"
    (folder / NUMBERS.file).unlink()
    os.mkfifo(folder / NUMBERS.file)
    with pytest.raises(StoreError, match="not a file"):
        Lines(folder, NUMBERS)
    with pytest.raises(StoreError, match="not a file"):
        list(read_lines(folder, NUMBERS))


def test_a_link_to_lines_is_refused_when_it_is_read_but_a_link_to_their_folder_is_not(tmp_path):
    sound, received = tmp_path / "sound", tmp_path / "received"
    for folder in (sound, received):
        folder.mkdir()
    (sound / NUMBERS.file).write_text("1\n")
    (received / NUMBERS.file).symlink_to(sound / NUMBERS.file)
    with pytest.raises(StoreError, match=r"cannot be read \(numbers.jsonl is a link\); pass a folder"):
        list(read_lines(received, NUMBERS))
    (tmp_path / "link").symlink_to(sound)
    assert list(read_lines(tmp_path / "link", NUMBERS)) == [1]


def test_lines_are_appended_to_the_file_that_has_the_name_once_it_is_locked(tmp_path, monkeypatch):
    path, flock = tmp_path / NUMBERS.file, fcntl.flock
    path.write_text("1\n")

    def replace_then_lock(fd, operation):
        if not (tmp_path / "old").exists():
            path.rename(tmp_path / "old")
            path.write_text("2\n")
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", replace_then_lock)
    lines = Lines(tmp_path, NUMBERS)
    lines.append(3)
    lines.close()
    assert (path.read_text(), (tmp_path / "old").read_text()) == ("2\n3\n", "1\n")


def test_lines_that_are_replaced_again_and_again_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda fd, operation: (tmp_path / NUMBERS.file).unlink())
    with pytest.raises(StoreError, match="replaced again and again; end the other process"):
        Lines(tmp_path, NUMBERS)


@pytest.mark.parametrize("name", [NUMBERS.torn, NUMBERS.retried])
def test_what_is_set_aside_goes_through_no_link(tmp_path, name):
    keys, folder = tmp_path / "authorized_keys", tmp_path / "received"
    folder.mkdir()
    keys.write_text("mine\n")
    (folder / name).symlink_to(keys)
    (folder / NUMBERS.file).write_text("1\n2" if name == NUMBERS.torn else "1\n")
    with pytest.raises(StoreError, match="cannot be written"):
        Lines(folder, replace(NUMBERS, ended_well=lambda number: False)).set_runs_aside(Redo.FAILED)
    assert keys.read_text() == "mine\n"
    assert (folder / NUMBERS.file).read_text().startswith("1\n")


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_written_to_and_said_to_have_none(tmp_path, monkeypatch, number):
    def flock(fd, operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    lines = Lines(tmp_path, NUMBERS)
    assert not lines.locked
    lines.append(1)
    lines.close()
    assert list(read_lines(tmp_path, NUMBERS)) == [1]


def test_a_file_that_fails_while_it_is_read_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("scaling.results.compressed.open_regular", lambda path: open_regular(Path("/proc/self/mem")))
    with pytest.raises(StoreError, match=r"^no results in .* cannot be read"):
        list(read_lines(tmp_path, NUMBERS))


def test_a_file_of_gigabytes_without_content_is_neither_read_nor_extended(tmp_path):
    path = tmp_path / NUMBERS.file
    path.write_text("1\n")
    os.truncate(path, 40 * 2**30)
    with pytest.raises(StoreError, match=r"numbers.jsonl line 2 is longer than 256 MiB, more than is read; remove it"):
        list(read_lines(tmp_path, NUMBERS))
    with pytest.raises(StoreError, match=r"the last line of .*numbers.jsonl is longer than 256 MiB"):
        Lines(tmp_path, NUMBERS)
    assert path.stat().st_size == 40 * 2**30


@pytest.fixture
def synced(monkeypatch):
    """What a file or folder held whenever it was synced."""
    contents: list[tuple[str, str]] = []

    def fsync(fd):
        path = Path(f"/proc/self/fd/{fd}").readlink()
        contents.append((path.name, path.read_text() if path.is_file() else ""))

    monkeypatch.setattr(os, "fsync", fsync)
    return contents


def test_a_line_is_on_the_disk_before_append_returns(tmp_path, synced):
    lines = Lines(tmp_path, NUMBERS)
    lines.append(1)
    assert synced[-1] == (NUMBERS.file, "1\n")
    lines.append(2)
    assert synced[-1] == (NUMBERS.file, "1\n2\n")
    lines.close()


def test_a_line_that_does_not_fit_is_not_there_at_all(tmp_path):
    lines = Lines(tmp_path, NUMBERS)
    lines.append(1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(StoreError, match=os.strerror(errno.EFBIG)):
            lines.append(10**20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / NUMBERS.file).read_text() == "1\n"
    lines.append(2)
    lines.close()
    assert list(read_lines(tmp_path, NUMBERS)) == [1, 2]


def test_what_is_set_aside_is_on_the_disk_before_it_is_taken_out(tmp_path, synced):
    lines = Lines(tmp_path, NUMBERS)
    lines.append(1)
    del synced[:]
    lines.set_runs_aside(Redo.ALL)
    lines.close()
    assert [(name.partition("-")[0], text) for name, text in synced] == [
        (NUMBERS.retried, "1\n"),
        (".scaling", ""),
        (tmp_path.name.partition("-")[0], ""),
    ]


def test_a_folder_is_locked_after_runs_were_set_aside(tmp_path):
    lines = Lines(tmp_path, NUMBERS)
    lines.append(1)
    lines.set_runs_aside(Redo.ALL)
    with pytest.raises(StoreError, match="another counter is writing"):
        Lines(tmp_path, NUMBERS)
    lines.close()
    Lines(tmp_path, NUMBERS).close()


def test_where_a_line_cannot_be_written_again_nothing_is_moved(tmp_path):
    def to_json(number):
        if number == 2:
            raise ValueError("no number that can be written")
        return str(number)

    (tmp_path / NUMBERS.file).write_text("1\n2\n3\n")
    lines = Lines(tmp_path, replace(NUMBERS, to_json=to_json, ended_well=lambda number: number != 3))
    with pytest.raises(ValueError, match="no number"):
        lines.set_runs_aside(Redo.FAILED)
    lines.close()
    assert not (tmp_path / NUMBERS.retried).exists()
    assert (tmp_path / NUMBERS.file).read_text() == "1\n2\n3\n"


def test_the_name_of_a_new_file_is_on_the_disk_before_a_line_is_appended(tmp_path, synced):
    Lines(tmp_path, NUMBERS).close()
    assert (tmp_path.name, "") in synced


def test_a_torn_line_is_kept_elsewhere_before_it_is_cut_off(tmp_path, monkeypatch):
    path, seen = tmp_path / NUMBERS.file, []
    path.write_text("1\n{")
    append_to = Lines._append_to

    def look(lines, name, text):
        append_to(lines, name, text)
        seen.append((path.read_text(), (tmp_path / name).read_text()))

    monkeypatch.setattr(Lines, "_append_to", look)
    Lines(tmp_path, NUMBERS).close()
    assert seen == [("1\n{", "{\n")]
    assert path.read_text() == "1\n"
