"""Points from their launches: an estimate with its interval and a verdict per point. Pure.

The launch is the unit of replication: each counts once, by the undisturbed level of its steps, however many it took. A
launch that measured another point, or that others disturbed, is not used. That is judged by what was observed, with one
exception: neighbours on the same cores are reported by nothing, but only ever slow down, so a launch far slower than
the second fastest of its point is taken for disturbed. A single launch that is far faster than all others proves
nothing against them, but the interval reaches down to it. That presumes pinned processes; of another tool's file, which
does not say where its runs were, every one counts.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from math import exp, inf, log, sqrt
from statistics import fmean, median, quantiles

from scaling.analysis import estimates, rules
from scaling.analysis.adjustment import Adjusted, Slope, adjust, adjust_one_cpu, slope
from scaling.analysis.energy import EnergyFigures, LaunchEnergy, energy_figures
from scaling.analysis.estimates import NO_REACH, Estimate, Reach
from scaling.analysis.packs import Pack
from scaling.analysis.rules import Doubt, Effect, Verdict
from scaling.analysis.step_times import STEP_FIGURES, StepTimes
from scaling.analysis.truth import StatedTruth
from scaling.analysis.turns import TurnTimes, share_taken
from scaling.machine.cpulist import CpuSet
from scaling.study.planning import Point

# A time that may be anything has no interval worth the name, but one that has ends.
LARGEST_REACH = 0.99

# A drift is a doubt only where it is also more than chance.
DRIFT_SIGNIFICANCE = 0.05

# A core is slow where so many launches on it were, and none was not.
LEAST_ON_SLOW_CORE = 2


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of a point as the analysis sees it; without seconds it failed, for the reason given.

    A run that took turns with the other points of its series has a `cohort`, which they share. One that others
    disturbed in all its turns may have been `adjusted` for what they took, as its seconds then are. That of a program
    may be a `whole_process`, from start to exit. One that is not `witnessed` is of another tool's file, which says
    nothing but its time. `cpus_busy` is its CPU time per second, `clock_hz` its cycles per second of CPU time, `ipc`
    its instructions per cycle, `throttled_share` the share of the periods of its CPU quota in which it ran into it,
    `pipeline_share` the share of its CPU time that its input pipeline took.
    `slow_core` is by how much one of the cores it ran on was slower than others whenever it was used alone. `rates` are
    items per second, round by round; of a `pack` those of all its replicas. `energy` is that of a step, where it was
    metered.
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
    whole_process: bool = False
    witnessed: bool = True
    cpus_busy: float | None = None
    ipc: float | None = None
    clock_hz: float | None = None
    peak_memory_bytes: int | None = None
    step_times: StepTimes | None = None
    throttled_share: float | None = None
    pipeline_share: float | None = None
    cpus: CpuSet = frozenset()
    slow_core: float = 0.0
    rates: tuple[tuple[int, float], ...] = ()
    pack: Pack | None = None
    energy: LaunchEnergy | None = None

    @property
    def spoiled(self) -> bool:
        """Whether it is left out of its point."""
        return bool(self.doubts) and any(doubt.rule.spoils for doubt in self.doubts)

    @property
    def only_slow(self) -> bool:
        """Whether it is left out for nothing but being slower than the others."""
        return bool(self.doubts) and {doubt.rule for doubt in self.doubts if doubt.rule.spoils} == {rules.SLOW_LAUNCH}

    @property
    def misplaced(self) -> bool:
        """Whether it measured another point than it was meant to."""
        return bool(self.doubts) and any(doubt.rule.effect is Effect.NOT_VALID for doubt in self.doubts)


@dataclass(frozen=True, slots=True)
class HostSlowdown:
    """How much slower turns were on this host than undisturbed: quantiles of the ratio, and the share that was quiet.

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
    were left out for what happened beside them, or for being slower than the others, are `disturbed`. `turn_ratios` are
    the times of all turns over the undisturbed one, launch by launch, and `slowdown` sums them up. `reach` is by how
    much the step time may be off for reasons that the launches cannot know.
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

    @property
    def valid(self) -> bool:
        """Whether fits take it: it is ok, or imprecise and counts by its weight."""
        return self.verdict in (Verdict.OK, Verdict.IMPRECISE)

    @property
    def launches(self) -> tuple[float, ...]:
        """The seconds of the launches that count, in the order they were made."""
        return tuple(launch.seconds for launch in self.used if launch.seconds is not None)

    @property
    def comparable(self) -> tuple[Launch, ...]:
        """The launches that a comparison takes: none is left out because of its result."""
        return (*self.used, *(launch for launch in self.disturbed if launch.only_slow))

    @cached_property
    def step_times(self) -> tuple[StepTimes, ...]:
        """All counted steps of its launches, those of disturbed ones over the undisturbed level of the point."""
        if self.step is None:
            return ()
        return tuple(replace(steps, level=_level(one, self.step.value)) for one, steps in self._launches_with_steps())

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
    def slow_cores(self) -> dict[CpuSet, float]:
        """Of a point on one core: those on which every launch was slow for no reason that is known, and by how much."""
        fast = {launch.cpus for launch in self.used}
        by_core: dict[CpuSet, list[float]] = defaultdict(list)
        for launch in self.disturbed:
            if launch.only_slow and launch.seconds and self.step and launch.cpus not in fast:
                by_core[launch.cpus].append(launch.seconds / self.step.value - 1)
        return {cpus: min(slower) for cpus, slower in by_core.items() if len(slower) >= LEAST_ON_SLOW_CORE}

    @property
    def unexplained_ratios(self) -> tuple[tuple[float, ...], ...]:
        """Launches that nothing is seen to have disturbed over what counts: 1 of those used, more of slow ones."""
        slow = [launch.seconds for launch in self.disturbed if launch.only_slow and launch.seconds is not None]
        step = self.step.value if self.step else 1.0
        return (*((1.0,) for _ in self.used), *((seconds / step,) for seconds in slow)) if slow else ()

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
        """Items per second, of all replicas together; None where nothing was measured."""
        together = [launch.pack.items_per_second for launch in self.used if launch.pack]
        if together and min(together) > 0:
            return estimates.mean(together)
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

    def quantile(self, level: float) -> Estimate | None:
        """The time that a share of all steps stays within, with its interval over launches; None where none knows."""
        return _over_launches(steps.quantile(level) for _, steps in self._launches_with_steps())

    def without_launches(self) -> "Summary":
        """The same with everything that is shown of a point computed, in a tenth of the memory."""
        shown = (
            "peak_memory_bytes",
            "throttled_share",
            "pipeline_share",
            "launch_count",
            "step_counts",
            "step_figures",
            "rate",
            "energy",
        )
        lean = replace(self, used=(), disturbed=(), turn_ratios=())
        vars(lean).update({name: getattr(self, name) for name in shown})
        return lean


