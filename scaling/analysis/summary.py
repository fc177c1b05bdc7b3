"""Points from their launches: an estimate with its interval and a verdict per point. Pure.

The launch is the unit of replication: each counts once, by the mean of the steps of its quiet turns, however many these
are. Launches that measured another point, or that others visibly disturbed, are left out; no launch is left out for its
result. Invisible disturbances, such as neighbours on the same cores, are part of the host and its intervals.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from math import exp, log, sqrt
from statistics import fmean, median, quantiles

from scaling.analysis import estimates, rules
from scaling.analysis.distributions import student_p, student_t
from scaling.analysis.doubts import about_clock, about_fixed_time, about_launches, about_turns
from scaling.analysis.energy import EnergyFigures, LaunchEnergy, energy_figures
from scaling.analysis.estimates import NO_REACH, Estimate, Reach
from scaling.analysis.packs import Pack
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.step_times import STEP_FIGURES, StepTimes
from scaling.analysis.turns import Adjusted, Slope, TurnTimes, adjust, share_taken, slope
from scaling.machine.topology import CpuSet
from scaling.study.planning import Point

# Keeps the ends of an interval finite, whatever others took.
LARGEST_REACH = 0.99
# CPU time grows with cores if each further core adds at least this share of the first.
LEAST_GROWTH = 0.8
# A drift is a doubt only if it is also significant.
DRIFT_SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of a point for the analysis; a failed run has no seconds but a `reason`.

    A run that was `not_started` for lack of resources says nothing about its point.
    A run that took turns with the other points of its series shares their `cohort`. If others disturbed all its turns,
    its seconds may be `adjusted` for that. A program is timed as a `whole_process`, from start to exit, or reports
    times itself, whose CPU time is unknown; other runs have None there. Launches of another tool's file are not
    `witnessed`: only their time is known. `started` is in seconds since the epoch. `cpus_busy` is CPU time per second,
    `clock_hz` cycles per second of CPU time, `ipc` instructions per cycle, `throttled_share` the share of its quota's
    periods in which it was stopped, `pipeline_share` the share of its CPU time in the input pipeline. `rates` are items
    per second by round, for all replicas of a `pack`. `energy` is for one step, if it was metered. `figures` are
    further values that the workload reports, each as the median over steps.
    """

    point: Point
    number: int
    seconds: float | None
    items: int | None = None
    wall_seconds: float | None = None
    reason: str | None = None
    not_started: bool = False
    steps: int = 0
    step_noise: float = 0.0
    run_seconds: float | None = None
    mhz: float | None = None
    truth: StatedTruth | None = None
    doubts: tuple[Doubt, ...] = ()
    turns: tuple[TurnTimes, ...] = ()
    cohort: str | None = None
    adjusted: Adjusted | None = None
    whole_process: bool | None = None
    witnessed: bool = True
    cpus_busy: float | None = None
    ipc: float | None = None
    clock_hz: float | None = None
    peak_memory_bytes: int | None = None
    step_times: StepTimes | None = None
    throttled_share: float | None = None
    pipeline_share: float | None = None
    cpus: CpuSet = frozenset()
    rates: tuple[tuple[int, float], ...] = ()
    pack: Pack | None = None
    energy: LaunchEnergy | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    started: float | None = None

    @property
    def spoiled(self) -> bool:
        """Whether it is left out of its point."""
        return bool(self.doubts) and any(doubt.rule.spoils for doubt in self.doubts)

    @property
    def misplaced(self) -> bool:
        """Whether it measured another point than intended."""
        return bool(self.doubts) and any(doubt.rule.verdict is Verdict.NOT_VALID for doubt in self.doubts)

    @property
    def group(self) -> str:
        """The cohort, or else the block, of launches that were made together."""
        return self.cohort or str(self.number)


@dataclass(frozen=True, slots=True)
class HostSlowdown:
    """The mean steps of all turns over the step time: quantiles of the ratio, and the share of quiet turns.

    A launch that had the machine to itself is one turn. Without `turns` it is interpolated between measured counts.
    """

    p10: float
    p50: float
    p90: float
    quiet_share: float
    turns: int


