"""The curve of a series, and every figure read off its draws. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import EXTRAPOLATION_LIMIT, INTERVAL, Draws, estimate, stretch_at, whole_counts
from scaling.analysis.curves.laws import WITHOUT_COHERENCY, Law, TruthCheck, relative_time
from scaling.analysis.curves.observations import measured
from scaling.analysis.curves.posterior import DEVIATIONS, Posterior
from scaling.analysis.estimates import Estimate
from scaling.analysis.serial_fraction import serial_fraction
from scaling.analysis.series import Series
from scaling.errors import FitError, SeriesFitError, count

# With fewer counts any law goes through all of them.
LEAST_COUNTS = 3
# The largest deviation from a law that describes a series closely, and roughly.
CLOSELY, ROUGHLY = 0.05, 0.2
# Points of a line up to the most cores measured, and beyond.
POINTS, POINTS_BEYOND = 33, 13
# The largest float with exact integers.
LARGEST_COUNT = 2.0**53


class Description(StrEnum):
    """How well its law describes a series; scripts match the value."""

    EXACTLY = "exactly"
    CLOSELY = "closely"
    ROUGHLY = "roughly"
    NOT_AT_ALL = "not-at-all"
    UNKNOWN = "unknown"


class Coded:
    """A caution or reason; scripts match its `code`, which is the name of its class: `OverBudget` is `over-budget`."""

    __slots__ = ()
    code: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()


@dataclass(frozen=True, slots=True)
class CoresShared(Coded):
    """Counts left out because threads share cores; their own scaling is unknown."""

    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ClockUnknown(Coded):
    """No clock was recorded."""


@dataclass(frozen=True, slots=True)
class OneCoreNotMeasured(Coded):
    """T(1) is read off the curve; the fewest cores of its points are more than one."""

    fewest: float


@dataclass(frozen=True, slots=True)
class OneLaunchPerCount(Coded):
    """No count has several launches, so their noise is unknown."""


Caution = CoresShared | ClockUnknown | OneCoreNotMeasured | OneLaunchPerCount


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Speedup and efficiency of a curve at a number of cores."""

    cores: float
    speedup: Estimate
    efficiency: Estimate


