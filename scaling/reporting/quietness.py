"""How quiet the host was while results were made: table, sentence and JSON facts, point by point.

How long turns took is held against the step time, which comes from quiet ones: without any, nothing is known of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.summary import HostSlowdown
from scaling.reporting.points import point_settings
from scaling.reporting.verdicts import VERDICT_WORDS
from scaling.reporting.words import Table, count, point_words

# Turns that took so much longer are worth a sentence.
LONGER = 1.05
REMEDY = "measure when `scaling machine doctor` finds no spoiler, or on a machine without others"


def quietness_table(points: Iterable[ScalingPoint]) -> Table:
    """The turns of every point, the share that was quiet, and how long all of them took over the step time."""
    rows = [
        (
            point_words(point.summary.point),
            str(slowdown.turns),
            f"{100 * slowdown.quiet_share:.0f} %",
            *(f"× {ratio:.2f}" if has_quiet_turn(slowdown) else "-" for ratio in _tenths(slowdown)),
            VERDICT_WORDS[point.verdict],
        )
        for point in points
        if (slowdown := point.summary.slowdown)
    ]
    return Table(("point", ">turns", ">quiet", ">fastest tenth", ">median", ">slowest tenth", "verdict"), rows)


def _tenths(slowdown: HostSlowdown) -> tuple[float, float, float]:
    return slowdown.p10, slowdown.p50, slowdown.p90


def has_quiet_turn(slowdown: HostSlowdown) -> bool:
    """Whether there is a quiet turn to hold others against."""
    return slowdown.quiet_share > 0


def quietness_sentence(points: Iterable[ScalingPoint]) -> str:
    """How many turns were quiet over all points, and where the others took longest."""
    known = [(point.summary.point, slowdown) for point in points if (slowdown := point.summary.slowdown)]
    if not known:
        return "Nothing is known of how quiet the host was."
    turns = sum(slowdown.turns for _, slowdown in known)
    quiet = sum(round(slowdown.quiet_share * slowdown.turns) for _, slowdown in known)
    if not quiet:
        return f"No turn of {turns} was quiet, so nothing is known of how much longer they took: {REMEDY}."
    without = sum(not has_quiet_turn(slowdown) for _, slowdown in known)
    sentences = [f"{quiet} of {count(turns, 'turn')} were quiet"]
    if without:
        sentences.append(f"No turn was quiet at {without} of {count(len(known), 'point')}: {REMEDY}")
    worst, slowdown = max((one for one in known if has_quiet_turn(one[1])), key=lambda one: one[1].p90)
    if slowdown.p90 > LONGER:
        low, middle, high = _tenths(slowdown)
        took = f"{low:.2f} to {high:.2f} times the step time (median {middle:.2f})"
        sentences.append(f"Turns took longest at {point_words(worst)}: {took}")
    else:
        sentences.append(f"At no point did the slowest tenth take {100 * (LONGER - 1):.0f} % longer than the step time")
    return ". ".join(sentences) + "."


def quietness_facts(points: Sequence[ScalingPoint]) -> dict[str, object]:
    """The same for JSON; a point without a quiet turn has no ratios."""
    return {
        "sentence": quietness_sentence(points),
        "points": [
            {
                **point_settings(point.summary.point),
                "host": _slowdown_facts(point.summary.slowdown),
                "verdict_code": point.verdict,
            }
            for point in points
        ],
    }


def _slowdown_facts(slowdown: HostSlowdown | None) -> dict[str, object] | None:
    if slowdown is None:
        return None
    unknown = {} if has_quiet_turn(slowdown) else dict.fromkeys(("p10", "p50", "p90"))
    return asdict(slowdown) | unknown