@dataclass(frozen=True)
class Summary:
    """A point over its launches: its estimate, its launches and its doubts.

    A disturbed point has the step time of its fastest launch, an upper bound without an interval. `disturbed` are the
    launches left out for disturbances. `turn_ratios` are the mean steps of all turns over the step time, by launch, and
    `slowdown` summarises them; they were watched for `watched_seconds`, from the first to the last. `reach` is the
    error of the step time due to CPU time taken by others, which the launches do not show.
    """

    point: Point
    step: Estimate | None
    items: int | None
    used: tuple[Launch, ...]
    left_out: int
    failed: tuple[Launch, ...]
    doubts: tuple[Doubt, ...]
    verdict: Verdict
    slowdown: HostSlowdown | None = None
    disturbed: tuple[Launch, ...] = ()
    turn_ratios: tuple[tuple[float, ...], ...] = ()
    reach: Reach = NO_REACH
    watched_seconds: float | None = None

    def __repr__(self) -> str:
        return f"<Summary of {self.point.subject} on {self.point.cores} cores: {self.step}, {self.verdict.value}>"

    @property
    def valid(self) -> bool:
        """Whether fits use it: it is ok, or imprecise and counts by its weight."""
        return self.verdict.valid

    @property
    def launches(self) -> tuple[float, ...]:
        """The seconds of the launches that count, in the order of their numbers."""
        return tuple(launch.seconds for launch in self.used if launch.seconds is not None)

    @property
    def made(self) -> tuple[Launch, ...]:
        """The launches that count and the disturbed ones."""
        return (*self.used, *self.disturbed)

    @property
    def has_failed(self) -> bool:
        """Whether any launch was started and failed."""
        return any(not launch.not_started for launch in self.failed)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why launches failed, each reason once."""
        return tuple(dict.fromkeys(launch.reason or "no step was measured" for launch in self.failed))

    @cached_property
    def step_times(self) -> tuple[StepTimes, ...]:
        """All counted steps of its launches, over the step time of the point."""
        level = self.step.value if self.step else 0.0
        return tuple(replace(steps, level=level) for steps in self._steps())

    def _steps(self) -> list[StepTimes]:
        return [one.step_times for one in (self.made if self.step else ()) if one.witnessed and one.step_times]

    @cached_property
    def drift(self) -> float | None:
        """The relative change from its first launch to its last, if it is significant; None for another tool's file."""
        moved = drift(self.used)
        if moved is None or not all(launch.witnessed for launch in self.used):
            return None
        amount, chance = moved[0].value - 1, moved[1]
        return amount if abs(amount) > rules.DRIFT.limit and chance < DRIFT_SIGNIFICANCE else None

    @cached_property
    def peak_memory_bytes(self) -> float | None:
        """The median over launches, disturbed or not, of their peak memory; None if it is unknown."""
        known = _known(self.made, "peak_memory_bytes")
        return median(known) if known else None

    @cached_property
    def throttled_share(self) -> float | None:
        """The mean share of its CPU quota's periods in which it was stopped; None without a quota."""
        known = _known(self.used, "throttled_share")
        return fmean(known) if known else None

    @cached_property
    def pipeline_share(self) -> float | None:
        """The mean share of CPU time in its input pipeline, over all launches; None without a pipeline."""
        known = _known(self.made, "pipeline_share")
        return fmean(known) if known else None

    @cached_property
    def rate(self) -> Estimate | None:
        """Items per second of all replicas together; a bound for a disturbed point, None without a step time."""
        together = [launch.pack.items_per_second for launch in self.used if launch.pack]
        if self.valid and together and min(together) > 0:
            return estimates.location(together)
        items = (self.items or 0) * self.point.replicas
        return self.step.map(lambda seconds: items / seconds) if self.step and items else None

    @cached_property
    def energy(self) -> EnergyFigures | None:
        """The figures of merit of a step over its metered launches; None without a meter."""
        return energy_figures([launch.energy for launch in self.metered if launch.energy], self.items)

    @property
    def metered(self) -> tuple[Launch, ...]:
        """The launches whose energy counts: the used ones or, for a disturbed point, all."""
        return tuple(launch for launch in self.used or self.disturbed if launch.energy)

    @cached_property
    def launch_count(self) -> int:
        """The number of launches that count."""
        return len(self.used)

    @cached_property
    def step_counts(self) -> tuple[int, int] | None:
        """The fewest and the most counted steps of a launch; None if no launch has any."""
        counts = [steps.count for steps in self._steps()]
        return (min(counts), max(counts)) if counts else None

    @cached_property
    def step_figures(self) -> dict[str, Estimate | None]:
        """Mean, standard deviation, coefficient of variation and quantiles of all steps, by name."""
        launches = [steps.figures for steps in self._steps()]
        columns = zip(*launches, strict=True) if launches else repeat(())
        return dict(zip(STEP_FIGURES, map(estimates.over_launches, columns), strict=False))

    def figure(self, name: str) -> Estimate | None:
        """A further value that the workload reports, with its interval over launches; None without it."""
        return estimates.over_launches(launch.figures.get(name) for launch in (self.used or self.disturbed))

    def quantile(self, level: float) -> Estimate | None:
        """The time within which this share of steps lies, with its interval over launches; None with too few steps."""
        return estimates.over_launches(steps.quantile(level) for steps in self._steps())


