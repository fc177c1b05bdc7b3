"""Every kept series, with counts left out and predicted from the others.

    python -m benchmarks.predictions FOLDER|FILE.csv … [--each] [--draws 2000]
    python -m benchmarks.predictions FOLDER … --prior scaling/analysis/curves/deviations.json

In every series with at least four counts, each inner count is left out in turn and predicted from the others, and the
largest is predicted from at most half as many cores. Predictions come from the curve with its interval, and from
Amdahl's law and the universal scalability law by least squares, as others fit them. The prior of the deviation is
estimated without the predicted series. With `--prior`, it is estimated from all series and stored.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean, median

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import estimate
from scaling.analysis.curves.fit import fit
from scaling.analysis.curves.laws import relative_time
from scaling.analysis.curves.observations import Measured, measured
from scaling.analysis.curves.posterior import (
    COHERENCY,
    DEVIATIONS,
    SERIAL,
    Posterior,
    deviation_likelihoods,
    deviation_prior,
)
from scaling.analysis.series import Series
from scaling.api.sources import open_sources

LEAST_COUNTS, LEAST_TO_PREDICT = 4, 3


@dataclass(frozen=True, slots=True)
class Prediction:
    """A count that was left out: errors of the predictions as logarithms, whether it was held, and the half width."""

    is_inner: bool
    error: float
    held: bool
    half_width: float
    amdahl: float
    usl: float


@dataclass(frozen=True, slots=True)
class Kept:
    """A series that was kept, and what it is of."""

    source: str
    series: Series
    counts: Measured


def series_of(path: Path) -> Iterator[Kept]:
    """Every series of a folder or of another tool's file with two counts or more."""
    for source in open_sources(path):
        for series in source.series()[0]:
            if len(set(series.cores)) > 1:
                yield Kept(path.name, series, measured(series))


def predictions(one: Kept, prior: Floats, draws: int, chance: np.random.Generator) -> Iterator[Prediction]:
    """The inner counts of a series, each from all others, and the largest from at most half as many cores."""
    cores = one.counts.cores
    for out in range(1, len(cores) if len(cores) >= LEAST_COUNTS else 0):
        is_inner = out < len(cores) - 1
        kept = np.arange(len(cores)) != out if is_inner else cores <= cores[-1] / 2
        if kept.sum() >= LEAST_TO_PREDICT:
            yield _predict(one, one.counts.only(kept), out, is_inner, prior, draws, chance)


def _predict(
    one: Kept, rest: Measured, out: int, is_inner: bool, prior: Floats, draws: int, chance: np.random.Generator
) -> Prediction:
    """A speedup over the fewest cores: the predicted one, and the one that was measured, which has noise as well."""
    counts, scale = one.counts, one.series.scale
    drawn = Posterior(rest, scale, prior).draw(draws)
    logs = drawn.log_time(np.array([counts.cores[0], counts.cores[out]]))
    noise = chance.standard_normal(draws) * np.sqrt(counts.variances[out] * drawn.noise_factor + counts.shifts[out])
    times, found = logs[:, 1] - logs[:, 0], counts.logs[out] - counts.logs[0]
    middle, interval = float(np.median(times)), estimate(times + noise)
    assert interval.low is not None
    assert interval.high is not None
    by_laws = [_least_squares(rest, coherency, counts.cores[[0, out]]) for coherency in (COHERENCY[:1], COHERENCY)]
    return Prediction(
        is_inner=is_inner,
        error=abs(middle - found),
        held=bool(interval.low <= found <= interval.high),
        half_width=(interval.high - interval.low) / 2,
        amdahl=abs(by_laws[0] - found),
        usl=abs(by_laws[1] - found),
    )


def _least_squares(rest: Measured, coherency: Floats, cores: Floats) -> float:
    """The log of a ratio of times by the law that is nearest to logarithms, of all serial fractions and coherencies."""
    s, k = (values.ravel() for values in np.meshgrid(SERIAL, coherency, indexing="ij"))
    left = rest.logs - np.log(relative_time(rest.cores, s[:, None], k[:, None]))
    best = int(left.var(axis=1).argmin())
    first, out = np.log(relative_time(cores, s[best], k[best]))
    return float(out - first)


def main() -> None:
    """Print a table of all sources, or keep the prior that they give."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", action="store_true", help="print a line for every series")
    parser.add_argument("--prior", type=Path, metavar="FILE")
    given = parser.parse_args()
    kept = [one for source in given.sources for one in series_of(source)]
    likelihoods = [
        deviation_likelihoods(one.counts, one.series.scale) if len(one.counts.cores) >= LEAST_COUNTS else None
        for one in kept
    ]
    if given.prior:
        keep_prior([one for one in likelihoods if one is not None], given.sources, given.prior)
        return
    chance = np.random.default_rng(given.seed)
    made: dict[str, list[Prediction]] = defaultdict(list)
    within: dict[str, list[float]] = defaultdict(list)
    print("| rows | series | described within | left out | error | held | half width | Amdahl | USL |")
    print("|---|---|---|---|---|---|---|---|---|")
    for number, one in enumerate(kept):
        others = [other for index, other in enumerate(likelihoods) if index != number and other is not None]
        own = list(predictions(one, deviation_prior(others), given.draws, chance))
        described = fit(one.series).described_within
        made[one.source] += own
        within[one.source] += [] if described is None else [described]
        if given.each:
            _print(one.source, one.series.label, [] if described is None else [described], own)
    for source, found in made.items():
        _print(source, f"{sum(one.source == source for one in kept)}, all with a curve", within[source], found)
    _print("all", str(len(kept)), list(chain(*within.values())), list(chain(*made.values())))


def keep_prior(likelihoods: Sequence[Floats], sources: Sequence[Path], path: Path) -> None:
    """Write the prior of the deviation with what it is of."""
    prior = deviation_prior(likelihoods)
    weights = {f"{deviation:g}": round(float(weight), 4) for deviation, weight in zip(DEVIATIONS, prior, strict=True)}
    document = {"series": len(likelihoods), "of": sorted(one.name for one in sources), "weights": weights}
    path.write_text(json.dumps(document, indent=1) + "\n")


def _print(source: str, series: str, within: Sequence[float], found: Sequence[Prediction]) -> None:
    described = f"{100 * median(within):.1f} %" if within else "–"
    for is_inner in (True, False):
        few = [one for one in found if one.is_inner is is_inner]
        what = "an inner count" if is_inner else "the largest, from half"
        figures = _words(few) if few else "– | – | – | – | –"
        print(f"| {source} | {series} | {described} | {len(few)} × {what} | {figures} |")


def _words(found: Sequence[Prediction]) -> str:
    error, width, amdahl, usl = (
        100 * median(getattr(one, name) for one in found) for name in ("error", "half_width", "amdahl", "usl")
    )
    held = fmean(one.held for one in found)
    return f"{error:.1f} % | {held:.2f} | ± {width:.0f} % | {amdahl:.1f} % | {usl:.1f} %"


if __name__ == "__main__":
    main()
