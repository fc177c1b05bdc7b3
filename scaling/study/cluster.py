"""A cluster as a frozen value, read from TOML and checked once: kinds of node, and how they are asked for. Pure."""

import ipaddress
import math
import re
import tomllib
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from scaling.errors import ClusterError
from scaling.study.keys import did_you_mean

Scheduler = Literal["slurm", "lsf", "pbs"]

# A pilot takes a moment to come up and one to leave; no run may be cut off by the time limit of its pilot.
MARGIN_SECONDS = 60.0

# Folders that stand beside those of the kinds.
TAKEN = ("spool", "parsl", "figures")

UNIT_SECONDS = {"h": 3600, "m": 60, "s": 1}


@dataclass(frozen=True, slots=True)
class Kind:
    """Nodes that are alike, how the scheduler is asked for one, and how many may be had at a time."""

    name: str
    scheduler: Scheduler
    constraint: str | None
    partition: str | None
    account: str | None
    hosts: tuple[str, ...]
    options: tuple[str, ...]
    nodes: int
    walltime_seconds: int
    setup: str
    python: str | None
    core_hour: float

    def drain_seconds(self, longest_run_seconds: float) -> int:
        """How long after its start a pilot takes no more runs, so that its time limit never cuts one off."""
        left = self.walltime_seconds - longest_run_seconds - MARGIN_SECONDS
        if left < MARGIN_SECONDS:
            enough = math.ceil((longest_run_seconds + 2 * MARGIN_SECONDS) / 60)
            raise ClusterError(
                f"kind '{self.name}': a walltime of {self.walltime_seconds / 60:g} minutes leaves no room for a run "
                f"that may take {longest_run_seconds:g} s; ask for {enough} minutes or "
                "more, or lower timeout_seconds of the study"
            )
        return int(left)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Every kind of node a study is to be carried out on, and how nodes and driver keep in touch."""

    kinds: tuple[Kind, ...]
    address: str | None
    ports: tuple[int, int]
    shared: bool
    heartbeat_seconds: int
    threshold_seconds: int
    poll_seconds: float
    patience_seconds: float


def _seconds(value: object) -> object:
    """A time such as 4h, 1h30m, 90m or HH:MM:SS in seconds; anything else is left for the check that follows."""
    if not isinstance(value, str):
        return value
    if clock := re.fullmatch(r"(\d+):(\d\d):(\d\d)", value):
        hours, minutes, seconds = map(int, clock.groups())
        return 3600 * hours + 60 * minutes + seconds
    parts = re.findall(r"(\d+)(h|m|s)", value)
    if parts and "".join(number + unit for number, unit in parts) == value:
        return sum(int(number) * UNIT_SECONDS[unit] for number, unit in parts)
    return value


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


# What goes into a line of a batch script must stay in that line.
Line = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$")]
Lines = Annotated[tuple[Line, ...], BeforeValidator(_listed)]
Seconds = Annotated[int, Field(ge=1, le=864_000), BeforeValidator(_seconds)]
Port = Annotated[int, Field(ge=1024, le=65535, strict=True)]


def _key(default: Any, takes: str, **limits: Any) -> Any:
    """A key with its default and, for whoever gets it wrong, what it takes."""
    return Field(default, description=takes, **limits)


class _KindTable(BaseModel):
    """The keys of a [[kinds]] table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = _key(..., "a word of letters, digits, '-' and '_'", pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    scheduler: Scheduler = _key("slurm", "'slurm', 'lsf' or 'pbs'")
    constraint: Line | None = _key(None, "a feature of the nodes, as the scheduler spells it")
    partition: Line | None = _key(None, "a partition or queue")
    account: Line | None = _key(None, "an account or project")
    hosts: Lines = _key((), 'node names such as ["n1", "n2"]')
    options: Lines = _key((), 'further options of the scheduler, such as ["--reservation=r1"]')
    nodes: int | None = _key(None, "a number from 1 to 10000", ge=1, le=10_000, strict=True)
    walltime: Seconds = _key(3600, 'a time such as "4h" or "01:30:00", at most ten days')
    setup: str = _key("", "shell lines that a pilot runs before anything else")
    python: Line | None = _key(None, 'the interpreter on the nodes, such as "python3" after a set-up line')
    core_hour: float = _key(1.0, "the price of a core for an hour, above 0", gt=0, lt=1e9)

    def kind(self) -> Kind:
        told = self.model_dump(exclude={"walltime", "nodes"})
        nodes = self.nodes or len(self.hosts) or 1
        return Kind(**told, nodes=nodes, walltime_seconds=self.walltime)

    @field_validator("name")
    @classmethod
    def _free(cls, value: str) -> str:
        if value in TAKEN:
            raise ClusterError(f"no kind can be called '{value}', because results folders have a folder of that name")
        return value

    @field_validator("hosts")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value))

    @model_validator(mode="after")
    def _hosts_for_nodes(self) -> "_KindTable":
        if self.hosts and (self.nodes or 1) > len(self.hosts):
            raise ClusterError(f"kind '{self.name}': {self.nodes} nodes, but only {len(self.hosts)} hosts are named")
        return self


