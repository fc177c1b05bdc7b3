"""A cluster as a frozen value, from TOML or from Python, checked once: node types, and how nodes are reached. Pure."""

import ipaddress
import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.dataclasses import dataclass

from scaling.errors import ClusterError, excerpt
from scaling.study.keys import accepted_words, as_list, first_problem, parse_duration, parse_toml, takes

# A pilot takes a moment to come up and one to leave; no run may be cut off by the time limit of its pilot.
MARGIN_SECONDS = 60.0

# Folders that stand beside those of the node types.
RESERVED_NAMES = ("spool", "parsl", "figures")


def _seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


Scheduler = Literal["slurm", "lsf", "pbs"]
# What goes into a line of a batch script must stay in that line.
Line = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$")]
Lines = Annotated[tuple[Line, ...], BeforeValidator(as_list)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Seconds = Annotated[int, Field(ge=1, le=864_000), BeforeValidator(_seconds)]
Port = Annotated[int, Field(ge=1024, le=65535, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class NodeType:
    """Nodes that are alike, how the scheduler is asked for one, and how many may be had at a time."""

    name: Annotated[Name, takes("a word of letters, digits, '-' and '_'")]
    scheduler: Annotated[Scheduler, takes("'slurm', 'lsf' or 'pbs'")] = "slurm"
    constraint: Annotated[Line | None, takes("a feature of the nodes, as the scheduler spells it")] = None
    partition: Annotated[Line | None, takes("a partition or queue")] = None
    account: Annotated[Line | None, takes("an account or project")] = None
    hosts: Annotated[Lines, takes('node names such as ["n1", "n2"]')] = ()
    options: Annotated[Lines, takes('further options of the scheduler, such as ["--reservation=r1"]')] = ()
    nodes: Annotated[int | None, takes("a number from 1 to 10000", ge=1, le=10_000, strict=True)] = None
    walltime: Annotated[Seconds, takes('a time such as "4h" or "01:30:00", at most ten days')] = 3600
    setup: Annotated[str, takes("shell lines that a pilot runs before anything else")] = ""
    python: Annotated[Line | None, takes('the interpreter on the nodes, such as "python3" after a set-up line')] = None
    core_hour: Annotated[float, takes("the price of a core for an hour, above 0", gt=0, lt=1e9)] = 1.0

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

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if value in RESERVED_NAMES:
            raise ClusterError(f"it cannot be called '{value}', because results folders have a folder of that name")
        return value

    @field_validator("hosts")
    @classmethod
    def _drop_duplicates(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value))

    @model_validator(mode="after")
    def _check_hosts(self) -> Self:
        if self.hosts and (self.nodes or 1) > len(self.hosts):
            raise ClusterError(f"{self.nodes} nodes are asked for, but the hosts named are only {len(self.hosts)}")
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _refuse(cls, value: Any, validate: Any) -> Any:
        """Word what is wrong for a person."""
        try:
            return validate(value)
        except ValidationError as error:
            raise ClusterError(first_problem(error, accepted_words(NodeType))) from error


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


NodeTypes = Annotated[tuple[NodeType, ...], Field(min_length=1), BeforeValidator(_node_types)]


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Cluster:
    """Every node type a study is carried out on, and how nodes and driver keep in touch."""

    node_types: Annotated[NodeTypes, takes("at least one [[node_types]] table")]
    address: Annotated[str | None, takes("the IP address under which nodes reach this machine")] = None
    ports: Annotated[tuple[Port, Port], takes("two port numbers such as [54000, 55000], the lower first")] = (
        54000,
        55000,
    )
    shared: Annotated[bool, takes("true where nodes see the results folder, else false", strict=True)] = True
    heartbeat_seconds: Annotated[int, takes("whole seconds from 1", ge=1, le=3600, strict=True)] = 5
    threshold_seconds: Annotated[
        int, takes("whole seconds, at least twice heartbeat_seconds", ge=2, le=7200, strict=True)
    ] = 30
    poll_seconds: Annotated[float, takes("seconds from 0.2", ge=0.2, le=3600)] = 30.0
    patience_seconds: Annotated[float, takes("seconds from 0", ge=0, le=864_000)] = 600.0

    @field_validator("address")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        if value is not None:
            ipaddress.ip_address(value)
        return value

    @field_validator("ports")
    @classmethod
    def _check_ports(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] >= value[1]:
            raise ValueError("no port is in between")
        return value

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [node_type.name for node_type in self.node_types]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ClusterError(f"two node types are called '{repeated[0]}'; give each a name of its own")
        return self

    @model_validator(mode="after")
    def _check_heartbeats(self) -> Self:
        if self.threshold_seconds < 2 * self.heartbeat_seconds:
            raise ClusterError(
                f"threshold_seconds is {self.threshold_seconds}, less than two heartbeats of "
                f"{self.heartbeat_seconds} s, so healthy nodes would be called lost; raise it"
            )
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _refuse(cls, value: Any, validate: Any) -> Any:
        """Word what is wrong for a person."""
        try:
            return validate(value)
        except ValidationError as error:
            raise ClusterError(first_problem(error, accepted_words(Cluster))) from error


def cluster_from_toml(text: str, source: str) -> Cluster:
    """The cluster a TOML text describes."""
    try:
        return Cluster(**parse_toml(text))
    except ValueError as error:
        raise ClusterError(f"cluster {source}: not valid TOML: {excerpt(str(error))}") from error
    except ClusterError as error:
        raise ClusterError(f"cluster {source}: {error}") from error
