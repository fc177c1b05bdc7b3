"""Features: packages that add to the core what it works without.

A feature is a package below this one whose `FEATURE` says what it adds, by the names of functions that are imported
when they are used. It may import the core; the core reaches it through this list alone, so that a feature's folder can
be deleted and everything else still works.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

NAMES = ("profiling", "energy", "packs", "tuning", "devices", "cluster")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """What a feature adds to the core.

    `sections` are functions that make a section of the page of an evaluation, or None; `schemas` are the keys and types
    of what its commands print with --json, by command; `library` are the names that `scaling` has of it. `files` are
    those that it has in a results folder, each with the function that reads it from there.
    """

    commands: tuple[Command, ...] = ()
    figures: tuple[FigureKind, ...] = ()
    sections: tuple[str, ...] = ()
    schemas: Mapping[str, str] = field(default_factory=dict)
    library: Mapping[str, str] = field(default_factory=dict)
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
