"""Rules that make a launch or point doubtful, with their limits and verdicts. Pure.

A launch of another point, or one that others disturbed, is left out of its point; a point with too few launches left is
not valid or disturbed. The other rules are cautions, reported but not acted on. CPU time that others take is counted in
CPU-seconds per second, summed over the CPUs in use and not divided by their number: a step waits for its slowest
thread.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The use that can be made of a point, from best to worst; scripts match the value.

    Fits use points that are ok, and imprecise ones by their weight. A disturbed point has only a bound. A point that is
    not valid measured something else than requested.
    """

    OK = "ok"
    IMPRECISE = "imprecise"
    DISTURBED = "disturbed"
    NOT_VALID = "not-valid"

    @property
    def valid(self) -> bool:
        """Whether fits use points with it."""
        return self in (Verdict.OK, Verdict.IMPRECISE)

    @property
    def severity(self) -> int:
        """Its distance from `ok`."""
        return list(Verdict).index(self)

    @classmethod
    def worst(cls, verdicts: Iterable["Verdict"]) -> "Verdict":
        """The worst of the verdicts, `ok` for an empty list."""
        return max(verdicts, key=lambda verdict: verdict.severity, default=cls.OK)


# Intervals with a larger ratio of their ends do not answer a question.
WIDEST_ANSWER = 3.0


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit, the best verdict of points that exceed it (`ok` for a mere caution), and the reason for it.

    Scripts match `code`; `words` is the sentence of a doubt, with its amount and detail.
    """

    code: str
    words: str
    why: str
    verdict: Verdict = Verdict.OK
    limit: float = 0

    @property
    def name(self) -> str:
        """The code as displayed."""
        return self.code.replace("-", " ").replace("cpus", "CPUs")

    @property
    def spoils(self) -> bool:
        """Whether a launch that breaks it is left out."""
        return not self.verdict.valid


MASK = Rule(
    "mask-differed",
    "its CPUs were not those asked for: {detail}",
    "a run on other CPUs measures another point",
    Verdict.NOT_VALID,
)
STRAYED = Rule(
    "strayed",
    "busy threads were seen on CPUs outside the mask: {detail}",
    "a run on other CPUs measures another point",
    Verdict.NOT_VALID,
)
SETTING = Rule(
    "setting-not-held",
    "{detail}",
    "a point that did not get the threads it names is another point",
    Verdict.NOT_VALID,
)
THREADS_EXCEEDED = Rule(
    "threads-exceeded",
    "it used {amount:.0%} more CPU time than its thread settings allow",
    "a program that starts more threads than requested measures another setting; the main thread adds up to a tenth "
    "while it feeds the others",
    Verdict.NOT_VALID,
    limit=0.1,
)
OVERSUBSCRIBED = Rule(
    "oversubscribed",
    "a pool of its threads has {amount:.3g} of them per CPU",
    "a pool with more threads than CPUs runs them in turns: the point is as requested, but part of its time is "
    "switching and waiting for threads that do not run",
    limit=1,
)
THREADS_UNUSED = Rule(
    "cpus-unused",
    "{amount:.0%} of its CPUs never ran a busy thread",
    "too little work for the cores is a finding, not a fault",
)
FOREIGN_LOAD = Rule(
    "foreign-load",
    "other processes used {amount:.2f} CPUs of those it ran on",
    "a step waits for the thread whose CPU others use most; between 0.01 and 0.2 CPU the limit makes no difference",
    Verdict.DISTURBED,
    limit=0.1,
)
SIBLING_LOAD = Rule(
    "sibling-load",
    "other processes used {amount:.2f} CPUs of the idle siblings of its cores",
    "a busy sibling takes a third to a half of a core, and a step waits for its slowest thread",
    Verdict.DISTURBED,
    limit=0.1,
)
LOAD_ELSEWHERE = Rule(
    "load-elsewhere",
    "other processes used {amount:.2f} CPUs elsewhere on the machine",
    "memory, last-level cache and clock are shared, and a virtual machine may hide that two CPUs are one core; a "
    "quarter of a CPU is more than an idle system uses",
    limit=0.25,
)
STEAL = Rule(
    "steal",
    "the hypervisor gave {amount:.2f} CPUs of those it ran on to others",
    "a step waits for the thread whose CPU was taken away; between 0.01 and 0.2 CPU the limit makes no difference",
    Verdict.DISTURBED,
    limit=0.1,
)
TOO_SHORT_TO_SEE = Rule(
    "too-short-to-see",
    "others may have taken up to {amount:.2f} CPUs unseen, as its turns are so short",
    "what others took is counted in ticks of a hundredth of a second: in less than a tenth of a second times the "
    "root of its CPUs, more than the limits of steal and foreign load may be lost and not show",
    limit=0.1,
)
THROTTLED = Rule(
    "throttled",
    "its control group was stopped in {amount:.0f} periods for lack of quota",
    "a stopped run measures its quota, not its cores",
    Verdict.NOT_VALID,
)
WAITING = Rule(
    "waiting",
    "its threads waited {amount:.0%} of the time for a CPU",
    "with no more busy threads than CPUs nobody should wait; up to a tenth is a framework's helper threads waking up",
    limit=0.1,
)
PRESSURE = Rule(
    "pressure",
    "something on the machine waited {amount:.0%} of the time for a CPU",
    "other processes that wait compete for CPUs; the run's own waits are subtracted if they are known",
    limit=0.1,
)
CLOCK = Rule(
    "clock-drop",
    "its CPUs ran {amount:.0%} below the clock of the point's fastest launch",
    "a compute-bound step slows as its clock does; within a tenth lie turbo's ordinary steps",
    Verdict.DISTURBED,
    limit=0.1,
)
NO_QUIET_TURN = Rule(
    "no-quiet-turn",
    "others used its CPUs in every one of its turns",
    "a launch that others disturbed in all its turns does not show what the program does by itself",
    Verdict.DISTURBED,
)
FIXED_TIME = Rule(
    "fixed-time",
    "it takes as long as on one core while its CPU time grows with the cores, like a program that runs for a fixed "
    "time or spins; if it prints its throughput, give `throughput` a pattern that matches it",
    "a program that takes as long on any number of cores while its CPU time grows with them runs for a fixed "
    "time, or its threads spin: its time does not show how it scales",
    Verdict.NOT_VALID,
    limit=0.05,
)
ADJUSTED = Rule(
    "adjusted",
    "others used its CPUs in every turn, and up to {amount:.0%} of its time was taken off for that",
    "a launch disturbed in all turns is extrapolated to zero disturbance along the slope within launches; half of "
    "the correction counts as uncertain",
    Verdict.IMPRECISE,
)
GENERATOR_BOUND = Rule(
    "generator-bound",
    "its load generator was busy for {amount:.0%} of the time while the server was not; give the generator more "
    "threads or cores",
    "a server that waits for its load generator could do more: its throughput is a bound from below; a thread or a set "
    "of cores that is busy for nine tenths of the time has nothing left but its pauses",
    Verdict.DISTURBED,
    limit=0.9,
)
SHARED_CORES = Rule(
    "shared-with-generator",
    "its load generator shared {amount:.0f} of its CPUs; leave cores free for the generator",
    "a server whose cores its load generator uses too does less than it would by itself",
)
UNSTEADY = Rule(
    "no-steady-state",
    "the second half of its steps lies {amount:.0%} from the first",
    "a launch that ran at two speeds stands for their mean; if the program itself changed, that is not its figure",
    limit=0.05,
)
FEW_STEPS = Rule(
    "few-steps",
    "too few steady steps in a launch: {amount:.0f}",
    "the mean of fewer than five steps moves with a single one, and warm-up is not recognised",
    limit=5,
)
FEW_LAUNCHES = Rule(
    "too-few-launches",
    "launches that count: {amount:.0f}",
    "the interval of two launches reaches thirteen standard errors, and a single launch has no interval; if fewer than "
    "three are left because the others were left out, the point is disturbed or not valid",
    Verdict.IMPRECISE,
    limit=3,
)
EQUAL = Rule(
    "launches-are-equal",
    "its launches are equal to the last digit, which no clock is",
    "without spread there is no interval, and one of no width would claim certainty",
    Verdict.NOT_VALID,
)
WIDE = Rule(
    "wide-interval",
    "its interval is ± {amount:.0%}",
    "a figure that may be a tenth off answers few questions about efficiency; it counts by its weight",
    Verdict.IMPRECISE,
    limit=0.1,
)
NO_ANSWER = Rule(
    "no-answer",
    "its launches differ too much for an interval within a factor of 3",
    "an interval wider than a factor of 3 does not answer a question, so it is not shown",
    Verdict.IMPRECISE,
    limit=WIDEST_ANSWER,
)
DRIFT = Rule(
    "baseline-drift",
    "one core drifted by {amount:+.0%} from the first block to the last",
    "ratios are formed within blocks or cohorts, so that drift falls on both sides; also required: p < 0.05",
    limit=0.05,
)
ONE_CORE_COUNT = Rule(
    "one-core-count",
    "it was measured on this number of cores alone, so that it has no speedup",
    "what was measured on a single number of cores has no speedup; its time and throughput stand by themselves",
)
NO_BASELINE = Rule(
    "baseline-not-valid",
    "its one-core baseline is not valid: {detail}",
    "a ratio is no better than what it is divided by",
    Verdict.NOT_VALID,
)
BASELINE_DISTURBED = Rule(
    "baseline-disturbed",
    "its one-core baseline was disturbed: {detail}",
    "against a baseline that is too slow every speedup is too high",
    Verdict.DISTURBED,
)

RULES = tuple(value for value in vars().copy().values() if isinstance(value, Rule))


@dataclass(frozen=True, slots=True)
class Doubt:
    """A rule whose limit is exceeded, by an amount, in `launches` of `of` launches."""

    rule: Rule
    amount: float = 0.0
    detail: str = ""
    launches: int = 1
    of: int = 1


def width_doubts(half_width: float | None) -> list[Doubt]:
    """The doubt about an estimate whose interval is missing or too wide, if any."""
    if half_width is None:
        return [Doubt(NO_ANSWER)]
    return [Doubt(WIDE, half_width)] if half_width > WIDE.limit else []