def _over_launches(figures: Iterable[float | None]) -> Estimate | None:
    """A figure of all steps of a launch, with its interval over launches; None where none has it.

    Steps that all took the same time have no deviation, and a figure that is zero has no interval.
    """
    known = [figure for figure in figures if figure is not None]
    if not known:
        return None
    return estimates.mean(known) if min(known) > 0 else Estimate(fmean(known))


def summarize(launches: Iterable[Launch]) -> list[Summary]:
    """A summary for every point, in the order points have in a table: by axes, then by cores."""
    by_point: dict[Point, list[Launch]] = defaultdict(list)
    for launch in launches:
        by_point[launch.point].append(launch)
    summaries: dict[Point, Summary] = {}
    for point in sorted(by_point, key=table_order):
        launches = sorted(by_point[point], key=lambda launch: launch.number)
        summaries[point] = _summary(point, _with_slow_cores(launches, summaries.get(point.baseline)))
    return list(summaries.values())


def _with_slow_cores(launches: Sequence[Launch], one_core: Summary | None) -> Sequence[Launch]:
    """The launches of a point on several cores, each with how slow one of its cores is alone."""
    slow = one_core.slow_cores.items() if one_core and one_core.point.in_laws else ()
    if not slow:
        return launches
    return [
        replace(launch, slow_core=max((slower for cpus, slower in slow if cpus <= launch.cpus), default=0.0))
        for launch in launches
    ]


