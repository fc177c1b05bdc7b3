"""How far a sweep on a cluster has come, as tables and JSON facts; prints nothing."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from scaling.reporting.tables import Table
from scaling.results.ledger import Tally


@dataclass(frozen=True, slots=True)
class Pilot:
    """A job that holds a node or waits for one."""

    job: str
    state: str
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How a kind stands: its runs, and its pilots where the scheduler could be asked."""

    kind: str
    tally: Tally
    pilots: tuple[Pilot, ...] | None


def standing_table(standings: Sequence[Standing]) -> Table:
    """A line a kind."""
    rows = []
    for each in standings:
        tally = each.tally
        planned = "?" if tally.planned is None else str(tally.planned)
        counts = (str(tally.done), str(tally.running), str(tally.lost), str(tally.late))
        rows.append((each.kind, planned, *counts, tally.left or ""))
    return Table(("kind", ">runs", ">done", ">running", ">lost", ">late", "left for now because"), rows)


def pilots_table(standings: Sequence[Standing]) -> Table:
    """A line a pilot."""
    rows = [
        (each.kind, pilot.job, pilot.state, pilot.node, pilot.reason)
        for each in standings
        for pilot in each.pilots or ()
    ]
    return Table(("kind", ">job", "state", "node", "reason"), rows)


def standing_facts(standings: Sequence[Standing], driver: bool) -> dict[str, object]:
    """The same for scripts."""
    kinds = [
        {
            "kind": each.kind,
            **asdict(each.tally),
            "pilots": None if each.pilots is None else [asdict(pilot) for pilot in each.pilots],
        }
        for each in standings
    ]
    return {"driver_running": driver, "kinds": kinds}
