"""How quiet the host was during a sweep, as a table, a sentence and JSON facts.

Turns are compared with the step time, which comes from quiet turns; without a quiet turn there is no ratio.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.summary import HostSlowdown
from scaling.reporting.points import point_settings
from scaling.reporting.quantities import VERDICT_WORDS, slower_words
from scaling.reporting.words import Table, count, point_words

# The 90 % quantile of turns over the step time, above which a sentence names the point.
LONGER = 1.05
REMEDY = "measure when `scaling machine doctor` reports no spoiler, or on a machine of your own"


def quietness_table(points: Iterable[ScalingPoint]) -> Table:
    """The turns of every point, the quiet share, and all turns over the step time."""
    rows = [
        (
            point_words(point.summary.point),
            str(slowdown.turns),
            f"{100 * slowdown.quiet_share:.0f} %",
            *(
                f"× {ratio:.2f}" if has_quiet_turn(slowdown) else "-"
                for ratio in (slowdown.p10, slowdown.p50, slowdown.p90)
            ),
            VERDICT_WORDS[point.verdict],
        )
        for point in points
        if (slowdown := point.summary.slowdown)
    ]
    return Table(("point", ">turns", ">quiet", ">p10", ">median", ">p90", "verdict"), rows)


def has_quiet_turn(slowdown: HostSlowdown) -> bool:
    """Whether there is a quiet turn."""
    return slowdown.quiet_share > 0


def quietness_sentence(points: Iterable[ScalingPoint]) -> str:
    """The share of quiet turns over all points, and the point with the slowest turns."""
    known = [(point.summary.point, slowdown) for point in points if (slowdown := point.summary.slowdown)]
    if not known:
        return "The results do not record how quiet the host was."
    turns = sum(slowdown.turns for _, slowdown in known)
    quiet = sum(round(slowdown.quiet_share * slowdown.turns) for _, slowdown in known)
    if not quiet:
        return f"None of {turns} turns was quiet, so there is no step time to compare them with; {REMEDY}."
    without = sum(not has_quiet_turn(slowdown) for _, slowdown in known)
    sentences = [f"{quiet} of {count(turns, 'turn')} were quiet"]
    if without:
        sentences.append(f"No turn was quiet at {without} of {count(len(known), 'point')}; {REMEDY}")
    worst, slowdown = max((one for one in known if has_quiet_turn(one[1])), key=lambda one: one[1].p90)
    if slowdown.p90 > LONGER:
        sentences.append(f"Turns took longest at {point_words(worst)}: {slower_words(slowdown)}")
    else:
        sentences.append(f"Nine tenths of the turns took at most {100 * (LONGER - 1):.0f} % longer than the step time")
    return ". ".join(sentences) + "."


def quietness_facts(points: Sequence[ScalingPoint]) -> dict[str, object]:
    """The same facts for JSON; a point without a quiet turn has no ratios."""
    return {
        "sentence": quietness_sentence(points),
        "points": [
            {
                **point_settings(point.summary.point),
                "host": point.summary.slowdown and _slowdown_facts(point.summary.slowdown),
                "verdict_code": point.verdict,
            }
            for point in points
        ],
    }


def _slowdown_facts(slowdown: HostSlowdown) -> dict[str, object]:
    unknown = {} if has_quiet_turn(slowdown) else dict.fromkeys(("p10", "p50", "p90"))
    return asdict(slowdown) | unknown
