"""Kinds of node side by side: which is cheapest, and which needs the fewest cores."""

from collections.abc import Mapping, Sequence

from scaling.analysis.sizing.question import Offer
from scaling.reporting.law_words import figure, label
from scaling.reporting.sizing import size_words
from scaling.reporting.tables import Table
from scaling.reporting.words import count
from scaling.results.node_types import NodeTypeAnswer, cheapest, fewest_cores, offers_by_series


def side_by_side(answers: Sequence[NodeTypeAnswer]) -> list[str]:
    """For every series that several kinds answer, which of them is cheapest and which needs the fewest cores."""
    sentences = []
    for series, offers in offers_by_series(answers).items():
        if len(offers) < 2:
            continue
        least, fewest = cheapest(offers), fewest_cores(offers)
        cost = f"{figure(offers[least].cost_per_million)} per million"
        sentences.append(
            f"{label(series)}: cheapest on {least}, {cost} with {_given(offers[least])}; "
            f"fewest {counted(offers)} on {' and '.join(fewest)}, {size_words(offers[fewest[0]])}"
        )
    return sentences


def side_by_side_table(answers: Sequence[NodeTypeAnswer]) -> Table:
    """Every series, kind by kind: the size it would be given, what that does, and what it costs."""
    rows = []
    for series, offers in offers_by_series(answers).items():
        for place, (kind, offer) in enumerate(offers.items()):
            rate = "-" if offer.rate.value is None else figure(offer.rate.value)
            name = label(series) if place == 0 else ""
            rows.append((name, kind, size_words(offer), rate, figure(offer.cost_per_million)))
    return Table(("series", "kind", ">cores", ">per s", ">cost per million"), rows)


def side_by_side_facts(answers: Sequence[NodeTypeAnswer]) -> list[dict[str, object]]:
    """The same for scripts."""
    return [
        {
            "series": series,
            "cheapest": cheapest(offers),
            "fewest_cores": fewest_cores(offers)[0],
            "kinds": {
                kind: {
                    "cores": offer.cores,
                    "threads": offer.threads,
                    "cost_per_million": offer.cost_per_million,
                    "rate": offer.rate.value,
                }
                for kind, offer in offers.items()
            },
        }
        for series, offers in offers_by_series(answers).items()
    ]


def counted(offers: Mapping[str, Offer]) -> str:
    """What sizes are compared by: cores, or hardware threads where a size uses more than one of a core."""
    return "cores" if all(offer.threads == 1 for offer in offers.values()) else "hardware threads"


def _given(offer: Offer) -> str:
    return count(offer.cores, "core") if offer.threads == 1 else f"{size_words(offer)} hardware threads"
