"""What makes a figure doubtful: every limit, the verdict it leads to and the reason for its value. Pure.

A launch that is another point altogether, or that others disturbed, is left out of its point; a point with too few
launches left is not valid or disturbed. The other rules are cautions, reported but not acted on. CPU time that others
take is counted in CPU-seconds per second, summed over the CPUs in use and not divided by their number: a step waits for
its slowest thread.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a point can be used for, from best to worst; the value is the code that scripts match.

    Fits take what is ok and what is imprecise, which counts by its weight. A disturbed point has a bound only. What is
    not valid is another point than the one that was asked for.
    """

    OK = "ok"
    IMPRECISE = "imprecise"
    DISTURBED = "disturbed"
    NOT_VALID = "not-valid"

    @property
    def valid(self) -> bool:
        """Whether fits take what has it."""
        return self in (Verdict.OK, Verdict.IMPRECISE)

    @property
    def severity(self) -> int:
        """How far it is from ok."""
        return list(Verdict).index(self)

    @classmethod
    def worst(cls, verdicts: Iterable["Verdict"]) -> "Verdict":
        """The last of some verdicts; ok where there is none."""
        return max(verdicts, key=lambda verdict: verdict.severity, default=cls.OK)


# An interval whose ends are further apart than this factor answers nothing.
WIDEST_ANSWER = 3.0


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit, the best verdict of what exceeds it (ok: it is no more than a caution), and the reason for the limit.

    `code` is what scripts match; `words` are the sentence of a doubt, with its amount and its detail.
    """

    code: str
    limit: float
    verdict: Verdict
    words: str
    why: str

    @property
    def name(self) -> str:
        """The code as it is shown."""
        return self.code.replace("-", " ").replace("cpus", "CPUs")

    @property
    def spoils(self) -> bool:
        """Whether a launch that breaks it is left out."""
        return not self.verdict.valid


MASK = Rule(
    "mask-differed",
    0,
    Verdict.NOT_VALID,
    "its CPUs were not those asked for: {detail}",
    "a run on other CPUs measures another point",
)
STRAYED = Rule(
    "strayed",
    0,
    Verdict.NOT_VALID,
    "busy threads were seen on CPUs outside the mask: {detail}",
    "a run on other CPUs measures another point",
)
SETTING = Rule(
    "setting-not-held",
    0,
    Verdict.NOT_VALID,
    "{detail}",
    "a point that did not get the threads it names is another point",
)
THREADS_EXCEEDED = Rule(
    "threads-exceeded",
    0.1,
    Verdict.NOT_VALID,
    "it used {amount:.0%} more CPU time than its thread settings allow",
    "a program that starts more threads than it was told to measures another setting; a tenth is what the main "
    "thread adds while it feeds the others",
)
OVERSUBSCRIBED = Rule(
    "oversubscribed",
    1,
    Verdict.OK,
    "a pool of its threads has {amount:.3g} of them per CPU",
    "more threads of a pool than CPUs share them in turns: the point is what was asked for, and its time is "
    "partly that of switching and of waiting for threads that do not run",
)
THREADS_UNUSED = Rule(
    "cpus-unused",
    0,
    Verdict.OK,
    "{amount:.0%} of its CPUs never ran a busy thread",
    "too little work for the cores is a finding, not a fault, but the reader should know",
)
FOREIGN_LOAD = Rule(
    "foreign-load",
    0.1,
    Verdict.DISTURBED,
    "other processes used {amount:.2f} CPUs of those it ran on",
    "a step waits for the thread whose CPU others use most; between 0.01 and 0.2 CPU the limit makes no difference",
)
SIBLING_LOAD = Rule(
    "sibling-load",
    0.1,
    Verdict.DISTURBED,
    "other processes used {amount:.2f} CPUs of the idle siblings of its cores",
    "a busy sibling takes a third to a half of a core, and a step waits for its slowest thread",
)
LOAD_ELSEWHERE = Rule(
    "load-elsewhere",
    0.25,
    Verdict.OK,
    "other processes used {amount:.2f} CPUs elsewhere on the machine",
    "memory, last-level cache and clock are shared, and a virtual machine may hide that two CPUs are one core; a "
    "quarter of a CPU is more than an idle system uses",
)
STEAL = Rule(
    "steal",
    0.1,
    Verdict.DISTURBED,
    "the hypervisor gave {amount:.2f} CPUs of those it ran on to others",
    "a step waits for the thread whose CPU was taken away; between 0.01 and 0.2 CPU the limit makes no difference",
)
TOO_SHORT_TO_SEE = Rule(
    "too-short-to-see",
    0.1,
    Verdict.OK,
    "others may have taken up to {amount:.2f} CPUs unseen, as its turns are so short",
    "what others took is counted in ticks of a hundredth of a second: in less than a tenth of a second times the "
    "root of its CPUs, more than the limits of steal and foreign load may be lost and not show",
)
THROTTLED = Rule(
    "throttled",
    0,
    Verdict.NOT_VALID,
    "its control group was stopped in {amount:.0f} periods for lack of quota",
    "a stopped run measures its quota, not its cores",
)
WAITING = Rule(
    "waiting",
    0.1,
    Verdict.OK,
    "its threads waited {amount:.0%} of the time for a CPU",
    "with no more busy threads than CPUs nobody should wait; up to a tenth is a framework's helper threads waking up",
)
PRESSURE = Rule(
    "pressure",
    0.1,
    Verdict.OK,
    "something on the machine waited {amount:.0%} of the time for a CPU",
    "others that wait share the CPUs with somebody; where the run's own waits are known they are taken off",
)
CLOCK = Rule(
    "clock-drop",
    0.1,
    Verdict.DISTURBED,
    "its CPUs ran {amount:.0%} below the clock of the point's fastest launch",
    "a compute-bound step slows as its clock does; within a tenth lie turbo's ordinary steps",
)
NO_QUIET_TURN = Rule(
    "no-quiet-turn",
    0,
    Verdict.DISTURBED,
    "others used its CPUs in every one of its turns",
    "a launch that others disturbed in all its turns does not show what the program does by itself",
)
FIXED_TIME = Rule(
    "fixed-time",
    0.05,
    Verdict.NOT_VALID,
    "it takes as long as on one core while its CPU time grows with the cores, as a program does that runs for a "
    "fixed time or spins; where it prints what it achieved, have that found by `throughput`",
    "a program that takes as long on any number of cores while its CPU time grows with them runs for a fixed "
    "time, or its threads spin: its time says nothing of how it scales",
)
ADJUSTED = Rule(
    "adjusted",
    0,
    Verdict.IMPRECISE,
    "others used its CPUs in every turn, and up to {amount:.0%} of its time was taken off for that",
    "where others took CPU time in all turns, a launch is moved to where they take none along the slope within "
    "launches; half of the correction counts as uncertain",
)
GENERATOR_BOUND = Rule(
    "generator-bound",
    0.9,
    Verdict.DISTURBED,
    "its load generator was busy for {amount:.0%} of the time while the server was not; give the generator more "
    "threads or cores",
    "a server that waits for its load generator could do more: its throughput is a bound from below; a thread or a set "
    "of cores that is busy for nine tenths of the time has nothing left but its pauses",
)
SHARED_CORES = Rule(
    "shared-with-generator",
    0,
    Verdict.OK,
    "its load generator shared {amount:.0f} of its CPUs; leave cores free for the generator",
    "a server whose cores its load generator uses too does less than it would by itself",
)
UNSTEADY = Rule(
    "no-steady-state",
    0.05,
    Verdict.OK,
    "the second half of its steps lies {amount:.0%} from the first",
    "a launch that ran at two speeds stands for their mean; if the program itself changed, that is not its figure",
)
FEW_STEPS = Rule(
    "few-steps",
    5,
    Verdict.OK,
    "too few steady steps in a launch: {amount:.0f}",
    "the mean of fewer than five steps moves with a single one, and warm-up is not recognised",
)
FEW_LAUNCHES = Rule(
    "too-few-launches",
    3,
    Verdict.IMPRECISE,
    "launches that count: {amount:.0f}",
    "with two launches the interval reaches thirteen standard errors, with one there is none; where fewer than "
    "three are left because the others were left out, the point is disturbed or not valid",
)
EQUAL = Rule(
    "launches-are-equal",
    0,
    Verdict.NOT_VALID,
    "its launches are equal to the last digit, which no clock is",
    "without spread there is no interval, and one of no width would claim certainty",
)
WIDE = Rule(
    "wide-interval",
    0.1,
    Verdict.IMPRECISE,
    "its interval is ± {amount:.0%}",
    "a figure that may be a tenth off answers few questions about efficiency; it counts by its weight",
)
NO_ANSWER = Rule(
    "no-answer",
    WIDEST_ANSWER,
    Verdict.IMPRECISE,
    "its launches differ too much for an interval within a factor of 3",
    "an interval whose ends are more than a factor of 3 apart answers nothing; it is not shown",
)
DRIFT = Rule(
    "baseline-drift",
    0.05,
    Verdict.OK,
    "one core drifted by {amount:+.0%} from the first block to the last",
    "ratios are formed within blocks or cohorts, so that drift falls on both sides; also required: p < 0.05",
)
ONE_CORE_COUNT = Rule(
    "one-core-count",
    0,
    Verdict.OK,
    "it was measured on this number of cores alone, so that it has no speedup",
    "what was measured on a single number of cores has no speedup; its time and throughput stand by themselves",
)
NO_BASELINE = Rule(
    "baseline-not-valid",
    0,
    Verdict.NOT_VALID,
    "its one-core baseline is not valid: {detail}",
    "a ratio is no better than what it is divided by",
)
BASELINE_DISTURBED = Rule(
    "baseline-disturbed",
    0,
    Verdict.DISTURBED,
    "its one-core baseline was disturbed: {detail}",
    "against a baseline that is too slow every speedup is too high",
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
