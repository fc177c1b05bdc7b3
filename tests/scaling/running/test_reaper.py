"""What a killed sweep leaves behind, processes and files, is gone soon afterwards."""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.shared.kills import VICTIMS, kill_and_resume
from benchmarks.shared.machines import study
from scaling.errors import BusyError
from scaling.machine.sysfs import read_machine, read_topology
from scaling.running.local import LocalEngine
from scaling.running.lock import MachineLock
from scaling.running.reaper import QUIET_LOOKS, Reaper
from scaling.running.signals import REQUESTS_TO_STOP
from scaling.study.planning import plan
from tests.scaling.machine.invented import write

NOBODYS_MARK = "0" * 32


def test_the_reaper_removes_what_a_killed_sweep_has_left(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o700)
    reaper = Reaper(NOBODYS_MARK, scratch=scratch)
    (scratch / "half.xplane.pb").write_bytes(b"half of a trace")
    reaper.close()
    assert not scratch.exists()


def test_the_reaper_leaves_alone_what_somebody_else_may_enter(tmp_path):
    reaper = Reaper(NOBODYS_MARK, scratch=tmp_path)
    tmp_path.chmod(0o755)
    reaper.close()
    assert tmp_path.exists()


def test_the_reaper_removes_control_groups_wherever_they_were_made(tmp_path):
    root = write(tmp_path, {"proc/self/cgroup": "1:cpu:/mine\n", "sys/fs/cgroup/cpu/mine/cpu.cfs_quota_us": "-1\n"})
    groups = root / "sys/fs/cgroup/cpu/mine"
    reaper = Reaper(NOBODYS_MARK, root=root)
    for mark in (NOBODYS_MARK, "f" * 32):
        (groups / f"scaling-quota-{mark}-1").mkdir()
    reaper.close()
    assert [folder.name for folder in groups.glob("scaling-quota-*")] == [f"scaling-quota-{'f' * 32}-1"]


