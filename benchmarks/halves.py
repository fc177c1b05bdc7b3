"""Speedups from one half of the launches compared with the other half, on measured rows.

    python -m benchmarks.halves FOLDER … [--splits 100] [--seed 1] [--least 6]

A speedup claims what new launches under the same visible conditions would show. So the launches of every series with
at least six are split into random halves, many times. A speedup is held if that of the other half lies inside its
interval, made √2 times as wide on the logarithm, because the other half is as noisy. Splits of one point resemble each
other, so the precision of the held share depends on the number of points. The bias compares the first half of the
launches with the second, in the order of measurement.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp, log, nan, sqrt
from pathlib import Path
from statistics import fmean, median

from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.results.rows import launch_of
from scaling.results.store import read_folder
from scaling.study.planning import Point

Block = tuple[Launch, ...]


@dataclass(frozen=True, slots=True)
class Halves:
    """A speedup from one half of the launches, and from the other."""

    one: Estimate
    other: Estimate

    @property
    def held(self) -> bool | None:
        """Whether the interval of one, as wide as both halves' noise, contains the other; None without an interval."""
        if self.one.low is None or self.one.high is None:
            return None
        difference = log(self.other.value / self.one.value)
        end = self.one.high if difference > 0 else self.one.low
        return abs(difference) <= sqrt(2) * abs(log(end / self.one.value))


def blocks_by_series(folder: Path) -> dict[Point, list[Block]]:
    """The launches of every series in groups that were made together, in order."""
    by_series: dict[Point, dict[str, list[Launch]]] = defaultdict(lambda: defaultdict(list))
    for launch in map(launch_of, read_folder(folder).rows):
        if launch.seconds is not None and launch.point.in_series:
            by_series[launch.point.baseline][launch.cohort or str(launch.number)].append(launch)
    return {point: list(map(tuple, groups.values())) for point, groups in by_series.items()}


def halves_of(one: Sequence[Block], other: Sequence[Block]) -> Iterator[Halves]:
    """The speedups of both halves at every number of cores that both have."""
    first, second = (
        {point.summary.point: point.speedup for point in speedups(summarize(chain.from_iterable(half))) if point.valid}
        for half in (one, other)
    )
    for point, speedup in first.items():
        beside = second.get(point)
        if speedup and beside and point.cores > 1:
            yield Halves(speedup, beside)


def split(blocks: Sequence[Block], chance: random.Random) -> Iterator[Halves]:
    """The halves of a random split."""
    order = chance.sample(range(len(blocks)), len(blocks))
    first = set(order[: len(blocks) // 2])
    one, other = ([block for number, block in enumerate(blocks) if (number in first) is side] for side in (True, False))
    yield from halves_of(one, other)


def main() -> None:
    """Print a table row per folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=int, default=6, help="split only series with at least this many launches")
    given = parser.parse_args()
    print("| rows | series | launches | speedups per split | held | half width | first half over second |")
    print("|---|---|---|---|---|---|---|")
    for folder in given.folders:
        series = [blocks for blocks in blocks_by_series(folder).values() if len(blocks) >= given.least]
        chance = random.Random(given.seed)
        made = [halves for blocks in series for _ in range(given.splits) for halves in split(blocks, chance)]
        held = [halves.held for halves in made if halves.held is not None]
        widths = [halves.one.half_width for halves in made if halves.one.half_width is not None]
        middle = [(blocks[: len(blocks) // 2], blocks[len(blocks) // 2 :]) for blocks in series]
        moved = [log(one.one.value / one.other.value) for halves in middle for one in halves_of(*halves)]
        launches = sorted({len(blocks) for blocks in series})
        print(
            f"| {folder.name} | {len(series)} | {', '.join(map(str, launches))} | {len(made) / given.splits:.1f} "
            f"| {fmean(held) if held else nan:.2f} | ± {100 * (median(widths) if widths else nan):.1f} % "
            f"| {100 * (exp(fmean(moved)) - 1 if moved else nan):+.1f} % |",
            flush=True,
        )


if __name__ == "__main__":
    main()
