"""Features: optional packages that extend the core.

A feature is a package below this one. Its `FEATURE` lists what it adds, with functions by name, so that they are
imported on use. Features import the core; the core reaches them only through this list, so each folder can be deleted.
"""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

NAMES = ("profiling", "energy", "packs", "tuning", "devices", "cluster", "services")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `scaling`; `summary` is the first line of its help, `function` is `module:name`."""

    group: str
    name: str
    summary: str
    function: str


# Rows of a results folder, traces of a profile, a profile and `scaling sweep ceilings`, or a folder of node types.
Needs = Literal["rows", "traces", "ceilings", "node types"]


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A kind of figure; `function` is `module:name`, and `per_series` means a panel or bar for each series."""

    name: str
    title: str
    description: str
    needs: Needs
    function: str
    takes_target: bool = False
    per_series: bool = True


class ObjectiveQuestion(NamedTuple):
    """Inputs of a question of `capacity` other than sizes; `targets` are by the name of their option."""

    summaries: Sequence[Any]
    rooflines: Mapping[Any, Any]
    targets: Mapping[str, float | None]
    quantile: float | None = None
    core_threads: int = 1


class ObjectiveAnswer(NamedTuple):
    """The answer: sentences and tables, the same as JSON, and sizes to deploy."""

    sentences: Sequence[str]
    tables: Sequence[Any]
    facts: Mapping[str, object]
    is_answer: bool
    deployments: Sequence[Any] = ()


class Member(NamedTuple):
    """A node type of a folder: its name, its results folder, and the price of a core-hour."""

    name: str
    folder: Path
    core_hour: float


class Beside(NamedTuple):
    """An addition to the answer of a command: sentences and a table, and the same as keys of its JSON."""

    sentences: Sequence[str]
    table: Any
    facts: Mapping[str, object]


class Standings(NamedTuple):
    """The progress of a sweep on several node types: sentences and tables, and the same as JSON."""

    sentences: Sequence[str]
    tables: Sequence[Any]
    facts: Mapping[str, object]
    has_rows: bool
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTypes:
    """Functions for a folder with a results folder per node type, which the file `marker` identifies.

    `standings` is the progress of its sweep, `members` the node types with rows; `beside_points` adds to `show`,
    `beside_answers` to `capacity`; `draw` makes figures with node types as series, `write_reports` pages.
    """

    marker: str
    standings: str
    members: str
    beside_points: str
    beside_answers: str
    draw: str
    write_reports: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """The extensions of a feature, with functions as `module:name`.

    commands, figures: for the command line and `scaling plot`; subjects: the data that its figures need
    quantities, sentences: of points, and of `show`
    answers: answers to its question for the evaluation of a folder, empty for other folders
    sections: a section of an evaluation's page, or None
    objectives: answers to questions of `capacity` other than sizes
    programs, keys: types of programs, and of other tables that users write, by the name of the table
    doubts: doubts about a run from the figures that its workload reports
    schemas: keys and types of --json output by command, or by command and a word for additions to core commands
    library: its names in `scaling`
    engines: functions that make the runs of a study elsewhere, by name (`sweep --cluster`)
    files: readers of its files in a results folder, by file name
    """

    commands: tuple[Command, ...] = ()
    figures: tuple[FigureKind, ...] = ()
    subjects: Mapping[Needs, str] = field(default_factory=dict)
    quantities: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    objectives: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    schemas: Mapping[str, str] = field(default_factory=dict)
    library: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[str, str] = field(default_factory=dict)
    node_types: NodeTypes | None = None
    files: Mapping[str, str] = field(default_factory=dict)


@cache
def features() -> tuple[Feature, ...]:
    """The installed features, in order."""
    modules = (f"{__name__}.{name}" for name in NAMES)
    return tuple(import_module(module).FEATURE for module in modules if find_spec(module) is not None)


def resolve(function: str) -> Callable[..., Any]:
    """The function that `module:name` names."""
    resolved: Callable[..., Any] = pkgutil.resolve_name(function)
    return resolved


def node_types_at(folder: Path) -> NodeTypes | None:
    """The functions for a folder of several node types; None for other folders."""
    several = (feature.node_types for feature in features() if feature.node_types is not None)
    return next((node_types for node_types in several if (folder / node_types.marker).is_file()), None)


def engine(name: str) -> Callable[..., Any] | None:
    """The function that makes the runs of a study elsewhere; None if no feature has it."""
    named = (feature.engines[name] for feature in features() if name in feature.engines)
    return next(map(resolve, named), None)
