"""Sweeps killed with SIGKILL at random times and resumed: every run must be stored exactly once.

A round is one kill at a random time: of the sweep (parent), of a run (child; of a cohort any), of all at once, and of
the server that runs are forked from, in turn. Every run starts a daemon without the environment of its sweep. Rounds
continue in one results folder until its study is complete, then in a new one. After every kill the file must parse and
no process may remain; a complete folder must contain every planned run exactly once. A cohort that was killed between
two of its rows is completed beside one core, which then has a launch more. Of a pack, whose replicas are one run, a
child that is killed is any replica.
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
from pathlib import Path

from scaling.machine.sysfs import read_topology
from scaling.results.store import read_rows
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
VICTIMS = {"spawn": ("parent", "child", "both"), "fork": ("parent", "child", "server", "both")}

# A run takes about a tenth of a second and a cohort some two seconds, on a busy machine several times that. Time counts
# from the first run, except for some kills, which are to fall while the sweep is still starting.
LONGEST_WAIT_SECONDS = {"apart": 1.5, "turns": 6.0}
KILLED_AT_THE_START = 0.2
SECONDS_BETWEEN_LOOKS = 0.01
LAUNCHES = {"apart": 6, "turns": 3}


@dataclass(slots=True)
class Tally:
    """What the kills came to."""

    kills: Counter[str] = field(default_factory=Counter)
    folders: int = 0
    rows: int = 0
    failed_rows: int = 0
    torn_lines: int = 0
    problems: list[str] = field(default_factory=list)


def kill_and_resume(
    rounds: int, seed: int, folder: Path, start: str = "spawn", design: str = "turns", packs: bool = False
) -> Tally:
    """Kill and resume so many times, finishing each folder that was begun; with packs of replicas or without."""
    chance = random.Random(seed)
    tally = Tally()
    while tally.kills.total() < rounds:
        _write_study(folder / str(tally.folders), start, design, packs)
        _one_folder(folder / str(tally.folders), chance, rounds, start, design, tally)
        tally.folders += 1
    return tally


def _write_study(folder: Path, start: str, design: str, packs: bool) -> None:
    folder.mkdir(parents=True)
    (folder / "brief.py").write_text(WORKLOAD)
    keys = {"start": start, "design": design, "launches": LAUNCHES[design], "replicas": '"fill"' if packs else 1}
    (folder / "study.toml").write_text(STUDY.format(path=folder / "brief.py", **keys))


def _one_folder(folder: Path, chance: random.Random, rounds: int, start: str, design: str, tally: Tally) -> None:
    complete = False
    while not complete:
        kills = tally.kills.total()
        victim = VICTIMS[start][kills % len(VICTIMS[start])] if kills < rounds else None
        complete = _one_sweep(folder, victim, LONGEST_WAIT_SECONDS[design], chance, tally)
        tally.problems += _look(folder)
    tally.problems += _complete(folder)
    rows = list(read_rows(folder / "results"))
    tally.rows += len(rows)
    tally.failed_rows += sum(row.outcome.status != "ok" for row in rows)
    torn = folder / "results/rows.torn"
    tally.torn_lines += len(torn.read_bytes().splitlines()) if torn.exists() else 0


def _one_sweep(folder: Path, victim: str | None, longest_seconds: float, chance: random.Random, tally: Tally) -> bool:
    """Start or resume the sweep, kill what is to be killed after a while; whether the sweep came to its end."""
    # Everything a sweep starts has its TMPDIR or one below it, and is known by that.
    environment = {**os.environ, "SCALING_LOCK": str(folder / "lock"), "TMPDIR": str(folder)}
    command = [str(Path(sys.executable).with_name("scaling")), "sweep", "--no-report", str(folder / "study.toml")]
    command += ["-o", str(folder / "results")]
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
    return sweep.returncode == 0


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


def _look(folder: Path) -> list[str]:
    """What is wrong after a kill: a file that does not parse, a run twice, a process left."""
    problems = []
    rows = folder / "results/rows.jsonl"
    if rows.exists():
        counts = Counter(row.run.key for row in read_rows(folder / "results"))
        problems += [f"{folder}: run twice: {key}" for key, count in counts.items() if count > 1]
    return problems + [f"{folder}: process {pid} is left" for pid, _ in _processes(folder)]


def _complete(folder: Path) -> list[str]:
    study = study_from_toml((folder / "study.toml").read_text(), str(folder / "study.toml"))
    planned = {run.key for run in plan(study, read_topology()).runs}
    stored = {row.run.key for row in read_rows(folder / "results")}
    partners = {key for key in stored - planned if study.design == "turns" and key[0].cores * key[0].replicas == 1}
    missing, beyond = planned - stored, stored - planned - partners
    return [f"{folder}: {len(missing)} runs missing, {len(beyond)} too many"] if missing or beyond else []
