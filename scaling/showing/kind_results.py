"""Several kinds of node understood, to be shown side by side: what each comes to, and what the same work asks of each.

The same calls as `scaling show`, `scaling fit` and `scaling capacity` make of a cluster's folder. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from scaling.analysis.capacity import answer, offer_of
from scaling.analysis.machines import Between, several_machines
from scaling.analysis.price import Price
from scaling.analysis.question import Offer, Outlook, Question
from scaling.results.rows import launch_of
from scaling.showing.kinds import KindAnswer
from scaling.showing.result import Result

# The throughput that kinds are compared at, where none is asked for, as a share of what the slowest is said to do on
# the cores it should be given: so much less that it can be sure of it.
COMPARED_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class KindResult:
    """A kind of node: what its folder comes to, and the price of its cores."""

    name: str
    core_hour: float
    result: Result

    @property
    def price(self) -> Price:
        """What an hour of it costs."""
        return Price(self.core_hour)

    @property
    def between(self) -> list[Between]:
        """Points that were measured on more than one of its machines."""
        return several_machines((row.machine.host, launch_of(row)) for row in self.result.folder.rows)

    def outlook(self, series: str) -> Outlook | None:
        """The landmarks of a series."""
        return next((each for each in self.result.outlooks if each.fit.series.name == series), None)

    def recommended(self, series: str) -> Offer | None:
        """What a series does on the cores it should be given, and what that costs; None where no size is named."""
        found = self.outlook(series)
        if found is None or found.recommended is None:
            return None
        return offer_of(found.fit, found.recommended, self.price, self.result.sizes)


@dataclass(frozen=True, slots=True)
class SameWork:
    """A series on every kind that has a law of it, asked for the same throughput."""

    series: str
    target: float
    answers: tuple[KindAnswer, ...]


def series_names(kinds: Sequence[KindResult]) -> list[str]:
    """Every series that a size is asked of on any kind, in the order of the kinds."""
    return list(dict.fromkeys(each.fit.series.name for kind in kinds for each in kind.result.outlooks))


def same_work(kinds: Sequence[KindResult], target: float | None = None) -> list[SameWork]:
    """What every kind asks for the same throughput: the one given, or a round one that each should reach.

    Series that only one kind has, and those of which no kind names a size, are left out: there is nothing to compare.
    """
    found = []
    for series in series_names(kinds):
        having = [(kind, outlook) for kind in kinds if (outlook := kind.outlook(series))]
        wanted = target or _reachable([offer for kind, _ in having if (offer := kind.recommended(series))])
        if len(having) > 1 and wanted:
            answers = (
                KindAnswer(
                    kind.name,
                    series,
                    answer(each.fit, Question("throughput", wanted, price=kind.price), kind.result.sizes),
                )
                for kind, each in having
            )
            found.append(SameWork(series, wanted, tuple(answers)))
    return found


def _reachable(offers: Sequence[Offer]) -> float | None:
    """A throughput that all of these should reach."""
    rates = [offer.rate.value for offer in offers if offer.rate.value]
    return _round(COMPARED_SHARE * min(rates)) if rates else None


def _round(number: float) -> float:
    """The next number below with two digits, so that people can say it and type it."""
    digits = floor(log10(number)) - 1
    return float(f"{floor(number / 10.0**digits)}e{digits}")
