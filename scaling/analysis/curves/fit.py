"""The curve of a series, and everything that is read off its draws. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import EXTRAPOLATION_LIMIT, INTERVAL, Draws, estimate, stretch_at
from scaling.analysis.curves.laws import WITHOUT_COHERENCY, Law, relative_time, serial_fraction
from scaling.analysis.curves.observations import measured
from scaling.analysis.curves.posterior import DEVIATIONS, Posterior
from scaling.analysis.estimates import Estimate
from scaling.analysis.series import Series
from scaling.analysis.sizing.sizes import plain_sizes
from scaling.analysis.truth import TruthCheck
from scaling.errors import FitError, SeriesFitError

# With fewer counts any law goes through all of them.
LEAST_COUNTS = 3
# How far a series may be off a law that describes it closely, and roughly.
CLOSELY, ROUGHLY = 0.05, 0.2
# How finely a line is drawn, and beyond the cores measured.
POINTS, POINTS_BEYOND = 33, 13
# Above this a float no longer counts one by one.
LARGEST_COUNT = 2.0**53


class Description(StrEnum):
    """How well its law describes a series; the value is the code that scripts match."""

    EXACTLY = "exactly"
    CLOSELY = "closely"
    ROUGHLY = "roughly"
    NOT_AT_ALL = "not-at-all"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CoresShared:
    """Counts at which threads share cores were left out: what they would do by themselves is not known."""

    code: ClassVar[str] = "cores-shared"
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ClockUnknown:
    """No clock was recorded."""

    code: ClassVar[str] = "clock-unknown"


@dataclass(frozen=True, slots=True)
class OneCoreNotMeasured:
    """T(1) is what the curve gives; the fewest cores measured are more than one."""

    code: ClassVar[str] = "one-core-not-measured"
    fewest: float


@dataclass(frozen=True, slots=True)
class OneLaunchPerCount:
    """No count has several launches, so that nothing is known of their noise."""

    code: ClassVar[str] = "one-launch-per-count"


Caution = CoresShared | ClockUnknown | OneCoreNotMeasured | OneLaunchPerCount


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What the curve says of so many cores."""

    cores: float
    speedup: Estimate
    efficiency: Estimate