class _ClusterFile(BaseModel):
    """The keys of a cluster file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kinds: tuple[_KindTable, ...] = _key(..., "at least one [[kinds]] table", min_length=1)
    address: str | None = _key(None, "the IP address under which nodes reach this machine")
    ports: tuple[Port, Port] = _key((54000, 55000), "two port numbers such as [54000, 55000], the lower first")
    shared: bool = _key(True, "true where nodes see the results folder, else false", strict=True)
    heartbeat_seconds: int = _key(5, "whole seconds from 1", ge=1, le=3600, strict=True)
    threshold_seconds: int = _key(30, "whole seconds, at least twice heartbeat_seconds", ge=2, le=7200, strict=True)
    poll_seconds: float = _key(30.0, "seconds from 0.2", ge=0.2, le=3600)
    patience_seconds: float = _key(600.0, "seconds from 0", ge=0, le=864_000)

    @field_validator("address")
    @classmethod
    def _an_address(cls, value: str | None) -> str | None:
        if value is not None:
            ipaddress.ip_address(value)
        return value

    @field_validator("ports")
    @classmethod
    def _a_range(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] >= value[1]:
            raise ValueError("no port is in between")
        return value

    @model_validator(mode="after")
    def _sound(self) -> "_ClusterFile":
        names = [kind.name for kind in self.kinds]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ClusterError(f"two kinds are called '{twice[0]}'; give each a name of its own")
        if self.threshold_seconds < 2 * self.heartbeat_seconds:
            raise ClusterError(
                f"threshold_seconds is {self.threshold_seconds}, less than two heartbeats of "
                f"{self.heartbeat_seconds} s, so healthy nodes would be called lost; raise it"
            )
        return self


def cluster_from_toml(text: str, source: str) -> Cluster:
    """The cluster a TOML text describes."""
    try:
        checked = _ClusterFile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ClusterError(f"cluster {source}: not valid TOML: {error}") from error
    except ValidationError as error:
        raise ClusterError(f"cluster {source}: {_sentence(error)}") from error
    except ClusterError as error:
        raise ClusterError(f"cluster {source}: {error}") from error
    told = {field.name: getattr(checked, field.name) for field in fields(Cluster) if field.name != "kinds"}
    return Cluster(kinds=tuple(table.kind() for table in checked.kinds), **told)


def _sentence(error: ValidationError) -> str:
    """The first thing wrong with a cluster file, unknown keys before the rest, and how much more there is."""
    told = error.errors(include_url=False)
    # A list loses its wrong entries, and is then called too short as well.
    problems = [each for each in told if each["type"] != "too_short"] or told
    first = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
    more = f" (and {len(problems) - 1} more to put right)" if len(problems) > 1 else ""
    return _problem(first["loc"], first["type"], first["input"]) + more


def _problem(place: tuple[int | str, ...], kind: str, given: object) -> str:
    in_kind = len(place) > 2 and place[0] == "kinds"
    where = f"kind {int(place[1]) + 1}: " if in_kind else ""
    key = str(place[2] if in_kind else place[0])
    known = (_KindTable if in_kind else _ClusterFile).model_fields
    if kind == "extra_forbidden":
        return f"{where}unknown key '{key}'" + (did_you_mean(key, known) or f"; the keys are {', '.join(known)}")
    takes = known[key].description or ""
    if kind == "missing":
        return f"{where}key '{key}' is missing; it takes {takes}"
    hint = did_you_mean(given, re.findall(r"'(\w+)'", takes)) if isinstance(given, str) else ""
    return f"{where}key '{key}' cannot be {given!r}; it takes {takes}{hint}"
