"""Points from their launches: an estimate with its interval and a verdict per point. Pure.

The launch is the unit of replication: each counts once, by the median of its steady steps, however many it took. A
launch whose witness speaks against it is left out where enough others are left: judged by what was observed, not by its
result.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median

from scaling.analysis import estimates, rules
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Doubt
from scaling.analysis.truth import StatedTruth
from scaling.analysis.turns import TurnTimes
from scaling.study.planning import Point


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of a point as the analysis sees it; without seconds it failed, for the reason given.

    A run that took turns with the other points of its series has a `cohort`, which they share.
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

    @property
    def spoiled(self) -> bool:
        """Whether its witness speaks against it."""
        return any(doubt.rule.spoils for doubt in self.doubts)


@dataclass(frozen=True, slots=True)
class Summary:
    """A point over its launches: the figure, what it rests on, and what speaks against it."""

    point: Point
    step: Estimate | None
    items: int | None
    used: tuple[Launch, ...]
    left_out: int
    failures: tuple[str, ...]
    doubts: tuple[Doubt, ...]
    valid: bool

    @property
    def launches(self) -> tuple[float, ...]:
        """The seconds of the launches that count, in the order they were made."""
        return tuple(launch.seconds for launch in self.used if launch.seconds is not None)

    @property
    def rate(self) -> Estimate | None:
        """Items per second; None where nothing was measured."""
        return self.step.map(lambda seconds: (self.items or 0) / seconds) if self.step and self.items else None


def launch_seconds(step_seconds: Sequence[float], warmup_steps: int) -> float | None:
    """The figure a launch stands for: the median of its steady steps."""
    steady = step_seconds[warmup_steps:]
    return median(steady) if steady else None


def summarize(launches: Iterable[Launch]) -> list[Summary]:
    """A summary for every point, in the order points have in a table: by axes, then by cores."""
    ordered = sorted(launches, key=lambda launch: (table_order(launch.point), launch.number))
    return [_summary(point, list(group)) for point, group in groupby(ordered, key=lambda launch: launch.point)]


def _summary(point: Point, launches: Sequence[Launch]) -> Summary:
    measured = _with_clock_drops([launch for launch in launches if launch.seconds is not None])
    clean = [launch for launch in measured if not launch.spoiled]
    enough = len(clean) >= rules.FEW_LAUNCHES.limit
    used = clean if enough else measured
    seconds = [launch.seconds for launch in used if launch.seconds is not None]
    step = estimates.mean(seconds) if seconds else None
    about_launches = _launch_doubts(measured)
    about_point = list(_about_point(seconds, step))
    return Summary(
        point=point,
        step=step,
        items=measured[0].items if measured else None,
        used=tuple(used),
        left_out=len(measured) - len(used),
        failures=tuple(
            dict.fromkeys(launch.reason or "no step was measured" for launch in launches if not launch.seconds)
        ),
        doubts=(*about_point, *about_launches),
        valid=enough and not about_point,
    )


def _about_point(seconds: Sequence[float], step: Estimate | None) -> Iterable[Doubt]:
    """What speaks against a point as a whole."""
    half_width = step.half_width if step else None
    if len(seconds) < rules.FEW_LAUNCHES.limit:
        yield Doubt(rules.FEW_LAUNCHES, len(seconds))
    elif half_width is None:
        yield Doubt(rules.EQUAL)
    elif half_width > rules.DISAGREE.limit:
        yield Doubt(rules.DISAGREE, half_width)


def _launch_doubts(launches: Sequence[Launch]) -> Iterable[Doubt]:
    """The doubts of single launches, each rule once: its worst case, and in how many launches it occurred."""
    by_rule: dict[str, list[Doubt]] = {}
    for launch in launches:
        for doubt in launch.doubts:
            by_rule.setdefault(doubt.rule.name, []).append(doubt)
    for doubts in by_rule.values():
        yield replace(max(doubts, key=lambda doubt: abs(doubt.amount)), launches=len(doubts), of=len(launches))


def _with_clock_drops(launches: Sequence[Launch]) -> list[Launch]:
    """The launches, with a doubt on each that ran at a clock clearly below the fastest."""
    fastest = max((launch.mhz or 0.0 for launch in launches), default=0.0)
    return [_with_clock_drop(launch, fastest) for launch in launches]


def _with_clock_drop(launch: Launch, fastest: float) -> Launch:
    drop = 1 - launch.mhz / fastest if launch.mhz else 0.0
    return replace(launch, doubts=(*launch.doubts, Doubt(rules.CLOCK, drop))) if drop > rules.CLOCK.limit else launch


def table_order(point: Point) -> tuple[object, ...]:
    """What points are sorted by in a table: by axes, then by cores."""
    series = (point.workload, point.mode, point.size, str(point.items), point.placement, point.smt)
    rest = (str(point.intra), str(point.inter), point.scale, point.framework, point.device, point.jit, point.memory)
    return (*series, *rest, point.cores)


@dataclass(frozen=True, slots=True)
class PointSelection:
    """The points that fits rest on, and those that were measured and left out as not valid."""

    taken: tuple[Summary, ...]
    left_out: tuple[Summary, ...]

    @property
    def launches(self) -> list[Launch]:
        """The launches that count of the points taken."""
        return [launch for summary in self.taken for launch in summary.used]


def select_valid(summaries: Iterable[Summary], include_invalid: bool = False) -> PointSelection:
    """Valid points, or all that were measured."""
    measured = [summary for summary in summaries if summary.step is not None]
    return PointSelection(
        tuple(summary for summary in measured if summary.valid or include_invalid),
        tuple(summary for summary in measured if not (summary.valid or include_invalid)),
    )
