"""What may be asked about a size, what an answer looks like, and the reasons it gives. Pure values.

A reason has a stable code and its numbers; its sentence is in `scaling.reporting.capacity`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.sizes import Price
from scaling.analysis.summary import HostSlowdown


@dataclass(frozen=True, slots=True)
class StepsGrow:
    """Under weak scaling a step has more items on more cores, so that no number of them makes it shorter."""

    code: ClassVar[str] = "steps-grow"


@dataclass(frozen=True, slots=True)
class OverBudget:
    """One core costs more per hour than may be spent."""

    code: ClassVar[str] = "over-budget"
    core_cost: float
    budget: float


@dataclass(frozen=True, slots=True)
class NeverReached:
    """No number of cores is enough, in a `share` of the draws."""

    code: ClassVar[str] = "never-reached"
    assurance: float
    share: float


@dataclass(frozen=True, slots=True)
class MachineTooSmall:
    """All cores of the machine are not enough; `needed` is what the curve alone asks for, infinite if unknown."""

    code: ClassVar[str] = "machine-too-small"
    assurance: float
    needed: float
    cores: int
    machine: str | None


@dataclass(frozen=True, slots=True)
class BeyondExtrapolation:
    """Even twice the cores measured, the limit of extrapolation, are not enough."""

    code: ClassVar[str] = "beyond-extrapolation"
    assurance: float
    needed: float
    measured: float


@dataclass(frozen=True, slots=True)
class WholeMachineKeeps:
    """All cores of the machine keep the efficiency."""

    code: ClassVar[str] = "whole-machine-keeps"
    cores: int


@dataclass(frozen=True, slots=True)
class ExtrapolationEnds:
    """More cores may keep the efficiency too, but the curve does not reach further."""

    code: ClassVar[str] = "extrapolation-ends"
    cores: int
    measured: float


@dataclass(frozen=True, slots=True)
class SimilarCost:
    """Sizes that cost at most a share more than the cheapest."""

    code: ClassVar[str] = "similar-cost"
    fewest: int
    most: int
    share: float


@dataclass(frozen=True, slots=True)
class StepsUnknown:
    """Nothing is known of single steps, as in another tool's file."""

    code: ClassVar[str] = "steps-unknown"


@dataclass(frozen=True, slots=True)
class TooFewSteps:
    """Launches have at most so many steps, and a quantile needs more."""

    code: ClassVar[str] = "too-few-steps"
    quantile: float
    needed: int
    most: int


StepRefusal = StepsUnknown | TooFewSteps
TooFew = MachineTooSmall | BeyondExtrapolation
SizingReason = (
    StepsGrow | OverBudget | NeverReached | TooFew | WholeMachineKeeps | ExtrapolationEnds | SimilarCost | StepRefusal
)


ASSURANCE = 0.95
CORE_HOURS = Price()


class Goal(StrEnum):
    """What a question asks for; the value is the code that scripts match."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    EFFICIENCY = "efficiency"
    HOURLY_BUDGET = "hourly-budget"
    CHEAPEST = "cheapest"
    WORK = "work"
    DEADLINE = "deadline"


class Status(StrEnum):
    """Whether an answer names a size: there is one, none is enough, or nothing can be said."""

    OK = "ok"
    NOT_REACHABLE = "not-reachable"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Question:
    """A goal and its target: units per second, seconds for the series' work, an efficiency, a cost per hour.

    A time or a throughput is promised of a turn on the host as it was while it was measured. With a `quantile`, a
    latency is promised of that quantile of the steps of a launch. A job has so many `items`, the target of a deadline
    is its seconds.
    """

    goal: Goal
    target: float
    assurance: float = ASSURANCE
    price: Price = CORE_HOURS
    quantile: float | None = None
    items: float | None = None

    @property
    def is_promise(self) -> bool:
        """Whether a time or a throughput is asked for, which a turn keeps or not."""
        return self.goal in (Goal.THROUGHPUT, Goal.LATENCY, Goal.DEADLINE)

    def seconds(self, work: float) -> float:
        """The time that a promise allows for a work."""
        if self.goal is Goal.DEADLINE:
            return self.target * work / (self.items or work)
        return self.target if self.goal is Goal.LATENCY else work / self.target


class Grounds(StrEnum):
    """What is known of a size: it was measured, or it lies between, below or beyond the counts that were."""

    MEASURED = "measured"
    BETWEEN = "between"
    BELOW = "below"
    BEYOND = "beyond"


@dataclass(frozen=True, slots=True)
class Basis:
    """What a size rests on: the counts beside it that were taken in, and whether its own point was left out."""

    grounds: Grounds
    beside: tuple[float, ...] = ()
    own_left_out: bool = False


MEASURED = Basis(Grounds.MEASURED)


@dataclass(frozen=True, slots=True)
class Allocation:
    """An allocation of cores with so many threads each, and what it would do: median and 95 % of the draws.

    `assurance` is of the question's promise, None where it has none to keep. Speedup and efficiency are against one
    core with one thread. `host` is how long turns take over the step time, None where it is unknown. `job_seconds` is
    what the question's job takes there, None where it has none.
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
    """Replicas of so many cores with so many threads each, their cost an hour, and how sure their sum is.

    `machines` is how many machines like the one measured have room for them, None where it is not known.

    `crowding` is how many times as long a step takes beside the others, from packs that were measured; None where none
    were, and replicas are taken not to disturb each other.
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
    """What to give a series; without a size, `reasons` say why, and `needed` what it would take if it is known.

    `replicas` is the cheapest way to a throughput by several replicas of a size each; None for other questions.
    """

    fit: SeriesFit
    question: Question
    status: Status
    allocation: Allocation | None
    needed: Estimate | None
    neighbours: tuple[Allocation, ...]
    reasons: tuple[SizingReason, ...]
    replicas: Replicas | None = None


@dataclass(frozen=True, slots=True)
class ScalingLimits:
    """The landmarks of a series: where more cores stop paying, and where they stop helping, up to so many cores.

    `recommended` is the available size with the largest speedup times efficiency, with `threads` per core, among those
    up to the most cores measured; None where there is none. `speedup` is its speedup over one core with one thread,
    `basis` what is known of it. Knee and peak are whole numbers of cores with as many
    threads, infinite where they are beyond twice the cores measured.
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