def summarize(launches: Iterable[Launch]) -> list[Summary]:
    """A summary for every point, in table order: by axes, then by cores."""
    by_point: dict[Point, list[Launch]] = defaultdict(list)
    for launch in launches:
        by_point[launch.point].append(launch)
    summaries = {
        point: _summary(point, sorted(by_point[point], key=lambda launch: launch.number))
        for point in sorted(by_point, key=table_order)
    }
    return [
        _of_fixed_time(summary) if _is_of_fixed_time(summary, summaries.get(point.baseline)) else summary
        for point, summary in summaries.items()
    ]


def _of_fixed_time(summary: Summary) -> Summary:
    return replace(summary, verdict=Verdict.NOT_VALID, doubts=(*summary.doubts, about_fixed_time()))


def _is_of_fixed_time(summary: Summary, baseline: Summary | None) -> bool:
    """Whether a program takes as long as on one core while its CPU time, but not its items, grows with cores."""
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


def _summary(point: Point, launches: Sequence[Launch]) -> Summary:
    measured = _with_doubts([launch for launch in launches if launch.seconds is not None])
    used = [launch for launch in measured if not launch.spoiled]
    reach = reach_of(used)
    location = estimates.location(_known(used, "seconds")).reach_further(reach) if used else None
    corrections = [launch.adjusted.correction for launch in used if launch.adjusted]
    half_width = location.half_width if location else None
    about_point = tuple(about_launches(_known(used, "seconds"), half_width, corrections))
    verdict = _verdict(used, launches, measured, about_point)
    step = _step(verdict, location, measured)
    turns = [_turns(one) for one in measured if one.witnessed and not one.misplaced] if step else []
    return Summary(
        point=point,
        step=step,
        items=measured[0].items if measured else None,
        used=tuple(used),
        left_out=len(measured) - len(used),
        failed=tuple(launch for launch in launches if not launch.seconds),
        doubts=(*about_point, *_launch_doubts(measured)),
        verdict=verdict,
        slowdown=_slowdown(list(chain(*turns)), step.value) if turns and step else None,
        disturbed=tuple(launch for launch in measured if launch.spoiled and not launch.misplaced),
        turn_ratios=tuple(tuple(seconds / step.value for seconds, _ in launch) for launch in turns) if step else (),
        reach=reach,
        watched_seconds=_watched_seconds(measured),
    )


