"""Sweeps killed with SIGKILL at random times and resumed: every run must be stored exactly once.

A round is one kill at a random time: of the sweep (parent), of a run (child; of a cohort any), of all at once, and of
the server that runs are forked from, in turn. Every run starts a daemon without the environment of its sweep. Rounds
continue in one results folder until its study is complete, then in a new one. After every kill the file must parse and
no process may remain; a complete folder must contain every planned run exactly once. A cohort that was killed between
two of its rows is completed beside one core, which then has a launch more. Of a pack, whose replicas are one run, a
child that is killed is any replica. Whatever the command, rows that are stored stay, and no control group and no
scratch folder is left. With `serve`, what is killed has a server up, whose files are in such a folder.
"""

import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from scaling.errors import StudyError
from scaling.machine.kernel_files import own_groups, quota_parents, read_text
from scaling.machine.sysfs import read_topology
from scaling.results.rows import Row
from scaling.results.store import read_rows
from scaling.running.control_groups import ControlGroups
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml

WORKLOAD = """
import shutil
import subprocess

class Brief:
    items_per_step = 1
    def prepare(self): pass
    def step(self): sum(range(2000))

def build(setting):
    # A daemon that leaves its session and its environment behind; its command line tells whose it is.
    subprocess.Popen(
        [shutil.which("tail"), "-f", __file__], env={}, start_new_session=True, stdout=subprocess.DEVNULL
    )
    return Brief()
"""
STUDY = """
workloads = ["{path}:build"]
modes = ["train", "infer"]
cores = "all"
launches = {launches}
max_seconds = 0.02
rounds = 2
turn_seconds = 0.02
start = "{start}"
design = "{design}"
replicas = {replicas}
"""
# The same workload by other commands; a comparison has a control group for one of its sides, where any can be made.
COMMANDS = {
    "sweep": ["sweep", "--no-report", "{folder}/study.toml"],
    "run": ["run", "--no-report", "--cores", "all", "--launches", "4"],
    "serve": ["run", "--no-report", "--cores", "all", "--launches", "3", "--rounds", "1", "--clients", "1,2"],
    "tune": ["tune", "{folder}/brief.py:build", "--cores", "1", "--set", "intra=[1,2]", "--set", "rounds=1"],
    "compare": ["compare", "{folder}/study.toml", "--set", "modes=train", "--set", "cores=1", "--between"],
}
PROGRAM = """
setsid env -i "$(command -v tail)" -f {folder}/brief.py > /dev/null 2>&1 &
"""
SERVE = "{python} -m http.server -b 127.0.0.1 -d {{folder}} {{port}}"
LOAD = """
import sys, time, urllib.request
start, asked = time.monotonic(), 0
while time.monotonic() - start < 0.1:
    urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}").read()
    asked += 1
print("rate", asked / 0.1)
"""
VICTIMS = {"spawn": ("parent", "child", "both"), "fork": ("parent", "child", "server", "both")}

# A run takes about a tenth of a second and a cohort some two seconds, on a busy machine several times that. Time counts
# from the first run, except for some kills, which are to fall while the sweep is still starting.
LONGEST_WAIT_SECONDS = {"apart": 1.5, "turns": 6.0}
KILLED_AT_THE_START = 0.2
SECONDS_BETWEEN_LOOKS = 0.01

# Another sweep on this machine has ended after so many seconds.
LONGEST_OTHER_SWEEP = 60.0
LAUNCHES = {"apart": 6, "turns": 3}


@dataclass(slots=True)
class Tally:
    """What the kills came to."""

    kills: Counter[str] = field(default_factory=Counter)
    folders: int = 0
    rows: int = 0
    failed_rows: int = 0
    torn_lines: int = 0
    other_groups: set[Path] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def kill_and_resume(
    rounds: int,
    seed: int,
    folder: Path,
    start: str = "spawn",
    design: str = "turns",
    packs: bool = False,
    command: str = "sweep",
) -> Tally:
    """Kill and resume a command so many times, finishing each folder that was begun; with packs or without."""
    chance = random.Random(seed)
    tally = Tally(other_groups=_groups())
    while tally.kills.total() < rounds:
        _write_study(folder / str(tally.folders), start, design, packs)
        _one_folder(folder / str(tally.folders), chance, rounds, start, design, tally, command)
        tally.folders += 1
    return tally


def _write_study(folder: Path, start: str, design: str, packs: bool) -> None:
    folder.mkdir(parents=True)
    (folder / "brief.py").write_text(WORKLOAD)
    (folder / "brief.sh").write_text(PROGRAM.format(folder=folder))
    (folder / "load.py").write_text(LOAD)
    keys = {"start": start, "design": design, "launches": LAUNCHES[design], "replicas": '"fill"' if packs else 1}
    (folder / "study.toml").write_text(STUDY.format(path=folder / "brief.py", **keys))


def _one_folder(
    folder: Path, chance: random.Random, rounds: int, start: str, design: str, tally: Tally, command: str
) -> None:
    complete, stored = False, list[Row]()
    words = _words(command, folder, start)
    while not complete:
        kills = tally.kills.total()
        victim = VICTIMS[start][kills % len(VICTIMS[start])] if kills < rounds else None
        complete = _one_sweep(folder, words, victim, LONGEST_WAIT_SECONDS[design], chance, tally)
        tally.problems += _look(folder, stored, tally.other_groups)
        stored = _rows(folder)
    tally.problems += _complete(folder) if command in ("sweep", "run", "serve") else []
    tally.rows += len(stored)
    tally.failed_rows += sum(row.outcome.status != "ok" for row in stored)
    tally.torn_lines += sum(len(torn.read_bytes().splitlines()) for torn in folder.glob("results/**/rows.torn"))


