"""Points from their launches: an estimate with its interval and a verdict per point. Pure.

The launch is the unit of replication: each counts once, by the mean of the steps of its quiet turns, however many it
took. A launch that measured another point, or that others are seen to have disturbed, is not used; none is left
out for its result. What cannot be seen, as neighbours on the same cores, is part of the host, and in the interval.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from math import exp, log, sqrt
from statistics import fmean, median, quantiles

from scaling.analysis import estimates, rules
from scaling.analysis.adjustment import Adjusted, Slope, adjust, slope
from scaling.analysis.energy import EnergyFigures, LaunchEnergy, energy_figures
from scaling.analysis.estimates import NO_REACH, Estimate, Reach
from scaling.analysis.packs import Pack
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.step_times import STEP_FIGURES, StepTimes
from scaling.analysis.truth import StatedTruth
from scaling.analysis.turns import TurnTimes, share_taken
from scaling.machine.cpulist import CpuSet
from scaling.study.planning import Point

# A time that may be anything has no interval worth the name, but one that has ends.
LARGEST_REACH = 0.99

# A drift is a doubt only where it is also more than chance.
DRIFT_SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of a point as the analysis sees it; without seconds it failed, for the reason given.

    A run that took turns with the other points of its series has a `cohort`, which they share. One that others
    disturbed in all its turns may have been `adjusted` for what they took, as its seconds then are. Those of a program
    are of its `whole_process`, from start to exit, or times that it reports itself, of which the CPU time is not known;
    any other run has None there. One that is not `witnessed` is of another tool's file, which says
    nothing but its time. It `started` at a second of the epoch. `cpus_busy` is its CPU time per second, `clock_hz` its
    cycles per second of CPU time, `ipc` its instructions per cycle, `throttled_share` the share of the periods of its
    CPU quota in which it ran into it, `pipeline_share` the share of its CPU time that its input pipeline took. `rates`
    are items per second, round by round; of a `pack` those of all its replicas. `energy` is that of a step, where it
    was metered. `figures` are what its workload reports beside its steps, each in the median of them.
    """

    point: Point
    number: int
    seconds: float | None
    items: int | None = None
    wall_seconds: float | None = None
    reason: str | None = None
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
        """Whether it measured another point than it was meant to."""
        return bool(self.doubts) and any(doubt.rule.verdict is Verdict.NOT_VALID for doubt in self.doubts)


@dataclass(frozen=True, slots=True)
class HostSlowdown:
    """The mean steps of all turns over the step time: quantiles of the ratio, and the share of turns that was quiet.

    A launch that had the machine to itself is one turn. Without `turns` of its own it stands between counts that have.
    """

    p10: float
    p50: float
    p90: float
    quiet_share: float
    turns: int


