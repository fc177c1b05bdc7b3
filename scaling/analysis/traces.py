"""What a traced run tells: step by step, how long each type of operation took and how often it ran. Pure values."""

from dataclasses import dataclass

from scaling.study.planning import Point


@dataclass(frozen=True, slots=True)
class OpTime:
    """All executions of one op type in one step, their seconds summed; names that mean the same op are one type."""

    type: str
    seconds: float
    executions: int


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step: its wall time, its ops, and the time the framework spent between ops handing them out."""

    wall_seconds: float
    ops: tuple[OpTime, ...]
    overhead_seconds: float


@dataclass(frozen=True, slots=True)
class Trace:
    """The traced steps of one launch of a point, first and last already dropped, beside plain steps of the same run.

    `threads` is the size of the intra-op pool, `inter` of the other, as the run had them.
    """

    point: Point
    launch: int
    threads: int
    inter: int
    items_per_step: int
    steps: tuple[TracedStep, ...]
    plain_step_seconds: tuple[float, ...]
