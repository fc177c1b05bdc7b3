"""The first impression: `scaling sweep quick` in fresh folders, while another program loads a CPU.

    python -m benchmarks.first_sweep FOLDER [--sweeps 10] [--seed 1]

Another program loads one of the measured CPUs during a random third of the time (`benchmarks.disturbance`). For every
sweep: how long it took, the speedup of each workload on the most cores with its interval, or a bound, and whether the
serial fraction that `calibrated` states is inside its interval. What a host gave that was never quiet is shown and does
not count as an answer. Sweeps that FOLDER has already are not made again, so
that the benchmark can be interrupted.
"""

import argparse
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.disturbance import disturb
from scaling.analysis.speedup import ScalingPoint
from scaling.api.results import Results, load
from scaling.errors import FitError, StoreError
from scaling.machine.sysfs import read_topology

STUDY, STATES_A_TRUTH = "quick", "calibrated"
SECONDS = "wall_seconds.txt"


def main() -> None:
    """Make the sweeps that are missing, and print the table of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    folders = [arguments.folder / f"{number:02}" for number in range(1, arguments.sweeps + 1)]
    for number, folder in enumerate(folders, 1):
        if not (folder / SECONDS).exists():
            _sweep(folder, f"{arguments.seed} {number}")
    _print_table(folders)


def _sweep(folder: Path, seed: str) -> None:
    """Make one sweep as a newcomer does, under load, and keep how long it took."""
    folder.mkdir(parents=True, exist_ok=True)
    with disturb(tuple(sorted(read_topology().allowed)), seed):
        start = time.monotonic()
        command = [str(Path(sys.executable).with_name("scaling")), "sweep", STUDY]
        subprocess.run(command, cwd=folder, stdout=sys.stderr, check=True)
    (folder / SECONDS).write_text(f"{time.monotonic() - start:.0f}\n")


def _print_table(folders: list[Path]) -> None:
    results = [load(folder / "results" / STUDY) for folder in folders]
    workloads = sorted(set(results[0].points["workload"]))
    print(f"| sweep | wall s | {' | '.join(workloads)} | answered | truth inside |")
    print("|---" * (4 + len(workloads)) + "|")
    for folder, result in zip(folders, results, strict=True):
        points = [_largest(result, workload) for workload in workloads]
        cells = [_answer(point) for point in points]
        known = sum(cell != "-" and not point.unknown for cell, point in zip(cells, points, strict=True))
        answered = f"{known} of {len(cells)}"
        seconds = (folder / SECONDS).read_text().strip()
        print(f"| {folder.name} | {seconds} | {' | '.join(cells)} | {answered} | {_truth(result)} |")


def _largest(results: Results, workload: str) -> ScalingPoint:
    points = [point for point in results.sources[0].points if point.summary.point.workload == workload]
    return max(points, key=lambda point: point.summary.point.cores)


def _answer(point: ScalingPoint) -> str:
    """The speedup with its interval, or a bound; '-' where there is neither."""
    if point.at_least is not None or point.at_most is not None:
        return f"≥ {point.at_least:.2f}" if point.at_least is not None else f"≤ {point.at_most:.2f}"
    speedup = None if point.unknown else point.speedup
    if speedup is None or speedup.low is None or speedup.high is None:
        return "-"
    return f"{speedup.value:.2f} ({speedup.low:.2f} to {speedup.high:.2f})"


def _truth(results: Results) -> str:
    """Whether the stated serial fraction was recovered."""
    with suppress(FitError, StoreError):
        fits = [fit for fit in results.fits.series_fits if fit.series.label.startswith(STATES_A_TRUTH)]
        checks = [fit.truth for fit in fits if fit.truth is not None and fit.truth.inside is not None]
        return ", ".join("yes" if check.inside else "no" for check in checks) or "no interval"
    return "no interval"


if __name__ == "__main__":
    main()