@dataclass(frozen=True)
class Summary:
    """A point over its launches: the figure, what it rests on, and what speaks against it.

    The step time of a disturbed point is that of its fastest launch, an upper bound without an interval. Launches that
    were left out for what happened beside them are `disturbed`. `turn_ratios` are the mean steps of all turns over the
    step time, launch by launch, and `slowdown` sums them up; they were watched for `watched_seconds`, from the first to
    the last. `reach` is by how much the step time may be off for what
    others took, which the launches do not show.
    """

    point: Point
    step: Estimate | None
    items: int | None
    used: tuple[Launch, ...]
    left_out: int
    failures: tuple[str, ...]
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
        """Whether fits take it: it is ok, or imprecise and counts by its weight."""
        return self.verdict.valid

    @property
    def launches(self) -> tuple[float, ...]:
        """The seconds of the launches that count, in the order they were made."""
        return tuple(launch.seconds for launch in self.used if launch.seconds is not None)

    @cached_property
    def step_times(self) -> tuple[StepTimes, ...]:
        """All counted steps of its launches, over the step time of the point."""
        level = self.step.value if self.step else 0.0
        return tuple(replace(steps, level=level) for _, steps in self._launches_with_steps())

    def _launches_with_steps(self) -> list[tuple[Launch, StepTimes]]:
        launches = (*self.used, *self.disturbed) if self.step else ()
        return [(one, one.step_times) for one in launches if one.witnessed and one.step_times]

    @cached_property
    def drift(self) -> float | None:
        """By how much it moved from its first launch to its last, where that is more than chance and the limit.

        None for runs of another tool's file, which have no blocks that could be compared.
        """
        moved = drift(self.used)
        if moved is None or not all(launch.witnessed for launch in self.used):
            return None
        amount, chance = moved[0].value - 1, moved[1]
        return amount if abs(amount) > rules.DRIFT.limit and chance < DRIFT_SIGNIFICANCE else None

    @cached_property
    def peak_memory_bytes(self) -> float | None:
        """The most memory a launch has had at once, disturbed or not, in the median; None where it is not known."""
        launches = (*self.used, *self.disturbed)
        known = [launch.peak_memory_bytes for launch in launches if launch.peak_memory_bytes is not None]
        return median(known) if known else None

    @cached_property
    def throttled_share(self) -> float | None:
        """The share of the periods of its CPU quota in which it ran into it, over launches; None without a quota."""
        known = [launch.throttled_share for launch in self.used if launch.throttled_share is not None]
        return fmean(known) if known else None

    @cached_property
    def pipeline_share(self) -> float | None:
        """The share of its CPU time that its pipeline took, over all launches; None without a pipeline."""
        launches = (*self.used, *self.disturbed)
        known = [launch.pipeline_share for launch in launches if launch.pipeline_share is not None]
        return fmean(known) if known else None

    @cached_property
    def rate(self) -> Estimate | None:
        """Items per second of all replicas together; a bound of a disturbed point, None where nothing was measured."""
        together = [launch.pack.items_per_second for launch in self.used if launch.pack]
        if self.valid and together and min(together) > 0:
            return estimates.location(together)
        items = (self.items or 0) * self.point.replicas
        return self.step.map(lambda seconds: items / seconds) if self.step and items else None

    @cached_property
    def energy(self) -> EnergyFigures | None:
        """The energy of a step and what follows from it, over the launches that count; None where no meter told."""
        return energy_figures([launch.energy for launch in self.metered if launch.energy], self.items)

    @property
    def metered(self) -> tuple[Launch, ...]:
        """The launches whose energy counts: those used or, of a disturbed point, all, of turns that had the packages to
        themselves."""
        return tuple(launch for launch in self.used or self.disturbed if launch.energy)

    @cached_property
    def launch_count(self) -> int:
        """How many launches count."""
        return len(self.used)

    @cached_property
    def step_counts(self) -> tuple[int, int] | None:
        """The fewest and the most steps that a launch counted; None where none is known."""
        counts = [steps.count for _, steps in self._launches_with_steps()]
        return (min(counts), max(counts)) if counts else None

    @cached_property
    def step_figures(self) -> dict[str, Estimate | None]:
        """How all steps are distributed: mean, standard deviation, coefficient of variation and quantiles, by name."""
        launches = [steps.figures for _, steps in self._launches_with_steps()]
        columns = zip(*launches, strict=True) if launches else repeat(())
        return dict(zip(STEP_FIGURES, map(_over_launches, columns), strict=False))

    def figure(self, name: str) -> Estimate | None:
        """A figure that the workload reports beside its steps, with its interval over launches; None without it."""
        return _over_launches(launch.figures.get(name) for launch in (self.used or self.disturbed))

    def quantile(self, level: float) -> Estimate | None:
        """The time that a share of all steps stays within, with its interval over launches; None where none knows."""
        return _over_launches(steps.quantile(level) for _, steps in self._launches_with_steps())


