"""Speedup and the figures derived from it, over one core with the same placement and settings. Pure.

Points with several threads per core have two speedups: over one core with equally many threads, which shows how that
level scales, and over one core with one thread, which makes levels comparable.

    strong scaling   speedup = T(1) / T(n)
    weak scaling     speedup = n T(1) / T(n), since n cores handle n times the items
    replicas         speedup = r T(1) / T(r × n): of all replicas together, over one on one core
    efficiency       speedup / n; under a CPU quota, speedup / min(n, quota); of replicas, speedup / (r n)
    Karp-Flatt       (1 / speedup - 1 / n) / (1 - 1 / n), the serial fraction that would explain the speedup
    SMT yield        T(smt 1) / T(smt k) on the same cores: the gain of the further threads of a core

Each has the interval of the ratio, from both sides' launches. Launches of one cohort ran in turns with each other, and
launches of one block one after another, so their common conditions cancel: the ratio is formed within each pair, and
the location of these ratios is the speedup. Launches do not show conditions that slow all of them alike, so every
interval is widened by the effect of CPU time that others took of quiet turns on either side. Ratios are not clipped:
above 100 % is a finding, not an error. Karp & Flatt, CACM 33(5), 1990.

The number of launches that a point needs for a precision follows from its interval. A launch costs its start-up, a step
its own time, and the variance of a mean over n launches of r steps is (between + step / r) / n. So for a given time the
best number of steps in a launch does not depend on n (Kalibera & Jones, Rigorous benchmarking in reasonable time, ISMM
2013):

    r = sqrt(start-up cost / step cost * step variance / variance between launches)
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, log, sqrt
from statistics import fmean, median, variance

from scaling.analysis import rules
from scaling.analysis.decomposition import Decomposition, decompose
from scaling.analysis.doubts import about_baseline, about_drift, about_missing_baseline, about_single_count, about_width
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.serial_fraction import karp_flatt
from scaling.analysis.summary import Launch, Summary, launch_ratio
from scaling.study.planning import Point

# The fewest launches with a variance between them.
LEAST_LAUNCHES = 2


@dataclass(frozen=True)
class ScalingPoint:
    """A point's summary with its ratios; None if the point or its baseline was not measured.

    The speedup of a disturbed point has no interval: it is a lower bound, with a disturbed baseline an upper bound, and
    with both disturbed merely an observation. `common_speedup` is over one core with one thread, and equals `speedup`
    for points with one thread per core.
    """

    summary: Summary
    speedup: Estimate | None
    smt_yield: Estimate | None
    doubts: tuple[Doubt, ...]
    baseline: Summary | None = None
    common_speedup: Estimate | None = None

    @cached_property
    def decomposition(self) -> Decomposition | None:
        """Its efficiency losses; None if either side is not valid or its CPU time is unknown.

        None also under a quota, since a stopped group is neither idle nor slow, and for a program that `reports_time`,
        since only the CPU time of the whole process is known.
        """
        if self.speedup is None or self.baseline is None or not self.summary.point.in_series:
            return None
        efficiency = self.speedup.value / self.summary.point.cores
        return decompose(self.summary, self.baseline, efficiency)

    @cached_property
    def reports_time(self) -> bool:
        """Whether the program reports all its times, or its baseline's, so that losses are unknown."""
        sides = [side.used for side in (self.summary, self.baseline) if side and side.used]
        in_part = (all(launch.whole_process is False for launch in used) for used in sides)
        return self.summary.point.in_series and any(in_part)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the ratios: no better than the point and its baseline."""
        return Verdict.worst([self.summary.verdict, *(doubt.rule.verdict for doubt in self.doubts)])

    @property
    def valid(self) -> bool:
        """Whether the ratios are ok, or imprecise and count by their weight."""
        return self.verdict.valid

    @property
    def at_least(self) -> float | None:
        """A lower bound of a disturbed point's speedup: its fastest launch over a sound baseline."""
        sound = not any(doubt.rule.spoils for doubt in self.doubts)
        disturbed = self.summary.verdict is Verdict.DISTURBED and not self._is_baseline
        return self.speedup.value if disturbed and sound and self.speedup else None

    @property
    def at_most(self) -> float | None:
        """An upper bound of a sound point's speedup: its lowest time over a disturbed baseline's fastest."""
        step = self.summary.step
        disturbed = any(doubt.rule is rules.BASELINE_DISTURBED for doubt in self.doubts)
        sound = self.summary.valid and step is not None and step.low is not None
        return self.speedup.value if disturbed and sound and self.speedup else None

    @property
    def unknown(self) -> bool:
        """Whether nothing is known of the speedup, because both point and baseline were disturbed."""
        bounded = self.at_least is not None or self.at_most is not None
        return self.verdict is Verdict.DISTURBED and not bounded and not self._is_baseline

    @property
    def _is_baseline(self) -> bool:
        return self.summary.point.is_baseline

    @property
    def efficiency(self) -> Estimate | None:
        """Speedup per core, or per usable core under a quota."""
        cores = self.summary.point.usable_cores
        return self.speedup.map(lambda speedup: speedup / cores) if self.speedup else None

    @property
    def common_efficiency(self) -> Estimate | None:
        """Speedup over one core with one thread, per core; above 1 if threads gain more than cores lose."""
        cores = self.summary.point.cores
        return self.common_speedup.map(lambda speedup: speedup / cores) if self.common_speedup else None

    @property
    def karp_flatt(self) -> Estimate | None:
        """The serial fraction that would explain the speedup; None on one core, with a quota, or under weak scaling."""
        point = self.summary.point
        if self.speedup is None or point.cores == 1 or point.scale == "weak" or not point.in_series:
            return None
        return self.speedup.map(lambda speedup: float(karp_flatt(speedup, point.cores)))

    @property
    def all_doubts(self) -> tuple[Doubt, ...]:
        """Every doubt about the point and its ratios."""
        return (*self.summary.doubts, *self.doubts)


