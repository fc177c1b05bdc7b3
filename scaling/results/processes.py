"""A function mapped over items by several processes."""

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from scaling.errors import StoreError

T = TypeVar("T")
R = TypeVar("R")

MOST_PROCESSES = 8

# The function and its items, inherited by fork, so that neither is pickled.
_inherited: tuple[Callable[[Any], Any], Sequence[Any]]


def map_by_processes(function: Callable[[T], R], items: Sequence[T], *, least: int = 2) -> Iterator[R]:
    """Map a function over items, in order; from `least` items on, in one process per CPU."""
    processes = min(MOST_PROCESSES, len(os.sched_getaffinity(0)), len(items))
    if processes < 2 or len(items) < least:
        yield from map(function, items)
        return
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(processes, context, initializer=_inherit, initargs=(function, items))
    try:
        yield from pool.map(_apply, range(len(items)))
    except BrokenProcessPool as error:
        raise StoreError(
            "a helper process was killed, perhaps for lack of memory; run the same command again"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _inherit(function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    global _inherited
    _inherited = function, items
    gc.freeze()  # the parent's objects are not garbage here, and visiting them would copy their pages


def _apply(index: int) -> Any:
    function, items = _inherited
    return function(items[index])
