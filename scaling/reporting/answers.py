"""The answer in a sentence: how many cores to give, what that brings, and what it is worth."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scaling.analysis.rules import Doubt, Effect, Verdict
from scaling.analysis.speedup import ScalingPoint
from scaling.errors import count
from scaling.reporting.verdicts import VERDICT_WORDS, doubt_words
from scaling.reporting.words import figure, interval_alone
from scaling.study.planning import Point

# A further core that brings less than this is worth none: what was measured cannot tell it from nothing.
LEAST_GAIN = 1.05


@dataclass(frozen=True, slots=True)
class SeriesAnswer:
    """How many cores to give a series, in a sentence; not `known` where that says why there is no answer yet."""

    sentence: str
    known: bool = True


def answers(points: Iterable[ScalingPoint]) -> list[SeriesAnswer]:
    """An answer for every series; points under a CPU quota and packs are in none."""
    by_series: dict[Point, list[ScalingPoint]] = {}
    for point in points:
        if point.summary.point.in_series:
            by_series.setdefault(point.summary.point.baseline, []).append(point)
    return [_answer(baseline.subject, series) for baseline, series in by_series.items()]


def _answer(subject: str, series: Sequence[ScalingPoint]) -> SeriesAnswer:
    if not any(point.summary.step for point in series):
        reasons = [reason for point in series for reason in point.summary.failures]
        why = reasons[0] if reasons else "no run was made"
        return SeriesAnswer(f"{subject}: nothing was measured: {why}", known=False)
    if len({point.summary.point.cores for point in series}) == 1:
        return SeriesAnswer(f"{subject}: measured on {_cores(series[0])} alone, which says nothing of how it scales")
    known = [point for point in series if point.speedup is not None and not point.unknown and _is_sound(point)]
    wider = [point for point in known if point.summary.point.cores > 1]
    best = max(known, key=_benefit, default=None)
    one_core = best is not None and best.summary.point.cores == 1
    if best is None or not wider or (one_core and any(point.at_least is not None for point in wider)):
        return _no_answer(subject, series)
    largest = max(wider, key=lambda point: point.summary.point.cores)
    if not _is_known(largest if one_core else best):
        return _no_answer(subject, [largest if one_core else best])
    if one_core:
        sentence = f"{subject}: give it one core: {_cores(largest)} are {_gain(largest)}{_because([largest])}"
        return SeriesAnswer(sentence)
    end = "" if best is not largest or largest.summary.point.cores < _most(series) else ", the most that were measured"
    return SeriesAnswer(f"{subject}: give it {_cores(best)}{end}: {_gain(best)}{_because([best])}")


def _no_answer(subject: str, points: Sequence[ScalingPoint]) -> SeriesAnswer:
    disturbed = any(point.verdict is Verdict.DISTURBED for point in points)
    remedy = "measure when less goes on, or make more launches" if disturbed else "make at least five launches"
    return SeriesAnswer(f"{subject}: no answer yet{_because(points)}; {remedy}", known=False)


def _is_known(point: ScalingPoint) -> bool:
    """Whether a speedup has an interval, or is a bound from below: from above it recommends nothing."""
    return point.at_least is not None or bool(point.speedup and point.speedup.is_answer and point.at_most is None)


def _is_sound(point: ScalingPoint) -> bool:
    return point.verdict is not Verdict.NOT_VALID


def _benefit(point: ScalingPoint) -> float:
    """Speedup times efficiency, which is largest at the knee; that of one core is 1."""
    assert point.speedup
    cores = point.summary.point.cores
    return point.speedup.value**2 / cores if cores == 1 or point.speedup.value >= LEAST_GAIN else 0.0


def _most(series: Sequence[ScalingPoint]) -> int:
    return max(point.summary.point.cores for point in series)


def _cores(point: ScalingPoint) -> str:
    return count(point.summary.point.cores, "core")


def _gain(point: ScalingPoint) -> str:
    """'1.8 times one core (1.7 to 1.9), 90 % efficient'."""
    assert point.speedup
    speedup = point.speedup.value
    bound = "at least " if point.at_least is not None else ""
    interval = interval_alone(point.speedup, figure, joint=" to ")
    ends = f" ({interval})" if interval and not bound else ""
    return f"{bound}{figure(speedup)} times one core{ends}, {100 * speedup / point.summary.point.cores:.0f} % efficient"


def _because(points: Sequence[ScalingPoint]) -> str:
    """What makes a figure less than sure, where anything does: its verdict, and what speaks most against it."""
    worst = max(points, key=lambda point: list(Verdict).index(point.verdict))
    if worst.verdict is Verdict.OK:
        return ""
    reasons = [doubt for doubt in worst.all_doubts if doubt.rule.effect is not Effect.CAUTION]
    why = f" because {doubt_words(max(reasons, key=_weight))}" if reasons else ""
    return f"; {VERDICT_WORDS[worst.verdict]}{why}"


def _weight(doubt: Doubt) -> int:
    """What happened says more than what came of it."""
    return {Effect.NOT_VALID: 3, Effect.DISTURBED: 2, Effect.IMPRECISE: 1}.get(doubt.rule.effect, 0)
