"""A cluster as tables, sentences and JSON facts: progress, node types side by side, machines of one type."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from scaling.analysis.between_machines import Between
from scaling.analysis.sizing.question import Offer
from scaling.reporting.capacity import size_words
from scaling.reporting.words import Table, count, duration, figure, point_words, share
from scaling.results.ledger import Progress
from scaling.results.node_types import NodeTypeAnswer, cheapest, fewest_cores, offers_by_series


@dataclass(frozen=True, slots=True)
class Pilot:
    """A job that holds a node or waits for one."""

    job: str
    state: str
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of a node type: its runs, and its pilots where the scheduler answers."""

    node_type: str
    tally: Progress
    pilots: tuple[Pilot, ...] | None


def standing_table(standings: Sequence[Standing]) -> Table:
    """One line per node type."""
    rows = []
    for each in standings:
        tally = each.tally
        planned = "?" if tally.planned is None else str(tally.planned)
        counts = (str(tally.done), str(tally.running), str(tally.lost), str(tally.late))
        rows.append((each.node_type, planned, *counts, tally.left or ""))
    return Table(("node type", ">runs", ">done", ">running", ">lost", ">late", "left for now because"), rows)


def pilots_table(standings: Sequence[Standing]) -> Table:
    """One line per pilot."""
    rows = [
        (each.node_type, pilot.job, pilot.state, pilot.node, pilot.reason)
        for each in standings
        for pilot in each.pilots or ()
    ]
    return Table(("node type", ">job", "state", "node", "reason"), rows)


def standing_facts(standings: Sequence[Standing], driver: bool) -> dict[str, object]:
    """The same for scripts."""
    node_types = [
        {
            "node_type": each.node_type,
            **asdict(each.tally),
            "pilots": None if each.pilots is None else [asdict(pilot) for pilot in each.pilots],
        }
        for each in standings
    ]
    return {"driver_running": driver, "node_types": node_types}


def side_by_side(answers: Sequence[NodeTypeAnswer]) -> list[str]:
    """For every series that several node types answer, which of them is cheapest and which needs the fewest cores."""
    sentences, labels = [], {one.series: one.label for one in answers}
    for series, offers in offers_by_series(answers).items():
        if len(offers) < 2:
            continue
        least, fewest = cheapest(offers), fewest_cores(offers)
        cost = f"{figure(offers[least].cost_per_million)} per million"
        sentences.append(
            f"{labels[series]}: cheapest on {least}, {cost} with {_cores_words(offers[least])}; "
            f"fewest {size_unit(offers)} on {' and '.join(fewest)}, {size_words(offers[fewest[0]])}"
        )
    return sentences


def side_by_side_table(answers: Sequence[NodeTypeAnswer]) -> Table:
    """Every series by node type: the size it would be given, what that does, and what it costs."""
    rows, labels = [], {one.series: one.label for one in answers}
    for series, offers in offers_by_series(answers).items():
        for index, (node_type, offer) in enumerate(offers.items()):
            rate = figure(offer.rate.value)
            name = labels[series] if index == 0 else ""
            rows.append((name, node_type, size_words(offer), rate, figure(offer.cost_per_million)))
    return Table(("series", "node type", ">cores", ">per s", ">cost per million"), rows)


def side_by_side_facts(answers: Sequence[NodeTypeAnswer]) -> list[dict[str, object]]:
    """The same for scripts."""
    names = {one.series: one.answer.fit.series.own_name for one in answers}
    return [
        {
            "series": names[series],
            "cheapest": cheapest(offers),
            "fewest_cores": fewest_cores(offers)[0],
            "node_types": {
                node_type: {
                    "cores": offer.cores,
                    "threads": offer.threads,
                    "cost_per_million": offer.cost_per_million,
                    "rate": offer.rate.value,
                }
                for node_type, offer in offers.items()
            },
        }
        for series, offers in offers_by_series(answers).items()
    ]


def size_unit(offers: Mapping[str, Offer]) -> str:
    """What sizes are compared by: cores, or hardware threads where a size uses more than one of a core."""
    return "cores" if all(offer.threads == 1 for offer in offers.values()) else "hardware threads"


def _cores_words(offer: Offer) -> str:
    return count(offer.cores, "core") if offer.threads == 1 else f"{size_words(offer)} hardware threads"


def between_table(found: Sequence[Between]) -> Table:
    """Points measured on several machines: each with its launches, and how far they are apart."""
    rows = [
        (
            point_words(each.point),
            ", ".join(f"{host} {duration(mean)} ({launches})" for host, launches, mean in each.machines),
            share(each.apart),
            "-" if each.between is None else share(each.between),
            "-" if each.within is None else share(each.within),
        )
        for each in found
    ]
    return Table(("point", "machines (launches)", ">apart", ">sd between", ">sd of launches"), rows)


def between_facts(each: Between) -> dict[str, object]:
    """The same for scripts."""
    machines = [{"host": host, "launches": launches, "seconds": mean} for host, launches, mean in each.machines]
    facts = {"workload": each.point.workload, "mode": each.point.mode, "cores": each.point.cores, "smt": each.point.smt}
    facts |= {"placement": each.point.placement, "point": point_words(each.point)}
    return {**facts, "machines": machines, "apart": each.apart, "between": each.between, "within": each.within}
