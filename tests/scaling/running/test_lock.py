import os
import subprocess
import sys

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


def test_a_lock_in_no_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALING_LOCK", str(tmp_path / "nowhere" / "lock"))
    with pytest.raises(BusyError, match="SCALING_LOCK"):
        MachineLock("study 'mine'", False, print)


def test_a_lock_that_cannot_be_signed_is_given_back(monkeypatch):
    def full(fd, text, offset):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space left"):
            MachineLock("study 'mine'", False, print)
    MachineLock("study 'mine'", False, print).release()
