import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from scaling.machine.topology import format_list
from scaling.running import marks, processes
from scaling.running.launcher import ChildSpec, launch
from scaling.running.marks import MARK
from scaling.running.messages import RunRequest, WorkloadSpec
from scaling.running.processes import REQUESTS_TO_STOP, StopRequests
from tests.conftest import need

TEST_MARK = "0123456789abcdef" * 2
REQUEST = RunRequest(
    workload=WorkloadSpec(None, "command", {}),
    setting={},
    cpus="0",
    siblings="",
    framework="tensorflow",
    device="cpu",
    jit=False,
    memory="none",
    precision=0.1,
    max_seconds=0.1,
    steps=None,
    warmup=None,
    traced=None,
    takes_turns=False,
)


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


def test_a_process_whose_name_is_cut_within_a_character_is_alive_and_described(cut_name):
    assert not marks.is_zombie(os.getpid())
    assert f"process {os.getpid()} (abcdefghijklmn\\udcc3) of user" in processes.describe(os.getpid())


def start(*command: str, mark: str | None = TEST_MARK, **options) -> subprocess.Popen:
    return subprocess.Popen(command, env={**os.environ, **({MARK: mark} if mark else {})}, **options)


def test_children_with_the_mark_are_ended_except_the_spared_and_no_others():
    before = processes.children()
    spared, ended, *others = (start("sleep", "60", mark=mark) for mark in (TEST_MARK, TEST_MARK, "f" * 32, None))
    try:
        assert processes.end_children(TEST_MARK, {*before, spared.pid}) == []
        assert processes.children() - before == {spared.pid, *(other.pid for other in others)}
    finally:
        for one in (spared, *others):
            one.kill()
            one.wait()
        ended.returncode = -signal.SIGKILL  # reaped by now, and not by its Popen


def test_orphans_that_left_their_session_are_ended_with_the_children():
    code = (
        "import os, subprocess\nfrom scaling.running import marks, processes\nprocesses.adopt_orphans()\n"
        "orphan = \"setsid sh -c 'echo $$; kill -STOP $$' & wait\"\n"
        "shell = subprocess.Popen(['sh', '-c', orphan], stdout=subprocess.PIPE)\n"
        f"print(int(shell.stdout.readline()), len(processes.end_children('{TEST_MARK}', set())), flush=True)\n"
        "os._exit(0)"
    )
    with start(sys.executable, "-c", code, stdout=subprocess.PIPE, text=True) as process:
        orphan, left = map(int, process.stdout.read().split())
    assert left == 0
    with pytest.raises(ProcessLookupError):
        os.kill(orphan, 0)


