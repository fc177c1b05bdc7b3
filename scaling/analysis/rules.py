"""What makes a figure doubtful: every limit, with the reason for its value. Pure.

A rule that spoils takes a launch out of its point where enough others are left, and makes the point invalid where they
are not; the others are cautions, reported but not acted on. A speedup that is more than a tenth wrong must never go
unreported, so most limits are a twentieth: two such disturbances, one on either side of a ratio, make up a tenth.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit, its message when an amount exceeds it, whether that spoils the launch, and the reason for the limit.

    `code` is what scripts match, whatever the wording.
    """

    code: str
    name: str
    limit: float
    spoils: bool
    says: str
    why: str


MASK = Rule(
    "mask-differed",
    "mask differed",
    0,
    True,
    "its CPUs were not those asked for: {detail}",
    "a run on other CPUs measures another point",
)
STRAYED = Rule(
    "strayed",
    "strayed",
    0,
    True,
    "busy threads were seen on CPUs outside the mask: {detail}",
    "a run on other CPUs measures another point",
)
SETTING = Rule(
    "setting-not-held",
    "setting not held",
    0,
    True,
    "{detail}",
    "a point that did not get the threads it names is another point",
)
THREADS_EXCEEDED = Rule(
    "threads-exceeded",
    "threads exceeded",
    0.1,
    True,
    "it used {amount:.0%} more CPU time than its thread settings allow",
    "a program that starts more threads than it was told to measures another setting; a tenth is what the main thread "
    "adds while it feeds the others",
)
THREADS_UNUSED = Rule(
    "cpus-unused",
    "CPUs unused",
    0,
    False,
    "{amount:.0%} of its CPUs never ran a busy thread",
    "too little work for the cores is a finding, not a fault, but the reader should know",
)
FOREIGN_LOAD = Rule(
    "foreign-load",
    "foreign load",
    0.05,
    True,
    "other processes took {amount:.0%} of its CPUs' time",
    "time others take is missing from the run",
)
SIBLING_LOAD = Rule(
    "sibling-load",
    "sibling load",
    0.05,
    True,
    "other processes kept the idle siblings of its cores {amount:.0%} busy",
    "a busy sibling takes a third to a half of a core",
)
LOAD_ELSEWHERE = Rule(
    "load-elsewhere",
    "load elsewhere",
    0.25,
    False,
    "other processes used {amount:.2f} CPUs elsewhere on the machine",
    "memory, last-level cache and clock are shared, and a virtual machine may hide that two CPUs are one core; a "
    "quarter of a CPU is more than an idle system uses",
)
STEAL = Rule(
    "steal",
    "steal",
    0.05,
    True,
    "the hypervisor gave {amount:.0%} of its CPUs' time to others",
    "stolen time is missing from the run",
)
THROTTLED = Rule(
    "throttled",
    "throttled",
    0,
    True,
    "its control group was stopped in {amount:.0f} periods for lack of quota",
    "a stopped run measures its quota, not its cores",
)
WAITING = Rule(
    "waiting",
    "waiting",
    0.1,
    False,
    "its threads waited {amount:.0%} of the time for a CPU",
    "with no more busy threads than CPUs nobody should wait; up to a tenth is a framework's helper threads waking up",
)
PRESSURE = Rule(
    "pressure",
    "pressure",
    0.1,
    False,
    "something on the machine waited {amount:.0%} of the time for a CPU",
    "others that wait share the CPUs with somebody; where the run's own waits are known they are taken off",
)
CLOCK = Rule(
    "clock-drop",
    "clock drop",
    0.1,
    True,
    "its CPUs ran {amount:.0%} below the clock of the point's fastest launch",
    "a compute-bound step slows as its clock does; within a tenth lie turbo's ordinary steps",
)
UNSTEADY = Rule(
    "no-steady-state",
    "no steady state",
    0.05,
    True,
    "the second half of its steps lies {amount:.0%} from the first",
    "a median of two levels is the figure of neither",
)
FEW_STEPS = Rule(
    "few-steps",
    "few steps",
    5,
    False,
    "too few steady steps in a launch: {amount:.0f}",
    "the median of fewer than five steps moves with a single one, and warm-up cannot be told",
)
FEW_LAUNCHES = Rule(
    "too-few-launches",
    "too few launches",
    3,
    True,
    "only {amount:.0f} launches count",
    "with two launches the interval reaches thirteen standard errors, with one there is none",
)
EQUAL = Rule(
    "launches-are-equal",
    "launches are equal",
    0,
    True,
    "its launches are equal to the last digit, which no clock is",
    "without spread there is no interval, and one of no width would claim certainty",
)
DISAGREE = Rule(
    "launches-disagree",
    "launches disagree",
    0.1,
    True,
    "its launches are so far apart that the interval is ± {amount:.0%}",
    "a figure that may be a tenth off answers no question about efficiency",
)
DRIFT = Rule(
    "baseline-drift",
    "baseline drift",
    0.05,
    True,
    "one core drifted by {amount:+.0%} from the first block to the last",
    "a baseline that moves makes every speedup depend on when it was measured; also required: p < 0.05",
)
NO_BASELINE = Rule(
    "baseline-not-valid",
    "baseline not valid",
    0,
    True,
    "its one-core baseline is not valid: {detail}",
    "a ratio is no better than what it is divided by",
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

    @property
    def words(self) -> str:
        """The doubt as a sentence."""
        message = self.rule.says.format(amount=self.amount, detail=self.detail)
        return message if self.of == 1 else f"{message} (in {self.launches} of {self.of} launches)"
