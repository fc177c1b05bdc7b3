"""Fresh interpreters against forks of a server: launches in the same time, and agreement of step times.

    python -m benchmarks.starts [--rounds 3] [--seconds 0.3] [WORKLOAD …]

A round is one launch of a sweep: every workload on every number of cores, each started in both ways in succession, in
random order. The forks of a round have their own server, as in a sweep, and its start is included.
"""

import argparse
import random
import time
from dataclasses import replace
from statistics import median

from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import Row, launch_of
from scaling.running.engines.local import LocalEngine
from scaling.study.catalogue import read_catalogue
from scaling.study.planning import Run, plan
from scaling.study.spec import Start, study_from_toml

STUDY = """
workloads = [{names}]
size = "small"
launches = {rounds}
precision = 1e-9
max_seconds = {seconds}
"""
STARTS: tuple[Start, ...] = ("spawn", "fork")

# Seconds from the order to the row, and the row, of launches made in both ways.
Pair = dict[str, tuple[float, Row]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    networks = [entry.name for entry in read_catalogue().values() if entry.layers]
    parser.add_argument("workloads", nargs="*", default=networks)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    arguments = parser.parse_args()
    names = ", ".join(f'"{name}"' for name in arguments.workloads)
    study = study_from_toml(STUDY.format(names=names, **vars(arguments)), "starts")
    topology = read_topology()
    runs = [run for run in plan(study, topology).runs if run.launch <= study.launches]
    chance = random.Random(1)
    with LocalEngine(study, topology, read_machine(topology)) as engine:
        pairs = [_pair(engine, run, chance) for run in runs]
    _print(pairs, arguments.workloads, arguments.rounds)


def _pair(engine: LocalEngine, run: Run, chance: random.Random) -> Pair:
    return {start: _launched(engine, replace(run, start=start)) for start in chance.sample(STARTS, 2)}


def _launched(engine: LocalEngine, run: Run) -> tuple[float, Row]:
    begun = time.monotonic()
    row = next(engine.execute([run]))
    seconds = time.monotonic() - begun
    if row.outcome.status != "ok":
        raise SystemExit(f"{run.point.workload}, {run.start}: {row.outcome.reason}")
    return seconds, row


def _wall_seconds(row: Row) -> float:
    return row.outcome.sections.wall or 0.0


def _step_seconds(row: Row) -> float:
    seconds = launch_of(row).seconds
    assert seconds, "only runs that ended well are here"
    return seconds


def _print(pairs: list[Pair], names: list[str], rounds: int) -> None:
    print(
        "| workload, small, train | spawned s | forked s | ratio | step forked / spawned, median of pairs | quartiles |"
    )
    print("|---|---|---|---|---|---|")
    for name in names:
        own = [pair for pair in pairs if pair["fork"][1].run.point.workload == name]
        spawned, forked = (median(_wall_seconds(pair[start][1]) for pair in own) for start in STARTS)
        steps = sorted(_step_seconds(pair["fork"][1]) / _step_seconds(pair["spawn"][1]) for pair in own)
        quartiles = f"{steps[len(steps) // 4]:.3f} … {steps[-1 - len(steps) // 4]:.3f}"
        print(f"| {name} | {spawned:.2f} | {forked:.2f} | {spawned / forked:.2f} | {median(steps):.3f} | {quartiles} |")
    spawned, forked = (sum(pair[start][0] for pair in pairs) / rounds for start in STARTS)
    server = forked - sum(_wall_seconds(pair["fork"][1]) for pair in pairs) / rounds
    print(f"| server of a round | | {server:.2f} | | | |")
    print(f"| a round of {len(pairs) // rounds} launches | {spawned:.1f} | {forked:.1f} | {spawned / forked:.2f} | | |")


if __name__ == "__main__":
    main()
