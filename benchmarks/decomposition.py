"""Where efficiency is lost: programs that each lose it in one way, with the expected and the measured losses.

    python -m benchmarks.decomposition FOLDER [--cores 2] [--launches 5] [--rounds 4]

The programs are those of `benchmarks/shared/losses.py`, measured in turns on one core and on as many as given. What is
expected follows from their construction: a program whose threads sleep while they wait loses all to idle cores, and one
that waits for memory, or whose threads spin, loses all to computation. Both parts found must add up to the efficiency
lost. Programs that FOLDER has already are not measured again.
"""

import argparse
from pathlib import Path

import scaling
from benchmarks.shared import losses
from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import ScalingPoint
from scaling.api.results import load
from scaling.reporting.words import share, with_interval


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    study = scaling.Study(
        name="decomposition",
        workloads=tuple(f"{losses.__file__}:{name}" for name in losses.EFFICIENCIES),
        size="small",
        cores=(1, arguments.cores),
        launches=arguments.launches,
        rounds=arguments.rounds,
    )
    scaling.run(study, arguments.folder)
    points = load(arguments.folder).sources[0].points
    print_table([point for point in points if point.summary.point.cores == arguments.cores])


def print_table(points: list[ScalingPoint]) -> None:
    """Print a line per program: what it has lost and what it should have."""
    print(
        "| program | efficiency lost | expected | to idle cores | expected | to computation | expected | sum − loss |"
    )
    print("|---|---|---|---|---|---|---|---|")
    by_name = {point.summary.point.workload.rpartition(":")[2]: point for point in points}
    for name in losses.EFFICIENCIES:
        print(f"| {name} | {' | '.join(_cells(name, by_name[name]))} |")


def _cells(name: str, point: ScalingPoint) -> list[str]:
    efficiency = losses.EFFICIENCIES[name](point.summary.point.cores)
    loss = None if efficiency is None else 1 - efficiency
    idle, computation = (loss, 0.0) if name in losses.SLEEPING else (0.0, loss)
    found = point.decomposition
    if found is None or point.efficiency is None:
        return [f"{point.verdict}", *["-"] * 6]
    whole = point.efficiency.map(lambda ratio: 1 - ratio)
    rest = found.idle.value + found.computation.value - whole.value
    parts = ((whole, loss, "?"), (found.idle, idle, "all"), (found.computation, computation, "all"))
    return [cell for part in parts for cell in _found_and_expected(*part)] + [f"{100 * abs(rest):.1f} points"]


def _found_and_expected(found: Estimate, expected: float | None, unknown: str) -> tuple[str, str]:
    return with_interval(found, share), unknown if expected is None else share(expected)


if __name__ == "__main__":
    main()
