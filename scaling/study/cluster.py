"""A cluster as a frozen value, from TOML or from Python, checked once: node types, and how nodes are reached. Pure."""

import ipaddress
import math
from typing import Annotated, Any, Literal

from msgspec import Meta

from scaling.errors import ClusterError, excerpt
from scaling.study.keys import as_list, keyed, parse_duration, parse_toml, takes

# A pilot takes a moment to come up and one to leave; no run may be cut off by the time limit of its pilot.
MARGIN_SECONDS = 60.0

# Folders that stand beside those of the node types.
RESERVED_NAMES = ("spool", "parsl", "figures")


def _address(value: object) -> object:
    if isinstance(value, str):
        ipaddress.ip_address(value)
    return value


def _ports(value: Any) -> object:
    if isinstance(value, list | tuple) and list(value) != sorted(set(value)):
        raise ValueError("the lower is not first")
    return value


def _seconds(value: object) -> object:
    return math.ceil(parse_duration(value)) if isinstance(value, str) else value


Scheduler = Literal["slurm", "lsf", "pbs"]
# What goes into a line of a batch script must stay in that line.
Line = Annotated[str, Meta(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$")]
Lines = tuple[Line, ...]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Seconds = Annotated[int, Meta(ge=1, le=864_000)]
Port = Annotated[int, Meta(ge=1024, le=65535)]


@keyed(ClusterError)
class NodeType:
    """Nodes that are alike, how the scheduler is asked for one, and how many may be had at a time."""

    name: Annotated[Name, takes("a word of letters, digits, '-' and '_'")]
    scheduler: Annotated[Scheduler, takes("'slurm', 'lsf' or 'pbs'")] = "slurm"
    constraint: Annotated[Line | None, takes("a feature of the nodes, as the scheduler spells it")] = None
    partition: Annotated[Line | None, takes("a partition or queue")] = None
    account: Annotated[Line | None, takes("an account or project")] = None
    hosts: Annotated[Lines, takes('node names such as ["n1", "n2"]', as_list, axis=True)] = ()
    options: Annotated[Lines, takes('further options of the scheduler, such as ["--reservation=r1"]', as_list)] = ()
    nodes: Annotated[Annotated[int, Meta(ge=1, le=10_000)] | None, takes("a number from 1 to 10000")] = None
    walltime: Annotated[Seconds, takes('a time such as "4h" or "01:30:00", at most ten days', _seconds)] = 3600
    setup: Annotated[str, takes("shell lines that a pilot runs before anything else")] = ""
    python: Annotated[Line | None, takes('the interpreter on the nodes, such as "python3" after a set-up line')] = None
    core_hour: Annotated[float, Meta(gt=0, lt=1e9), takes("the price of a core for an hour, above 0")] = 1.0

    @property
    def node_count(self) -> int:
        """How many nodes may be had at a time: those named, where no number is given."""
        return self.nodes or len(self.hosts) or 1

    def drain_seconds(self, longest_run_seconds: float) -> int:
        """How long after its start a pilot takes no more runs, so that its time limit never cuts one off."""
        left = self.walltime - longest_run_seconds - MARGIN_SECONDS
        if left < MARGIN_SECONDS:
            enough = math.ceil((longest_run_seconds + 2 * MARGIN_SECONDS) / 60)
            raise ClusterError(
                f"node type '{self.name}': a walltime of {self.walltime / 60:g} minutes leaves no room for a run "
                f"that may take {longest_run_seconds:g} s; ask for {enough} minutes or "
                "more, or lower timeout_seconds of the study"
            )
        return int(left)

    def __post_init__(self) -> None:
        """Refuse a name that is taken, and more nodes than are named."""
        if self.name in RESERVED_NAMES:
            raise ClusterError(f"it cannot be called '{self.name}', because results folders have a folder of that name")
        if self.hosts and (self.nodes or 1) > len(self.hosts):
            raise ClusterError(f"{self.nodes} nodes are asked for, but the hosts named are only {len(self.hosts)}")


def _node_types(value: object) -> object:
    """Tables as node types; what is not a list of tables is left for the check that follows."""
    if not isinstance(value, list | tuple) or not all(isinstance(table, dict | NodeType) for table in value):
        return value
    return [_node_type(number, table) for number, table in enumerate(value, 1)]


def _node_type(number: int, table: dict[str, Any] | NodeType) -> NodeType:
    try:
        return table if isinstance(table, NodeType) else NodeType(**table)
    except ClusterError as error:
        raise ClusterError(f"node type {number}: {error}") from error


NodeTypes = Annotated[tuple[NodeType, ...], Meta(min_length=1)]


@keyed(ClusterError)
class Cluster:
    """Every node type a study is carried out on, and how nodes and driver keep in touch."""

    node_types: Annotated[NodeTypes, takes("at least one [[node_types]] table", _node_types)]
    address: Annotated[str | None, takes("the IP address under which nodes reach this machine", _address)] = None
    ports: Annotated[tuple[Port, Port], takes("two port numbers such as [54000, 55000], the lower first", _ports)] = (
        54000,
        55000,
    )
    shared: Annotated[bool, takes("true where nodes see the results folder, else false")] = True
    heartbeat_seconds: Annotated[int, Meta(ge=1, le=3600), takes("whole seconds from 1")] = 5
    threshold_seconds: Annotated[int, Meta(ge=2, le=7200), takes("whole seconds, at least twice heartbeat_seconds")] = (
        30
    )
    poll_seconds: Annotated[float, Meta(ge=0.2, le=3600), takes("seconds from 0.2")] = 30.0
    patience_seconds: Annotated[float, Meta(ge=0, le=864_000), takes("seconds from 0")] = 600.0

    def __post_init__(self) -> None:
        """Refuse names that two node types share, and heartbeats that are too rare."""
        names = [node_type.name for node_type in self.node_types]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ClusterError(f"two node types are called '{repeated[0]}'; give each a name of its own")
        if self.threshold_seconds < 2 * self.heartbeat_seconds:
            raise ClusterError(
                f"threshold_seconds is {self.threshold_seconds}, less than two heartbeats of "
                f"{self.heartbeat_seconds} s, so healthy nodes would be called lost; raise it"
            )


def cluster_from_toml(text: str, source: str) -> Cluster:
    """The cluster a TOML text describes."""
    try:
        return Cluster(**parse_toml(text))
    except ValueError as error:
        raise ClusterError(f"cluster {source}: not valid TOML: {excerpt(str(error))}") from error
    except ClusterError as error:
        raise ClusterError(f"cluster {source}: {error}") from error
