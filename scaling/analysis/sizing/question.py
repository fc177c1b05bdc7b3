"""What may be asked about a size, and what an answer looks like. Pure values."""

from dataclasses import dataclass
from enum import StrEnum

from scaling.analysis.estimates import Estimate
from scaling.analysis.fitting import SeriesFit
from scaling.analysis.sizing.price import Price
from scaling.analysis.sizing.reasons import SizingReason
from scaling.analysis.sizing.replicas import Replicas

ASSURANCE = 0.95
CORE_HOURS = Price()


class Goal(StrEnum):
    """What a question asks for; the value is the code that scripts match."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    EFFICIENCY = "efficiency"
    HOURLY_BUDGET = "hourly-budget"
    CHEAPEST = "cheapest"


class Status(StrEnum):
    """Whether an answer names a size: there is one, none is enough, or nothing can be said."""

    OK = "ok"
    NOT_REACHABLE = "not-reachable"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Question:
    """A goal and its target: units per second, seconds for the series' work, an efficiency, a cost per hour."""

    goal: Goal
    target: float
    assurance: float = ASSURANCE
    price: Price = CORE_HOURS


@dataclass(frozen=True, slots=True)
class Offer:
    """One size and what it would do: the median and 95 % of the draws.

    `assurance` is of the question's promise, None where it has none to keep.
    `threads` are used of each core; more than one only where there is no further core.
    """

    cores: int
    threads: int
    assurance: float | None
    rate: Estimate
    efficiency: Estimate
    cpu_hours_per_million: float
    cost_per_million: float
    extrapolated: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What to give a series; without a size, `reasons` say why, and `needed` what it would take if it is known.

    `replicas` is the cheapest way to a throughput by several replicas of a size each; None for other questions.
    """

    fit: SeriesFit
    question: Question
    status: Status
    offer: Offer | None
    needed: Estimate | None
    neighbours: tuple[Offer, ...]
    reasons: tuple[SizingReason, ...]
    replicas: Replicas | None = None


@dataclass(frozen=True, slots=True)
class ScalingLimits:
    """The landmarks of a series: where more cores stop paying, and where they stop helping, up to so many cores.

    `recommended` is the largest size on offer that is not past the knee, None where nothing is said.
    """

    fit: SeriesFit
    extrapolation_limit: float
    recommended: int | None
    knee: Estimate | None
    speedup_limit: Estimate | None
    rate_limit: Estimate | None
    peak_cores: Estimate | None
    reasons: tuple[SizingReason, ...]
