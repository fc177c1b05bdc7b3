"""`scaling tune` against the exhaustive grid of the same settings, on real workloads.

    python -m benchmarks.grids FOLDER… [--measure WORKLOAD] [--cores N] [--set KEY=VALUE]… [--budget 10m]
                               [--launches 5] [--grid-budget 20m]

With `--measure`, tunes a workload in FOLDER/tune and then measures every setting of that search in FOLDER/grid, as
often as `--launches` says or as long as `--grid-budget` lasts; both go on where they were stopped. Prints a row for
every folder, which may come from another machine.

A launch of the grid is a cohort of all settings, alive together and taking turns, with the protocol of the search. The
search knows nothing of the grid's launches, so that these say what its winner is worth: a randomised block design
(Fisher, The Design of Experiments, 1935) whose blocks are cohorts, with the residual variance of all settings and
Student's distribution. The best of many noisy settings looks better than it is, which is held against the search: its
winner is within noise where the interval of its time over that of the grid's best setting has no more than that.

The gain over the default is that of the search's own confirmation or, where it had no time for one, of its model of the
race. Below 1 it says by how much the best of the other settings is behind the default.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import exp, sqrt
from pathlib import Path

import numpy as np

from scaling.analysis.estimates import Estimate, student_t
from scaling.analysis.tuning import NextCohort, Outcome
from scaling.api.measuring import budget_seconds
from scaling.api.tuning import TuningJob, carry_out_tuning, prepare_tuning
from scaling.cli.progress import Progress
from scaling.reporting.tuning import setting_words
from scaling.results.store import read_rows
from scaling.results.tuning import Search, read_search
from scaling.running.tuning_schedule import GRID_LAUNCHES, TuningSchedule

TUNE, GRID = "tune", "grid"
COLUMNS = (
    *("workload", "tune's winner", "grid's best", "winner over grid's best", "within noise"),
    *("best other than the default", "its gain by tune", "vendor recipe over the default"),
    *("launches of tune", "of a grid with five each", "launches of the grid"),
)


class GridSchedule(TuningSchedule):
    """Every setting in every cohort, so many times."""

    launches = 1

    def next_cohort(self) -> NextCohort | None:
        """All settings once more; the first cohort is made however short the budget is."""
        made, size = len(self.made), len(self.points)
        lasts = not made or self.deadline is None or self.now() + self.cohort_seconds(size) <= self.deadline
        return NextCohort(tuple(range(size)), confirms=False) if made < self.launches and lasts else None


@dataclass(frozen=True, slots=True)
class GridJob(TuningJob):
    """All settings of a search, each launched so often."""

    launches: int = GRID_LAUNCHES

    def schedule(self) -> GridSchedule:  # type: ignore[override]
        """The cohorts to make, after those that the folder has."""
        made = self.scheduled_by(GridSchedule)
        made.launches, made.limit = self.launches, self.launches * len(self.grid.points)
        return made


@dataclass(frozen=True)
class Blocks:
    """Log times of settings, one column each, in cohorts that have all of them, one row each."""

    settings: tuple[int, ...]
    logs: np.ndarray

    @cached_property
    def means(self) -> dict[int, float]:
        """The mean log time of every setting, against that of all."""
        centred = self.logs - self.logs.mean(axis=1, keepdims=True)
        return dict(zip(self.settings, map(float, centred.mean(axis=0)), strict=True))

    def ratio(self, setting: int, other: int) -> Estimate:
        """The time of a setting over that of another; no interval from a single block."""
        blocks, settings = self.logs.shape
        difference = self.means[setting] - self.means[other]
        freedom = (blocks - 1) * (settings - 1)
        if setting == other or not freedom:
            return Estimate(exp(difference))
        effects = self.logs.mean(axis=1, keepdims=True) + np.array([*self.means.values()])
        deviation = sqrt(float(((self.logs - effects) ** 2).sum()) / freedom)
        reach = student_t(freedom) * deviation * sqrt(2 / blocks)
        return Estimate(exp(difference), exp(difference - reach), exp(difference + reach))


def blocks_of(search: Search, folder: Path) -> Blocks:
    """The cohorts of a grid that were made; settings that ever failed are left out."""
    made = search.cohorts(read_rows(folder))
    failed = {setting for one in made for setting, value in one.logs.items() if value is None}
    settings = tuple(setting for setting in range(len(search.grid.points)) if setting not in failed)
    return Blocks(settings, np.array([[one.logs[setting] for setting in settings] for one in made], dtype=np.float64))


def selected(outcome: Outcome) -> int:
    """What a search ends with: its winner or, where it had no time to confirm one, the best it has seen."""
    confirmed = outcome.gain is not None and outcome.gain.low is not None
    best = outcome.winner if confirmed or not outcome.competitors else outcome.competitors[0].setting
    assert best is not None, "nothing was measured"
    return best


def best_other(outcome: Outcome) -> tuple[int, Estimate]:
    """The best setting but the default by the search, and the time of the default over its."""
    if outcome.challenger is not None and outcome.gain is not None and outcome.gain.low is not None:
        return outcome.challenger, outcome.gain
    best = next(one for one in outcome.competitors if one.setting != 0 and one.ratio is not None)
    assert best.ratio is not None
    return best.setting, best.ratio.map(lambda ratio: 1 / ratio)


def table_row(folder: Path) -> tuple[str, ...]:
    """What a folder shows."""
    search = read_search(folder / GRID)
    if search is None:
        raise SystemExit(f"{folder} has no grid; give --measure WORKLOAD to make one")
    rows = [*read_rows(folder / TUNE)]
    outcome = search.outcome(rows)
    blocks = blocks_of(search, folder / GRID)
    winner, best = selected(outcome), min(blocks.means, key=blocks.means.__getitem__)
    over_best = blocks.ratio(winner, best)
    within = winner == best or over_best.contains(1.0)
    confirmed = outcome.gain is not None and outcome.gain.low is not None
    other, gain = best_other(outcome)
    recipe = next(iter(search.grid.named), None)
    point = search.grid.points[0]
    return (
        f"{point.subject}, {point.size}, {point.cores} cores",
        setting_words(search.grid, winner) + ("" if confirmed else ", not confirmed"),
        setting_words(search.grid, best),
        _words(over_best),
        {True: "yes", False: "no", None: "one launch"}[within],
        setting_words(search.grid, other),
        _words(gain) + ("" if confirmed else ", race"),
        "" if recipe is None or recipe not in blocks.means else _words(blocks.ratio(recipe, 0)),
        str(len(rows)),
        f"{100 * len(rows) / (GRID_LAUNCHES * len(search.grid.points)):.0f} %",
        str(len(blocks.logs)),
    )


def _words(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.3f}"
    return f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def measure(
    workload: str,
    folder: Path,
    cores: int | None,
    settings: Sequence[str],
    budget: str | None,
    launches: int,
    grid_budget: str | None,
) -> None:
    """Tune a workload, then measure the grid of the same settings."""
    job = prepare_tuning(workload, folder / TUNE, cores, "latency", budget, {}, settings)
    carry_out_tuning(job, None, True, Progress())
    planned = {field.name: getattr(job, field.name) for field in fields(job)}
    planned |= {"folder": folder / GRID, "launches": launches}
    planned |= {"budget_seconds": None if grid_budget is None else budget_seconds(grid_budget)}
    carry_out_tuning(GridJob(**planned), None, True, Progress())


def main() -> None:
    """Measure what was asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--measure", metavar="WORKLOAD", help="into the only FOLDER")
    parser.add_argument("--cores", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    parser.add_argument("--budget", help="of the search")
    parser.add_argument("--launches", type=int, default=GRID_LAUNCHES, help="of every setting of the grid")
    parser.add_argument("--grid-budget", help="begin no further launch of the grid that would end later")
    given = parser.parse_args()
    if given.measure is not None:
        (folder,) = given.folders
        measure(given.measure, folder, given.cores, given.settings, given.budget, given.launches, given.grid_budget)
    rows = [table_row(folder) for folder in given.folders]
    print(" | ".join(COLUMNS))
    print("|".join(["---"] * len(COLUMNS)))
    for row in rows:
        print(" | ".join(row))


if __name__ == "__main__":
    main()
