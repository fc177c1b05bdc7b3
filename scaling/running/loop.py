"""The loop: make each run, keep its row, hand it on."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from scaling.results.rows import Row
from scaling.study.planning import Run

T = TypeVar("T")
Kept = TypeVar("Kept", contravariant=True)


class Engine(Protocol):
    """Where runs are made: this machine, a pretend one, a cluster."""

    def make(self, runs: Iterable[Run]) -> Iterator[Row]:
        """Make each run and hand on its row."""


class Keeper(Protocol[Kept]):
    """What keeps rows, or whatever else a run leaves."""

    def append(self, item: Kept) -> None:
        """Keep it, whole or not at all."""


def sweep(runs: Iterable[Run], engine: Engine, store: Keeper[Row]) -> Iterator[Row]:
    """Make each run, keep its row, hand it on: the caller decides what to show."""
    return kept(engine.make(runs), store)


def kept(made: Iterable[T], store: Keeper[T]) -> Iterator[T]:
    """Keep each of what is being made before the next is, and hand it on."""
    for each in made:
        store.append(each)
        yield each
