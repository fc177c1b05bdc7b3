"""Turns: the stretches of steps that the processes of a cohort take one after another, and how quiet each was. Pure.

A *launch* of a series is a cohort: one fresh process per point, all alive, all stopped but one. In a *round* every
process takes one turn, in random order, so that what the machine does to one point it does to all. Round 0 is warm-up.
A run that had the machine to itself from its first step to its last (`design = "apart"`) has no turns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WARMUP_ROUND = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a run: which steps of the run fall into it, and what else happened during those that count.

    The first `unsettled` of its `steps` steps are not counted: a process that was just continued finds its caches cold
    and its CPU at another speed. `seconds` and the witness are those of the counted steps. CPU time is summed over the
    CPUs in use and not divided by their number: a step waits for its slowest thread. None is what the machine does not
    report.
    """

    round: int
    steps: int
    unsettled: int
    seconds: float
    cpu_seconds: float | None = None
    busy_seconds: float | None = None
    steal_seconds: float | None = None
    wait_seconds: float | None = None

    @property
    def foreign_seconds(self) -> float | None:
        """CPU time that other processes took on the turn's CPUs."""
        if self.busy_seconds is None or self.cpu_seconds is None:
            return None
        return max(0.0, self.busy_seconds - self.cpu_seconds)


def counted_steps(step_seconds: Sequence[float], turns: Sequence[Turn]) -> list[tuple[Turn, tuple[float, ...]]]:
    """Every turn with the seconds of its counted steps; warm-up is left out."""
    split, start = [], 0
    for turn in turns:
        end = start + turn.steps
        if turn.round != WARMUP_ROUND:
            split.append((turn, tuple(step_seconds[start + turn.unsettled : end])))
        start = end
    return split
