"""Sizing questions, their answers, and the reasons in them. Pure values.

A reason has a stable code and its numbers; its sentence is in `scaling.reporting.capacity`.
"""

from dataclasses import dataclass
from enum import StrEnum

from scaling.analysis.curves.fit import Coded, SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.sizes import Price
from scaling.analysis.summary import HostSlowdown


@dataclass(frozen=True, slots=True)
class StepsGrow(Coded):
    """Under weak scaling a step has more items on more cores, so no number of cores makes it shorter."""


@dataclass(frozen=True, slots=True)
class OverBudget(Coded):
    """One core costs more per hour than the budget."""

    core_cost: float
    budget: float


@dataclass(frozen=True, slots=True)
class NeverReached(Coded):
    """No number of cores is enough, in a `share` of the draws."""

    assurance: float
    share: float


@dataclass(frozen=True, slots=True)
class MachineTooSmall(Coded):
    """All cores of the machine are not enough; the curve alone needs `needed`, infinite if unknown."""

    assurance: float
    needed: float
    cores: int
    machine: str | None


@dataclass(frozen=True, slots=True)
class BeyondExtrapolation(Coded):
    """Even twice the cores measured, the limit of extrapolation, are not enough."""

    assurance: float
    needed: float
    measured: float


@dataclass(frozen=True, slots=True)
class WholeMachineKeeps(Coded):
    """All cores of the machine keep the efficiency."""

    cores: int


@dataclass(frozen=True, slots=True)
class ExtrapolationEnds(Coded):
    """More cores may keep the efficiency too, but the curve does not cover them."""

    cores: int
    measured: float


@dataclass(frozen=True, slots=True)
class SimilarCost(Coded):
    """Sizes that cost at most a share more than the cheapest."""

    fewest: int
    most: int
    share: float


@dataclass(frozen=True, slots=True)
class StepsUnknown(Coded):
    """Nothing is known about single steps, as in another tool's file."""


@dataclass(frozen=True, slots=True)
class TooFewSteps(Coded):
    """Launches have at most `most` steps, and the quantile needs more."""

    quantile: float
    needed: int
    most: int


@dataclass(frozen=True, slots=True)
class LaunchesScatter(Coded):
    """Launches scatter so much that no size is recommended."""


StepRefusal = StepsUnknown | TooFewSteps
TooFew = MachineTooSmall | BeyondExtrapolation
SizingReason = (
    StepsGrow
    | OverBudget
    | NeverReached
    | TooFew
    | WholeMachineKeeps
    | ExtrapolationEnds
    | SimilarCost
    | StepRefusal
    | LaunchesScatter
)


ASSURANCE = 0.95
CORE_HOURS = Price()


class Goal(StrEnum):
    """The goal of a question; scripts match the value."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    EFFICIENCY = "efficiency"
    HOURLY_BUDGET = "hourly-budget"
    CHEAPEST = "cheapest"
    WORK = "work"
    DEADLINE = "deadline"


class Status(StrEnum):
    """Whether an answer names a size, no size is enough, or no answer is possible."""

    OK = "ok"
    NOT_REACHABLE = "not-reachable"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Question:
    """A goal and its target: units per second, seconds for the series' work, an efficiency, a cost per hour.

    A time or a throughput is promised for a turn on the host in the state measured. With a `quantile`, a latency is
    promised for that quantile of the steps of a launch. A job has a number of `items`, and the target of a deadline is
    its seconds.
    """

    goal: Goal
    target: float
    assurance: float = ASSURANCE
    price: Price = CORE_HOURS
    quantile: float | None = None
    items: float | None = None

    @property
    def is_promise(self) -> bool:
        """Whether its goal is a time or a throughput, which a turn keeps or not."""
        return self.goal in (Goal.THROUGHPUT, Goal.LATENCY, Goal.DEADLINE)

    def seconds(self, work: float) -> float:
        """The time that a promise allows for a work."""
        if self.goal is Goal.DEADLINE:
            return self.target * work / (self.items or work)
        return self.target if self.goal is Goal.LATENCY else work / self.target


class Grounds(StrEnum):
    """The evidence for a size: measured, or between, below or beyond the measured counts."""

    MEASURED = "measured"
    BETWEEN = "between"
    BELOW = "below"
    BEYOND = "beyond"


@dataclass(frozen=True, slots=True)
class Basis:
    """The evidence for a size: the measured counts beside it, and whether its own point was left out."""

    grounds: Grounds
    beside: tuple[float, ...] = ()
    own_left_out: bool = False


MEASURED = Basis(Grounds.MEASURED)


@dataclass(frozen=True, slots=True)
class Allocation:
    """A number of cores and of threads per core, and its performance: median and 95 % of the draws.

    `assurance` is for the question's promise, if it has one. Speedup and efficiency are over one core with one thread.
    `host` is the slowdown of turns over the step time, if it is known. `job_seconds` is the time of the question's job,
    if it has one.
    """

    cores: int
    threads: int
    assurance: float | None
    rate: Estimate
    efficiency: Estimate
    cpu_hours_per_million: float
    cost_per_million: float
    basis: Basis
    host: HostSlowdown | None = None
    job_seconds: Estimate | None = None

    @property
    def extrapolated(self) -> bool:
        """Whether it is beyond the most cores measured."""
        return self.basis.grounds is Grounds.BEYOND


@dataclass(frozen=True, slots=True)
class Replicas:
    """A number of replicas with equal cores and threads, their hourly cost, and the assurance of their sum.

    `machines` is the number of machines like the measured one that they need, if it is known. `crowding` is how many
    times as long a step takes beside the others, from measured packs; None without packs, if replicas are assumed not
    to disturb each other.
    """

    replicas: int
    cores: int
    threads: int
    hourly_cost: float
    assurance: float
    crowding: float | None = None
    machines: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The size for a series; without a size, `reasons`, and the cores `needed` if they are known.

    `replicas` is the cheapest way to a throughput by several replicas of a size each; None for other questions.
    """

    fit: SeriesFit
    question: Question
    status: Status
    allocation: Allocation | None = None
    needed: Estimate | None = None
    neighbours: tuple[Allocation, ...] = ()
    reasons: tuple[SizingReason, ...] = ()
    replicas: Replicas | None = None


@dataclass(frozen=True, slots=True)
class ScalingLimits:
    """The landmarks of a series: the core counts at which more cores stop paying, and stop helping.

    `recommended` is the available size with the largest speedup times efficiency, with `threads` per core, up to the
    most cores measured; None without any. `speedup` is its speedup over one core with one thread, `basis` its evidence.
    Knee and peak are whole numbers of cores with equal threads, infinite if they are beyond twice the cores measured.
    """

    fit: SeriesFit
    extrapolation_limit: float
    recommended: int | None
    knee: Estimate
    speedup_limit: Estimate
    rate_limit: Estimate
    peak_cores: Estimate
    threads: int = 1
    speedup: Estimate | None = None
    basis: Basis = MEASURED