@dataclass(frozen=True, eq=False)
class SeriesFit:
    """A series with the draws of its curve; `exact` is how likely a law holds exactly.

    `contention` is the serial fraction of the law that describes each draw best: its own with coherency, else that of
    Amdahl's law, or Gustafson's, that is nearest to it.

    Of settings that were measured with several numbers of threads per core, `levels` are the fits of each of them.
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
        """The most cores its curve may be asked about."""
        return min(EXTRAPOLATION_LIMIT * self.most_cores, LARGEST_COUNT)

    @property
    def is_short(self) -> bool:
        """Whether it has too few core counts to say how well a law describes it."""
        return len(self.counts) < LEAST_COUNTS

    @cached_property
    def described_within(self) -> float | None:
        """How far its curve is off its law at the count where it is farthest, as a share; None with too few counts."""
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
        """Of its law; None where the law does not describe it. With too few counts, Karp-Flatt's on the most cores."""
        if self.is_short:
            return self.karp_flatt(self.most_cores)
        return None if self.description is Description.NOT_AT_ALL else estimate(self.contention)

    @property
    def coherency(self) -> Estimate | None:
        """Of its law; None where that has none."""
        return None if self.law in WITHOUT_COHERENCY else estimate(self.draws.coherency)

    @property
    def rate_at_1(self) -> Estimate:
        """Work a second on one core."""
        return estimate(self.series.work * np.exp(-self.draws.log_seconds))

    @cached_property
    def speedup_limit(self) -> Estimate:
        """The largest speedup on any number of cores; infinite where there is no limit."""
        return estimate(self.draws.speedup_limit())

    def speedup(self, cores: float) -> Estimate:
        """Times as fast as one core."""
        return estimate(self.draws.speedup(np.array([cores]))[:, 0])

    def karp_flatt(self, cores: float) -> Estimate:
        """The serial fraction that the speedup on so many cores means: Karp and Flatt's or, scaled, Gustafson's."""
        return estimate(serial_fraction(self.draws.speedup(np.array([cores]))[:, 0], cores, self.series.scale))

    @property
    def superlinear(self) -> CurvePoint | None:
        """The count that is clearest above its share, where one is beyond its interval."""
        points = [
            point
            for point in self.curve_at([count for count in self.counts if count > 1.0])
            if (point.efficiency.low or 0.0) > 1.0
        ]
        return max(points, key=lambda point: point.efficiency.low or 0.0, default=None)

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """The curve at whole numbers of cores, to twice the most measured."""
        return self.curve_at([float(count) for count in plain_sizes(max(int(self.limit), 1)).counts])

    def curve_at(self, cores: Sequence[float]) -> tuple[CurvePoint, ...]:
        """The curve at some counts."""
        speedups = self.draws.speedup(np.array(cores))
        return tuple(
            CurvePoint(count, estimate(column), estimate(column / count))
            for count, column in zip(cores, speedups.T, strict=True)
        )

    @property
    def truth(self) -> TruthCheck | None:
        """The serial fraction that the workload states beside what was found; None where it states none.

        What it states is true of a law from which the machine makes it deviate.
        """
        stated = self.series.expected_serial_fraction
        found = self.karp_flatt(self.most_cores) if self.is_short else estimate(self.draws.contention)
        return None if stated is None else TruthCheck(stated, found)


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over cores with their band."""

    cores: Floats
    middle: Floats
    low: Floats | None = None
    high: Floats | None = None

    def over_cores(self) -> "Curve":
        """The same per core: efficiency from speedup."""
        return self.times(1.0 / self.cores)

    def times(self, factor: Floats | float) -> "Curve":
        """The same in another unit."""
        low, high = (None if bound is None else bound * factor for bound in (self.low, self.high))
        return Curve(self.cores, self.middle * factor, low, high)

    def split(self, most: float) -> tuple["Curve", "Curve"]:
        """What was measured, up to so many cores, and what is beyond; they meet."""
        last = int(np.searchsorted(self.cores, most * (1.0 + 1e-9)))
        return (
            Curve(self.cores[:last], self.middle[:last]),
            Curve(self.cores[max(last - 1, 0) :], self.middle[max(last - 1, 0) :]),
        )


def band(cores: Floats, values: Floats) -> Curve:
    """The middle of draws × cores with the band that holds 95 % of them."""
    return Curve(cores, *np.quantile(values, INTERVAL, axis=0))


def curve_counts(fit: SeriesFit, most_cores: float) -> Floats:
    """Core counts of a line: evenly spaced by ratio, the fewest and the most measured among them, to `most_cores`."""
    fewest, most = min(1.0, fit.counts[0]), fit.most_cores
    measured_counts, beyond = (
        np.geomspace(fewest, most, POINTS),
        np.geomspace(most, max(most_cores, most), POINTS_BEYOND),
    )
    cores: Floats = np.concatenate([measured_counts, beyond[1:]]) if most_cores > most else measured_counts
    return cores


def fit(series: Series) -> SeriesFit:
    """A series with its curve."""
    if len(set(series.cores)) < 2:
        raise SeriesFitError(series.name, _too_few_counts(series))
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
    """Every series that has a curve, and why others have none."""
    fits, complaints = [], []
    for one in series:
        try:
            fits.append(fit(one))
        except FitError as error:
            complaints.append(error)
    return fits, complaints


def by_settings(fits: Sequence[SeriesFit]) -> list[SeriesFit]:
    """A fit for each of the settings: that with the fewest threads per core, with those of all levels."""
    levels: dict[object, list[SeriesFit]] = {}
    for one in fits:
        key = one.series.key
        levels.setdefault(replace(key, smt=1) if key.settings else id(one), []).append(one)
    return [replace(group[0], levels=tuple(group)) if len(group) > 1 else group[0] for group in levels.values()]


def _too_few_counts(series: Series) -> str:
    """Why a series has no curve: it was measured at one count, or all but one are disturbed or not valid."""
    only_count = ", ".join(f"{cores:g}" for cores in sorted(set(series.cores))) or "none"
    needs = "a curve needs at least two"
    if not series.left_out:
        return f"was measured at one core count only ({only_count}); {needs}"
    broken = ", ".join(dict.fromkeys(rule for out in series.left_out for rule in out.rules))
    cores = ", ".join(map(str, sorted({out.cores for out in series.left_out})))
    points = "1 point was" if len(series.left_out) == 1 else f"{len(series.left_out)} points were"
    return (
        f"is usable at one core count only ({only_count}); {points} left out as disturbed or not valid "
        f"({cores} cores: {broken}); {needs}"
    )
