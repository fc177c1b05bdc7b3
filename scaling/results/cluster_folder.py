"""The results folder of a cluster: for every node type a folder like any other, and beside them what they share.

DIR/cluster.toml  DIR/study.toml  DIR/journal.jsonl     what was asked for, and what was sent where
DIR/NODE_TYPE/rows.jsonl, study.toml, machine.json, …   an ordinary results folder, so that every command reads it
DIR/spool/NODE_TYPE.KEY.ATTEMPT.json                    answers that a node left while no driver was there
DIR/parsl/                                              batch scripts and logs
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scaling.errors import StoreError
from scaling.results.store import ROWS
from scaling.study.cluster import Cluster, cluster_from_toml

CLUSTER, SPOOL, PARSL = "cluster.toml", "spool", "parsl"


def is_cluster_folder(folder: Path) -> bool:
    """Whether a folder holds node types rather than rows of its own."""
    return (folder / CLUSTER).is_file()


def read_cluster(folder: Path) -> Cluster:
    """The cluster a folder was last swept on."""
    path = folder / CLUSTER
    try:
        return cluster_from_toml(path.read_text(), str(path))
    except OSError as error:
        raise StoreError(
            f"{folder} is not the results folder of a cluster: {CLUSTER} cannot be read ({error.strerror}); "
            "give one that `scaling sweep --cluster` has written"
        ) from error


def node_type_folders(folder: Path) -> dict[str, Path]:
    """The folders of node types that have results, by name, in the order of the cluster file."""
    folders = {node_type.name: folder / node_type.name for node_type in read_cluster(folder).node_types}
    return {name: path for name, path in folders.items() if _has_rows(path / ROWS.file)}


def measured_node_types(folder: Path) -> dict[str, Path]:
    """The same, refused where there is none yet."""
    folders = node_type_folders(folder)
    if not folders:
        raise StoreError(f"no rows in {folder} yet; run the sweep that writes there")
    return folders


def refuse_cluster_folder(folder: Path) -> None:
    """Refuse a cluster's folder where the rows of one machine are asked for, and name the folders of its node types."""
    if is_cluster_folder(folder):
        folders = " or ".join(str(path) for path in measured_node_types(folder).values())
        raise StoreError(f"{folder} holds the results of a cluster, whose node types are never joined; give {folders}")


def unmeasured_node_types(folder: Path) -> list[str]:
    """The names of node types that have no results yet."""
    measured = node_type_folders(folder)
    return [node_type.name for node_type in read_cluster(folder).node_types if node_type.name not in measured]


def _has_rows(path: Path) -> bool:
    """Whether a file of rows is there and not empty, as it is while its type has no node."""
    return path.exists() and path.stat().st_size > 0


def count_rows(folder: Path) -> int:
    """How many runs of a node type have a row: whole lines, for the last may just be written."""
    path = folder / ROWS.file
    if not path.exists():
        return 0
    with path.open("rb") as lines:
        return sum(line.endswith(b"\n") for line in lines)


@dataclass(frozen=True, slots=True)
class Spooled:
    """An answer that a node has left: to which attempt at which run, and where."""

    node_type: str
    key: str
    attempt: int
    path: Path


def spool_path(folder: Path, node_type: str, key: str, attempt: int) -> Path:
    """Where the answer to an attempt is left."""
    return folder / f"{node_type}.{key}.{attempt}.json"


def read_spool(folder: Path, node_type: str) -> Iterator[Spooled]:
    """The answers of a node type that have been left."""
    for path in sorted(folder.glob(f"{node_type}.*.json")):
        _, key, attempt, _ = path.name.split(".")
        yield Spooled(node_type, key, int(attempt), path)