@dataclass(frozen=True, eq=False)
class SeriesFit:
    """A series with the draws of its curve; `exact` is the probability that a law holds exactly.

    `contention` is the serial fraction of the law that describes each draw best: its own with coherency, else the
    nearest of Amdahl's, or Gustafson's, laws. `levels` are the fits of all numbers of threads per core, if there are
    several.
    """

    series: Series
    draws: Draws
    exact: float
    contention: Floats
    cautions: tuple[Caution, ...]
    levels: tuple["SeriesFit", ...] = ()

    def __repr__(self) -> str:
        return f"<SeriesFit of {self.series.label} at {', '.join(f'{cores:g}' for cores in self.counts)} cores>"

    @cached_property
    def law(self) -> Law:
        """The law that most draws follow."""
        return self.draws.law

    @property
    def counts(self) -> tuple[float, ...]:
        """The core counts measured, ascending."""
        return tuple(self.draws.counts.cores.tolist())

    @property
    def most_cores(self) -> float:
        """The most cores it was measured on."""
        return self.counts[-1]

    @property
    def limit(self) -> float:
        """The most cores that its curve covers."""
        return min(EXTRAPOLATION_LIMIT * self.most_cores, LARGEST_COUNT)

    @property
    def is_short(self) -> bool:
        """Whether it has too few core counts to judge its law."""
        return len(self.counts) < LEAST_COUNTS

    @cached_property
    def described_within(self) -> float | None:
        """The largest deviation of its curve from its law, as a share; None with too few counts."""
        if self.is_short:
            return None
        cores = self.draws.counts.cores
        off = np.log(self.law_speedup(cores)) - np.log(np.median(self.draws.speedup(cores), axis=0))
        return float(np.expm1(np.abs(off).max()))

    def law_speedup(self, cores: Floats) -> Floats:
        """The speedup of the law alone."""
        if self.law not in WITHOUT_COHERENCY:
            return np.asarray(np.exp(-np.median(self.draws.log_law(cores), axis=0)))
        serial = float(np.median(self.contention))
        stretch = stretch_at(self.draws.counts, cores)
        return np.asarray(1.0 / relative_time(cores, serial, 0.0, stretch, self.series.scale))

    @property
    def description(self) -> Description:
        """How well its law describes it."""
        within = self.described_within
        if within is None:
            return Description.UNKNOWN
        if self.exact > 0.5:
            return Description.EXACTLY
        if within < CLOSELY:
            return Description.CLOSELY
        return Description.ROUGHLY if within < ROUGHLY else Description.NOT_AT_ALL

    @property
    def serial_fraction(self) -> Estimate | None:
        """The serial fraction of its law, if this describes it. With too few counts, Karp-Flatt's on the most cores."""
        if self.is_short:
            return self.karp_flatt(self.most_cores)
        return None if self.description is Description.NOT_AT_ALL else estimate(self.contention)

    @property
    def coherency(self) -> Estimate | None:
        """The coherency of its law; None for laws without it."""
        return None if self.law in WITHOUT_COHERENCY else estimate(self.draws.coherency)

    @property
    def rate_at_1(self) -> Estimate:
        """Work per second on one core."""
        return estimate(self.series.work * np.exp(-self.draws.log_seconds))

    @cached_property
    def speedup_limit(self) -> Estimate:
        """The largest speedup on any number of cores; infinite without a limit."""
        return estimate(self.draws.speedup_limit())

    def speedup(self, cores: float) -> Estimate:
        """Speedup over one core."""
        return estimate(self.draws.speedup(np.array([cores]))[:, 0])

    def karp_flatt(self, cores: float) -> Estimate:
        """The serial fraction that a speedup implies: Karp and Flatt's or, if scaled, Gustafson's."""
        return estimate(serial_fraction(self.draws.speedup(np.array([cores]))[:, 0], cores, self.series.scale))

    @property
    def superlinear(self) -> CurvePoint | None:
        """The count whose efficiency is most clearly above 1, if any interval is."""
        points = self.curve_at([count for count in self.counts if count > 1.0])
        best = max(points, key=lambda point: point.efficiency.low or 0.0, default=None)
        return best if best and (best.efficiency.low or 0.0) > 1.0 else None

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """The curve at whole numbers of cores, to twice the largest measured."""
        return self.curve_at([float(count) for count in whole_counts(max(int(self.limit), 1))])

    def curve_at(self, cores: Sequence[float]) -> tuple[CurvePoint, ...]:
        """The curve at some counts."""
        speedups = self.draws.speedup(np.array(cores))
        return tuple(
            CurvePoint(count, estimate(column), estimate(column / count))
            for count, column in zip(cores, speedups.T, strict=True)
        )

    @property
    def truth(self) -> TruthCheck | None:
        """The serial fraction stated by the workload beside its own; None without either."""
        stated, found = self.series.expected_serial_fraction, self.serial_fraction
        return None if stated is None or found is None else TruthCheck(stated, found)


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over cores with their band."""

    cores: Floats
    middle: Floats
    low: Floats | None = None
    high: Floats | None = None

    def over_cores(self) -> "Curve":
        """The values per core: efficiency from speedup."""
        return self.times(1.0 / self.cores)

    def times(self, factor: Floats | float) -> "Curve":
        """The values in another unit."""
        low, high = (None if bound is None else bound * factor for bound in (self.low, self.high))
        return Curve(self.cores, self.middle * factor, low, high)

    def split(self, most: float) -> tuple["Curve", "Curve"]:
        """The parts up to the most cores measured and beyond, which share a point."""
        last = int(np.searchsorted(self.cores, most * (1.0 + 1e-9)))
        inside, beyond = slice(last), slice(max(last - 1, 0), None)
        return Curve(self.cores[inside], self.middle[inside]), Curve(self.cores[beyond], self.middle[beyond])


def band(cores: Floats, values: Floats) -> Curve:
    """The median of draws × cores with the band that contains 95 % of them."""
    return Curve(cores, *np.quantile(values, INTERVAL, axis=0))


def curve_counts(fit: SeriesFit, most_cores: float) -> Floats:
    """Core counts of a line, evenly spaced by ratio, among them the fewest and most measured, to `most_cores`."""
    cores: Floats = np.geomspace(min(1.0, fit.counts[0]), fit.most_cores, POINTS)
    if most_cores > fit.most_cores:
        cores = np.concatenate([cores, np.geomspace(fit.most_cores, most_cores, POINTS_BEYOND)[1:]])
    return cores


def fit(series: Series) -> SeriesFit:
    """A series with its curve."""
    if len(set(series.cores)) < 2:
        raise SeriesFitError(series.label, _too_few_counts(series))
    counts = measured(series)
    with threadpool_limits(1, "blas"):  # threads for matrices of this size take up to ten times as long on busy cores
        posterior = Posterior(counts, series.scale)
        draws = posterior.draw()
    weights = dict(zip(DEVIATIONS.tolist(), posterior.deviation_weights().tolist(), strict=True))
    contention = draws.nearest_serial() if draws.law in WITHOUT_COHERENCY else draws.contention
    return SeriesFit(series, draws, weights[float(DEVIATIONS[0])], contention, tuple(_cautions(series)))


def _cautions(series: Series) -> list[Caution]:
    shared = tuple(sorted({float(out.cores) for out in series.left_out if out.shares_cores}))
    return [
        *([CoresShared(shared)] if shared else []),
        *([] if all(one.mhz for one in series.observations) else [ClockUnknown()]),
        *([] if 1.0 in series.cores else [OneCoreNotMeasured(min(series.cores))]),
        *([] if max(series.launches) > 1 else [OneLaunchPerCount()]),
    ]


def fit_all(series: Iterable[Series]) -> tuple[list[SeriesFit], list[FitError]]:
    """Every series with a curve, and the errors of the others."""
    fits, complaints = [], []
    for one in series:
        try:
            fits.append(fit(one))
        except FitError as error:
            complaints.append(error)
    return fits, complaints


def by_settings(fits: Sequence[SeriesFit]) -> list[SeriesFit]:
    """One fit per settings, with the fewest threads per core, and the fits of all levels within it."""
    levels: dict[object, list[SeriesFit]] = {}
    for one in fits:
        key = one.series.key
        levels.setdefault(replace(key, smt=1) if key.settings else id(one), []).append(one)
    return [replace(group[0], levels=tuple(group)) if len(group) > 1 else group[0] for group in levels.values()]


def _too_few_counts(series: Series) -> str:
    """The reason why a series has no curve: one count was measured, or all but one are disturbed or not valid."""
    only_count = ", ".join(f"{cores:g}" for cores in sorted(set(series.cores)))
    needs = "a curve needs at least two core counts"
    if not series.left_out:
        return f"was measured at one core count only ({only_count}); {needs}"
    broken = ", ".join(dict.fromkeys(rule for out in series.left_out for rule in out.rules))
    cores = ", ".join(map(str, sorted({out.cores for out in series.left_out})))
    points = "1 point was" if len(series.left_out) == 1 else f"{len(series.left_out)} points were"
    usable = f"at one core count only ({only_count})" if only_count else "at no core count"
    return (
        f"is usable {usable}; {points} left out as disturbed or not valid ({count(cores, 'core')}: {broken}); {needs}"
    )
