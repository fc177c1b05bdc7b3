"""A traced run: step by step, how long each type of operation took, for what, and how often it ran. Pure values.

Read by the process that is measured, so nothing heavy is imported here.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scaling.analysis.purposes import Purpose

if TYPE_CHECKING:
    from scaling.study.planning import Point


@dataclass(frozen=True, slots=True)
class OpTime:
    """All executions of one op type for one purpose in one step, their seconds summed.

    The purpose is None where the trace does not tell it, as traces of before there were purposes.
    """

    type: str
    seconds: float
    executions: int
    purpose: Purpose | None = None


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step: its wall time, its ops, and the time the framework spent between ops handing them out.

    Where the inter-op pool has several threads, ops run at the same time and their seconds may add up to more than the
    wall time; `overlap_seconds` is the excess of the sum.
    """

    wall_seconds: float
    ops: tuple[OpTime, ...]
    overhead_seconds: float
    overlap_seconds: float = 0.0

    @property
    def op_seconds(self) -> float:
        """The seconds during which at least one op was running."""
        return sum(op.seconds for op in self.ops) - self.overlap_seconds

    @property
    def unexplained_seconds(self) -> float:
        """What is left of the wall time: ops, overhead and this are all of it."""
        return self.wall_seconds - self.op_seconds - self.overhead_seconds


@dataclass(frozen=True, slots=True)
class Trace:
    """The traced steps of one launch of a point, first and last already dropped, beside plain steps of the same run.

    `threads` is the size of the intra-op pool, `inter` of the other, as the run had them. It was `quiet` where others
    did not disturb its plain steps, which follow at once; what they do to traced ones nothing tells.
    """

    point: "Point"
    launch: int
    threads: int
    inter: int
    items_per_step: int
    steps: tuple[TracedStep, ...]
    plain_step_seconds: tuple[float, ...]
    quiet: bool = True


def traces_by_point(traces: Iterable[Trace]) -> "dict[Point, list[Trace]]":
    """The launches of every point, in the order they come."""
    by_point: dict[Point, list[Trace]] = defaultdict(list)
    for trace in traces:
        by_point[trace.point].append(trace)
    return by_point
