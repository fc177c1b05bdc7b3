import errno
import os
import threading
from pathlib import Path

import pytest

from scaling.errors import StoreError
from scaling.results.files import (
    limited_lines,
    make_folder,
    open_input,
    open_own,
    open_regular,
    read_regular_text,
    read_whole,
    refuse_own_file,
    replace_file,
    sync_file,
    sync_folder,
    write_output,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_replaced_file_leaves_no_draft(tmp_path):
    path = tmp_path / "machine.json"
    replace_file(path, "old")
    replace_file(path, "new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["machine.json"]


def test_a_link_at_the_target_is_replaced_and_never_followed(tmp_path):
    keys, page = tmp_path / "authorized_keys", tmp_path / "report.html"
    keys.write_text("mine")
    page.symlink_to(keys)
    write_output(page, b"page")
    assert (keys.read_text(), page.read_text(), page.is_symlink()) == ("mine", "page", False)


def test_links_under_the_names_of_drafts_are_not_followed(tmp_path, monkeypatch):
    keys = tmp_path / "authorized_keys"
    keys.write_text("mine")
    (tmp_path / ".report.html.draft").symlink_to(keys)
    tokens = iter(["taken", "free"])
    monkeypatch.setattr("scaling.results.files.token_hex", lambda _: next(tokens))
    (tmp_path / ".scaling-taken.draft").symlink_to(keys)
    write_output(tmp_path / "report.html", b"page")
    assert keys.read_text() == "mine"
    assert (tmp_path / "report.html").read_text() == "page"


def test_a_failed_write_leaves_the_old_file_and_no_draft(tmp_path):
    (tmp_path / "page").mkdir()
    with pytest.raises(StoreError, match="written: Is a directory"):
        write_output(tmp_path / "page", b"page")
    assert names(tmp_path) == ["page"]


def test_a_device_is_written_into_and_stays_a_device():
    before = os.lstat("/dev/null")
    write_output("/dev/null", b"page")
    assert (os.lstat("/dev/null").st_rdev, os.lstat("/dev/null").st_ino) == (before.st_rdev, before.st_ino)


def test_a_fifo_is_written_into_where_somebody_reads_and_refused_where_nobody_does(tmp_path):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    with pytest.raises(StoreError, match="process reads"):
        write_output(fifo, b"page")
    read_fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    write_output(fifo, b"page")
    assert os.read(read_fd, 10) == b"page"
    os.close(read_fd)
    assert fifo.is_fifo()


def test_a_link_to_a_device_is_not_followed_but_that_of_an_open_file_is(tmp_path):
    (tmp_path / "link").symlink_to("/dev/null")
    write_output(tmp_path / "link", b"page")
    assert (tmp_path / "link").read_bytes() == b"page"
    with (tmp_path / "file").open("wb") as file:
        write_output(f"/proc/self/fd/{file.fileno()}", b"page")
    assert (tmp_path / "file").read_bytes() == b"page"


@pytest.mark.parametrize("name", ["rows.jsonl", "traces.torn", "rows.retried.jsonl", "study.toml", "machine.json"])
def test_no_output_takes_the_place_of_a_file_of_the_results(tmp_path, name):
    (tmp_path / name).write_text("measured")
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    for path in (tmp_path / name, tmp_path / "elsewhere" / name):
        with pytest.raises(StoreError, match=f"{name} is one of the results' own files"):
            write_output(path, b"page")
    assert (tmp_path / name).read_text() == "measured"


def test_an_own_file_under_another_spelling_is_refused_too(tmp_path):
    (tmp_path / "rows.jsonl").write_text("measured")
    os.link(tmp_path / "rows.jsonl", tmp_path / "ROWS.JSONL")  # as on a file system that does not tell cases apart
    with pytest.raises(StoreError, match="own files"):
        refuse_own_file(tmp_path / "ROWS.JSONL")


def test_two_writers_at_once_both_succeed(tmp_path):
    path, texts = tmp_path / "report.html", [letter.encode() * 100_000 for letter in "abcdefgh"]
    threads = [threading.Thread(target=write_output, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in texts
    assert names(tmp_path) == ["report.html"]


def test_file_systems_that_cannot_sync_are_accepted_and_others_are_not(tmp_path, monkeypatch):
    def refuse(number):
        def fsync(_):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", fsync)

    for number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        refuse(number)
        sync_folder(tmp_path)
        replace_file(tmp_path / "a", "b")
    refuse(errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        sync_file(0)


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "latin").write_bytes(b"gr\xfc\xdfe")
    for name, reason in (
        ("fifo", "not a file"),
        ("zeros", "zeros is a link"),
        ("latin", "not UTF-8"),
        ("none", "No such"),
    ):
        with pytest.raises(StoreError, match=f"{name} cannot be read: .*{reason}"):
            read_regular_text(tmp_path / name)


@pytest.mark.parametrize("write", [write_output, lambda path, content: replace_file(path, content.decode())])
def test_a_file_is_on_the_disk_before_it_takes_the_place_of_another(tmp_path, monkeypatch, write):
    target, synced = tmp_path / "out", []
    target.write_text("old")

    def fsync(fd):
        path = Path(f"/proc/self/fd/{fd}").readlink()
        synced.append((path.read_bytes() if path.is_file() else path, target.read_bytes()))

    monkeypatch.setattr(os, "fsync", fsync)
    write(target, b"new")
    assert synced == [(b"new", b"old"), (tmp_path, b"new")]


def sparse(path, size=40 * 2**30):
    path.touch()
    os.truncate(path, size)
    return path


def test_a_file_of_gigabytes_without_content_is_refused_with_its_size_and_the_limit(tmp_path):
    path = sparse(tmp_path / "machine.json")
    with pytest.raises(
        StoreError, match=r"machine.json has 40960 MiB, and at most 64 MiB are read; pass a smaller file"
    ):
        read_regular_text(path)
    with open_input(path) as file, pytest.raises(StoreError, match="has 40960 MiB, and at most 64 MiB"):
        read_whole(file, path)
    with path.open("rb") as file, pytest.raises(StoreError, match="line 1 is longer than 1 MiB"):
        next(limited_lines(file, path, 2**20))


def test_a_stream_without_an_end_is_refused_with_the_limit():
    path = Path("/dev/zero")
    with path.open("rb") as file, pytest.raises(StoreError, match="has no end so far, and at most 1 MiB are read"):
        read_whole(file, path, 2**20)


def test_a_results_folder_is_made_for_its_user_alone_and_one_that_is_there_keeps_its_mode(tmp_path):
    mask = os.umask(0)
    try:
        make_folder(tmp_path / "new" / "results")
        (tmp_path / "shared").mkdir(mode=0o775)
    finally:
        os.umask(mask)
    make_folder(tmp_path / "shared")
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "new" / "results", tmp_path / "shared")]
    assert modes == [0o700, 0o775]


def test_a_file_of_the_results_is_never_reached_through_a_link(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "rows.jsonl").symlink_to("precious")
    with pytest.raises(OSError, match=r"rows.jsonl is a link"):
        open_own(tmp_path / "rows.jsonl", os.O_RDWR)


@pytest.mark.parametrize("open_one", [open_regular, lambda path: open_own(path, os.O_RDONLY)])
def test_a_pipe_that_is_refused_does_not_stay_open(tmp_path, open_one):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a file"):
        open_one(tmp_path / "fifo")
    assert tmp_path / "fifo" not in [fd.resolve() for fd in Path("/proc/self/fd").iterdir()]
