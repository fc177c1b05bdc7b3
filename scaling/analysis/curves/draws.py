"""Draws of whole curves, the source of every figure: speedup, efficiency, limit, sizes, bands. Pure."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats, Indices
from scaling.analysis.curves.laws import OVERHEADS, Law, relative_time
from scaling.analysis.curves.observations import Measured
from scaling.analysis.estimates import Estimate
from scaling.analysis.serial_fraction import Scale

# Nothing is predicted beyond this many times the most cores measured.
EXTRAPOLATION_LIMIT = 2.0
INTERVAL = (0.5, 0.025, 0.975)
# Candidate serial fractions for the law nearest to a curve, denser for small fractions.
FRACTIONS = np.linspace(0.0, 1.0, 400) ** 2
# Curves have a node at every whole number up to the first, and beyond it the second number of nodes.
EVERY, BEYOND = 64, 48


@dataclass(frozen=True, slots=True)
class Draws:
    """Equally likely curves: a law each, and its deviations from it at `nodes` (cores).

    `log_seconds` is on one core. `overhead` is the index in `OVERHEADS` that coherency belongs to. `noise_factor`
    multiplies the variance of launches estimated from `counts`. Under weak `scale` times are for the items of one core.
    """

    log_seconds: Floats
    contention: Floats
    coherency: Floats
    overhead: Indices
    nodes: Floats
    deviations: Floats
    noise_factor: Floats
    counts: Measured
    scale: Scale

    @property
    def size(self) -> int:
        """The number of draws."""
        return len(self.log_seconds)

    def log_law(self, cores: Floats) -> Floats:
        """Log seconds over one core by the law alone, draws × cores."""
        s, k = self.contention[:, None], self.coherency[:, None]
        overhead = np.stack([one.at(cores) for one in OVERHEADS])[self.overhead]
        return np.asarray(np.log(relative_time(cores, s, k, stretch_at(self.counts, cores), self.scale, overhead)))

    @property
    def law(self) -> Law:
        """The law of most draws; Amdahl's, or Gustafson's, without coherency."""
        plain = Law.GUSTAFSON if self.scale == "weak" else Law.AMDAHL
        followed = Counter(np.where(self.coherency > 0.0, self.overhead, -1).tolist())
        index = max(sorted(followed), key=followed.__getitem__)
        return plain if index < 0 else OVERHEADS[index].law

    def deviation(self, cores: Floats) -> Floats:
        """The log deviations of time from the laws, draws × cores; constant beyond the last node."""
        at, nodes = np.log2(cores), np.log2(self.nodes)
        after = np.clip(np.searchsorted(nodes, at), 1, len(nodes) - 1)
        part = np.clip((at - nodes[after - 1]) / (nodes[after] - nodes[after - 1]), 0.0, 1.0)
        return np.asarray((1.0 - part) * self.deviations[:, after - 1] + part * self.deviations[:, after])

    def log_time(self, cores: Floats) -> Floats:
        """Log seconds on these cores, draws × cores."""
        cores = np.atleast_1d(np.asarray(cores, dtype=np.float64))
        return self.log_seconds[:, None] + self.log_law(cores) + self.deviation(cores)

    def speedup(self, cores: Floats) -> Floats:
        """Speedup over one core, draws × cores."""
        cores = np.atleast_1d(np.asarray(cores, dtype=np.float64))
        return np.asarray(np.exp(-self.log_law(cores) - self.deviation(cores)))

    def nearest_serial(self) -> Floats:
        """The serial fraction of the law without coherency nearest to each curve at the measured counts."""
        cores = self.counts.cores
        return nearest_serial(-np.log(self.speedup(cores)), cores, stretch_at(self.counts, cores), self.scale)

    def speedup_limit(self) -> Floats:
        """The largest speedup on any number of cores, by draw: the law's, with the deviation at the curve's end.

        1/s under Amdahl's law, the least time with coherency, unlimited under Gustafson's
        """
        s, k = self.contention, self.coherency
        if self.scale == "weak":
            return np.asarray(np.where(s >= 1.0, 1.0, np.inf))
        with np.errstate(divide="ignore", invalid="ignore"):
            by_law = np.array([one.least(s, k) for one in OVERHEADS])
            cores, least_time = np.where(
                k > 0.0, by_law[self.overhead, :, np.arange(self.size)].T, [np.full_like(s, np.inf), s]
            )
            of_law = np.exp(-self.deviations[:, -1]) / np.maximum(least_time, 0.0)
            of_law = np.where(cores >= self.nodes[-1], of_law, 0.0)
        return np.asarray(np.maximum(self.speedup(self.nodes).max(axis=1), of_law))

    def launch_variance(self, cores: float) -> Floats:
        """The variance of a new launch around its curve, by draw."""
        counts = self.counts
        own = np.interp(np.log(cores), np.log(counts.cores), np.log(counts.launch_variances))
        return np.asarray(np.exp(own) * self.noise_factor + counts.block_variance)


def estimate(values: Floats) -> Estimate:
    """The median of draws with their 95 % interval."""
    middle, low, high = np.quantile(values, INTERVAL, method="nearest").tolist()
    return Estimate(middle, low, high)


def nearest_serial(log_times: Floats, cores: Floats, stretch: Floats | float, scale: Scale) -> Floats:
    """The least-squares serial fractions of curves, given as log times over one core."""
    laws = np.log(relative_time(cores, FRACTIONS[:, None], 0.0, stretch, scale))
    squares = (laws**2).sum(axis=1) - 2.0 * log_times @ laws.T
    best = squares.argmin(axis=1)
    # Between neighbours the squares are a parabola; the ends stay.
    inner = np.clip(best, 1, len(FRACTIONS) - 2)
    below, at, above = (squares[np.arange(len(squares)), inner + step] for step in (-1, 0, 1))
    bend = below - 2.0 * at + above
    vertex = np.where(bend > 0.0, (below - above) / 2.0 / np.where(bend > 0.0, bend, 1.0), 0.0)
    position: Floats = np.where(best == inner, inner + np.clip(vertex, -1.0, 1.0), best)
    return np.interp(position, np.arange(len(FRACTIONS)), FRACTIONS)


def whole_counts(most: int) -> tuple[int, ...]:
    """Every whole number up to a limit; beyond 1000 only numbers with three significant digits."""
    counts = list(range(1, min(most, 1000) + 1))
    step = 10
    while counts[-1] + step <= most:
        counts += range(counts[-1] + step, min(most, 1000 * step) + 1, step)
        step *= 10
    return (*counts, most) if counts[-1] < most else tuple(counts)


def nodes_up_to(measured: Floats) -> Floats:
    """The counts of a curve's nodes: whole numbers to twice the largest measured, sparser beyond 64."""
    most = max(EXTRAPOLATION_LIMIT * float(measured.max()), 2.0)
    whole = np.arange(1.0, min(most, EVERY) + 0.5)
    beyond = np.geomspace(EVERY, most, BEYOND) if most > EVERY else np.array([most])
    return np.unique(np.concatenate([whole, beyond, measured]))


def stretch_at(counts: Measured, cores: Floats) -> Floats | float:
    """The slowdown of the clock, interpolated between measured counts; constant beyond the last."""
    if counts.stretch is None:
        return 1.0
    return np.interp(np.log(cores), np.log(counts.cores), counts.stretch)


def two_sided_minimum(one: Floats, other: Floats) -> Floats:
    """The covariance of Brownian motion from 0 in both directions, for a deviation of one per unit."""
    here, there = one[:, None], other[None, :]
    return np.asarray(0.5 * (np.abs(here) + np.abs(there) - np.abs(here - there)))
