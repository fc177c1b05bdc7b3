"""Verdicts and doubts in words."""

from collections import Counter
from collections.abc import Iterable

from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.summary import HostSlowdown
from scaling.reporting.words import count, share

VERDICT_WORDS = {verdict: verdict.value.replace("-", " ") for verdict in Verdict}

# The 90 % quantile of turns over the step time, above which a sentence reports it.
SLOWER = 1.1


def doubt_words(doubt: Doubt) -> str:
    """A doubt as a sentence."""
    message = doubt.rule.words.format(amount=doubt.amount, detail=doubt.detail)
    return message if doubt.of == 1 else f"{message} (in {doubt.launches} of {doubt.of} launches)"


def verdict_words(scaled: ScalingPoint) -> str:
    """The verdict of a point with its interval, its bound or its doubts."""
    verdict = scaled.verdict
    against = [doubt.rule for doubt in scaled.all_doubts if verdict is Verdict.OK or doubt.rule.spoils]
    names = ", ".join(dict.fromkeys(rule.name for rule in against))
    if verdict is Verdict.IMPRECISE:
        return f"imprecise ({_width(scaled)})"
    if scaled.at_least is not None:
        return f"disturbed: at least {scaled.at_least:.3g} ×"
    if scaled.at_most is not None:
        return f"one core disturbed: at most {scaled.at_most:.3g} ×"
    return VERDICT_WORDS[verdict] + (f": {names}" if names else "")


def _width(scaled: ScalingPoint) -> str:
    """The wider half interval, of the speedup or the step time."""
    known = [figure.half_width for figure in (scaled.speedup, scaled.summary.step) if figure]
    half_width = max(filter(None, known), default=None)
    launches = scaled.summary.launch_count
    return f"± {share(half_width)}" if half_width else "1 launch" if launches == 1 else f"{launches} launches"


def verdict_counts(verdicts: Iterable[Verdict]) -> str:
    """The number of points by verdict: '36 ok, 3 imprecise, 1 disturbed'."""
    counts = Counter(verdicts)
    return ", ".join(f"{counts[verdict]} {words}" for verdict, words in VERDICT_WORDS.items() if counts[verdict])


def slowdown_words(slowdown: HostSlowdown) -> str:
    """The share of quiet turns, and turns over the step time."""
    return f"{quiet_words(slowdown)}; turns took {slower_words(slowdown)}"


def quiet_words(slowdown: HostSlowdown) -> str:
    """'5 of 14 turns quiet'."""
    return f"{round(slowdown.quiet_share * slowdown.turns)} of {count(slowdown.turns, 'turn')} quiet"


def slower_words(slowdown: HostSlowdown) -> str:
    """Turns over the step time, from the 10 % quantile to the 90 % quantile."""
    return f"{slowdown.p10:.2f} to {slowdown.p90:.2f} times the step time (median {slowdown.p50:.2f})"


def is_slower(slowdown: HostSlowdown | None) -> bool:
    """Whether turns took notably longer than the step time."""
    return slowdown is not None and slowdown.p90 > SLOWER
