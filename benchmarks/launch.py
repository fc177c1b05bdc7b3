"""The cost of a launch of a program, and of a whole sweep, against a loop of taskset and hyperfine in the same run.

    python -m benchmarks.launch [--rounds 5] [--launches 40]
    python -m benchmarks.launch --sweep 'sort --parallel={threads} -o /dev/null lines.txt' [--launches 3]

Without --sweep, programs of about 1 ms, 50 ms and 1 s are executed on one CPU by each in turn. CPU time is that of all
processes, the program's included, and costs that come once per sweep are subtracted: two sweeps of different length are
compared. With --sweep, each tool executes a program equally often on 1, 2, 4, … cores.
"""

import argparse
import os
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory

from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import format_list
from scaling.running.local import LocalEngine
from scaling.study.planning import plan
from scaling.study.programs import Program
from scaling.study.spec import Study

# Launches of the shorter of two sweeps.
FEW = 5
LOOP = "BEGIN { while (i < %d) i++ }"
LOOPS_TO_CALIBRATE = 5_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of wall and of CPU time per launch."""

    wall: float
    cpu: float


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launches", type=int, default=40)
    parser.add_argument("--sweep", action="append", metavar="COMMAND", help="compare whole sweeps of this program")
    parser.add_argument("--engine", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        _launch_all(int(given.engine[0]), given.engine[1:])
    elif given.sweep:
        _compare_sweeps(given.sweep, given.launches, given.rounds)
    else:
        _compare_launches(given.rounds, given.launches)


def _compare_launches(rounds: int, launches: int) -> None:
    print("| program | by | wall, ms | beyond the loop | CPU, ms | times the loop |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, argv, times in _programs(launches):
        costs: dict[str, list[Cost]] = {tool: [] for tool in TOOLS}
        for _ in range(rounds):
            for tool, measure in TOOLS.items():
                costs[tool].append(measure(argv, times))
        bare = costs["a loop of taskset"]
        for tool, own in costs.items():
            wall, cpu = 1e3 * median(cost.wall for cost in own), 1e3 * median(cost.cpu for cost in own)
            beyond = 1e3 * median(cost.wall - loop.wall for cost, loop in zip(own, bare, strict=True))
            ratio = median(cost.cpu / loop.cpu for cost, loop in zip(own, bare, strict=True))
            print(f"| {name} | {tool} | {wall:.2f} | {beyond:+.2f} | {cpu:.2f} | {ratio:.2f} |", flush=True)


def _programs(launches: int) -> list[tuple[str, list[str], int]]:
    """Programs by name, with their words and number of launches."""
    started = time.perf_counter()
    subprocess.run(["awk", LOOP % LOOPS_TO_CALIBRATE], check=True)
    per_second = LOOPS_TO_CALIBRATE / (time.perf_counter() - started)
    loops = {"50 ms": (0.05, launches), "1 s": (1.0, max(2, launches // 10))}
    timed = [(name, ["awk", LOOP % (seconds * per_second)], times) for name, (seconds, times) in loops.items()]
    return [("1 ms", ["true"], launches), *timed]


def _loop(argv: Sequence[str], launches: int) -> Cost:
    def execute() -> None:
        for _ in range(launches):
            subprocess.run(["taskset", "-c", _cpu(), *argv], stdout=subprocess.DEVNULL, check=True)

    return _per_launch(execute, launches)


def _hyperfine(argv: Sequence[str], launches: int) -> Cost:
    command = ["hyperfine", "-N", "--style", "none", "-r"]
    words = shlex.join(["taskset", "-c", _cpu(), *argv])
    few = _measured(lambda: subprocess.run([*command, str(FEW), words], check=True, capture_output=True))
    many = _measured(lambda: subprocess.run([*command, str(FEW + launches), words], check=True, capture_output=True))
    return Cost((many.wall - few.wall) / launches, (many.cpu - few.cpu) / launches)


def _engine(argv: Sequence[str], launches: int) -> Cost:
    command = [sys.executable, "-m", "benchmarks.launch", "--engine"]
    few = _measured(lambda: subprocess.run([*command, str(FEW), *argv], check=True))
    many = _measured(lambda: subprocess.run([*command, str(FEW + launches), *argv], check=True))
    return Cost((many.wall - few.wall) / launches, (many.cpu - few.cpu) / launches)


TOOLS: dict[str, Callable[[Sequence[str], int], Cost]] = {
    "a loop of taskset": _loop,
    **({"hyperfine": _hyperfine} if shutil.which("hyperfine") else {}),
    "scaling": _engine,
}


def _launch_all(launches: int, argv: Sequence[str]) -> None:
    """Launch a program on one core this number of times, as a sweep does."""
    topology = read_topology()
    study = Study(programs=(Program(name="program", command=tuple(argv)),), cores=(1,), launches=launches)
    with LocalEngine(study, topology, read_machine(topology)) as engine:
        rows = list(engine.execute(plan(study, topology).runs))
    assert all(row.outcome.status == "ok" for row in rows)


def _per_launch(execute: Callable[[], object], launches: int) -> Cost:
    whole = _measured(execute)
    return Cost(whole.wall / launches, whole.cpu / launches)


def _measured(execute: Callable[[], object]) -> Cost:
    """Wall time, and the CPU time of the children."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    execute()
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _cpu() -> str:
    return str(min(os.sched_getaffinity(0)))


def _compare_sweeps(commands: Sequence[str], launches: int, rounds: int) -> None:
    counts = [1 << power for power in range(10) if 1 << power <= len(os.sched_getaffinity(0))]
    print(f"| program, {launches} launches on {format_list(counts)} cores | hyperfine, s | scaling, s | ratio |")
    print("| --- | --- | --- | --- |")
    for command in commands:
        theirs, ours = [], []
        for _ in range(rounds):
            theirs.append(_measured(partial(_hyperfine_sweep, command, counts, launches)).wall)
            ours.append(_measured(partial(_own_sweep, command, counts, launches)).wall)
        ratio = median(own / other for own, other in zip(ours, theirs, strict=True))
        print(f"| {command} | {median(theirs):.1f} | {median(ours):.1f} | {ratio:.2f} |", flush=True)


def _hyperfine_sweep(command: str, counts: Sequence[int], launches: int) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    for cores in counts:
        words = f"taskset -c {format_list(cpus[:cores])} {command.replace('{threads}', str(cores))}"
        subprocess.run(
            ["hyperfine", "-N", "--style", "none", "-r", str(launches), words], check=True, capture_output=True
        )


def _own_sweep(command: str, counts: Sequence[int], launches: int) -> None:
    with TemporaryDirectory() as folder:
        options = ["--launches", str(launches), "--cores", ",".join(map(str, counts)), "--no-report", "-o", folder]
        subprocess.run(
            [sys.executable, "-m", "scaling", "run", *options, "--", *shlex.split(command)],
            capture_output=True,
            check=False,
        )


if __name__ == "__main__":
    main()
