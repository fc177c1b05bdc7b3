"""`scaling status`: how far a sweep on a cluster has come, from any shell."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_lines, print_note, print_table
from scaling.errors import ClusterError
from scaling.reporting.cluster import Pilot, Standing, pilots_table, standing_facts, standing_table
from scaling.results.cluster_folder import count_rows, is_being_written, read_cluster, read_journal
from scaling.results.ledger import Ledger, Progress
from scaling.running.engines.schedulers import read_jobs
from scaling.study.cluster import NodeType


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The results folder of a sweep on a cluster.")],
    as_json: Json = False,
) -> None:
    """Show how far a sweep on a cluster has come: runs done, running and lost per node type, and its jobs.

    Example: scaling status results/minsky
    """
    cluster = read_cluster(folder)
    ledger = Ledger(read_journal(folder))
    running = is_being_written(folder)
    standings = [
        Standing(node_type.name, _progress(folder, node_type, ledger, running), _pilots(node_type, ledger))
        for node_type in cluster.node_types
    ]
    if as_json:
        print_json(standing_facts(standings, running))
        return
    print_table(standing_table(standings))
    pilots = pilots_table(standings)
    if pilots.rows:
        print_lines("")
        print_table(pilots)
    if not running and any(standing.tally.done != standing.tally.planned for standing in standings):
        print_note(f"no driver is at work on {folder}; give the same `scaling sweep … --cluster …` to go on")


def _progress(folder: Path, node_type: NodeType, ledger: Ledger, running: bool) -> Progress:
    """The progress of a node type.

    The rows say what is done, since failed ones may have been set aside; without a driver nothing is under way.
    """
    progress = ledger.progress(node_type.name)
    return replace(progress, done=count_rows(folder / node_type.name), running=progress.running if running else 0)


def _pilots(node_type: NodeType, ledger: Ledger) -> tuple[Pilot, ...] | None:
    """The pilots of a node type that have not ended; None where the scheduler does not answer."""
    try:
        jobs = read_jobs(node_type.scheduler, ledger.jobs(node_type.name))
    except ClusterError as error:
        print_note(str(error))
        return None
    return tuple(Pilot(job.number, job.state, job.node, job.reason) for job in jobs.values())
