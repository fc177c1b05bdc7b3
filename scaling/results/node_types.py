"""Several kinds of node understood, to be shown side by side: what each comes to, and what the same work asks of each.

The same calls as `scaling show`, `scaling fit` and `scaling capacity` make of a cluster's folder. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10

from scaling.analysis.between_machines import Between, several_machines
from scaling.analysis.capacity import answer, offer_of
from scaling.analysis.sizing.price import Price
from scaling.analysis.sizing.question import Answer, Goal, Offer, Question, ScalingLimits
from scaling.results.evaluation import Evaluation
from scaling.results.rows import launch_of

# The throughput that kinds are compared at, where none is asked for, as a share of what the slowest is said to do on
# the cores it should be given: the largest of these that every kind is sure of, or the smallest.
COMPARED_SHARES = (0.9, 0.75, 0.5)


@dataclass(frozen=True, slots=True)
class NodeTypeEvaluation:
    """A kind of node: what its folder comes to, and the price of its cores."""

    name: str
    core_hour: float
    evaluation: Evaluation

    @property
    def price(self) -> Price:
        """What an hour of it costs."""
        return Price(self.core_hour)

    @property
    def between(self) -> list[Between]:
        """Points that were measured on more than one of its machines."""
        return several_machines((row.machine.host, launch_of(row)) for row in self.evaluation.folder.rows)

    def limits_of(self, series: str) -> ScalingLimits | None:
        """The landmarks of a series."""
        return next((each for each in self.evaluation.limits if each.fit.series.name == series), None)

    def recommended(self, series: str) -> Offer | None:
        """What a series does on the cores it should be given, and what that costs; None where no size is named."""
        found = self.limits_of(series)
        if found is None or found.recommended is None:
            return None
        return offer_of(found.fit, found.recommended, self.price, self.evaluation.sizes)


@dataclass(frozen=True, slots=True)
class NodeTypeAnswer:
    """What a kind of node answers for a series, under the name that the series has on every kind."""

    kind: str
    series: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class SameWork:
    """A series on every kind that has a law of it, asked for the same throughput."""

    series: str
    target: float
    answers: tuple[NodeTypeAnswer, ...]


def series_names(kinds: Sequence[NodeTypeEvaluation]) -> list[str]:
    """Every series that a size is asked of on any kind, in the order of the kinds."""
    return list(dict.fromkeys(each.fit.series.name for kind in kinds for each in kind.evaluation.limits))


def same_work(kinds: Sequence[NodeTypeEvaluation], target: float | None = None) -> list[SameWork]:
    """What every kind asks for the same throughput: the one given, or a round one that each should reach.

    Series that only one kind has, and those of which no kind names a size, are left out: there is nothing to compare.
    """
    found = (
        _compared(series, [kind for kind in kinds if kind.limits_of(series)], target) for series in series_names(kinds)
    )
    return [work for work in found if work is not None]


def _compared(series: str, kinds: Sequence[NodeTypeEvaluation], target: float | None) -> SameWork | None:
    works = (
        SameWork(series, wanted, tuple(_answer(kind, series, wanted) for kind in kinds))
        for wanted in ([target] if target else _targets(series, kinds))
    )
    last = None
    for last in works if len(kinds) > 1 else ():
        if all(each.answer.offer for each in last.answers):
            break
    return last


def _targets(series: str, kinds: Sequence[NodeTypeEvaluation]) -> list[float]:
    """Throughputs to compare kinds at, the best first; none where no kind names a size."""
    rates = [offer.rate.value for kind in kinds if (offer := kind.recommended(series)) and offer.rate.value]
    return [_round(share * min(rates)) for share in COMPARED_SHARES] if rates else []


def _answer(kind: NodeTypeEvaluation, series: str, target: float) -> NodeTypeAnswer:
    outlook = kind.limits_of(series)
    assert outlook is not None
    question = Question(Goal.THROUGHPUT, target, price=kind.price)
    return NodeTypeAnswer(kind.name, series, answer(outlook.fit, question, kind.evaluation.sizes))


def _round(number: float) -> float:
    """The next number below with two digits, so that people can say it and type it."""
    digits = floor(log10(number)) - 1
    return float(f"{floor(number / 10.0**digits)}e{digits}")


def offers_by_series(answers: Sequence[NodeTypeAnswer]) -> dict[str, dict[str, Offer]]:
    """What each kind would give each series; kinds without an answer are left out."""
    found: dict[str, dict[str, Offer]] = {}
    for each in answers:
        if each.answer.offer is not None:
            found.setdefault(each.series, {})[each.kind] = each.answer.offer
    return found


def cheapest(offers: Mapping[str, Offer]) -> str:
    """The kind whose size does the work at the lowest price."""
    return min(offers, key=lambda kind: offers[kind].cost_per_million)


def fewest_cores(offers: Mapping[str, Offer]) -> list[str]:
    """The kinds whose size has the fewest cores, counting those twice whose both threads are used."""
    needed = {kind: (offer.cores * offer.threads, offer.cores) for kind, offer in offers.items()}
    return [kind for kind, cores in needed.items() if cores == min(needed.values())]