def _summary(point: Point, launches: Sequence[Launch]) -> Summary:
    measured = _with_doubts([launch for launch in launches if launch.seconds is not None])
    used = [launch for launch in measured if not launch.spoiled]
    reach = reach_of(used)
    mean = estimates.mean(_seconds(used)).reach_further(reach) if used else None
    about_point = tuple(_about_point(used, mean))
    verdict = _verdict(used, launches, measured, about_point)
    step = _step(verdict, mean, measured)
    observed = [one for one in measured if one.witnessed and not one.misplaced]
    turns = [list(_turns(one, step.value)) for one in observed] if step else []
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
        slowdown=_slowdown(list(chain(*turns))) if turns else None,
        disturbed=tuple(launch for launch in measured if launch.spoiled and not launch.misplaced),
        turn_ratios=tuple(tuple(ratio for ratio, _ in launch) for launch in turns),
        reach=reach,
    )


def _seconds(launches: Iterable[Launch]) -> list[float]:
    return [launch.seconds for launch in launches if launch.seconds is not None]


def reach_of(launches: Sequence[Launch]) -> Reach:
    """By how much launches that count may all be off: slowed by others, or adjusted by too much or too little."""
    taken = share_taken(turn for launch in launches for turn in launch.turns)
    taken = max(taken, 1 - 1 / (1 + _slow_core(launches)))
    match sorted(_seconds(launches)):
        case [fastest, second, *_] if second > fastest * (1 + rules.SLOW_LAUNCH.limit):
            taken = max(taken, 1 - fastest / second)
    uncertain = fmean([one.adjusted.uncertain if one.adjusted else 0.0 for one in launches] or [0.0])
    either_way = 1 - exp(-uncertain)
    return Reach(min(LARGEST_REACH, 1 - (1 - taken) * (1 - either_way)), min(LARGEST_REACH, either_way))


def _slow_core(launches: Sequence[Launch]) -> float:
    """How slow a core of every launch is alone; 0 where one of them had none."""
    return min((launch.slow_core for launch in launches), default=0.0)


def _about_point(used: Sequence[Launch], mean: Estimate | None) -> Iterable[Doubt]:
    """What speaks against a point as a whole."""
    half_width = mean.half_width if mean else None
    adjusted = [launch.adjusted.correction for launch in used if launch.adjusted]
    if adjusted:
        yield Doubt(rules.ADJUSTED, 1 - exp(-max(adjusted)), launches=len(adjusted), of=len(used))
    if slower := _slow_core(used):
        yield Doubt(rules.SLOW_CORE, slower)
    if len(used) < rules.FEW_LAUNCHES.limit:
        yield Doubt(rules.FEW_LAUNCHES, len(used))
    elif half_width is None:
        yield Doubt(rules.EQUAL)
    elif half_width > rules.WIDE.limit:
        yield Doubt(rules.WIDE, half_width)


def _verdict(
    used: Sequence[Launch], made: Sequence[Launch], measured: Sequence[Launch], about_point: Sequence[Doubt]
) -> Verdict:
    """What a point can be used for; where launches are missing, what became of most of the others.

    Two launches that agree where the others were slow without a reason are few, but tell; one is a bound.
    """
    undisturbed = [launch for launch in measured if not launch.spoiled or launch.only_slow]
    missing = len(made) - len(undisturbed)
    if len(undisturbed) < rules.FEW_LAUNCHES.limit and missing:
        disturbed = sum(launch.spoiled and not launch.misplaced for launch in measured)
        return Verdict.DISTURBED if 2 * disturbed >= missing else Verdict.NOT_VALID
    effects = {doubt.rule.effect for doubt in about_point}
    if len(used) == 1 < len(undisturbed):
        return Verdict.DISTURBED
    if Effect.NOT_VALID in effects:
        return Verdict.NOT_VALID
    return Verdict.IMPRECISE if Effect.IMPRECISE in effects else Verdict.OK


def _step(verdict: Verdict, mean: Estimate | None, measured: Sequence[Launch]) -> Estimate | None:
    """The step time: for a disturbed point a bound, for one that is not valid what was measured all the same."""
    if verdict is Verdict.DISTURBED:
        return Estimate(min(_seconds(launch for launch in measured if not launch.misplaced)))
    if verdict is Verdict.NOT_VALID and mean is None:
        return estimates.mean(_seconds(measured)) if measured else None
    return mean