@pytest.mark.parametrize("request_to_stop", REQUESTS_TO_STOP)
def test_no_request_to_stop_ends_a_reaper_not_even_as_it_starts(tmp_path, request_to_stop):
    tmp_path.chmod(0o700)
    reaper = Reaper(NOBODYS_MARK, scratch=tmp_path)
    os.kill(reaper.pid, request_to_stop)
    reaper.close()
    assert not tmp_path.exists()
    assert request_to_stop not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_reaper_that_restores_caps_is_ready_once_it_is_there(tmp_path):
    cap = tmp_path / "cap"
    cap.write_text("150")
    code = (
        "import os, sys\nfrom scaling.running.reaper import Reaper\n"
        f"reaper = Reaper('{NOBODYS_MARK}', caps={{'files': [[sys.argv[1], '150']], 'gpu': None}})\n"
        "open(sys.argv[1], 'w').write('90')\nprint(reaper.pid, flush=True)\nos.kill(0, 15)"
    )
    command = [sys.executable, "-c", code, str(cap)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as sweep:
        reaper = os.pidfd_open(int(sweep.stdout.readline()))
    assert sweep.returncode == -signal.SIGTERM
    assert select.select([reaper], [], [], 60.0)[0]
    os.close(reaper)
    assert cap.read_text() == "150"


def test_a_reaper_that_was_killed_is_replaced_and_the_lock_kept(own_lock):
    lock = MachineLock(False, print)
    reaper = Reaper(NOBODYS_MARK, held_open=(lock.fd,))
    os.kill(reaper.pid, signal.SIGKILL)
    os.waitid(os.P_PID, reaper.pid, os.WEXITED | os.WNOWAIT)
    assert reaper.restart_if_ended() == "killed by signal 9 (SIGKILL)"
    assert reaper.restart_if_ended() is None
    lock.release()
    with pytest.raises(BusyError):
        MachineLock(False, print)
    reaper.close()
    MachineLock(False, print).release()


def test_a_sweep_says_that_its_reaper_was_killed_and_goes_on():
    notes = []
    topology = read_topology()
    question = study('workloads = ["command: true"]', cores="1", launches="2", max_seconds="0.02")
    with LocalEngine(question, topology, read_machine(topology), notify=notes.append) as engine:
        rows = engine.execute(plan(question, topology).runs)
        assert next(rows).outcome.status == "ok"
        os.kill(engine.reaper.pid, signal.SIGKILL)
        os.waitid(os.P_PID, engine.reaper.pid, os.WEXITED | os.WNOWAIT)
        assert {row.outcome.status for row in rows} == {"ok"}
    assert notes == [
        "the process that would clean up after this sweep was killed by signal 9 (SIGKILL); a new one has replaced it"
    ]


def test_a_reaper_whose_pipe_was_closed_goes_on_to_wait_for_the_sweep(tmp_path):
    code = (
        "import os, sys\nfrom scaling.running.reaper import Reaper\nfrom pathlib import Path\n"
        f"reaper = Reaper('{NOBODYS_MARK}', scratch=Path(sys.argv[1]))\nos.close(reaper._alive)\n"
        "print(reaper.pid, flush=True)\nsys.stdin.read()\nos._exit(0)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sweep:
        reaper = os.pidfd_open(int(sweep.stdout.readline()))
        assert not select.select([reaper], [], [], 1.0)[0]
        assert tmp_path.exists()
        sweep.stdin.close()
        assert select.select([reaper], [], [], 60.0)[0]
    assert not tmp_path.exists()


LOOKS = """
from scaling.running import reaper
looks = []
reaper.psutil.pids = lambda: looks.append(1) or ()
reaper.watch()
raise SystemExit(len(looks))
"""


@pytest.mark.parametrize(("closing", "looks"), [(b"closed", 1), (b"", QUIET_LOOKS)])
def test_what_a_killed_sweep_left_is_looked_for_several_times_since_it_may_not_show_its_mark_yet(closing, looks):
    with subprocess.Popen(["true"]) as sweep:
        ended = os.pidfd_open(sweep.pid)
    setup = {"mark": NOBODYS_MARK, "scratch": None, "caps": None, "root": "/", "sweep": [sweep.pid, ended]}
    given = f"{json.dumps(setup)}\n".encode() + closing
    watch = subprocess.run([sys.executable, "-c", LOOKS], input=given, stdout=subprocess.PIPE, pass_fds=[ended])
    os.close(ended)
    assert watch.returncode == looks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "design", "packs", "rounds"),
    [("spawn", "turns", True, 3), ("fork", "turns", False, 4), ("spawn", "apart", False, 3)],
)
def test_a_sweep_killed_at_random_moments_loses_nothing_and_measures_nothing_twice(
    tmp_path, start, design, packs, rounds
):
    tally = kill_and_resume(rounds, seed=3, folder=tmp_path, start=start, design=design, packs=packs)
    assert tally.problems == []
    assert set(tally.kills) == set(VICTIMS[start])


DAEMONS = """
import os
import shutil
import subprocess

class Idle:
    items_per_step = 1
    def prepare(self): pass
    def step(self): sum(range(2000))

def build(setting):
    sleep = [shutil.which("sleep"), "600"]
    pids = [subprocess.Popen(sleep, env={{}}, start_new_session=True).pid for _ in range({daemons})]
    with open("{folder}/pids", "a") as file:
        print(*pids, file=file)
    if setting.cores == {last}:
        os.close(os.open("{folder}/ready", os.O_WRONLY))
    return Idle()
"""


@pytest.mark.parametrize(("start", "design"), [("spawn", "turns"), ("fork", "apart")])
def test_children_that_cleared_their_environment_end_with_a_killed_sweep(tmp_path, own_lock, start, design):
    """In a cohort the first process is stopped, and its children with it, when the second has started its own."""
    cores = 2 if design == "turns" else 1
    (tmp_path / "daemons.py").write_text(DAEMONS.format(daemons=26 // cores, folder=tmp_path, last=cores))
    study = (
        f'workloads = ["{tmp_path}/daemons.py:build"]\ncores = {[1, 2][:cores]}\nstart = "{start}"\ndesign = "{design}"'
    )
    (tmp_path / "study.toml").write_text(study)
    os.mkfifo(tmp_path / "ready")
    command = [str(Path(sys.executable).with_name("scaling")), "sweep", str(tmp_path / "study.toml")]
    with subprocess.Popen([*command, "-o", str(tmp_path / "results")], stderr=subprocess.DEVNULL) as sweep:
        (tmp_path / "ready").read_bytes()
        sweep.kill()
    with own_lock.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 26
    assert [pid for pid in pids if is_alive(pid)] == []


def is_alive(pid: str) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
