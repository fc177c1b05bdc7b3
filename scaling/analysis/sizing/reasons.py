"""Why a sizing answer is what it is: reasons as values with a stable code and their numbers. Pure.

Their sentences are in `scaling.reporting.capacity`.
"""

from dataclasses import dataclass
from typing import ClassVar

from scaling.analysis.fits.verdict import Verdict, VerdictReason


@dataclass(frozen=True, slots=True)
class NoLaw:
    """No law describes the series."""

    code: ClassVar[str] = "no-law"
    verdict: Verdict
    reasons: tuple[VerdictReason, ...]


@dataclass(frozen=True, slots=True)
class NoiseUnknown:
    """There are as many parameters as launches."""

    code: ClassVar[str] = "noise-unknown"


@dataclass(frozen=True, slots=True)
class OnlyMeasured:
    """The law is not identifiable, so that answers end with the cores measured."""

    code: ClassVar[str] = "only-measured"


@dataclass(frozen=True, slots=True)
class OverBudget:
    """One core costs more per hour than may be spent."""

    code: ClassVar[str] = "over-budget"
    core_cost: float
    budget: float


@dataclass(frozen=True, slots=True)
class NeverReached:
    """No number of cores is enough, in a `share` of the draws of the law."""

    code: ClassVar[str] = "never-reached"
    assurance: float
    share: float


@dataclass(frozen=True, slots=True)
class MachineTooSmall:
    """All cores of the machine are not enough; `needed` is what the law alone asks for, infinite if unknown."""

    code: ClassVar[str] = "machine-too-small"
    assurance: float
    needed: float
    cores: int
    machine: str | None


@dataclass(frozen=True, slots=True)
class MeasuredTooFew:
    """The law is not identifiable and the cores measured are not enough."""

    code: ClassVar[str] = "measured-too-few"
    assurance: float
    needed: float
    measured: float


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
    """More cores may keep the efficiency too, but the fit does not reach further."""

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


Refusal = NoLaw | NoiseUnknown
TooFew = MachineTooSmall | MeasuredTooFew | BeyondExtrapolation
SizingReason = (
    Refusal | OnlyMeasured | OverBudget | NeverReached | TooFew | WholeMachineKeeps | ExtrapolationEnds | SimilarCost
)
