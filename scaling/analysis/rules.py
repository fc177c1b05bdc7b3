"""What makes a figure doubtful: every limit, with its effect and the reason for its value. Pure.

A launch that is another point altogether, or that others disturbed, is left out of its point; a point with too few
launches left is not valid or disturbed. The other rules are cautions, reported but not acted on. CPU time that others
take is counted in CPU-seconds per second, summed over the CPUs in use and not divided by their number: a step waits for
its slowest thread.
"""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a point can be used for; the value is the code that scripts match.

    Fits take what is ok and what is imprecise, which counts by its weight. A disturbed point has a bound only. What is
    not valid is another point than the one that was asked for.
    """

    OK = "ok"
    IMPRECISE = "imprecise"
    DISTURBED = "disturbed"
    NOT_VALID = "not-valid"


# An interval whose ends are further apart than this factor answers nothing.
WIDEST_ANSWER = 3.0


class Effect(StrEnum):
    """What a rule does to the launch or point that breaks it."""

    NOT_VALID = "not-valid"
    DISTURBED = "disturbed"
    IMPRECISE = "imprecise"
    CAUTION = "caution"


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit, what exceeding it does, and the reason for the limit; `code` is what scripts match."""

    code: str
    name: str
    limit: float
    effect: Effect
    why: str

    @property
    def spoils(self) -> bool:
        """Whether a launch that breaks it is left out."""
        return self.effect in (Effect.NOT_VALID, Effect.DISTURBED)


MASK = Rule("mask-differed", "mask differed", 0, Effect.NOT_VALID, "a run on other CPUs measures another point")
STRAYED = Rule("strayed", "strayed", 0, Effect.NOT_VALID, "a run on other CPUs measures another point")
SETTING = Rule(
    "setting-not-held",
    "setting not held",
    0,
    Effect.NOT_VALID,
    "a point that did not get the threads it names is another point",
)
THREADS_EXCEEDED = Rule(
    "threads-exceeded",
    "threads exceeded",
    0.1,
    Effect.NOT_VALID,
    "a program that starts more threads than it was told to measures another setting; a tenth is what the main thread "
    "adds while it feeds the others",
)
OVERSUBSCRIBED = Rule(
    "oversubscribed",
    "oversubscribed",
    1,
    Effect.CAUTION,
    "more threads of a pool than CPUs share them in turns: the point is what was asked for, and its time is partly "
    "that of switching and of waiting for threads that do not run",
)
THREADS_UNUSED = Rule(
    "cpus-unused",
    "CPUs unused",
    0,
    Effect.CAUTION,
    "too little work for the cores is a finding, not a fault, but the reader should know",
)
FOREIGN_LOAD = Rule(
    "foreign-load",
    "foreign load",
    0.1,
    Effect.DISTURBED,
    "a step waits for the thread whose CPU others use most; between 0.01 and 0.2 CPU the limit makes no difference",
)
SIBLING_LOAD = Rule(
    "sibling-load",
    "sibling load",
    0.1,
    Effect.DISTURBED,
    "a busy sibling takes a third to a half of a core, and a step waits for its slowest thread",
)
LOAD_ELSEWHERE = Rule(
    "load-elsewhere",
    "load elsewhere",
    0.25,
    Effect.CAUTION,
    "memory, last-level cache and clock are shared, and a virtual machine may hide that two CPUs are one core; a "
    "quarter of a CPU is more than an idle system uses",
)
STEAL = Rule(
    "steal",
    "steal",
    0.1,
    Effect.DISTURBED,
    "a step waits for the thread whose CPU was taken away; between 0.01 and 0.2 CPU the limit makes no difference",
)
TOO_SHORT_TO_SEE = Rule(
    "too-short-to-see",
    "too short to see",
    0.1,
    Effect.CAUTION,
    "what others took is counted in ticks of a hundredth of a second: in less than a tenth of a second times the root "
    "of its CPUs, more than the limits of steal and foreign load may be lost and not show",
)
THROTTLED = Rule(
    "throttled",
    "throttled",
    0,
    Effect.NOT_VALID,
    "a stopped run measures its quota, not its cores",
)
WAITING = Rule(
    "waiting",
    "waiting",
    0.1,
    Effect.CAUTION,
    "with no more busy threads than CPUs nobody should wait; up to a tenth is a framework's helper threads waking up",
)
PRESSURE = Rule(
    "pressure",
    "pressure",
    0.1,
    Effect.CAUTION,
    "others that wait share the CPUs with somebody; where the run's own waits are known they are taken off",
)
CLOCK = Rule(
    "clock-drop",
    "clock drop",
    0.1,
    Effect.DISTURBED,
    "a compute-bound step slows as its clock does; within a tenth lie turbo's ordinary steps",
)
NO_QUIET_TURN = Rule(
    "no-quiet-turn",
    "no quiet turn",
    0,
    Effect.DISTURBED,
    "a launch that others disturbed in all its turns does not show what the program does by itself",
)
FIXED_TIME = Rule(
    "fixed-time",
    "fixed time",
    0.05,
    Effect.NOT_VALID,
    "a program that takes as long on any number of cores while its CPU time grows with them runs for a fixed time, or "
    "its threads spin: its time says nothing of how it scales",
)
ADJUSTED = Rule(
    "adjusted",
    "adjusted",
    0,
    Effect.IMPRECISE,
    "where others took CPU time in all turns, a launch is moved to where they take none along the slope within "
    "launches; half of the correction counts as uncertain",
)
UNSTEADY = Rule(
    "no-steady-state",
    "no steady state",
    0.05,
    Effect.CAUTION,
    "a launch that ran at two speeds stands for their mean; if the program itself changed, that is not its figure",
)
FEW_STEPS = Rule(
    "few-steps",
    "few steps",
    5,
    Effect.CAUTION,
    "the mean of fewer than five steps moves with a single one, and warm-up is not recognised",
)
FEW_LAUNCHES = Rule(
    "too-few-launches",
    "too few launches",
    3,
    Effect.IMPRECISE,
    "with two launches the interval reaches thirteen standard errors, with one there is none; where fewer than three "
    "are left because the others were left out, the point is disturbed or not valid",
)
EQUAL = Rule(
    "launches-are-equal",
    "launches are equal",
    0,
    Effect.NOT_VALID,
    "without spread there is no interval, and one of no width would claim certainty",
)
WIDE = Rule(
    "wide-interval",
    "wide interval",
    0.1,
    Effect.IMPRECISE,
    "a figure that may be a tenth off answers few questions about efficiency; it counts by its weight",
)
NO_ANSWER = Rule(
    "no-answer",
    "no answer",
    WIDEST_ANSWER,
    Effect.IMPRECISE,
    "an interval whose ends are more than a factor of 3 apart answers nothing; it is not shown",
)
DRIFT = Rule(
    "baseline-drift",
    "baseline drift",
    0.05,
    Effect.CAUTION,
    "ratios are formed within blocks or cohorts, so that drift falls on both sides; also required: p < 0.05",
)
ONE_CORE_COUNT = Rule(
    "one-core-count",
    "one core count",
    0,
    Effect.CAUTION,
    "what was measured on a single number of cores has no speedup; its time and throughput stand by themselves",
)
NO_BASELINE = Rule(
    "baseline-not-valid",
    "baseline not valid",
    0,
    Effect.NOT_VALID,
    "a ratio is no better than what it is divided by",
)
BASELINE_DISTURBED = Rule(
    "baseline-disturbed",
    "baseline disturbed",
    0,
    Effect.DISTURBED,
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
