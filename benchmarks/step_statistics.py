"""How far speedups scatter from launch to launch by what sums up the steps of a launch, on measured rows.

    python -m benchmarks.step_statistics FOLDER …

A speedup is formed within each cohort from the steps of quiet turns. A cell is the standard deviation of its logarithm
over launches: the median over all points with at least three, and the root mean square.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import log, sqrt
from pathlib import Path
from statistics import fmean, median, stdev

import numpy as np

from scaling.results.rows import quiet_steps
from scaling.results.store import read_rows
from scaling.study.planning import Point

Statistic = Callable[[Sequence[float]], float]

LEAST_LAUNCHES = 3


def _quantile(level: float) -> Statistic:
    return lambda steps: float(np.quantile(steps, level, method="median_unbiased"))


STATISTICS: dict[str, Statistic] = {
    "mean": fmean,
    "median": median,
    "lower quartile": _quantile(0.25),
    "fastest tenth": _quantile(0.1),
    "fastest twentieth": _quantile(0.05),
}


def cohorts(folder: Path) -> dict[Point, dict[str, dict[int, list[float]]]]:
    """The steps of quiet turns by series, cohort and cores."""
    found: dict[Point, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for row in read_rows(folder):
        point, cohort = row.run.point, row.run.cohort
        if row.outcome.status == "ok" and point.in_series and cohort and (steps := quiet_steps(row)):
            found[point.baseline][cohort.name][point.cores] = steps
    return found


def deviations(folder: Path, statistic: Statistic) -> Iterator[float]:
    """The standard deviation of the log speedup of every point."""
    for series in cohorts(folder).values():
        for cores in sorted({count for launch in series.values() for count in launch if count > 1}):
            pairs = [(launch[1], launch[cores]) for launch in series.values() if {1, cores} <= launch.keys()]
            if len(pairs) >= LEAST_LAUNCHES:
                yield stdev(log(statistic(one) / statistic(many)) for one, many in pairs)


def main() -> None:
    """Print a table row per statistic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    folders = parser.parse_args().folders
    print("| statistic of steps | speedups | standard deviation, median | root mean square |\n|---|---|---|---|")
    for name, statistic in STATISTICS.items():
        found = [one for folder in folders for one in deviations(folder, statistic)]
        rms = sqrt(fmean(one**2 for one in found))
        print(f"| {name} | {len(found)} | {100 * median(found):.1f} % | {100 * rms:.1f} % |")


if __name__ == "__main__":
    main()
