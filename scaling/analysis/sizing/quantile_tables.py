"""Answers to sizing questions as quantiles per available size, for readers without the draws. Pure.

Quantiles of the predictive distribution (a mixture of the distributions of turns, one per draw) are found by Halley's
method on the probit scale, on which a mixture is almost linear, with a bracket to fall back on. Interpolation of the
quantiles gives the chance of any time, exact at the levels of `ASSURANCES`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.capacity import rate, sustained
from scaling.analysis.curves.draws import estimate
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.levels import LevelCurve, Mixture, Size

# The probits of an array of probabilities.
probit = np.vectorize(NormalDist().inv_cdf, otypes=[np.float64])

ASSURANCES = (0.5, 0.8, 0.9, 0.95, 0.99)
# Levels of the predictive quantiles, as probits: evenly spaced, with one for every assurance.
PROBITS = np.unique(np.concatenate([np.linspace(-3.4, 3.4, 69).round(1), probit(ASSURANCES)]))
ASSURANCE_PROBITS = tuple(np.searchsorted(PROBITS, probit(ASSURANCES) - 1e-12).tolist())
# Means of 1, 2, 4, … launches; between them quantiles are interpolated in the logarithm of their number.
DOUBLINGS = 12
# Log seconds of practically no time, for laws without a limit.
NO_TIME = -1e3
_STEPS = 60
_CONVERGED = 1e-5  # in probits and in standard deviations, before the last step, which shrinks it a thousandfold
_BLOCK = 4


@dataclass(frozen=True, slots=True)
class StepTable:
    """The values at which the share of draws at or above them falls below a level, `percents` from 1 % to 100 %.

    `assurances` are for the exact levels of `ASSURANCES`. 100 % is displayed for all above 99 %. A value of `-inf` is
    never reached.
    """

    percents: tuple[float, ...]
    assurances: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SizeTable:
    """One size: its rate and efficiency, and quantiles from which chances are interpolated.

    `log_seconds` are quantiles of one turn at `PROBITS`, `replicas` quantiles of the mean of 2**0 to 2**`DOUBLINGS`
    turns at each of `ASSURANCES`, and `efficiencies` the efficiencies that draws keep on this size. `crowding` is how
    many times as long a step takes beside 0, 1, … other replicas, up to the room on the machine of the packs; empty if
    no packs were measured.
    """

    size: Size
    rate: Estimate
    efficiency: Estimate
    log_seconds: tuple[float, ...]
    replicas: tuple[tuple[float, ...], ...]
    efficiencies: StepTable
    crowding: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """Quantiles in standard deviations from the mean, and their last change: the start for the next mixture."""

    standard: Floats
    change: Floats | float = 0.0

    def start(self, mixture: Mixture) -> Floats:
        """The quantiles of a mixture, if its shape goes on changing at the same rate."""
        return mixture.mean + (self.standard + self.change) * mixture.deviation

    def after(self, mixture: Mixture, quantiles: Floats) -> "Shape":
        """The shape of the quantiles of the next mixture."""
        standard = (quantiles - mixture.mean) / mixture.deviation
        return Shape(standard, standard - self.standard)


def size_tables(curve: LevelCurve, counts: Sequence[int]) -> tuple[SizeTable, ...]:
    """The quantiles of every size of a curve; each size starts from the shape of the one before."""
    shape, tables = Shape(PROBITS), []
    for cores in counts:
        size = Size(cores, curve)
        mixture, *means = size.mixtures(2**doubling for doubling in range(DOUBLINGS + 1))
        log_seconds = mixture_quantiles(mixture, PROBITS, shape.start(mixture))
        shape = shape.after(mixture, log_seconds)
        table = SizeTable(
            size=size,
            rate=rate(size),
            efficiency=estimate(np.exp(size.log_efficiency())),
            log_seconds=tuple(log_seconds.tolist()),
            replicas=_replicas(mixture, means, log_seconds[list(ASSURANCE_PROBITS)]),
            efficiencies=_step_table(sustained(size)),
            crowding=tuple(size.crowding(one) for one in range(1, size.room + 1)) if size.known_crowding(1) else (),
        )
        tables.append(table)
    return tuple(tables)


def fastest_table(curve: LevelCurve) -> StepTable:
    """Log seconds that no number of cores goes below, by the share of draws that never reach a time."""
    return _step_table(np.maximum(curve.fastest, NO_TIME), unmet=True)


def mixture_quantiles(mixture: Mixture, probits: Floats, start: Floats | None = None) -> Floats:
    """The quantiles of a mixture at levels given as probits, by Halley's method with a bracket, level by level."""
    deviation = mixture.deviation
    at = mixture.mean + probits * deviation if start is None else start.copy()
    reach = 9.0 * mixture.noise.max()
    low = np.full(len(probits), mixture.means.min() - reach)
    high = np.full(len(probits), mixture.means.max() + reach)
    unsolved = np.arange(len(probits))
    for _ in range(_STEPS):
        here = at[unsolved]
        reached, slope, bend = _probit_derivatives(mixture, here)
        missing = probits[unsolved] - reached
        below = low[unsolved] = np.where(missing > 0.0, here, low[unsolved])
        above = high[unsolved] = np.where(missing < 0.0, here, high[unsolved])
        step = missing / slope / np.clip(1.0 + missing * bend / 2.0, 0.5, 1.5)
        close = np.maximum(np.abs(missing), np.abs(step) / deviation) < _CONVERGED
        inside = (here + step > below) & (here + step < above)
        halved = np.where(inside, here + step, (below + above) / 2.0)
        at[unsolved] = np.where(close, np.clip(here + step, below, above), halved)
        unsolved = unsolved[~close]
        if not unsolved.size:
            break
    return at


