"""The results folder of a cluster: for every kind of node a folder like any other, and beside them what they share.

DIR/cluster.toml  DIR/study.toml  DIR/journal.jsonl     what was asked for, and what was sent where
DIR/KIND/rows.jsonl, study.toml, machine.json, …        an ordinary results folder, so that every command reads it
DIR/spool/KIND.KEY.ATTEMPT.json                         answers that a node left while no driver was there
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
    """Whether a folder holds kinds of node rather than rows of its own."""
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
    """The folders of a cluster's kinds that have results, by name, in the order of the cluster file."""
    found = {kind.name: folder / kind.name for kind in read_cluster(folder).node_types}
    return {name: path for name, path in found.items() if _has_rows(path / ROWS.file)}


def measured_node_types(folder: Path) -> dict[str, Path]:
    """The same, refused where there is none yet."""
    found = node_type_folders(folder)
    if not found:
        raise StoreError(f"no rows in {folder} yet; run the sweep that writes there")
    return found


def refuse_cluster_folder(folder: Path) -> None:
    """Refuse a cluster's folder where the rows of one machine are asked for, and name the folders of its kinds."""
    if is_cluster_folder(folder):
        kinds = " or ".join(str(path) for path in measured_node_types(folder).values())
        raise StoreError(f"{folder} holds the results of a cluster, whose kinds are never joined; give {kinds}")


def unmeasured_node_types(folder: Path) -> list[str]:
    """The names of a cluster's kinds that have no results yet."""
    found = node_type_folders(folder)
    return [kind.name for kind in read_cluster(folder).node_types if kind.name not in found]


def _has_rows(path: Path) -> bool:
    """Whether a file of rows is there and not empty, as it is while its kind has no node."""
    return path.exists() and path.stat().st_size > 0


def rows_kept(folder: Path) -> int:
    """How many runs of a kind have a row: whole lines, for the last may just be written."""
    path = folder / ROWS.file
    if not path.exists():
        return 0
    with path.open("rb") as lines:
        return sum(line.endswith(b"\n") for line in lines)


@dataclass(frozen=True, slots=True)
class Spooled:
    """An answer that a node has left: to which attempt at which run, and where."""

    kind: str
    key: str
    attempt: int
    path: Path


def spool_path(folder: Path, kind: str, key: str, attempt: int) -> Path:
    """Where the answer to an attempt is left."""
    return folder / f"{kind}.{key}.{attempt}.json"


def read_spool(folder: Path, kind: str) -> Iterator[Spooled]:
    """The answers of a kind that have been left."""
    for path in sorted(folder.glob(f"{kind}.*.json")):
        _, key, attempt, _ = path.name.split(".")
        yield Spooled(kind, key, int(attempt), path)
