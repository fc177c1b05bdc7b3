"""Speedup and what follows from it, against one core of the same placement and settings. Pure.

Points with several threads per core have it twice: against one core with as many threads, which shows how that level
scales, and against one core with one thread, by which levels can be compared.

    strong scaling   speedup = T(1) / T(n)
    weak scaling     speedup = n T(1) / T(n), since n cores handle n times the items
    replicas         speedup = r T(1) / T(r × n): of all replicas together, over one on one core
    efficiency       speedup / n; under a CPU quota, speedup / min(n, quota); of replicas, speedup / (r n)
    Karp-Flatt       (1 / speedup - 1 / n) / (1 - 1 / n), the serial fraction that would explain the speedup
    SMT yield        T(smt 1) / T(smt k) on the same cores: what the further threads of a core bring

Each with the interval of the ratio, from both sides' launches. Launches of one cohort ran in turns with each other, and
those of one block one after another, so what they share cancels: the ratio is formed within each pair, and the location
of these ratios is the speedup. Launches know nothing of what slows all of them alike, so every interval also reaches as
far as what others took of quiet turns on either side could have moved the ratio. None is clipped: above 100 % is a
finding, not an error. Karp & Flatt, CACM 33(5), 1990.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from statistics import fmean

from scaling.analysis import rules
from scaling.analysis.curves.laws import karp_flatt
from scaling.analysis.decomposition import Decomposition, decompose
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.summary import Launch, Summary, launch_ratio
from scaling.study.planning import Point

# CPU time grows with cores where each further one adds so much of the first.
LEAST_GROWTH = 0.8


@dataclass(frozen=True)
class ScalingPoint:
    """A point's summary with its ratios; None where the point or its baseline was not measured.

    The speedup of a disturbed point has no interval: it is a lower bound, with a disturbed baseline an upper bound, and
    where both were disturbed only what was seen. `common_speedup` is against one core with one thread; that of a point
    with one thread per core is its speedup.
    """

    summary: Summary
    speedup: Estimate | None
    smt_yield: Estimate | None
    doubts: tuple[Doubt, ...]
    baseline: Summary | None = None
    common_speedup: Estimate | None = None

    @cached_property
    def decomposition(self) -> Decomposition | None:
        """What the efficiency was lost to; None where either side is not valid, or its CPU time is not known.

        A group that a quota stops is neither idle nor slow, so that it has none. Of a program that `reports_time` only
        the CPU time of the whole process is known.
        """
        if self.speedup is None or self.baseline is None or not self.summary.point.in_series:
            return None
        efficiency = self.speedup.value / self.summary.point.cores
        return decompose(self.summary, self.baseline, efficiency)

    @cached_property
    def reports_time(self) -> bool:
        """Whether all its times, or its baseline's, are reported by the program, so that nothing is decomposed."""
        sides = [side.used for side in (self.summary, self.baseline) if side and side.used]
        in_part = (all(launch.whole_process is False for launch in used) for used in sides)
        return self.summary.point.in_series and any(in_part)

    @property
    def verdict(self) -> Verdict:
        """What the ratios can be used for: no more than the point and its baseline."""
        return Verdict.worst([self.summary.verdict, *(doubt.rule.verdict for doubt in self.doubts)])

    @property
    def valid(self) -> bool:
        """Whether the ratios are ok, or imprecise and count by their weight."""
        return self.verdict.valid

    @property
    def at_least(self) -> float | None:
        """The least the speedup of a disturbed point can be: what its fastest launch shows against a sound baseline."""
        sound = not any(doubt.rule.spoils for doubt in self.doubts)
        disturbed = self.summary.verdict is Verdict.DISTURBED and not self._is_baseline
        return self.speedup.value if disturbed and sound and self.speedup else None

    @property
    def at_most(self) -> float | None:
        """The most the speedup of a sound point can be: its lowest time against the disturbed baseline's fastest."""
        step = self.summary.step
        disturbed = any(doubt.rule is rules.BASELINE_DISTURBED for doubt in self.doubts)
        sound = self.summary.valid and step is not None and step.low is not None
        return self.speedup.value if disturbed and sound and self.speedup else None

    @property
    def unknown(self) -> bool:
        """Whether nothing can be said of the speedup: point and baseline were disturbed."""
        bounded = self.at_least is not None or self.at_most is not None
        return self.verdict is Verdict.DISTURBED and not bounded and not self._is_baseline

    @property
    def stands_alone(self) -> bool:
        """Whether it was measured on a single number of cores, so that there is nothing to compare it with."""
        return any(doubt.rule is rules.ONE_CORE_COUNT for doubt in self.doubts)

    @property
    def _is_baseline(self) -> bool:
        return self.summary.point.is_baseline

    @property
    def efficiency(self) -> Estimate | None:
        """Speedup over cores, or over what a quota gives of them."""
        cores = self.summary.point.usable_cores
        return self.speedup.map(lambda speedup: speedup / cores) if self.speedup else None

    @property
    def common_efficiency(self) -> Estimate | None:
        """Speedup over one core with one thread, divided by cores; above 1 where threads yield more than is lost."""
        cores = self.summary.point.cores
        return self.common_speedup.map(lambda speedup: speedup / cores) if self.common_speedup else None

    @property
    def karp_flatt(self) -> Estimate | None:
        """The serial fraction that would explain the speedup; none at one core, with a quota, or where items grow."""
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
    baseline = by_point.get(summary.point.baseline)
    speedup = None if _is_of_fixed_time(summary, baseline) else _speedup(summary, baseline)
    single = stands_alone and baseline is None
    doubts = (Doubt(rules.ONE_CORE_COUNT),) if single else tuple(_doubts(summary, baseline, speedup))
    smt_yield, common = _smt_yield(summary, by_point), _common_speedup(summary, speedup, by_point)
    return ScalingPoint(summary, speedup, smt_yield, doubts, baseline, common)