def _watched_seconds(launches: Sequence[Launch]) -> float | None:
    known = [(one.started, one.started + (one.wall_seconds or 0.0)) for one in launches if one.started is not None]
    return max(end for _, end in known) - min(start for start, _ in known) if known else None


def _known(launches: Iterable[Launch], name: str) -> list[float]:
    return [value for launch in launches if (value := getattr(launch, name)) is not None]


def reach_of(launches: Sequence[Launch]) -> Reach:
    """The error common to launches that count: slowed by others, or adjusted by too much or too little."""
    taken = share_taken(turn for launch in launches for turn in launch.turns)
    uncertain = fmean([one.adjusted.uncertain if one.adjusted else 0.0 for one in launches] or [0.0])
    either_way = 1 - exp(-uncertain)
    return Reach(min(LARGEST_REACH, 1 - (1 - taken) * (1 - either_way)), min(LARGEST_REACH, either_way))


def _verdict(
    used: Sequence[Launch], made: Sequence[Launch], measured: Sequence[Launch], about_point: Sequence[Doubt]
) -> Verdict:
    """The verdict of a point; with too few launches, by the fate of most others."""
    missing = len(made) - len(used)
    if len(used) < rules.FEW_LAUNCHES.limit and missing:
        disturbed = sum(launch.spoiled and not launch.misplaced for launch in measured)
        return Verdict.DISTURBED if 2 * disturbed >= missing else Verdict.NOT_VALID
    return Verdict.worst(doubt.rule.verdict for doubt in about_point)


def _step(verdict: Verdict, location: Estimate | None, measured: Sequence[Launch]) -> Estimate | None:
    """The step time: a bound for a disturbed point, the measured one even if a point is not valid."""
    if verdict is Verdict.DISTURBED:
        return Estimate(min(_known((launch for launch in measured if not launch.misplaced), "seconds")))
    if verdict is Verdict.NOT_VALID and location is None:
        return estimates.location(_known(measured, "seconds")) if measured else None
    return location


def _turns(launch: Launch) -> list[tuple[float, bool]]:
    """The mean step of every turn, and whether it was quiet; a launch without turns is one turn."""
    assert launch.seconds is not None
    return [(turn.seconds, turn.quiet) for turn in launch.turns] or [(launch.seconds, not launch.spoiled)]


def _slowdown(turns: Sequence[tuple[float, bool]], step: float) -> HostSlowdown:
    ratios = [seconds / step for seconds, _ in turns]
    deciles = quantiles(ratios, n=10, method="inclusive") if len(ratios) > 1 else ratios * 9
    return HostSlowdown(deciles[0], deciles[4], deciles[8], fmean(quiet for _, quiet in turns), len(ratios))


def _launch_doubts(launches: Sequence[Launch]) -> Iterable[Doubt]:
    by_rule: dict[str, list[Doubt]] = {}
    for launch in launches:
        for doubt in launch.doubts:
            by_rule.setdefault(doubt.rule.name, []).append(doubt)
    for doubts in by_rule.values():
        yield replace(max(doubts, key=lambda doubt: abs(doubt.amount)), launches=len(doubts), of=len(launches))


def _with_doubts(launches: Sequence[Launch]) -> list[Launch]:
    """The launches with the doubts that follow from turns and clocks; if few are quiet, the others adjusted."""
    fastest = max((launch.mhz or 0.0 for launch in launches), default=0.0)
    launches = [_with_own_doubts(launch, fastest) for launch in launches]
    few = sum(not launch.spoiled for launch in launches) < rules.FEW_LAUNCHES.limit
    by = slope([launch.turns for launch in launches if not launch.misplaced]) if few else None
    return [_adjusted(launch, by) for launch in launches] if by else launches


def _with_own_doubts(launch: Launch, fastest: float) -> Launch:
    turns = () if launch.spoiled else about_turns([turn.quiet for turn in launch.turns])
    own = (*turns, *about_clock(launch.mhz, fastest))
    return replace(launch, doubts=(*launch.doubts, *own)) if own else launch


