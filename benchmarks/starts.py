"""Fresh interpreters beside forks of a server: how many more launches in the same time, and do they measure alike?

    python -m benchmarks.starts [--rounds 5] [--seconds 0.3] [WORKLOAD …]

Round after round every workload is launched in both ways, in random order, on the same CPUs. A launch is timed from
the order to the row. A round has a server of its own, as every launch of a sweep has, and its start is counted too.
"""

import argparse
import random
import time
from dataclasses import replace
from statistics import median

from scaling.machine.identity import read_machine
from scaling.machine.sysfs import read_topology
from scaling.results.rows import Row, launch_of
from scaling.running.engines.local import LocalEngine
from scaling.study.finding import read_catalogue
from scaling.study.planning import Run, plan
from scaling.study.spec import study_from_toml

STUDY = """
workloads = [{names}]
size = "small"
cores = "all"
launches = {rounds}
precision = 1e-9
max_seconds = {seconds}
"""

Times = dict[str, list[float]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    networks = [entry.name for entry in read_catalogue().values() if entry.layers]
    parser.add_argument("workloads", nargs="*", default=networks)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    arguments = parser.parse_args()
    names = ", ".join(f'"{name}"' for name in arguments.workloads)
    study = study_from_toml(STUDY.format(names=names, **vars(arguments)), "starts")
    topology = read_topology()
    most = len(topology.cores)
    runs = [run for run in plan(study, topology).runs if run.point.cores == most and run.launch <= study.launches]
    with LocalEngine(study, topology, read_machine(topology)) as engine:
        walls, steps = _launched(engine, runs)
    _print(walls, steps, arguments.workloads)


def _launched(engine: LocalEngine, runs: list[Run]) -> tuple[dict[str, Times], dict[str, Times]]:
    """Seconds a launch, and of its median step, by way of starting and by workload."""
    chance = random.Random(1)
    walls: dict[str, Times] = {"spawn": {}, "fork": {}}
    steps: dict[str, Times] = {"spawn": {}, "fork": {}}
    for run in runs:
        for start in chance.sample(["spawn", "fork"], 2):
            seconds, row = _timed(engine, replace(run, start=start))
            walls[start].setdefault(run.point.workload, []).append(seconds)
            steps[start].setdefault(run.point.workload, []).append(launch_of(row).seconds)
    return walls, steps


def _timed(engine: LocalEngine, run: Run) -> tuple[float, Row]:
    begun = time.monotonic()
    row = next(engine.make([run]))
    seconds = time.monotonic() - begun
    if row.outcome.status != "ok":
        raise SystemExit(f"{run.point.workload}, {run.start}: {row.outcome.reason}")
    return seconds, row


def _print(walls: dict[str, Times], steps: dict[str, Times], names: list[str]) -> None:
    print("| workload, small, train | spawned s | forked s | ratio | forked step / spawned step, median of pairs |")
    print("|---|---|---|---|---|")
    for name in names:
        spawned, forked = (median(walls[start][name]) for start in ("spawn", "fork"))
        pairs = zip(steps["fork"][name], steps["spawn"][name], strict=True)
        ratio = median(one / other for one, other in pairs)
        print(f"| {name} | {spawned:.2f} | {forked:.2f} | {spawned / forked:.2f} | {ratio:.3f} |")
    spawned, forked = (sum(map(sum, walls[start].values())) for start in ("spawn", "fork"))
    print(f"| all, servers included | {spawned:.1f} | {forked:.1f} | **{spawned / forked:.2f}** | |")


if __name__ == "__main__":
    main()
