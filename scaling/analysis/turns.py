"""Turns: the stretches of steps that the processes of a cohort take one after another, and how quiet each was. Pure.

A *launch* of a series is a cohort: one fresh process per point, all alive, all stopped but one. In a *round* every
process takes one turn, in random order, so that what the machine does to one point it does to all. Round 0 is warm-up.
A run that had the machine to itself from its first step to its last (`design = "apart"`) has no turns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from statistics import fmean
from typing import NamedTuple

from scaling.analysis import rules
from scaling.analysis.witness import SLACK_SECONDS

WARMUP_ROUND, FIRST_ROUND = 0, 1

# Why the run of a program has ended: it was executed as often as it was to be.
EXECUTIONS = "executions"

# A turn is quiet where others took no more than this many CPU-seconds per second, summed over the CPUs in use.
QUIET = 0.10

# No step can have lost more than this: ticks of the kernel that all fell into one short turn say nothing.
LARGEST_SHARE = 0.5

# CPU time per second beyond these is no measurement.
LEAST_BUSY, MOST_BUSY = 1e-6, 1e6


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a run: which steps of the run fall into it, and what else happened during those that count.

    The first `unsettled` of its `steps` steps are not counted: a process that was just continued finds its caches cold
    and its CPU at another speed. `seconds` and the witness are those of the counted steps. CPU time is summed over the
    CPUs in use and not divided by their number: a step waits for its slowest thread. `sibling_seconds` is what others
    took of the other threads of the same cores, `elsewhere_seconds` of all further CPUs. None is what the machine does
    not report.
    """

    round: int
    steps: int
    unsettled: int
    seconds: float
    cpu_seconds: float | None = None
    busy_seconds: float | None = None
    steal_seconds: float | None = None
    wait_seconds: float | None = None
    sibling_seconds: float | None = None
    elsewhere_seconds: float | None = None

    @property
    def foreign_seconds(self) -> float | None:
        """CPU time that other processes took on the turn's CPUs."""
        if self.busy_seconds is None or self.cpu_seconds is None:
            return None
        return max(0.0, self.busy_seconds - self.cpu_seconds)


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """When a turn was, in seconds of the clock that all processes of a machine share: when its first step began, when
    the first that counts did, and when the last had ended."""

    began: float
    counted_from: float
    ended: float


# A turn with the seconds of its counted steps.
CountedTurn = tuple[Turn, tuple[float, ...]]


def counted_steps(step_seconds: Sequence[float], turns: Sequence[Turn]) -> list[CountedTurn]:
    """Every turn with the seconds of its counted steps; warm-up is left out."""
    split, start = [], 0
    for turn in turns:
        end = start + turn.steps
        if turn.round != WARMUP_ROUND:
            split.append((turn, tuple(step_seconds[start + turn.unsettled : end])))
        start = end
    return split


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """A turn as the analysis sees it: the mean of its steps, and how disturbed it was.

    `disturbance` is what others took, in CPU-seconds per second over all CPUs in use, less what the clock of the kernel
    cannot tell; None where nothing is reported. `stolen`, `foreign` and `waited` are the same shares as they were read.
    Of a pack these are the means of its replicas, whose steps do not wait for each other. `elsewhere` is what others
    took of CPUs that were not in use, and `cpus_busy` the CPU time of the run itself per second.
    """

    round: int
    seconds: float
    disturbance: float | None = None
    stolen: float = 0.0
    foreign: float = 0.0
    waited: float | None = None
    elsewhere: float | None = None
    cpus_busy: float | None = None

    @property
    def calm(self) -> bool:
        """Whether it was quiet, and nobody is known to have used other CPUs either, which may be of the same cores."""
        return self.quiet and (self.elsewhere is None or self.elsewhere <= rules.LOAD_ELSEWHERE.limit)

    @property
    def quiet(self) -> bool:
        """Whether nobody is known to have taken CPU time from it."""
        return self.disturbance is None or self.disturbance <= QUIET


