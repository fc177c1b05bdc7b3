"""A traced run: the time, purpose and executions of each type of operation, step by step. Pure values.

The measured process imports this module, so it imports nothing heavy.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scaling.analysis.op_classes import Purpose

if TYPE_CHECKING:
    from scaling.study.planning import Point


@dataclass(frozen=True, slots=True)
class OpTime:
    """All executions of one op type for one purpose in one step, with their total seconds.

    The purpose is None in traces from before there were purposes.
    """

    type: str
    seconds: float
    executions: int
    purpose: Purpose | None = None


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step: its wall time, its ops, and the framework's overhead between ops.

    `overlap_seconds` is the excess of the ops' seconds over wall time if several inter-op threads ran them.
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
        """The rest of the wall time, besides ops and overhead."""
        return self.wall_seconds - self.op_seconds - self.overhead_seconds


@dataclass(frozen=True, slots=True)
class Trace:
    """The traced steps of one launch of a point, without the first and last, beside plain steps of the same run.

    `threads` is the size of the intra-op pool, `inter` of the inter-op pool. `quiet` means that others did not disturb
    its plain steps, which follow at once; disturbances of traced steps are unknown.
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
    """The launches of every point, in order of appearance."""
    by_point: dict[Point, list[Trace]] = defaultdict(list)
    for trace in traces:
        by_point[trace.point].append(trace)
    return by_point