def _common_speedup(summary: Summary, speedup: Estimate | None, by_point: Mapping[Point, Summary]) -> Estimate | None:
    """The speedup over one core with one thread; None where that was not measured."""
    if summary.point.smt == 1:
        return speedup
    return _speedup(summary, by_point.get(replace(summary.point.baseline, smt=1)))


def _is_of_fixed_time(summary: Summary, baseline: Summary | None) -> bool:
    """Whether a program takes as long as on one core while its CPU time, but not its items, grows with the cores."""
    if baseline is None or summary is baseline or summary.point.scale == "weak":
        return False
    if not (summary.step and baseline.step):
        return False
    launches = (*summary.used, *baseline.used)
    if not (summary.used and baseline.used) or not all(launch.whole_process for launch in launches):
        return False
    busy = [[launch.cpus_busy or 0.0 for launch in side.used] for side in (summary, baseline)]
    alike = abs(log(summary.step.value / baseline.step.value)) <= rules.FIXED_TIME.limit
    return alike and fmean(busy[0]) >= (1 + LEAST_GROWTH * (summary.point.cores - 1)) * fmean(busy[1]) > 0


def _speedup(summary: Summary, baseline: Summary | None) -> Estimate | None:
    if summary.step is None or baseline is None or baseline.step is None:
        return None
    if summary is baseline:
        return Estimate(1.0, 1.0, 1.0)  # by definition, not by measurement
    times = _times(summary.point)
    return ratio(baseline, summary).map(lambda ratio: times * ratio)


def _times(point: Point) -> int:
    """How many times the items of one core a point handles in a step of each of its replicas."""
    return point.measured_replicas * (point.cores if point.scale == "weak" else 1)


def ratio(above: Summary, below: Summary) -> Estimate:
    """Step time over step time, by pairs of launches that were made together."""
    assert above.step
    assert below.step
    if not (above.valid and below.valid):
        return Estimate(_bound(above, below))
    over_launches = launch_ratio(above.used, below.used, _seconds)
    assert over_launches
    return over_launches.reach_further(above.reach.over(below.reach))


def _bound(above: Summary, below: Summary) -> float:
    """A ratio with one side disturbed, which noise only makes slower: at most this above, at least this below."""
    assert above.step
    assert below.step
    if above.verdict is Verdict.DISTURBED and below.valid:
        return above.step.value / (below.step.low or below.step.value)
    return (above.step.low or above.step.value) / below.step.value


def _seconds(launch: Launch) -> float | None:
    return launch.seconds


def _smt_yield(summary: Summary, by_point: Mapping[Point, Summary]) -> Estimate | None:
    if summary.point.smt == 1 or summary.step is None:
        return None
    single = by_point.get(replace(summary.point, smt=1))
    return ratio(single, summary) if single and single.step else None


def _doubts(summary: Summary, baseline: Summary | None, speedup: Estimate | None) -> Iterator[Doubt]:
    """What speaks against the ratios of a point, beyond what speaks against the point."""
    if baseline is None or baseline.step is None:
        yield Doubt(rules.NO_BASELINE, detail="one core was not measured")
        return
    if _is_of_fixed_time(summary, baseline):
        yield Doubt(rules.FIXED_TIME)
    if summary is not baseline and not baseline.valid:
        disturbed = baseline.verdict is Verdict.DISTURBED
        names = ", ".join(doubt.rule.name for doubt in baseline.doubts)
        yield Doubt(rules.BASELINE_DISTURBED if disturbed else rules.NO_BASELINE, detail=names)
    if speedup and baseline.valid and summary.verdict is Verdict.OK:
        yield from _about_width(speedup)
    amount = baseline.drift
    if amount is not None:
        yield Doubt(rules.DRIFT, amount)


def _about_width(speedup: Estimate) -> Iterator[Doubt]:
    if speedup.half_width is None:
        yield Doubt(rules.NO_ANSWER)
    elif speedup.half_width > rules.WIDE.limit:
        yield Doubt(rules.WIDE, speedup.half_width)
