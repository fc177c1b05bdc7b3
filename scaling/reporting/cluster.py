"""A cluster as tables, sentences and JSON facts: progress, node types side by side, machines of one type."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from scaling.analysis.between_machines import Between
from scaling.analysis.sizing.question import Allocation
from scaling.reporting.capacity import size_words
from scaling.reporting.words import Table, count, duration, figure, point_words, share
from scaling.results.ledger import Progress
from scaling.results.node_types import NodeTypeAnswer, allocations_by_series, cheapest, fewest_cores


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
    for standing in standings:
        tally = standing.tally
        planned = "?" if tally.planned is None else str(tally.planned)
        counts = (str(tally.done), str(tally.running), str(tally.lost), str(tally.late))
        rows.append((standing.node_type, planned, *counts, tally.left or ""))
    return Table(("node type", ">runs", ">done", ">running", ">lost", ">late", "left for now because"), rows)


def pilots_table(standings: Sequence[Standing]) -> Table:
    """One line per pilot."""
    rows = [
        (standing.node_type, pilot.job, pilot.state, pilot.node, pilot.reason)
        for standing in standings
        for pilot in standing.pilots or ()
    ]
    return Table(("node type", ">job", "state", "node", "reason"), rows)


def standing_facts(standings: Sequence[Standing], driver: bool) -> dict[str, object]:
    """The same for scripts."""
    node_types = [
        {
            "node_type": standing.node_type,
            **asdict(standing.tally),
            "pilots": None if standing.pilots is None else [asdict(pilot) for pilot in standing.pilots],
        }
        for standing in standings
    ]
    return {"driver_running": driver, "node_types": node_types}


def side_by_side(answers: Sequence[NodeTypeAnswer]) -> list[str]:
    """For every series that several node types answer, which of them is cheapest and which needs the fewest cores."""
    sentences, labels = [], {one.series: one.label for one in answers}
    for series, allocations in allocations_by_series(answers).items():
        if len(allocations) < 2:
            continue
        least, fewest = cheapest(allocations), fewest_cores(allocations)
        cost = f"{figure(allocations[least].cost_per_million)} per million"
        sentences.append(
            f"{labels[series]}: cheapest on {least}, {cost} with {_cores_words(allocations[least])}; "
            f"fewest {size_unit(allocations)} on {' and '.join(fewest)}, {size_words(allocations[fewest[0]])}"
        )
    return sentences


def side_by_side_table(answers: Sequence[NodeTypeAnswer]) -> Table:
    """Every series by node type: the size it would be given, what that does, and what it costs."""
    rows, labels = [], {one.series: one.label for one in answers}
    for series, allocations in allocations_by_series(answers).items():
        for index, (node_type, allocation) in enumerate(allocations.items()):
            rate = figure(allocation.rate.value)
            name = labels[series] if index == 0 else ""
            rows.append((name, node_type, size_words(allocation), rate, figure(allocation.cost_per_million)))
    return Table(("series", "node type", ">cores", ">per s", ">cost per million"), rows)


def side_by_side_facts(answers: Sequence[NodeTypeAnswer]) -> list[dict[str, object]]:
    """The same for scripts."""
    names = {one.series: one.answer.fit.series.own_name for one in answers}
    return [
        {
            "series": names[series],
            "cheapest": cheapest(allocations),
            "fewest_cores": fewest_cores(allocations)[0],
            "node_types": {
                node_type: {
                    "cores": allocation.cores,
                    "threads": allocation.threads,
                    "cost_per_million": allocation.cost_per_million,
                    "rate": allocation.rate.value,
                }
                for node_type, allocation in allocations.items()
            },
        }
        for series, allocations in allocations_by_series(answers).items()
    ]


def size_unit(allocations: Mapping[str, Allocation]) -> str:
    """What sizes are compared by: cores, or hardware threads where a size uses more than one of a core."""
    return "cores" if all(allocation.threads == 1 for allocation in allocations.values()) else "hardware threads"


def _cores_words(allocation: Allocation) -> str:
    return count(allocation.cores, "core") if allocation.threads == 1 else f"{size_words(allocation)} hardware threads"


def between_table(points: Sequence[Between]) -> Table:
    """Points measured on several machines: each with its launches, and how far they are apart."""
    rows = [
        (
            point_words(between.point),
            ", ".join(f"{host} {duration(mean)} ({launches})" for host, launches, mean in between.machines),
            share(between.apart),
            "-" if between.between is None else share(between.between),
            "-" if between.within is None else share(between.within),
        )
        for between in points
    ]
    return Table(("point", "machines (launches)", ">apart", ">sd between", ">sd of launches"), rows)


def between_facts(between: Between) -> dict[str, object]:
    """The same for scripts."""
    machines = [{"host": host, "launches": launches, "seconds": mean} for host, launches, mean in between.machines]
    point = between.point
    facts = {"workload": point.workload, "mode": point.mode, "cores": point.cores, "smt": point.smt}
    facts |= {"placement": point.placement, "point": point_words(point)}
    return {**facts, "machines": machines, "apart": between.apart, "between": between.between, "within": between.within}