def _over_launches(figures: Iterable[float | None]) -> Estimate | None:
    """A figure of all steps of a launch, with its interval over launches; None where none has it.

    Steps that all took the same time have no deviation, and a figure that is zero has no interval.
    """
    known = [figure for figure in figures if figure is not None]
    if not known:
        return None
    return estimates.location(known) if min(known) > 0 else Estimate(fmean(known))


def summarize(launches: Iterable[Launch]) -> list[Summary]:
    """A summary for every point, in the order points have in a table: by axes, then by cores."""
    by_point: dict[Point, list[Launch]] = defaultdict(list)
    for launch in launches:
        by_point[launch.point].append(launch)
    return [
        _summary(point, sorted(by_point[point], key=lambda launch: launch.number))
        for point in sorted(by_point, key=table_order)
    ]


def _summary(point: Point, launches: Sequence[Launch]) -> Summary:
    measured = _with_doubts([launch for launch in launches if launch.seconds is not None])
    used = [launch for launch in measured if not launch.spoiled]
    reach = reach_of(used)
    location = estimates.location(_seconds(used)).reach_further(reach) if used else None
    about_point = tuple(_about_point(used, location))
    verdict = _verdict(used, launches, measured, about_point)
    step = _step(verdict, location, measured)
    turns = [_turns(one) for one in measured if one.witnessed and not one.misplaced] if step else []
    return Summary(
        point=point,
        step=step,
        items=measured[0].items if measured else None,
        used=tuple(used),
        left_out=len(measured) - len(used),
        failures=tuple(
            dict.fromkeys(launch.reason or "no step was measured" for launch in launches if not launch.seconds)
        ),
        doubts=(*about_point, *_launch_doubts(measured)),
        verdict=verdict,
        slowdown=_slowdown(list(chain(*turns)), step.value) if turns and step else None,
        disturbed=tuple(launch for launch in measured if launch.spoiled and not launch.misplaced),
        turn_ratios=tuple(tuple(seconds / step.value for seconds, _ in launch) for launch in turns) if step else (),
        reach=reach,
        watched_seconds=_watched_seconds(measured),
    )


def _watched_seconds(launches: Sequence[Launch]) -> float | None:
    """The time from the first launch to the end of the last; None where it is not known."""
    known = [(one.started, one.started + (one.wall_seconds or 0.0)) for one in launches if one.started is not None]
    return max(end for _, end in known) - min(start for start, _ in known) if known else None


def _seconds(launches: Iterable[Launch]) -> list[float]:
    return [launch.seconds for launch in launches if launch.seconds is not None]


def reach_of(launches: Sequence[Launch]) -> Reach:
    """By how much launches that count may all be off: slowed by others, or adjusted by too much or too little."""
    taken = share_taken(turn for launch in launches for turn in launch.turns)
    uncertain = fmean([one.adjusted.uncertain if one.adjusted else 0.0 for one in launches] or [0.0])
    either_way = 1 - exp(-uncertain)
    return Reach(min(LARGEST_REACH, 1 - (1 - taken) * (1 - either_way)), min(LARGEST_REACH, either_way))


def _about_point(used: Sequence[Launch], location: Estimate | None) -> Iterable[Doubt]:
    """What speaks against a point as a whole."""
    half_width = location.half_width if location else None
    adjusted = [launch.adjusted.correction for launch in used if launch.adjusted]
    if adjusted:
        yield Doubt(rules.ADJUSTED, 1 - exp(-max(adjusted)), launches=len(adjusted), of=len(used))
    if len(used) < rules.FEW_LAUNCHES.limit:
        yield Doubt(rules.FEW_LAUNCHES, len(used))
    elif estimates.are_equal(_seconds(used)):
        yield Doubt(rules.EQUAL)
    elif half_width is None:
        yield Doubt(rules.NO_ANSWER)
    elif half_width > rules.WIDE.limit:
        yield Doubt(rules.WIDE, half_width)