def was_quiet(turn: Turn, cpus: int, replicas: int = 1) -> bool:
    """Whether nobody is known to have taken CPU time from a turn on so many CPUs, or from replicas that share them."""
    disturbance = _disturbance(turn, cpus, replicas) if turn.seconds > 0 else None
    return disturbance is None or disturbance <= QUIET


def _turn_times(turn: Turn, steps: Sequence[float], cpus: int, replicas: int) -> TurnTimes:
    seconds = turn.seconds * replicas
    # A folder may have a hundred thousand of them, and a call by position takes half as long as one by name.
    return TurnTimes(
        turn.round,
        _mean(steps),
        _disturbance(turn, cpus, replicas),
        (turn.steal_seconds or 0.0) / seconds,
        (turn.foreign_seconds or 0.0) / seconds,
        None if turn.wait_seconds is None else turn.wait_seconds / seconds,
        _elsewhere(turn, cpus),
        None if turn.cpu_seconds is None else turn.cpu_seconds / turn.seconds,
    )


def _mean(steps: Sequence[float]) -> float:
    return sum([seconds / len(steps) for seconds in steps])  # a sum of steps may be more than a number holds


class LaunchTimes(NamedTuple):
    """The step time of a launch, how many CPUs it kept busy, and its turns."""

    seconds: float | None
    cpus_busy: float | None
    turns: tuple[TurnTimes, ...]


def launch_times(counted: Iterable[CountedTurn], cpus: int, replicas: int = 1) -> LaunchTimes:
    """What the turns of a launch on so many CPUs come to: the mean of the steps of its calmest turns.

    A CPU runs at two speeds where it has neighbours: a quantile of steps jumps from one to the other, their mean does
    not. Where no turn was quiet all are used, and the launch is left out of its point or adjusted.
    """
    timed = [(turn, steps) for turn, steps in counted if steps and turn.seconds > 0]
    turns = tuple([_turn_times(turn, steps, cpus, replicas) for turn, steps in timed])
    used = calmest(turns) or turns
    calm = set(map(id, used))
    steps = [*chain.from_iterable([steps for turn, (_, steps) in zip(turns, timed, strict=True) if id(turn) in calm])]
    if not steps:
        return LaunchTimes(None, None, turns)
    return LaunchTimes(_mean(steps), _mean_busy(used), turns)


def _disturbance(turn: Turn, cpus: int, replicas: int) -> float | None:
    """CPU time per second and replica that was stolen, or that others used on the same cores.

    Threads that wait without either wait for each other.
    """
    others = (turn.steal_seconds, turn.foreign_seconds, turn.sibling_seconds)
    known = [seconds for seconds in others if seconds is not None]
    slack = SLACK_SECONDS * sqrt(cpus / replicas)
    return max(0.0, sum(known) / replicas - slack) / turn.seconds if known else None


def _elsewhere(turn: Turn, cpus: int) -> float | None:
    seconds = turn.elsewhere_seconds
    return None if seconds is None else max(0.0, seconds - SLACK_SECONDS * sqrt(cpus)) / turn.seconds


def calmest(turns: Iterable[TurnTimes]) -> list[TurnTimes]:
    """The calm turns; where there is none, the quiet ones."""
    quiet = [turn for turn in turns if turn.quiet]
    return [turn for turn in quiet if turn.calm] or quiet


def share_taken(turns: Iterable[TurnTimes]) -> float:
    """The share of their time that steps of quiet turns may have lost to others, which the limit of quiet lets pass.

    Turns lost what was stolen and what other processes took; a step loses nothing to a process its threads did not wait
    for.
    """
    quiet = calmest(turns)
    if not quiet:
        return 0.0
    taken = fmean(turn.stolen + turn.foreign for turn in quiet)
    waits = [turn.stolen + turn.waited for turn in quiet if turn.waited is not None]
    return min(LARGEST_SHARE, taken, fmean(waits) if waits else taken)


def _mean_busy(turns: Sequence[TurnTimes]) -> float | None:
    known = [turn.cpus_busy for turn in turns if turn.cpus_busy is not None]
    busy = fmean(known) if known else 0.0
    return busy if LEAST_BUSY < busy < MOST_BUSY else None
