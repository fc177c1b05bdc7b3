"""`scaling sweep --cluster`: carry a study out on every kind of node of a cluster."""

from pathlib import Path

from scaling.cli.measuring import interruptible
from scaling.cli.printing import print_note
from scaling.cli.show import show_kinds
from scaling.errors import ClusterError
from scaling.reporting.words import count, duration, point_words
from scaling.results.cluster_folder import node_type_folders
from scaling.results.rows import launch_of
from scaling.running.engines.cluster_setup import ClusterJob, set_up_cluster
from scaling.running.engines.cluster_sweep import Event, NodeTypeEnded, NodeTypePlanned, RowStored, run_cluster_sweep
from scaling.running.engines.parsl import StudyText
from scaling.study.catalogue import read_catalogue
from scaling.study.cluster import cluster_from_toml
from scaling.study.spec import Study
from scaling.study.workload import checked


def sweep_cluster(study: Study, study_text: StudyText, file: Path, folder: Path, retry_failed: bool) -> list[str]:
    """Carry a study out on the cluster that a file describes; the kinds of which something is missing at the end."""
    for text in study.workloads:
        checked(text, read_catalogue())
    toml = _read(file)
    job = ClusterJob(study, study_text, cluster_from_toml(toml, str(file)), toml, folder, retry_failed)
    left: list[str] = []

    def tell(event: Event) -> None:
        _show(event)
        if isinstance(event, NodeTypeEnded) and event.reason is not None:
            left.append(event.node_type)

    with (
        interruptible(lambda: f"what was measured is kept in {folder}", at_once=False) as requests,
        set_up_cluster(job, _say, requests.check) as sweeps,
    ):
        run_cluster_sweep(sweeps, requests, tell)
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
    if isinstance(event, NodeTypePlanned):
        for note in event.notes:
            _say(event.node_type, note)
        _say(event.node_type, f"{event.completed} of {count(event.total, 'run')} are there")
    elif isinstance(event, RowStored):
        point, row = point_words(event.row.run.point), event.row
        made = f"[{event.completed}/{event.total}] {point}, launch {row.run.launch}, on {row.machine.host}"
        seconds = launch_of(row).seconds
        came = f"{row.outcome.status}: {row.outcome.reason}" if seconds is None else f"{duration(seconds)} a step"
        _say(event.node_type, f"{made}: {came}")
    elif event.reason is not None:
        _say(event.node_type, event.reason)