def speedups(summaries: Sequence[Summary]) -> list[ScalingPoint]:
    """Every summary with its ratios, in the same order."""
    by_point = {summary.point: summary for summary in summaries}
    in_series = Counter(point.baseline for point in by_point)
    return [_scaling_point(summary, by_point, in_series[summary.point.baseline] == 1) for summary in summaries]


def _scaling_point(summary: Summary, by_point: Mapping[Point, Summary], stands_alone: bool) -> ScalingPoint:
    point, baseline = summary.point, by_point.get(summary.point.baseline)
    fixed_time = any(doubt.rule is rules.FIXED_TIME for doubt in summary.doubts)
    speedup = common = None if fixed_time else _speedup(summary, baseline)
    smt_yield = None
    if point.smt > 1:
        common = _speedup(summary, by_point.get(replace(point.baseline, smt=1)))
        smt_yield = ratio(by_point.get(replace(point, smt=1)), summary)
    single = stands_alone and baseline is None
    doubts = about_single_count() if single else _doubts(summary, baseline, speedup)
    return ScalingPoint(summary, speedup, smt_yield, tuple(doubts), baseline, common)


def _speedup(summary: Summary, baseline: Summary | None) -> Estimate | None:
    if summary is baseline and summary.step:
        return Estimate(1.0, 1.0, 1.0)  # by definition, not by measurement
    over_baseline = ratio(baseline, summary)
    point = summary.point
    # A step handles this multiple of the items of one core.
    multiple = point.measured_replicas * (point.cores if point.scale == "weak" else 1)
    return over_baseline.map(lambda value: multiple * value) if over_baseline else None


def ratio(above: Summary | None, below: Summary) -> Estimate | None:
    """Step time over step time, by pairs of launches that were made together; None if a side has no step time."""
    if above is None or above.step is None or below.step is None:
        return None
    if above.valid and below.valid:
        over_launches = launch_ratio(above.used, below.used, lambda launch: launch.seconds)
        assert over_launches
        return over_launches.reach_further(above.reach.over(below.reach))
    # Noise only slows a disturbed side down: at most this if it is above, at least this if it is below.
    if above.verdict is Verdict.DISTURBED and below.valid:
        return Estimate(above.step.value / (below.step.low or below.step.value))
    return Estimate((above.step.low or above.step.value) / below.step.value)


def _doubts(summary: Summary, baseline: Summary | None, speedup: Estimate | None) -> Iterator[Doubt]:
    if baseline is None or baseline.step is None:
        yield from about_missing_baseline()
        return
    if summary is not baseline:
        yield from about_baseline(baseline.verdict, baseline.doubts)
    if speedup and baseline.valid and summary.verdict is Verdict.OK:
        yield from about_width(speedup.half_width)
    yield from about_drift(baseline.drift)


def steps_per_launch(launches: Sequence[Launch]) -> int | None:
    """The best number of steady steps in the next launch; None if it is unknown or any number is as good."""
    known = [launch for launch in launches if launch.seconds and launch.steps]
    walls = [(one.wall_seconds, one.run_seconds) for one in known]
    start_ups = [wall - run for wall, run in walls if wall is not None and run is not None]
    if len(known) < LEAST_LAUNCHES or not start_ups:
        return None
    seconds = [launch.seconds or inf for launch in known]
    step = fmean(launch.step_noise**2 for launch in known)
    # The variance between launches that their steps do not explain.
    between = variance(map(log, seconds)) - step * fmean(1 / launch.steps for launch in known)
    if between <= 0 or step <= 0:
        return None
    return max(1, ceil(sqrt(median(start_ups) / median(seconds) * step / between)))


def launches_needed(point: ScalingPoint, precision: float) -> float:
    """The launches that should bring a point's speedup, or on the fewest cores its time, to a precision.

    From n launches with half width h, n (h / precision)² (Stein's rule with the present quantile of Student's t);
    infinite without an interval, and 0 if every launch failed, since further ones would too.
    """
    if point.summary.step is None:
        return 0
    return enlarged(len(point.summary.launches), precision_of(point), precision)


def enlarged(number: int, half_width: float | None, precision: float) -> float:
    """The number of launches that should have a precision, from the half width of the present ones."""
    return inf if half_width is None else ceil(number * (half_width / precision) ** 2)


def precision_of(point: ScalingPoint) -> float | None:
    """The relative half width of a point's speedup or, on one core and without a speedup, of its time."""
    estimate = point.summary.step if point.summary.point.cores == 1 else point.speedup or point.summary.step
    return estimate.half_width if estimate else None
