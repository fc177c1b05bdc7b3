"""Features: packages that add to the core what it works without.

A feature is a package below this one whose `FEATURE` says what it adds, by the names of functions that are imported
when they are used. It may import the core; the core reaches it through this list alone, so that a feature's folder can
be deleted and everything else still works.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

NAMES = ("profiling", "energy", "packs", "tuning", "devices", "cluster", "services")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `scaling`: its group and the first line of its help; `function` is `module:name`."""

    group: str
    name: str
    summary: str
    function: str


# Rows of a results folder, traces of a profile, a profile beside `scaling sweep ceilings`, or node types side by side.
Needs = Literal["rows", "traces", "ceilings", "node types"]


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A kind of figure; `function` is `module:name`.

    One that is not `per_series` has no panel or bar for each of them, however many there are.
    """

    name: str
    title: str
    description: str
    needs: Needs
    function: str
    takes_target: bool = False
    per_series: bool = True


class ObjectiveQuestion(NamedTuple):
    """What a question of `capacity` that is none of sizes is about: points, their rooflines, the targets that were
    given by name, and how many threads a core of the machine has."""

    summaries: Sequence[Any]
    rooflines: Mapping[Any, Any]
    targets: Mapping[str, float | None]
    quantile: float | None = None
    core_threads: int = 1


class ObjectiveAnswer(NamedTuple):
    """What such a question comes to: sentences, tables, the same as JSON, and sizes to deploy."""

    sentences: Sequence[str]
    tables: Sequence[Any]
    facts: Mapping[str, object]
    is_answer: bool
    deployments: Sequence[Any] = ()


class Member(NamedTuple):
    """A node type of a folder that has several: its name, its results folder, and the price of a core-hour."""

    name: str
    folder: Path
    core_hour: float


class Beside(NamedTuple):
    """What a command adds to its answer: sentences and a table, and the same as keys of its JSON."""

    sentences: Sequence[str]
    table: Any
    facts: Mapping[str, object]


class Standings(NamedTuple):
    """How far a sweep on several node types has come: sentences, tables, and the same as JSON."""

    sentences: Sequence[str]
    tables: Sequence[Any]
    facts: Mapping[str, object]
    has_rows: bool
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTypes:
    """A folder that has a results folder for each of several node types: the file that marks it, and by function:

    how far its sweep has come; the members that have rows; what `show` says beside the points of one; what `capacity`
    says beside the answers; the figures with node types as series; and the pages.
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
    """What a feature adds to the core.

    By the names of functions: `subjects` makes what its figures need; `quantities` gives quantities of a point;
    `sentences` what `show` says of summaries; `answers` the answers to its question for the evaluation of a folder that
    asks it, none for any other; `sections` a section of the page of an evaluation, or None; `objectives`
    answers a question of `capacity` that is none of sizes; `schemas` the keys and types of what its commands print with
    --json, by command, and of what core commands print besides, by command and a word that tells outputs apart;
    `library` the names that `scaling` has of it; `files` read what it has in a results folder, by the name of the file;
    `programs` are types of programs, by their table in a study; `keys` the types of other tables that users write;
    `doubts` gives what speaks against a run by the figures that its workload reports; `engines` make the runs of a
    study elsewhere, by the word that names them (`sweep --cluster`).
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
    """The features that are here, in order."""
    return tuple(_features())


def _features() -> Iterator[Feature]:
    for name in NAMES:
        module = f"{__name__}.{name}"
        if find_spec(module) is not None:
            yield import_module(module).FEATURE


def resolve(function: str) -> Callable[..., Any]:
    """The function that `module:name` names."""
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def node_types_at(folder: Path) -> NodeTypes | None:
    """How a folder of several node types is read and shown; None where it is no such folder."""
    several = (feature.node_types for feature in features() if feature.node_types is not None)
    return next((one for one in several if (folder / one.marker).is_file()), None)


def engine(name: str) -> Callable[..., Any] | None:
    """What makes the runs of a study elsewhere; None where no feature does."""
    named = (feature.engines[name] for feature in features() if name in feature.engines)
    return next(map(resolve, named), None)
