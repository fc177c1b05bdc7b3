import os
import signal
import subprocess
import sys

import pytest

from scaling.running import processes


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exited with status 0"),
        (3, "exited with status 3"),
        (-signal.SIGSEGV, "killed by signal 11 (SIGSEGV)"),
        (-40, "killed by signal 40 (unknown)"),
    ],
)
def test_an_exit_code_says_how_a_process_ended(code, words):
    assert processes.ending(code) == words


def test_all_children_but_the_spared_are_ended():
    before = processes.children()
    spared, ended = (subprocess.Popen(["sleep", "60"]) for _ in range(2))
    try:
        assert processes.children() - before == {spared.pid, ended.pid}
        assert processes.end_children({*before, spared.pid}) == 1
        assert processes.children() - before == {spared.pid}
    finally:
        spared.kill()
        spared.wait()
        ended.returncode = -signal.SIGKILL  # reaped by now, and not by its Popen


def test_orphans_that_left_their_session_are_ended_with_the_children():
    code = (
        "import os, subprocess\nfrom scaling.running import processes\nprocesses.adopt_orphans()\n"
        "shell = subprocess.Popen(['sh', '-c', 'setsid sleep 60 & echo $!; wait'], stdout=subprocess.PIPE)\n"
        "print(int(shell.stdout.readline()), processes.end_children(set()), flush=True)\nos._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    orphan, count = map(int, done.stdout.split())
    assert count == 2
    with pytest.raises(ProcessLookupError):
        os.kill(orphan, 0)


def test_a_group_that_is_gone_is_ended_already():
    child = subprocess.Popen(["true"], start_new_session=True)
    child.wait()
    processes.end_group(child.pid)