def _adjusted(launch: Launch, by: Slope) -> Launch:
    """The launch adjusted for disturbance, if nothing else is wrong with it.

    Launches stopped by their own quota are not adjusted, nor packs, whose replicas wait separately.
    """
    broken = {doubt.rule for doubt in launch.doubts if doubt.rule.spoils}
    other = adjust(launch.turns, by) if broken == {rules.NO_QUIET_TURN} and launch.point.in_series else None
    if other is None:
        return launch
    doubts = tuple(doubt for doubt in launch.doubts if doubt.rule is not rules.NO_QUIET_TURN)
    return replace(launch, seconds=other.seconds, doubts=doubts, adjusted=other)


def drift(launches: Sequence[Launch]) -> tuple[Estimate, float] | None:
    """The ratio of a point's last launch to its first, with the probability of chance.

    A straight line through the logarithms in the order of launches; None with fewer than three.
    """
    logs = [log(launch.seconds) for launch in launches if launch.seconds]
    count = len(logs)
    if count < 3:
        return None
    times = [number - (count - 1) / 2 for number in range(count)]
    spread = sum(time * time for time in times)
    slope = sum(time * value for time, value in zip(times, logs, strict=True)) / spread
    centre = fmean(logs)
    rest = sum((value - centre - slope * time) ** 2 for time, value in zip(times, logs, strict=True))
    moved, error = slope * (count - 1), sqrt(rest / (count - 2) / spread) * (count - 1)
    if error == 0:
        return Estimate(exp(moved)), 1.0 if moved == 0 else 0.0
    reach = student_t(count - 2) * error
    interval = Estimate(exp(moved), exp(max(-700, moved - reach)), exp(min(700, moved + reach)))
    return interval, student_p(moved / error, count - 2)


def launch_ratio(
    above: Sequence[Launch], below: Sequence[Launch], value: Callable[[Launch], float | None]
) -> Estimate | None:
    """The ratio of a value of launches, by pairs made together if there are three; None if a side lacks it."""
    partners = {launch.group: value(launch) for launch in above if launch.witnessed}
    both = [(partners.get(launch.group), value(launch)) for launch in below if launch.witnessed]
    pairs = [one / other for one, other in both if one and other]
    if len(pairs) >= rules.FEW_LAUNCHES.limit and not estimates.are_equal(pairs):
        return estimates.location(pairs)
    values, others = ([known for launch in side if (known := value(launch))] for side in (above, below))
    return estimates.ratio(values, others) if values and others else None


# Points are sorted by these settings, then by the others, then by cores.
SORTED_FIRST = ("workload", "mode", "size", "items", "placement", "smt", "replicas", "quota", "intra", "inter")
_OTHERS = (name for name in Point.__dataclass_fields__ if name not in (*SORTED_FIRST, "cores"))
_SORTED_BY = (*SORTED_FIRST, *_OTHERS, "cores")


def table_order(point: Point) -> tuple[object, ...]:
    """The sort key of points in a table; within a setting no value comes first, then numbers, then words."""
    return tuple(_order(getattr(point, name)) for name in _SORTED_BY)


def _order(value: float | str | None) -> tuple[int, float, str]:
    if isinstance(value, str):
        return 2, 0, value
    return (0, 0, "") if value is None else (1, value, "")


@dataclass(frozen=True, slots=True)
class PointSelection:
    """The points that fits use, and the measured ones left out as disturbed or not valid."""

    taken: tuple[Summary, ...]
    left_out: tuple[Summary, ...]

    @property
    def launches(self) -> list[Launch]:
        """The launches that count of the points taken."""
        return [launch for summary in self.taken for launch in summary.used]


def select_points(summaries: Iterable[Summary]) -> PointSelection:
    """The points that fits use, which are ok or imprecise, and the other measured ones."""
    measured = [summary for summary in summaries if summary.step is not None]
    return PointSelection(
        tuple(summary for summary in measured if summary.valid),
        tuple(summary for summary in measured if not summary.valid),
    )
