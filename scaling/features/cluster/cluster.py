"""A cluster and its node types as checked values, from TOML or from Python. Pure."""

import math
from collections import Counter
from typing import Annotated, Any, Literal

from msgspec import Meta

from scaling.errors import ScalingError, excerpt
from scaling.study.keys import Key, as_list, keyed, parse_duration, parse_toml

# Folders in results folders that are not node types.
RESERVED_NAMES = ("jobs", "figures")


class ClusterError(ScalingError):
    """A cluster that cannot be read, reached or used as requested."""


def _seconds(value: object) -> object:
    return math.ceil(parse_duration(value)) if isinstance(value, str) else value


# Text for one line of a batch script.
Line = Annotated[str, Meta(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$")]
Lines = tuple[Line, ...]
# A name that needs no quotes in a batch script; `$` would allow a line break at its end.
Host = Annotated[str, Meta(pattern=r"^\w[\w.-]{0,254}\Z")]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Seconds = Annotated[int, Meta(ge=1, le=864_000)]


@keyed(ClusterError)
class NodeType:
    """Equal nodes: how the scheduler is asked for one, and how many are used at a time."""

    name: Annotated[Name, Key("a word of letters, digits, '-' and '_'")]
    scheduler: Annotated[Literal["slurm", "lsf", "pbs"], Key("'slurm', 'lsf' or 'pbs'")] = "slurm"
    constraint: Annotated[Line | None, Key("a feature of the nodes, as the scheduler spells it")] = None
    partition: Annotated[Line | None, Key("a partition or queue")] = None
    account: Annotated[Line | None, Key("an account or project")] = None
    hosts: Annotated[tuple[Host, ...], Key('node names such as ["n1", "n2"]', as_list, axis=True)] = ()
    options: Annotated[Lines, Key('further scheduler options, such as ["--reservation=r1"]', as_list)] = ()
    nodes: Annotated[Annotated[int, Meta(ge=1, le=10_000)] | None, Key("a number from 1 to 10000")] = None
    walltime: Annotated[Seconds, Key('a time such as "4h" or "01:30:00", at most ten days', _seconds)] = 3600
    setup: Annotated[str, Key("shell lines that a job executes first")] = ""
    python: Annotated[Line | None, Key('the interpreter on the nodes, such as "python3" after a set-up line')] = None
    core_hour: Annotated[float, Meta(gt=0, lt=1e9), Key("the price of a core-hour, above 0")] = 1.0

    @property
    def node_count(self) -> int:
        """The number of nodes used at a time; by default, the number of hosts."""
        return self.nodes or len(self.hosts) or 1


def _node_types(value: Any) -> Any:
    """Tables as node types; other values are left to the check that follows."""
    if not isinstance(value, list | tuple) or not all(isinstance(table, dict | NodeType) for table in value):
        return value
    return tuple(_node_type(number, table) for number, table in enumerate(value, 1))


def _node_type(number: int, table: dict[str, Any] | NodeType) -> NodeType:
    try:
        one = table if isinstance(table, NodeType) else NodeType(**table)
        if one.name in RESERVED_NAMES:
            raise ClusterError(f"name '{one.name}' is reserved, because results folders have a folder of that name")
        if one.hosts and (one.nodes or 1) > len(one.hosts):
            raise ClusterError(f"nodes is {one.nodes}, but hosts names only {len(one.hosts)}")
    except ClusterError as error:
        raise ClusterError(f"node type {number}: {error}") from error
    return one


NodeTypes = Annotated[tuple[NodeType, ...], Meta(min_length=1)]


@keyed(ClusterError)
class Cluster:
    """The node types that a study runs on, and the interval at which folders and scheduler are read."""

    node_types: Annotated[NodeTypes, Key("at least one [[node_types]] table", _node_types)]
    poll_seconds: Annotated[float, Meta(ge=0.2, le=3600), Key("seconds from 0.2 to 3600")] = 10.0


def cluster_from_toml(text: str, source: str) -> Cluster:
    """The cluster that a TOML text describes."""
    try:
        cluster = Cluster(**parse_toml(text))
        names = Counter(one.name for one in cluster.node_types)
        if repeated := sorted(name for name, number in names.items() if number > 1):
            raise ClusterError(f"two node types are called '{repeated[0]}'; choose a different name for each")
    except ClusterError as error:
        raise ClusterError(f"cluster {source}: {error}") from error
    except ValueError as error:
        raise ClusterError(f"cluster {source}: not valid TOML: {excerpt(str(error))}") from error
    return cluster