def _probit_derivatives(mixture: Mixture, at: Floats) -> tuple[Floats, Floats, Floats]:
    """The probit of the chance of at most each value, its derivative, and the second over the squared first.

    Values are processed in small blocks, because fresh large arrays cost more than the arithmetic.
    """
    sums, inverse = np.empty((3, len(at))), 1.0 / mixture.noise
    weight = inverse / len(inverse)
    for first in range(0, len(at), _BLOCK):
        block = slice(first, first + _BLOCK)
        standard = at[block, None] - mixture.means
        standard *= inverse
        chance, density, change = mixture.errors.distribution(standard)
        sums[0, block] = chance.mean(axis=1)
        sums[1, block] = density @ weight
        sums[2, block] = change @ (weight * inverse)
    reached: Floats = probit(np.clip(sums[0], 1e-300, 1.0 - 1e-16))
    height = np.exp(-0.5 * reached**2) / np.sqrt(2.0 * np.pi)
    slope = np.maximum(sums[1], 1e-100) / height
    with np.errstate(over="ignore", invalid="ignore"):  # NaN halves the bracket
        return reached, slope, reached + sums[2] / height / slope**2


def _replicas(launch: Mixture, means: Iterable[Mixture], of_launch: Floats) -> tuple[tuple[float, ...], ...]:
    """Quantiles of the mean of more and more launches, by assurance; each starts from the shape before it."""
    probits, columns = probit(ASSURANCES), [of_launch]
    shape = Shape(probits).after(launch, of_launch)
    for mean_of_launches in means:
        columns.append(mixture_quantiles(mean_of_launches, probits, shape.start(mean_of_launches)))
        shape = shape.after(mean_of_launches, columns[-1])
    return tuple(map(tuple, np.array(columns).T.tolist()))


def _step_table(values: Floats, unmet: bool = False) -> StepTable:
    """Values in descending order at which the share of draws at or above them reaches each level.

    With `unmet` the share is of draws that fail, so an assurance is lost if they are more than the rest of it.
    """
    order = np.argsort(-values)
    ranked = values[order]
    last_of_equals = np.searchsorted(-ranked, -ranked, side="right") - 1
    above = ((last_of_equals + 1) / len(values)).round(12)
    whole = np.rint(100.0 * above) if unmet else np.where(above > 0.99, 100.0, np.floor(100.0 * above + 1e-9))
    percents = np.searchsorted(whole, np.arange(1, 101))
    levels = np.array([round(1.0 - assurance, 12) for assurance in ASSURANCES]) if unmet else np.array(ASSURANCES)
    assured = np.searchsorted(above, levels, side="right" if unmet else "left")
    padded = np.append(ranked, -np.inf)
    return StepTable(tuple(padded[percents].tolist()), tuple(padded[assured].tolist()))