def test_an_orphan_that_cleared_its_environment_and_has_ended_is_reaped():
    code = (
        "import os, subprocess, time\nfrom scaling.running import marks, processes\nprocesses.adopt_orphans()\n"
        "marks.wear_mark()\nsubprocess.run(['env', '-i', 'sh', '-c', 'true & exit'])\n"
        "os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)\n"
        f"processes.end_children('{TEST_MARK}', set())\nprint(len(processes.children()))"
    )
    with start(sys.executable, "-c", code, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.read() == "0\n"


def test_orphans_are_adopted_as_long_as_it_is_asked_for():
    before = processes.adopt_orphans()
    assert processes.adopt_orphans(before) is True
    assert processes.adopt_orphans(before) is before


@pytest.fixture
def becomes_root(tmp_path_factory):
    """A command that becomes root whoever gives it, and a line on its stdout says when it has."""
    need(os.geteuid() == 0 and shutil.which("setpriv") is not None, "root and setpriv")
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    program = shutil.copy(shutil.which("setpriv"), folder / "setpriv")
    program.chmod(0o4755)
    yield [str(program), "--reuid=0", "--clear-groups", "sh", "-c", "echo $$; exec sleep 600"]
    shutil.rmtree(folder)


def test_a_child_that_does_not_die_is_described_and_not_waited_for(monkeypatch):
    monkeypatch.setattr(processes, "LONGEST_END_SECONDS", 0.2)
    monkeypatch.setattr(processes, "_kill", lambda pid: True)
    spared = processes.children()
    with start("sleep", "60") as child:
        (left,) = processes.end_children(TEST_MARK, spared)
        child.kill()
    assert re.fullmatch(rf"process {child.pid} \(sleep\) of user \w+", left)


def test_orphans_are_reaped_as_they_end_and_children_that_are_waited_for_are_not():
    code = (
        "import subprocess, time\nfrom scaling.running import marks, processes\n"
        f"orphans = processes.Orphans('{TEST_MARK}')\nmarks.wear_mark()\n"
        "child = subprocess.Popen(['sh', '-c', 'read line; exit 3'], stdin=subprocess.PIPE)\n"
        "processes.OWNED.add(child.pid)\nchild.stdin.close()\n"
        "orphan = subprocess.Popen(['true'])\n"
        "while orphan.pid in processes.children(): time.sleep(0.01)\n"
        "print(child.wait(), orphans.end())"
    )
    with start(sys.executable, "-c", code, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.read() == "3 []\n"


def test_a_child_that_became_another_user_is_described_and_does_not_stop_the_rest(becomes_root, second_user):
    def end_what_can_be_ended() -> list[str]:
        spared = processes.children()
        os.environ[MARK] = TEST_MARK
        marks.wear_mark()
        ours = start("sleep", "600")
        foreign = start(*becomes_root, stdout=subprocess.PIPE, text=True)
        foreign.stdout.readline()
        left = processes.end_children(TEST_MARK, spared)
        assert ours.pid not in processes.children()
        return left

    answer = second_user.call(end_what_can_be_ended)
    match = re.fullmatch(r"\['process (\d+) \((?:sh|sleep)\) of user root'\]", answer)
    assert match, answer
    os.kill(int(match[1]), signal.SIGKILL)


def test_a_run_that_became_another_user_is_a_failed_row_that_says_so(becomes_root, second_user):
    def become_root(spec: ChildSpec, ends: Mapping[str, int]) -> int:
        os.environ[MARK] = TEST_MARK
        marks.wear_mark()
        process = start(*becomes_root, stdout=subprocess.PIPE, start_new_session=True)
        process.stdout.readline()
        return process.pid

    spec = ChildSpec(replace(REQUEST, cpus=format_list(os.sched_getaffinity(0))), None, 0.1, {MARK: TEST_MARK})
    answer = second_user.call(lambda: launch(spec, become_root).outcome.reason)
    match = re.search(
        r"no answer within 0.1 s.*; it left process (\d+) \((?:sh|sleep)\) of user root running, which this", answer
    )
    assert match, answer
    os.kill(int(match[1]), signal.SIGKILL)


def test_a_group_that_is_gone_is_ended_already():
    child = subprocess.Popen(["true"], start_new_session=True)
    child.wait()
    processes.end_group(child.pid)


@pytest.fixture(autouse=True)
def as_before():
    before = {number: signal.getsignal(number) for number in REQUESTS_TO_STOP}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", REQUESTS_TO_STOP)
def test_at_once_every_signal_raises_what_ctrl_c_raises(number):
    with StopRequests(at_once=True), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_a_hangup_that_nohup_has_ignored_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with StopRequests(at_once=True) as requests:
        signal.raise_signal(signal.SIGHUP)
        requests.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_request_that_python_swallows_is_raised_by_the_next_check():
    class Thing:
        pass

    with StopRequests(at_once=True) as requests:
        thing = Thing()
        watched = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGTERM))
        del thing
        assert watched() is None
        with pytest.raises(KeyboardInterrupt):
            requests.check()


def test_otherwise_requests_wait_for_a_check_and_wake_whoever_waits():
    woken = []
    with StopRequests(at_once=False) as requests:
        requests.wake = lambda: woken.append("woken")
        requests.check()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            requests.check()
    assert woken == ["woken", "woken"]


def test_ctrl_c_a_second_time_does_not_wait():
    with StopRequests(at_once=False):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_afterwards_signals_mean_what_they_meant():
    before = [signal.getsignal(number) for number in REQUESTS_TO_STOP]
    with StopRequests(at_once=False):
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in REQUESTS_TO_STOP] == before
