"""The loop: make each run, keep its row, hand it on."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from scaling.results.rows import Row
from scaling.study.planning import Run


class Engine(Protocol):
    """Where runs are made: this machine, a pretend one, a cluster."""

    def make(self, runs: Iterable[Run]) -> Iterator[Row]:
        """Make each run and hand on its row."""


class Keeper(Protocol):
    """What keeps rows."""

    def append(self, row: Row) -> None:
        """Keep a row, whole or not at all."""


def sweep(runs: Iterable[Run], engine: Engine, store: Keeper) -> Iterator[Row]:
    """Make each run, keep its row, hand it on: the caller decides what to show."""
    for row in engine.make(runs):
        store.append(row)
        yield row
