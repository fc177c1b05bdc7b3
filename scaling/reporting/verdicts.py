"""Verdicts and doubts in words: what speaks against a point, and what it can be used for."""

from collections import Counter
from collections.abc import Iterable

from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.summary import HostSlowdown
from scaling.reporting.words import count, share

VERDICT_WORDS = {
    Verdict.OK: "ok",
    Verdict.IMPRECISE: "imprecise",
    Verdict.DISTURBED: "disturbed",
    Verdict.NOT_VALID: "not valid",
}

# How many times the step time the slowest tenth of turns took where that is worth a sentence.
SLOWER = 1.1

# A sentence for every rule, by its code.
RULE_WORDS = {
    "mask-differed": "its CPUs were not those asked for: {detail}",
    "strayed": "busy threads were seen on CPUs outside the mask: {detail}",
    "setting-not-held": "{detail}",
    "threads-exceeded": "it used {amount:.0%} more CPU time than its thread settings allow",
    "oversubscribed": "a pool of its threads has {amount:.3g} of them per CPU",
    "cpus-unused": "{amount:.0%} of its CPUs never ran a busy thread",
    "foreign-load": "other processes used {amount:.2f} CPUs of those it ran on",
    "sibling-load": "other processes used {amount:.2f} CPUs of the idle siblings of its cores",
    "load-elsewhere": "other processes used {amount:.2f} CPUs elsewhere on the machine",
    "steal": "the hypervisor gave {amount:.2f} CPUs of those it ran on to others",
    "too-short-to-see": "others may have taken up to {amount:.2f} CPUs unseen, as its turns are so short",
    "throttled": "its control group was stopped in {amount:.0f} periods for lack of quota",
    "waiting": "its threads waited {amount:.0%} of the time for a CPU",
    "pressure": "something on the machine waited {amount:.0%} of the time for a CPU",
    "clock-drop": "its CPUs ran {amount:.0%} below the clock of the point's fastest launch",
    "no-quiet-turn": "others used its CPUs in every one of its turns",
    "fixed-time": "it takes as long as on one core while its CPU time grows with the cores, as a program does that "
    "runs for a fixed time or spins; where it prints what it achieved, have that found by `throughput`",
    "adjusted": "others used its CPUs in every turn, and up to {amount:.0%} of its time was taken off for that",
    "no-steady-state": "the second half of its steps lies {amount:.0%} from the first",
    "few-steps": "too few steady steps in a launch: {amount:.0f}",
    "too-few-launches": "launches that count: {amount:.0f}",
    "launches-are-equal": "its launches are equal to the last digit, which no clock is",
    "wide-interval": "its interval is ± {amount:.0%}",
    "no-answer": "its launches differ too much for an interval within a factor of 3",
    "baseline-drift": "one core drifted by {amount:+.0%} from the first block to the last",
    "one-core-count": "it was measured on this number of cores alone, so that it has no speedup",
    "baseline-not-valid": "its one-core baseline is not valid: {detail}",
    "baseline-disturbed": "its one-core baseline was disturbed: {detail}",
}


def doubt_words(doubt: Doubt) -> str:
    """A doubt as a sentence."""
    message = RULE_WORDS[doubt.rule.code].format(amount=doubt.amount, detail=doubt.detail)
    return message if doubt.of == 1 else f"{message} (in {doubt.launches} of {doubt.of} launches)"


def verdict_words(scaled: ScalingPoint) -> str:
    """The verdict of a point with what goes with it: a width, a bound, or what speaks against it."""
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
    """Half the interval of the speedup or of the step time, the wider of the two."""
    known = [figure.half_width for figure in (scaled.speedup, scaled.summary.step) if figure]
    half_width = max(filter(None, known), default=None)
    launches = scaled.summary.launch_count
    return f"± {share(half_width)}" if half_width else "1 launch" if launches == 1 else f"{launches} launches"


def verdict_counts(verdicts: Iterable[Verdict]) -> str:
    """How many points have which verdict: '36 ok, 3 imprecise, 1 disturbed'."""
    counts = Counter(verdicts)
    return ", ".join(f"{counts[verdict]} {words}" for verdict, words in VERDICT_WORDS.items() if counts[verdict])


def slowdown_words(slowdown: HostSlowdown) -> str:
    """How many turns were quiet, and how long they took over the step time."""
    return f"{quiet_words(slowdown)}; a turn took {slower_words(slowdown)}"


def quiet_words(slowdown: HostSlowdown) -> str:
    """How many turns were quiet."""
    return f"{round(slowdown.quiet_share * slowdown.turns)} quiet of {count(slowdown.turns, 'turn')}"


def slower_words(slowdown: HostSlowdown) -> str:
    """How long turns took over the step time, from the fastest tenth to the slowest."""
    return f"{slowdown.p10:.2f} to {slowdown.p90:.2f} times the step time (median {slowdown.p50:.2f})"


def is_slower(slowdown: HostSlowdown | None) -> bool:
    """Whether turns took so much longer than the step time that it is worth a sentence."""
    return slowdown is not None and slowdown.p90 > SLOWER
