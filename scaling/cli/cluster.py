"""`scaling sweep --cluster`: carry a study out on every kind of node of a cluster."""

from pathlib import Path

from scaling.cli.measuring import interruptible
from scaling.cli.printing import print_note
from scaling.cli.show import show_kinds
from scaling.errors import ClusterError
from scaling.reporting.words import count, duration, point_words
from scaling.results.cluster_folder import node_type_folders
from scaling.results.rows import launch_of
from scaling.running.engines.cluster_setup import ClusterJob, mustered
from scaling.running.engines.cluster_sweep import Ended, Event, Made, Planned, carry_out
from scaling.running.engines.parsl import Question
from scaling.study.catalogue import read_catalogue
from scaling.study.cluster import cluster_from_toml
from scaling.study.spec import Study
from scaling.study.workload import checked


def sweep_cluster(study: Study, question: Question, file: Path, folder: Path, retry_failed: bool) -> list[str]:
    """Carry a study out on the cluster that a file describes; the kinds of which something is missing at the end."""
    for text in study.workloads:
        checked(text, read_catalogue())
    toml = _read(file)
    job = ClusterJob(study, question, cluster_from_toml(toml, str(file)), toml, folder, retry_failed)
    left: list[str] = []

    def tell(event: Event) -> None:
        _show(event)
        if isinstance(event, Ended) and event.left is not None:
            left.append(event.kind)

    with (
        interruptible(lambda: f"what was measured is kept in {folder}", at_once=False) as requests,
        mustered(job, _say, requests.check) as lanes,
    ):
        carry_out(lanes, requests, tell)
    if node_type_folders(folder):
        show_kinds(folder, as_json=False)
    if left:
        print_note(f"not complete: {', '.join(left)}; give the same command again to go on")
    print_note(f"results are in {folder}")
    return left


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ClusterError(f"cluster {file} cannot be read: {reason}; give a TOML file with [[node_types]]") from error


def _say(kind: str, sentence: str) -> None:
    print_note(f"{kind}: {sentence}")


def _show(event: Event) -> None:
    if isinstance(event, Planned):
        for note in event.notes:
            _say(event.kind, note)
        _say(event.kind, f"{event.made} of {count(event.total, 'run')} are there")
    elif isinstance(event, Made):
        point, row = point_words(event.row.run.point), event.row
        made = f"[{event.made}/{event.total}] {point}, launch {row.run.launch}, on {row.machine.host}"
        seconds = launch_of(row).seconds
        came = f"{row.outcome.status}: {row.outcome.reason}" if seconds is None else f"{duration(seconds)} a step"
        _say(event.kind, f"{made}: {came}")
    elif event.left is not None:
        _say(event.kind, event.left)
