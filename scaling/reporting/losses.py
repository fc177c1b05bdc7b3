"""Efficiency losses as a table and in sentences."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import copysign

from scaling.analysis.decomposition import Decomposition
from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import ScalingPoint
from scaling.reporting.points import series_words, table_by_point, varied_backend
from scaling.reporting.quantities import REPORTS_TIME, VERDICT_WORDS
from scaling.reporting.words import Table, count, interval_alone, memory, share

# The smallest share of the efficiency that a sentence names.
LEAST = 0.005

# The words of a loss, and of a gain if the loss is negative.
IDLE = "idle or waiting cores", "cores that wait less"
COMPUTATION = "slower computation or spinning", "faster computation"
COUNTED = (("more instructions", "fewer instructions"), ("lower IPC", "higher IPC"), ("lower clock", "higher clock"))

NOT_COUNTED, NOT_AVAILABLE = "-", "not available"


def losses_table(points: Sequence[ScalingPoint]) -> Table:
    """The efficiency of every point, its losses to idle cores and to computation, and its peak memory."""
    counted = any(point.decomposition and point.decomposition.counters for point in points)
    figures = (">efficiency", ">idle", "95 %", ">computation", "95 %")
    factors = (">instructions", ">IPC", ">clock") if counted else ()
    rows = ((point.summary.point, [*_cells(point, counted), VERDICT_WORDS[point.verdict]]) for point in points)
    return table_by_point(rows, (*figures, *factors, ">peak memory", "verdict"))


def _cells(point: ScalingPoint, counted: bool) -> list[str]:
    lost, size = point.decomposition, point.summary.peak_memory_bytes
    known = ("-" if point.unknown or not point.efficiency else share(point.efficiency.value),)
    peak = "-" if size is None else memory(size)
    if lost is None:
        unknown = NOT_AVAILABLE if point.reports_time else "-"
        return [*known, unknown, "", unknown, "", *([NOT_COUNTED] * 3 if counted else []), peak]
    parts = lost.computation_parts
    factors = [NOT_COUNTED] * 3 if parts is None else [_lost(part) for part in parts]
    return [*known, *_with_interval(lost.idle), *_with_interval(lost.computation), *(factors if counted else []), peak]


def _with_interval(loss: Estimate) -> tuple[str, str]:
    """A loss and its interval, which is empty if the loss is exact by definition."""
    exact = loss.low == loss.high and loss.low is not None
    return _lost(loss.value), "" if exact else interval_alone(loss, _lost, joint=" to ")


def _lost(part: float) -> str:
    return share(round(part, 3) + 0.0)  # no minus before a zero


def loss_sentences(points: Sequence[ScalingPoint]) -> list[str]:
    """The losses of every series on the most cores for which they are known, and its peak memory."""
    sentences = []
    named = varied_backend(points)
    for series, members in groupby(points, key=lambda point: point.summary.point.baseline):
        by_cores = list(members)
        most, fewest = _first_known(reversed(by_cores)), _first_known(by_cores)
        if most and fewest and most[0].summary.point.cores > 1:
            name = series_words(series, named)
            sentences.append(f"{name}: {_loss_words(*most)}{_memory_words(fewest[0], most[0])}")
    return sentences


def _first_known(points: Iterable[ScalingPoint]) -> tuple[ScalingPoint, Decomposition] | None:
    """The first point with known losses; decomposing all points is slow."""
    return next(((point, known) for point in points if (known := point.decomposition)), None)


def _memory_words(one_core: ScalingPoint, point: ScalingPoint) -> str:
    one, many = one_core.summary.peak_memory_bytes, point.summary.peak_memory_bytes
    if many is None:
        return ""
    before = f", {memory(one)} on one core" if one is not None and memory(one) != memory(many) else ""
    return f"; peak memory {memory(many)}{before}"


def _loss_words(point: ScalingPoint, decomposition: Decomposition) -> str:
    """'at 16 cores 31 % is lost to idle or waiting cores, 12 % to slower computation or spinning'."""
    parts = [(decomposition.idle, IDLE), (decomposition.computation, COMPUTATION)]
    lost = [(_percent(loss), words[0] + _reasons(point, words)) for loss, words in parts if _shown(loss, 1)]
    phrases = [f"{percent} {'' if index else 'is lost '}to {words}" for index, (percent, words) in enumerate(lost)]
    phrases += [f"{_percent(loss)} is gained by {words[1]}" for loss, words in parts if _shown(loss, -1)]
    return f"at {count(point.summary.point.cores, 'core')} {', '.join(phrases) or 'no loss is shown'}"


def _shown(loss: Estimate, sign: int) -> bool:
    """Whether a loss (1) or gain (-1) is large enough to name, and more than chance."""
    return copysign(1, loss.value) == sign and abs(loss.value) >= LEAST and not loss.contains(0.0)


def _percent(loss: Estimate) -> str:
    return f"{100 * abs(loss.value):.0f} %"


def _reasons(point: ScalingPoint, words: tuple[str, str]) -> str:
    """The causes of slower or faster computation in brackets, if instructions and cycles were counted."""
    parts = point.decomposition.computation_parts if point.decomposition and words is COMPUTATION else None
    named = [
        f"{100 * abs(part):.0f} % {lost if part > 0 else gained}"
        for part, (lost, gained) in zip(parts or (), COUNTED, strict=bool(parts))
        if abs(part) >= LEAST
    ]
    return f" ({', '.join(named)})" if named else ""


def not_decomposed_sentence(points: Iterable[ScalingPoint]) -> str | None:
    """Why points with CPU times are not decomposed; None without such points."""
    return (
        f"efficiency losses are not available: {REPORTS_TIME}" if any(point.reports_time for point in points) else None
    )


def not_counted_sentence(points: Iterable[ScalingPoint]) -> str | None:
    """Why computation is not decomposed; None if it is, or if no point is decomposed."""
    known = [point.decomposition for point in points if point.decomposition]
    if not known or any(decomposition.counters for decomposition in known):
        return None
    return "instructions, IPC and clock are not available: the runs had no access to hardware counters"
