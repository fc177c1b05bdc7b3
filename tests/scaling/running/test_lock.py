import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scaling.errors import BusyError
from scaling.running.lock import MachineLock

HOLD = """
import sys
from scaling.running.lock import MachineLock
lock = MachineLock(True, print)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder():
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_sweep_that_may_not_wait_says_for_whom(holder):
    with pytest.raises(
        BusyError, match=rf"machine: process {holder.pid} \(python\S*\) of user .*; leave out `wait=False`"
    ):
        MachineLock(False, print)


def test_a_second_sweep_waits_and_says_for_whom(holder):
    messages = []

    def say(sentence: str) -> None:
        messages.append(sentence)
        holder.stdin.close()

    MachineLock(True, say).release()
    assert f"process {holder.pid}" in messages[0]
    assert "waiting" in messages[0]


def test_a_holder_that_is_killed_gives_the_lock_back(holder):
    holder.kill()
    holder.wait()
    MachineLock(False, print).release()


def test_the_lock_file_is_everybodys(own_lock):
    mask = os.umask(0o077)
    try:
        MachineLock(False, print).release()
    finally:
        os.umask(mask)
    assert own_lock.stat().st_mode & 0o777 == 0o644


def test_a_lock_behind_a_link_is_refused(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    monkeypatch.setenv("SCALING_LOCK", str(tmp_path / "link"))
    with pytest.raises(BusyError, match="cannot be opened"):
        MachineLock(False, print)
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.link(path.with_name("victim"), path)])
def test_a_lock_that_is_a_pipe_or_a_name_of_another_file_is_only_locked(tmp_path, monkeypatch, make):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "victim").chmod(0o600)
    make(tmp_path / "lock")
    monkeypatch.setenv("SCALING_LOCK", str(tmp_path / "lock"))
    lock = MachineLock(False, print)
    with pytest.raises(BusyError):
        MachineLock(False, print)
    lock.release()
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "victim").stat().st_mode & 0o777 == 0o600


def test_another_user_waits_for_the_lock_and_cannot_take_it_away(second_user, monkeypatch):
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o1777)
    path = folder / "lock"
    monkeypatch.setenv("SCALING_LOCK", str(path))
    lock = MachineLock(False, print)
    attacks = {
        "acquire it": lambda: MachineLock(False, print),
        "remove it": path.unlink,
        "replace it": lambda: (folder / "other").touch() or (folder / "other").rename(path),
    }
    answers = {what: second_user.call(attack) for what, attack in attacks.items()}
    lock.release()
    assert answers == {"acquire it": "BusyError", "remove it": "PermissionError", "replace it": "PermissionError"}
    assert second_user.call(lambda: MachineLock(False, print).release()) == "None"
    shutil.rmtree(folder)


def test_a_lock_in_no_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALING_LOCK", str(tmp_path / "nowhere" / "lock"))
    with pytest.raises(BusyError, match="SCALING_LOCK"):
        MachineLock(False, print)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK])
def test_a_file_system_without_locks_is_one_sentence(monkeypatch, number):
    def flock(fd, operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(BusyError, match=r"locked: .*; set SCALING_LOCK"):
        MachineLock(True, print)


def test_a_lock_file_on_a_full_disk_is_a_lock_all_the_same(own_lock):
    own_lock.touch()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit[1]))
    try:
        MachineLock(False, print).release()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
