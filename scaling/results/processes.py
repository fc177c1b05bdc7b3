"""A function of many things, by several processes at once."""

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

# What the processes were forked with, the function and its arguments: neither has to travel.
_inherited: tuple[Callable[[Any], Any], Sequence[Any]]


def process_count() -> int:
    """How many processes are worth starting: one per CPU, up to a limit."""
    return min(MOST_PROCESSES, len(os.sched_getaffinity(0)))


def map_by_processes(function: Callable[[T], R], items: Sequence[T], *, least: int = 2) -> Iterator[R]:
    """What a function makes of every item, in order: by as many processes as there are CPUs, from so many items on."""
    processes = min(process_count(), len(items))
    if processes < 2 or len(items) < least:
        yield from map(function, items)
        return
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(processes, context, initializer=_inherit, initargs=(function, items))
    try:
        yield from pool.map(_apply, range(len(items)))
    except BrokenProcessPool as error:
        raise StoreError(
            "a process that helped to read was ended, as where memory is short; give the same command again"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _inherit(function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    global _inherited
    _inherited = function, items
    gc.freeze()  # what the parent has made is never garbage here, and looking at it would copy it


def _apply(index: int) -> Any:
    function, items = _inherited
    return function(items[index])
