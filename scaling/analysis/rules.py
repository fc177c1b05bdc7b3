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
    "it did not run on the requested CPUs: {detail}",
    "a run on other CPUs measures a different point",
    Verdict.NOT_VALID,
)
STRAYED = Rule(
    "strayed",
    "busy threads were seen on CPUs outside the mask: {detail}",
    "a run on other CPUs measures a different point",
    Verdict.NOT_VALID,
)
SETTING = Rule(
    "setting-not-held",
    "{detail}",
    "a run with another number of threads than requested measures a different point",
    Verdict.NOT_VALID,
)
THREADS_EXCEEDED = Rule(
    "threads-exceeded",
    "it used {amount:.0%} more CPU time than its thread settings allow",
    "a program that starts more threads than requested measures a different setting; a tenth is allowed for the main "
    "thread, which feeds the others",
    Verdict.NOT_VALID,
    limit=0.1,
)
OVERSUBSCRIBED = Rule(
    "oversubscribed",
    "one of its thread pools has {amount:.3g} threads per CPU",
    "threads that outnumber their CPUs take turns: the point is as requested, but part of its time is spent on "
    "switching and waiting",
    limit=1,
)
THREADS_UNUSED = Rule(
    "cpus-unused",
    "{amount:.0%} of its CPUs never ran a busy thread",
    "too little work for the cores is a finding, not a fault",
)
FOREIGN_LOAD = Rule(
    "foreign-load",
    "other processes on its CPUs used {amount:.2f} CPUs",
    "a step waits for the thread whose CPU others use most; limits from 0.01 to 0.2 CPU give the same verdicts",
    Verdict.DISTURBED,
    limit=0.1,
)
SIBLING_LOAD = Rule(
    "sibling-load",
    "other processes on the idle siblings of its cores used {amount:.2f} CPUs",
    "a busy sibling takes a third to a half of a core, and a step waits for its slowest thread",
    Verdict.DISTURBED,
    limit=0.1,
)
LOAD_ELSEWHERE = Rule(
    "load-elsewhere",
    "other processes elsewhere on the machine used {amount:.2f} CPUs",
    "memory, last-level cache and clock are shared, and a virtual machine may hide that two CPUs share a core; a "
    "quarter of a CPU is more than an idle system uses",
    limit=0.25,
)
STEAL = Rule(
    "steal",
    "the hypervisor took {amount:.2f} CPUs from it",
    "a step waits for the thread whose CPU was taken away; limits from 0.01 to 0.2 CPU give the same verdicts",
    Verdict.DISTURBED,
    limit=0.1,
)
TOO_SHORT_TO_SEE = Rule(
    "too-short-to-see",
    "its turns are so short that others may have used up to {amount:.2f} CPUs unseen",
    "the time of other processes is counted in ticks of 0.01 s; if a turn is shorter than 0.1 s times the square root "
    "of its number of CPUs, they can use more time unseen than the limits for steal and foreign load allow",
    limit=0.1,
)
THROTTLED = Rule(
    "throttled",
    "its control group ran out of CPU quota in {amount:.0f} periods",
    "a throttled run measures its quota, not its cores",
    Verdict.NOT_VALID,
)
WAITING = Rule(
    "waiting",
    "its threads waited {amount:.0%} of the time for a CPU",
    "no thread should wait unless busy threads outnumber CPUs; a tenth is allowed for a framework's helper threads",
    limit=0.1,
)
PRESSURE = Rule(
    "pressure",
    "something on the machine waited {amount:.0%} of the time for a CPU",
    "waiting processes compete with the run for CPUs; the run's own waits are subtracted if they are known",
    limit=0.1,
)
OUTPUT_READ = Rule(
    "output-read",
    "reading its output took {amount:.0%} of its time; print less, or write the output to a file",
    "a program waits for its reader, so output that is searched for figures costs it time; output without figures is "
    "discarded",
    limit=0.02,
)
OUTPUT_HELD = Rule(
    "output-held",
    "it left {detail} running, with its output open; its time ends with its own exit",
    "processes that a program leaves behind work beside its next executions, and their work is not in its time",
)
CLOCK = Rule(
    "clock-drop",
    "its clock was {amount:.0%} lower than in the point's fastest launch",
    "a compute-bound step slows down with its clock; ordinary changes of turbo stay within a tenth",
    Verdict.DISTURBED,
    limit=0.1,
)
NO_QUIET_TURN = Rule(
    "no-quiet-turn",
    "other processes used its CPUs in every turn",
    "a launch that was disturbed in every turn does not show how fast the program is by itself",
    Verdict.DISTURBED,
)
FIXED_TIME = Rule(
    "fixed-time",
    "it takes as long as on one core while its CPU time grows with the cores, like a program that runs for a fixed "
    "time or spins; if it prints its throughput, set `throughput` to a pattern that matches it",
    "if CPU time grows with the cores but speed does not, a program runs for a fixed time or its threads spin, and its "
    "time does not show how it scales",
    Verdict.NOT_VALID,
    limit=0.05,
)
ADJUSTED = Rule(
    "adjusted",
    "other processes used its CPUs in every turn, so up to {amount:.0%} of its time was subtracted",
    "the time of a launch that was disturbed in every turn is extrapolated to zero disturbance, by the slope of time "
    "over disturbance within launches; half of the correction is added to its uncertainty",
    Verdict.IMPRECISE,
)
GENERATOR_BOUND = Rule(
    "generator-bound",
    "its load generator was busy for {amount:.0%} of the time, and the server was not; give the generator more "
    "threads or cores",
    "a server that waits for its load generator could do more, so its throughput is a lower bound; a thread or a set "
    "of cores that is busy for nine tenths of the time has almost nothing to spare",
    Verdict.DISTURBED,
    limit=0.9,
)
SHARED_CORES = Rule(
    "shared-with-generator",
    "its load generator also ran on {amount:.0f} of the server's CPUs; leave cores free for the generator",
    "a server that shares cores with its load generator does less than it could alone",
)
UNSTEADY = Rule(
    "no-steady-state",
    "step times differ by {amount:.0%} between the first and the second half of its steps",
    "a launch that ran at two speeds shows their mean, which is wrong if the program itself changed its speed",
    limit=0.05,
)
FEW_STEPS = Rule(
    "few-steps",
    "too few steady steps in a launch: {amount:.0f}",
    "with fewer than five steps, a single one shifts the mean, and warm-up cannot be recognised",
    limit=5,
)
FEW_LAUNCHES = Rule(
    "too-few-launches",
    "its usable launches are too few: {amount:.0f}",
    "the interval of two launches reaches thirteen standard errors, and one launch has no interval; if fewer than "
    "three remain because others were left out, the point is disturbed or not valid",
    Verdict.IMPRECISE,
    limit=3,
)
EQUAL = Rule(
    "launches-are-equal",
    "all its launches took exactly the same time, to the last digit, and no clock does that",
    "without spread there is no interval, and an interval of zero width would claim certainty",
    Verdict.NOT_VALID,
)
WIDE = Rule(
    "wide-interval",
    "its interval is ± {amount:.0%}",
    "a value that may be a tenth off answers few questions about efficiency; fits give it a lower weight",
    Verdict.IMPRECISE,
    limit=0.1,
)
NO_ANSWER = Rule(
    "no-answer",
    "its launches differ so much that the interval spans more than a factor of 3",
    "an interval that spans more than a factor of 3 does not answer a question, so it is not shown",
    Verdict.IMPRECISE,
    limit=WIDEST_ANSWER,
)
DRIFT = Rule(
    "baseline-drift",
    "the step time on one core drifted by {amount:+.0%} from the first block to the last",
    "ratios are formed within blocks or cohorts, so drift affects both sides equally; it is reported if p < 0.05",
    limit=0.05,
)
ONE_CORE_COUNT = Rule(
    "one-core-count",
    "it was measured on this core count only, so its speedup is unknown",
    "a speedup needs at least two core counts; time and throughput need only one",
)
ONE_CORE_NOT_MEASURED = Rule(
    "one-core-not-measured",
    "one core was not measured, so its speedup is unknown",
    "a speedup is over one core; time, throughput and curves need none",
)
BASELINE_NOT_VALID = Rule(
    "baseline-not-valid",
    "its one-core baseline is not valid: {detail}",
    "a ratio is no better than what it is divided by",
    Verdict.NOT_VALID,
)
BASELINE_DISTURBED = Rule(
    "baseline-disturbed",
    "its one-core baseline was disturbed: {detail}",
    "if the baseline is too slow, every speedup is too high",
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