def _words(command: str, folder: Path, start: str) -> list[str]:
    """The command line, which is the same whenever it goes on."""
    words = [word.format(folder=folder) for word in COMMANDS[command]]
    if command == "tune":
        words += ["--set", f"start={start}", "--set", "turn_seconds=0.02", "--set", "max_seconds=0.1"]
    elif command == "compare":
        words += ["intra=1", "quota=0.5"] if can_limit() else ["intra=1", "intra=2"]
    elif command == "serve":
        load = f"{sys.executable} {folder / 'load.py'} {{port}} {{clients}}"
        words += ["--serve", SERVE.format(python=sys.executable), "--load", load, "--throughput", r"rate (\S+)"]
    words = [str(Path(sys.executable).with_name("scaling")), *words, "-o", str(folder / "results")]
    return [*words, "--", "sh", str(folder / "brief.sh")] if command == "run" else words


@cache
def can_limit() -> bool:
    """Whether control groups with a quota can be made here."""
    try:
        ControlGroups([1.0], "probe")
    except StudyError:
        return False
    return True


def _rows(folder: Path) -> list[Row]:
    """The rows of a folder, or of both variants of a comparison."""
    paths = sorted(folder.glob("results/**/rows.jsonl"))
    return [row for path in paths for row in read_rows(path.parent)]


def _one_sweep(
    folder: Path, command: list[str], victim: str | None, longest_seconds: float, chance: random.Random, tally: Tally
) -> bool:
    """Start or resume the sweep, kill what is to be killed after a while; whether the sweep came to its end."""
    # Everything a sweep starts has its TMPDIR or one below it, and is known by that.
    environment = {**os.environ, "SCALING_LOCK": str(folder / "lock"), "TMPDIR": str(folder)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
        if victim is not None:
            if chance.random() > KILLED_AT_THE_START:
                _wait_for(sweep, "child", folder, chance)
            with suppress(subprocess.TimeoutExpired):
                sweep.wait(chance.uniform(0, longest_seconds))
            victims = _wait_for(sweep, victim, folder, chance)
            for pid in victims:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            tally.kills[victim] += bool(victims)
    # The reaper shares the lock: once we have it, everything that will be ended has been.
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    if sweep.returncode == 2:
        tally.problems.append(f"{folder}: {' '.join(command[1:])} was refused")
    return sweep.returncode >= 0


def _wait_for(sweep: "subprocess.Popen[bytes]", victim: str, folder: Path, chance: random.Random) -> list[int]:
    """The processes to kill, once there are any; none where the sweep ends before."""
    while sweep.poll() is None:
        if found := _victims(sweep.pid, victim, folder, chance):
            return found
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return []


def _victims(sweep: int, victim: str, folder: Path, chance: random.Random) -> list[int]:
    spawned = [pid for pid, command in _processes(folder) if b"scaling.running.worker" in command]
    # The server is there before its children, and looks like them.
    servers = [pid for pid, command in _processes(folder) if b"scaling.running.forkserver" in command]
    children = spawned + servers[1:]
    one = [chance.choice(children)] if children else []
    return {"parent": [sweep], "child": one, "server": servers[:1], "both": [sweep, *children]}[victim]


def _processes(folder: Path) -> Iterator[tuple[int, bytes]]:
    """Processes of this folder's sweep, by their environment or what they are given; the oldest first."""
    for pid in sorted(int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()):
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            below = any(variable.startswith(f"TMPDIR={folder}".encode()) for variable in variables)
            if below or command.endswith(f"{folder}/brief.py\0".encode()):
                yield pid, command


def _groups() -> set[Path]:
    """The control groups of sweeps without processes: one with processes belongs to a sweep that is alive."""
    parents = {*quota_parents(Path("/")), *own_groups(Path("/"), "pids")}
    groups = (group for parent in parents for group in parent.glob("scaling-*"))
    return {group for group in groups if not read_text(group / "cgroup.procs")}


def _left(other_groups: set[Path]) -> set[Path]:
    """Control groups that stay; those of other sweeps, which have no processes between two runs, go in time."""
    left, deadline = _groups() - other_groups, time.monotonic() + LONGEST_OTHER_SWEEP
    while left and time.monotonic() < deadline:
        time.sleep(SECONDS_BETWEEN_LOOKS)
        left &= _groups()
    return left


def _look(folder: Path, stored: list[Row], other_groups: set[Path]) -> list[str]:
    """What is wrong after a kill: a file that does not parse, a row lost, a run twice, a process or a group left."""
    problems, rows = [], _rows(folder)
    for path in folder.glob("results/**/rows.jsonl"):
        counts = Counter(row.run.key for row in read_rows(path.parent))
        problems += [f"{folder}: run twice: {key}" for key, count in counts.items() if count > 1]
    problems += [f"{folder}: row lost: {row.run.key}" for row in stored if row not in rows]
    problems += [f"{folder}: control group {group} is left" for group in _left(other_groups)]
    problems += [f"{folder}: {scratch} is left" for scratch in folder.glob("scaling-*")]
    return problems + [f"{folder}: process {pid} is left" for pid, _ in _processes(folder)]


def _complete(folder: Path) -> list[str]:
    study = study_from_toml((folder / "results/study.toml").read_text(), "study.toml")
    planned = {run.key for run in plan(study, read_topology()).runs}
    stored = {row.run.key for row in read_rows(folder / "results")}
    partners = {key for key in stored - planned if study.design == "turns" and key[0].cores * key[0].replicas == 1}
    missing, beyond = planned - stored, stored - planned - partners
    return [f"{folder}: {len(missing)} runs missing, {len(beyond)} too many"] if missing or beyond else []
