"""Counts left out and predicted from the others: a law with deviation, beside Amdahl's law by least squares.

    python -m benchmarks.predictions FOLDER … [--draws 2000] [--seed 1]

Of every series with at least four counts each inner count is left out in turn and predicted from the others, and the
largest from at most half as many cores. The prior of the deviation is estimated without the series that is predicted.
`benchmarks.shared.posterior` has the model.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import numpy as np

from benchmarks.halves import blocks_by_series
from benchmarks.shared.posterior import (
    SERIAL,
    Floats,
    Measured,
    Posterior,
    deviation_likelihoods,
    deviation_prior,
    law,
    measured,
)
from scaling.analysis.summary import Launch

LEAST_COUNTS, LEAST_TO_PREDICT = 4, 3


@dataclass(frozen=True, slots=True)
class Prediction:
    """A count that was left out: errors of both predictions as logarithms, whether it was held, and the half width."""

    is_inner: bool
    error: float
    held: bool
    half_width: float
    amdahl_error: float


def series_of(folder: Path) -> Iterator[Measured]:
    """Every series of a folder with enough counts, from launches that had a quiet turn."""
    for blocks in blocks_by_series(folder).values():
        seconds = [
            {one.point.cores: one.seconds for one in block if one.seconds and _is_quiet(one)} for block in blocks
        ]
        if len({cores for block in seconds for cores in block}) >= LEAST_COUNTS:
            yield measured([block for block in seconds if block])


def _is_quiet(launch: Launch) -> bool:
    return not launch.spoiled and any(turn.quiet for turn in launch.turns)


def predictions(series: Measured, prior: Floats, draws: int, chance: np.random.Generator) -> Iterator[Prediction]:
    """The inner counts of a series, each from all others, and the largest from at most half as many cores."""
    for out in range(1, len(series.cores)):
        is_inner = out < len(series.cores) - 1
        kept = np.arange(len(series.cores)) != out if is_inner else series.cores <= series.cores[-1] / 2
        if kept.sum() >= LEAST_TO_PREDICT:
            yield _predict(series, series.only(kept), out, is_inner, prior, draws, chance)


def _predict(
    series: Measured, rest: Measured, out: int, is_inner: bool, prior: Floats, draws: int, chance: np.random.Generator
) -> Prediction:
    logs, _ = Posterior(rest, prior).draw((1.0, float(series.cores[out])), draws, chance)
    times, found = logs[:, 1] - logs[:, 0], series.logs[out] - series.logs[0]
    noise = chance.standard_normal(draws) * np.sqrt(series.variances[out])
    low, high = np.quantile(times + noise, (0.025, 0.975))
    return Prediction(
        is_inner=is_inner,
        error=abs(float(np.median(times) - found)),
        held=bool(low <= found <= high),
        half_width=float(high - low) / 2,
        amdahl_error=abs(_amdahl(rest, float(series.cores[out])) - series.logs[out]),
    )


def _amdahl(rest: Measured, cores: float) -> float:
    """Log seconds by Amdahl's law, fitted to logarithms by least squares."""
    left = rest.logs - np.log(law(rest.cores, SERIAL[:, None], 0.0))
    best = int(left.var(axis=1).argmin())
    return float(left[best].mean() + np.log(law(np.array([cores]), SERIAL[best], 0.0))[0])


def main() -> None:
    """Print a table of all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = np.random.default_rng(given.seed)
    series = [(folder.name, one) for folder in given.folders for one in series_of(folder)]
    made: dict[tuple[str, bool], list[Prediction]] = defaultdict(list)
    likelihoods = [deviation_likelihoods(one) for _, one in series]
    for number, (name, one) in enumerate(series):
        prior = deviation_prior([*likelihoods[:number], *likelihoods[number + 1 :]])
        for prediction in predictions(one, prior, given.draws, chance):
            made[name, prediction.is_inner].append(prediction)
    print("| rows | left out | predictions | error, median | held | half width | Amdahl's law: error |")
    print("|---|---|---|---|---|---|---|")
    for (name, is_inner), found in made.items():
        print(f"| {name} | {'an inner count' if is_inner else 'the largest, from half'} | {_words(found)} |")


def _words(found: Sequence[Prediction]) -> str:
    error, width, amdahl = (
        median(getattr(one, name) for one in found) for name in ("error", "half_width", "amdahl_error")
    )
    held = fmean(one.held for one in found)
    return f"{len(found)} | {100 * error:.1f} % | {held:.2f} | ± {100 * width:.0f} % | {100 * amdahl:.1f} %"


if __name__ == "__main__":
    main()