def _verdict(
    used: Sequence[Launch], made: Sequence[Launch], measured: Sequence[Launch], about_point: Sequence[Doubt]
) -> Verdict:
    """What a point can be used for; where launches are missing, what became of most of the others."""
    missing = len(made) - len(used)
    if len(used) < rules.FEW_LAUNCHES.limit and missing:
        disturbed = sum(launch.spoiled and not launch.misplaced for launch in measured)
        return Verdict.DISTURBED if 2 * disturbed >= missing else Verdict.NOT_VALID
    return Verdict.worst(doubt.rule.verdict for doubt in about_point)


def _step(verdict: Verdict, location: Estimate | None, measured: Sequence[Launch]) -> Estimate | None:
    """The step time: for a disturbed point a bound, for one that is not valid what was measured all the same."""
    if verdict is Verdict.DISTURBED:
        return Estimate(min(_seconds(launch for launch in measured if not launch.misplaced)))
    if verdict is Verdict.NOT_VALID and location is None:
        return estimates.location(_seconds(measured)) if measured else None
    return location


def _turns(launch: Launch) -> list[tuple[float, bool]]:
    """The mean step of every turn, and whether it was quiet; a launch without turns is one."""
    assert launch.seconds is not None
    return [(turn.seconds, turn.quiet) for turn in launch.turns] or [(launch.seconds, not launch.spoiled)]


def _slowdown(turns: Sequence[tuple[float, bool]], step: float) -> HostSlowdown:
    ratios = [seconds / step for seconds, _ in turns]
    deciles = quantiles(ratios, n=10, method="inclusive") if len(ratios) > 1 else ratios * 9
    return HostSlowdown(deciles[0], deciles[4], deciles[8], fmean(quiet for _, quiet in turns), len(ratios))


def _launch_doubts(launches: Sequence[Launch]) -> Iterable[Doubt]:
    """The doubts of single launches, each rule once: its worst case, and in how many launches it occurred."""
    by_rule: dict[str, list[Doubt]] = {}
    for launch in launches:
        for doubt in launch.doubts:
            by_rule.setdefault(doubt.rule.name, []).append(doubt)
    for doubts in by_rule.values():
        yield replace(max(doubts, key=lambda doubt: abs(doubt.amount)), launches=len(doubts), of=len(launches))


def _with_doubts(launches: Sequence[Launch]) -> list[Launch]:
    """The launches with what their turns and the other launches say against each, beyond their own witness."""
    return _adjust_if_few(_with_clock_drops([_with_lack_of_quiet(launch) for launch in launches]))


def _adjust_if_few(launches: Sequence[Launch]) -> list[Launch]:
    """The launches; where too few had a quiet turn, those without one adjusted for what others took."""
    few = sum(not launch.spoiled for launch in launches) < rules.FEW_LAUNCHES.limit
    if not few:
        return list(launches)
    by = slope([launch.turns for launch in launches if not launch.misplaced])
    adjusted = [_adjust(launch, by) if _lacks_only_quiet(launch) else None for launch in launches]
    return [
        launch
        if other is None
        else replace(launch, seconds=other.seconds, doubts=_without_lack(launch), adjusted=other)
        for launch, other in zip(launches, adjusted, strict=True)
    ]


def _adjust(launch: Launch, by: Slope | None) -> Adjusted | None:
    """A launch adjusted for what others took; None without a slope.

    One that its own quota stops is not adjusted, nor a pack, whose replicas wait each for itself.
    """
    return adjust(launch.turns, by) if by and launch.point.in_series else None


def _lacks_only_quiet(launch: Launch) -> bool:
    return {doubt.rule for doubt in launch.doubts if doubt.rule.spoils} == {rules.NO_QUIET_TURN}


def _without_lack(launch: Launch) -> tuple[Doubt, ...]:
    return tuple(doubt for doubt in launch.doubts if doubt.rule is not rules.NO_QUIET_TURN)