def _turns(launch: Launch, undisturbed: float) -> Iterator[tuple[float, bool]]:
    """The turns of a launch over the undisturbed step time, and whether each was quiet; without turns it is one.

    A launch that counts has an undisturbed level of its own, one that was left out has that of its point.
    """
    assert launch.seconds is not None
    level = _level(launch, undisturbed)
    turns = [(turn.seconds, turn.quiet) for turn in launch.turns] or [(launch.seconds, not launch.spoiled)]
    yield from ((seconds / level, quiet) for seconds, quiet in turns)


def _level(launch: Launch, undisturbed: float) -> float:
    return undisturbed if launch.spoiled or launch.seconds is None else launch.seconds


def _slowdown(turns: Sequence[tuple[float, bool]]) -> HostSlowdown:
    ratios = [ratio for ratio, _ in turns]
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
    witnessed = _with_clock_drops([_with_lack_of_quiet(launch) for launch in launches])
    return _with_slow_launches(_adjust_if_few(witnessed))


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
    """A launch adjusted for what others took; None where that cannot be told, as from what its own quota took.

    Nor is a pack, whose replicas wait each for itself.
    """
    if not launch.point.in_laws:
        return None
    if launch.point.cores * launch.point.smt == 1:
        return adjust_one_cpu(launch.turns)
    return adjust(launch.turns, by) if by else None


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


def _with_slow_launches(launches: Sequence[Launch]) -> list[Launch]:
    """The launches, with a doubt on each that is far slower than the second fastest of those that nothing disturbed.

    A process keeps to 2 to 4 % of its level; one that never left the lower of a core's two speeds is steady as well. A
    correction may be too large as well as too small, so that of adjusted launches none is too slow.
    """
    fastest = sorted(_seconds(launch for launch in launches if not launch.spoiled))[:2]
    if len(launches) < rules.FEW_LAUNCHES.limit or len(fastest) < 2 or any(launch.adjusted for launch in launches):
        return list(launches)
    return [_with_slowness(launch, fastest[1]) for launch in launches]


def _with_slowness(launch: Launch, fast: float) -> Launch:
    slower = (launch.seconds or 0.0) / fast - 1
    if launch.spoiled or not launch.witnessed or slower <= rules.SLOW_LAUNCH.limit:
        return launch
    return replace(launch, doubts=(*launch.doubts, Doubt(rules.SLOW_LAUNCH, slower)))


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
    above: Sequence[Launch], below: Sequence[Launch], value: Callable[[Launch], float | None], *, by_block: bool
) -> Estimate | None:
    """The ratio of what launches have of a value, by pairs where at least three belong together, else by Welch.

    Launches without the value are left out; None where there are no others on either side.
    """
    pairs = paired_ratios(above, below, value, by_block=by_block)
    if len(pairs) >= rules.FEW_LAUNCHES.limit:
        return estimates.mean(pairs)
    values, others = ([known for launch in side if (known := value(launch))] for side in (above, below))
    return estimates.ratio(values, others) if values and others else None


def paired_ratios(
    above: Sequence[Launch], below: Sequence[Launch], value: Callable[[Launch], float | None], *, by_block: bool
) -> list[float]:
    """The ratios of launches that belong together: those of one cohort or, `by_block`, else those of one block."""
    partners = {group: value(launch) for launch in above if (group := _group(launch, by_block))}
    if not partners:
        return []
    both = [(partners.get(group), value(launch)) for launch in below if (group := _group(launch, by_block))]
    return [one / other for one, other in both if one and other]


def _group(launch: Launch, by_block: bool) -> str | int | None:
    """What launches that are compared with each other share: their cohort, or else their block."""
    return launch.cohort or (launch.number if by_block else None)


def table_order(point: Point) -> tuple[object, ...]:
    """What points are sorted by in a table: by axes, then by cores."""
    series = (point.workload, point.mode, point.size, *numbers_first(point.items), point.placement, point.smt)
    rest = (
        point.quota or 0.0,
        *numbers_first(point.intra),
        *numbers_first(point.inter),
        point.scale,
        point.framework,
        point.device,
        point.jit,
        point.onednn is not None,
        bool(point.onednn),
        point.memory,
        point.data,
        *numbers_first(point.pipeline_threads or 0),
        point.beside or "",
        *(value or 0.0 for value in point.caps),
    )
    return (*series, point.replicas, *rest, point.cores)


def numbers_first(setting: int | str) -> tuple[float, str]:
    """What settings are sorted by that are numbers or words."""
    return (inf, setting) if isinstance(setting, str) else (setting, "")


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
