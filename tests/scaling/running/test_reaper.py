"""What a killed sweep leaves behind, processes and files, is gone soon afterwards."""

import fcntl
import json
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benchmarks.shared.kills import VICTIMS, kill_and_resume
from benchmarks.shared.machines import study
from scaling.errors import BusyError, StoreError
from scaling.machine.sysfs import read_machine, read_topology
from scaling.running.local import LocalEngine
from scaling.running.lock import MachineLock
from scaling.running.processes import REQUESTS_TO_STOP
from scaling.running.reaper import QUIET_LOOKS, Reaper, Scratch, remove_scratch
from scaling.running.starting import StartError
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


def test_a_reaper_that_restores_controls_is_ready_once_it_is_there(tmp_path):
    cap = tmp_path / "cap"
    cap.write_text("150")
    code = (
        "import os, sys\nfrom scaling.running.reaper import Reaper\n"
        f"reaper = Reaper('{NOBODYS_MARK}', controls={{'cpu_max_mhz': {{sys.argv[1]: '150'}}}})\n"
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
def test_what_a_killed_sweep_left_is_looked_for_several_times_since_it_may_not_show_its_mark_yet(
    closing, looks, high_descriptor
):
    with subprocess.Popen(["true"]) as sweep:
        ended = high_descriptor(os.pidfd_open(sweep.pid))
    setup = {"mark": NOBODYS_MARK, "scratch": None, "controls": None, "root": "/", "sweep": [sweep.pid, ended]}
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


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary folder that everybody may write to, as /tmp is; so that others can reach it, not below pytest's."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    for path in folder.iterdir():
        remove_scratch(path)
    folder.rmdir()


def test_a_scratch_folder_is_the_users_alone(temporary):
    scratch = Scratch()
    scratch.empty()
    for folder in (scratch.folder, scratch.runs):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == os.getuid()


@pytest.mark.parametrize("leave", [Path.touch, Path.mkdir, lambda path: path.symlink_to("/etc")])
def test_whatever_a_run_puts_in_the_place_of_its_folder_is_removed(temporary, leave):
    scratch = Scratch()
    scratch.empty()
    scratch.runs.rmdir()
    leave(scratch.runs)
    scratch.empty()
    assert stat.S_ISDIR(os.lstat(scratch.runs).st_mode)
    assert list(scratch.runs.iterdir()) == []


def test_what_cannot_be_removed_is_put_aside_until_the_end(temporary, monkeypatch):
    scratch = Scratch()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        for _ in range(3):
            scratch.empty()
            assert list(scratch.runs.iterdir()) == []
            (scratch.runs / "stays").touch()
    assert len(list(scratch.folder.glob("left-*/stays"))) == 2
    remove_scratch(scratch.folder)
    assert not scratch.folder.exists()


def test_a_read_only_folder_that_a_run_leaves_is_removed(temporary, second_user):
    (temporary / "outside").mkdir(mode=0o755)

    def leave_and_remove() -> list[Path]:
        scratch = Scratch()
        scratch.empty()
        cache = scratch.runs / "cache"
        (cache / "module").mkdir(parents=True)
        (cache / "module" / "outside").symlink_to(temporary / "outside")
        for folder, mode in ((cache / "module", 0o000), (cache, 0o555)):
            folder.chmod(mode)
        scratch.empty()
        left = [*scratch.runs.iterdir(), *scratch.folder.glob("left-*")]
        (scratch.runs / "last").mkdir(mode=0o555)
        remove_scratch(scratch.folder)
        return [*left, *temporary.glob("scaling-*")]

    assert second_user.call(leave_and_remove) == "[]"
    assert stat.S_IMODE((temporary / "outside").stat().st_mode) == 0o755
    (temporary / "outside").rmdir()


def test_a_scratch_folder_that_others_may_enter_is_not_used(temporary):
    scratch = Scratch()
    scratch.folder.chmod(0o755)
    with pytest.raises(StartError, match="no longer private to this user"):
        scratch.empty()
    scratch.folder.chmod(0o700)


def test_a_scratch_folder_that_is_gone_makes_failed_rows(temporary):
    scratch = Scratch()
    scratch.folder.rmdir()
    with pytest.raises(StartError, match="created: No such file"):
        scratch.empty()


@pytest.mark.parametrize(
    ("which", "why"),
    [("outer", "is no longer private to this user"), ("temporary", "cannot be created: Not a directory")],
)
def test_a_temporary_folder_that_a_file_has_replaced_makes_failed_rows_of_one_sentence(
    tmp_path, monkeypatch, which, why
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    topology, asked = read_topology(), study(cores="1", launches="2")
    with LocalEngine(asked, topology, read_machine(topology)) as engine:
        engine.scratch.folder.rmdir()
        if which == "outer":
            engine.scratch.folder.touch()
        else:
            temporary.rmdir()
            temporary.touch()
        rows = list(engine.execute(plan(asked, topology).runs[:2]))
    assert [row.outcome.status for row in rows] == ["failed", "failed"]
    for row in rows:
        assert row.outcome.reason.endswith(why)
        assert "\n" not in row.outcome.reason


def test_where_no_scratch_folder_can_be_made_a_sentence_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(StoreError, match="set TMPDIR"):
        Scratch()


def test_another_user_cannot_take_a_scratch_folder_over(temporary, second_user):
    scratch = Scratch()
    scratch.empty()
    attacks = {
        "look into it": lambda: list(scratch.folder.iterdir()),
        "write to it": lambda: (scratch.folder / "mine").touch(),
        "move it away": lambda: scratch.folder.rename(temporary / "away"),
        "remove it": lambda: scratch.folder.rmdir(),
        "open it up": lambda: scratch.folder.chmod(0o777),
    }
    answers = {what: second_user.call(attack) for what, attack in attacks.items()}
    assert answers == dict.fromkeys(attacks, "PermissionError")


def test_what_everybody_can_read_of_the_reaper_names_no_scratch_folder(temporary):
    topology = read_topology()
    with LocalEngine(study(), topology, read_machine(topology)) as engine:
        command = Path(f"/proc/{engine.reaper.pid}/cmdline").read_text()
    assert engine.scratch.folder.name not in command
    assert engine.mark not in command
