import errno
import json
import os
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
lock = MachineLock("study 'other'", True, print)
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
    with pytest.raises(BusyError, match=f"study 'other' of user .*, process {holder.pid}, since"):
        MachineLock("study 'mine'", False, print)


def test_a_second_sweep_waits_and_says_for_whom(holder):
    messages = []

    def say(sentence: str) -> None:
        messages.append(sentence)
        holder.stdin.close()

    MachineLock("study 'mine'", True, say).release()
    assert f"process {holder.pid}" in messages[0]
    assert "waiting" in messages[0]


def test_a_holder_that_is_killed_gives_the_lock_back(holder):
    holder.kill()
    holder.wait()
    MachineLock("study 'mine'", False, print).release()


def test_the_lock_file_is_everybodys(own_lock):
    mask = os.umask(0o077)
    try:
        MachineLock("study 'mine'", False, print).release()
    finally:
        os.umask(mask)
    assert own_lock.stat().st_mode & 0o777 == 0o666


def test_a_lock_behind_a_link_is_refused(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    monkeypatch.setenv("SCALING_LOCK", str(tmp_path / "link"))
    with pytest.raises(BusyError, match="cannot be opened"):
        MachineLock("study 'mine'", False, print)
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.link(path.with_name("victim"), path)])
def test_a_lock_that_is_a_pipe_or_a_name_of_another_file_is_refused(tmp_path, monkeypatch, make):
    (tmp_path / "victim").write_text("precious")
    make(tmp_path / "lock")
    monkeypatch.setenv("SCALING_LOCK", str(tmp_path / "lock"))
    with pytest.raises(BusyError, match="set SCALING_LOCK"):
        MachineLock("study 'mine'", False, print)
    assert (tmp_path / "victim").read_text() == "precious"


def test_what_somebody_wrote_into_the_lock_cannot_steer_a_terminal(own_lock, holder):
    signature = {"purpose": "\x1b]0;mine\x07\x1b[2J", "user": "a\nb", "pid": "\x9b", "since": "x" * 60}
    own_lock.write_text(json.dumps(signature))
    with pytest.raises(BusyError) as refused:
        MachineLock("study 'mine'", False, print)
    assert str(refused.value).isprintable()
    own_lock.write_text("[" * 4000)
    with pytest.raises(BusyError, match="another sweep is measuring"):
        MachineLock("study 'mine'", False, print)


def test_a_lock_file_that_was_replaced_while_waiting_is_not_taken_for_the_lock(own_lock, holder):
    def replace(sentence: str) -> None:
        own_lock.unlink()
        holder.stdin.close()

    lock = MachineLock("study 'mine'", True, replace)
    with pytest.raises(BusyError):
        MachineLock("study 'other'", False, print)
    lock.release()


def test_another_user_waits_for_the_lock_and_cannot_take_it_away(second_user, monkeypatch):
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o1777)
    path = folder / "lock"
    monkeypatch.setenv("SCALING_LOCK", str(path))
    lock = MachineLock("study 'mine'", False, print)
    attacks = {
        "acquire it": lambda: MachineLock("study 'theirs'", False, print),
        "remove it": path.unlink,
        "replace it": lambda: (folder / "other").touch() or (folder / "other").rename(path),
    }
    answers = {what: second_user.call(attack) for what, attack in attacks.items()}
    lock.release()
    assert answers == {"acquire it": "BusyError", "remove it": "PermissionError", "replace it": "PermissionError"}
    assert second_user.call(lambda: MachineLock("study 'theirs'", False, print).release()) == "None"
    shutil.rmtree(folder)


def test_a_lock_in_no_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALING_LOCK", str(tmp_path / "nowhere" / "lock"))
    with pytest.raises(BusyError, match="SCALING_LOCK"):
        MachineLock("study 'mine'", False, print)


@pytest.mark.parametrize("error", [KeyError("getpwuid(): uid not found: 4711"), OSError("No username set")])
def test_a_user_without_a_name_is_a_number(own_lock, monkeypatch, error):
    def getuser():
        raise error

    monkeypatch.setattr("getpass.getuser", getuser)
    MachineLock("study 'mine'", True, print).release()
    assert json.loads(own_lock.read_text())["user"] == str(os.getuid())


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK])
def test_a_file_system_without_locks_is_one_sentence(monkeypatch, number):
    def flock(fd, operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(BusyError, match=r"cannot be locked: .*; set SCALING_LOCK to a file on a local disk"):
        MachineLock("study 'mine'", True, print)


def test_a_full_disk_below_the_lock_file_costs_no_more_than_the_name_of_its_holder(own_lock, monkeypatch):
    def pwrite(fd, text, offset):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", pwrite)
    lock = MachineLock("study 'mine'", False, print)
    with pytest.raises(BusyError, match="another sweep is measuring on this machine; leave out --no-wait"):
        MachineLock("study 'other'", False, print)
    lock.release()