def _with_lack_of_quiet(launch: Launch) -> Launch:
    if launch.spoiled or not launch.turns or any(turn.quiet for turn in launch.turns):
        return launch
    return replace(launch, doubts=(*launch.doubts, Doubt(rules.NO_QUIET_TURN)))


def _with_clock_drops(launches: Sequence[Launch]) -> list[Launch]:
    """The launches, with a doubt on each that ran at a clock clearly below the fastest."""
    fastest = max((launch.mhz or 0.0 for launch in launches), default=0.0)
    return [_with_clock_drop(launch, fastest) for launch in launches]


def _with_clock_drop(launch: Launch, fastest: float) -> Launch:
    drop = 1 - launch.mhz / fastest if launch.mhz else 0.0
    return replace(launch, doubts=(*launch.doubts, Doubt(rules.CLOCK, drop))) if drop > rules.CLOCK.limit else launch


def drift(launches: Sequence[Launch]) -> tuple[Estimate, float] | None:
    """How a point moved from its first launch to its last, as a ratio, with the probability of chance.

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
    reach = estimates.student_t(count - 2) * error
    interval = Estimate(exp(moved), exp(max(-700, moved - reach)), exp(min(700, moved + reach)))
    return interval, estimates.student_p(moved / error, count - 2)


def launch_ratio(
    above: Sequence[Launch], below: Sequence[Launch], value: Callable[[Launch], float | None]
) -> Estimate | None:
    """The ratio of what launches have of a value, by pairs where at least three belong together.

    Launches without the value are left out; None where there are no others on either side.
    """
    pairs = _paired_ratios(above, below, value)
    if len(pairs) >= rules.FEW_LAUNCHES.limit and not estimates.are_equal(pairs):
        return estimates.location(pairs)
    values, others = ([known for launch in side if (known := value(launch))] for side in (above, below))
    return estimates.ratio(values, others) if values and others else None


def _paired_ratios(
    above: Sequence[Launch], below: Sequence[Launch], value: Callable[[Launch], float | None]
) -> list[float]:
    """The ratios of launches that were made together: those of one cohort, or of one block."""
    partners = {_group(launch): value(launch) for launch in above if launch.witnessed}
    both = [(partners.get(_group(launch)), value(launch)) for launch in below if launch.witnessed]
    return [one / other for one, other in both if one and other]


def _group(launch: Launch) -> str | int:
    """What launches that were made together share: their cohort, or else their block."""
    return launch.cohort or launch.number


# Points are sorted by these, then by their other settings, then by cores.
SORTED_FIRST = ("workload", "mode", "size", "items", "placement", "smt", "replicas", "quota", "intra", "inter")
_OTHERS = (name for name in Point.__dataclass_fields__ if name not in (*SORTED_FIRST, "cores"))
_SORTED_BY = (*SORTED_FIRST, *_OTHERS, "cores")


def table_order(point: Point) -> tuple[object, ...]:
    """What points are sorted by in a table; of a setting no value comes first, then numbers, then words."""
    return tuple(_order(getattr(point, name)) for name in _SORTED_BY)


def _order(value: float | str | None) -> tuple[int, float, str]:
    if isinstance(value, str):
        return 2, 0, value
    return (0, 0, "") if value is None else (1, value, "")


@dataclass(frozen=True, slots=True)
class PointSelection:
    """The points that fits rest on, and those that were measured and left out as disturbed or not valid."""

    taken: tuple[Summary, ...]
    left_out: tuple[Summary, ...]

    @property
    def launches(self) -> list[Launch]:
        """The launches that count of the points taken."""
        return [launch for summary in self.taken for launch in summary.used]


def select_points(summaries: Iterable[Summary]) -> PointSelection:
    """The points that fits take, those that are ok or imprecise, and the others that were measured."""
    measured = [summary for summary in summaries if summary.step is not None]
    return PointSelection(
        tuple(summary for summary in measured if summary.valid),
        tuple(summary for summary in measured if not summary.valid),
    )
