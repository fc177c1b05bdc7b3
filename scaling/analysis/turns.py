"""Turns: the stretches of steps that the processes of a cohort take one after another, and how quiet each was. Pure.

A *launch* of a series is a cohort: one fresh process per point, all alive, all but one stopped. In a *round* every
process takes one turn, in random order, so that all points meet the same conditions of the machine. Round 0 is warm-up.
A run that had the machine to itself from its first step to its last (`design = "apart"`) has no turns.

On many CPUs of a shared host hardly any turn is quiet, but each turn records how much CPU time others took, and its
steps take longer the more that is. Nothing else differs between the turns of a launch, so the slope is estimated within
launches (an analysis of covariance with the launch as a factor), and each launch is moved to zero disturbance. The
straight line on the logarithm of time is an approximation: half of every correction counts as uncertain, in addition to
the error of the slope.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from math import exp, fsum, log, sqrt
from statistics import fmean, median
from typing import NamedTuple

from scaling.analysis import rules
from scaling.analysis.distributions import student_t
from scaling.analysis.witness import SLACK_SECONDS
from scaling.study.limits import Measured, Seconds

WARMUP_ROUND, FIRST_ROUND = 0, 1
# The reason for the end of a program's run: it was executed as often as requested.
EXECUTIONS = "executions"
# A turn is quiet if others took at most this number of CPU-seconds per second, summed over the CPUs in use.
QUIET = 0.10
# The largest plausible loss of a step: all ticks of the kernel may happen to fall into one short turn.
LARGEST_SHARE = 0.5
# The range of plausible CPU time per second.
LEAST_BUSY, MOST_BUSY = 1e-6, 1e6
# Fewest degrees of freedom for a slope: turns, less one per launch and one for the slope.
LEAST_FREEDOM = 4
# The share of a correction by which the straight line may be wrong.
MODEL_ERROR = 0.5
# Launches with a larger correction (a logarithm of time) are too far from quiet to adjust.
LARGEST_CORRECTION = 0.7


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a run: its steps, and the disturbances of its counted steps.

    The first `unsettled` of its `steps` steps are not counted: a process that was just continued finds its caches cold
    and its CPU at another speed. All times are of the counted steps. CPU time is summed over the CPUs in use and not
    divided by their number: a step waits for its slowest thread. Others took `sibling_seconds` of the other threads of
    the same cores, and `elsewhere_seconds` of all further CPUs. None means that the machine does not report it.
    """

    round: int
    steps: int
    unsettled: int
    seconds: Seconds
    cpu_seconds: Measured | None = None
    busy_seconds: Measured | None = None
    steal_seconds: Measured | None = None
    wait_seconds: Measured | None = None
    sibling_seconds: Measured | None = None
    elsewhere_seconds: Measured | None = None

    @property
    def foreign_seconds(self) -> float | None:
        """CPU time that other processes took on the turn's CPUs."""
        if self.busy_seconds is None or self.cpu_seconds is None:
            return None
        return max(0.0, self.busy_seconds - self.cpu_seconds)


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """The times of a turn by the machine's common clock: start, start of counted steps, end.

    `pauses` are the times in between in which a program prepares its next execution.
    """

    began: float
    counted_from: float
    ended: float
    pauses: tuple[tuple[float, float], ...] = ()

    @property
    def counted(self) -> list[tuple[float, float]]:
        """The stretches of counted steps, from the start to the end of each."""
        times = [self.counted_from, *chain.from_iterable(self.pauses), self.ended]
        return list(zip(times[::2], times[1::2], strict=True))

    @property
    def seconds(self) -> float:
        """The duration of the counted steps."""
        return fsum(end - start for start, end in self.counted)

    @property
    def without_pauses(self) -> "TurnSpan":
        """The span as if nothing had been prepared within."""
        return TurnSpan(self.began, self.counted_from, self.counted_from + self.seconds)

    def last(self, seconds: float) -> "TurnSpan":
        """The span in which only the last seconds count."""
        start = self.ended - seconds
        for begin, end in reversed(self.pauses):
            start -= end - begin if start < end else 0.0
        start = max(self.counted_from, start)
        return TurnSpan(self.began, start, self.ended, tuple(pause for pause in self.pauses if start <= pause[0]))


# A turn with the seconds of its counted steps.
CountedTurn = tuple[Turn, tuple[float, ...]]


def settled_steps(step_seconds: Sequence[float], turns: Sequence[Turn]) -> list[CountedTurn]:
    """Every turn with the seconds of its counted steps."""
    ends = accumulate(turn.steps for turn in turns)
    return [
        (turn, tuple(step_seconds[end - turn.steps + turn.unsettled : end]))
        for turn, end in zip(turns, ends, strict=True)
    ]


def counted_steps(step_seconds: Sequence[float], turns: Sequence[Turn]) -> list[CountedTurn]:
    """Every turn except warm-up, with the seconds of its counted steps."""
    return [pair for pair in settled_steps(step_seconds, turns) if pair[0].round != WARMUP_ROUND]


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """A turn for the analysis: the mean of its steps, and its disturbance.

    `disturbance` is the CPU time that others took, in CPU-seconds per second over all CPUs in use, less the resolution
    of the kernel's clock; None if nothing is reported. `stolen`, `foreign` and `waited` are the raw shares. All of
    these are means over the replicas of a pack, whose steps do not wait for each other. `elsewhere` is the share that
    others took of unused CPUs, and `cpus_busy` the run's own CPU time per second.
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
        """Whether it was quiet, without known load on other CPUs either, which may share its cores."""
        return self.quiet and (self.elsewhere is None or self.elsewhere <= rules.LOAD_ELSEWHERE.limit)

    @property
    def quiet(self) -> bool:
        """Whether nobody is known to have taken CPU time from it."""
        return self.disturbance is None or self.disturbance <= QUIET


def was_quiet(turn: Turn, cpus: int, replicas: int = 1) -> bool:
    """Whether nobody is known to have taken CPU time from a turn on these CPUs, which replicas share."""
    disturbance = _disturbance(turn, cpus, replicas) if turn.seconds > 0 else None
    return disturbance is None or disturbance <= QUIET


def _turn_times(turn: Turn, steps: Sequence[float], cpus: int, replicas: int) -> TurnTimes:
    seconds, elsewhere = turn.seconds * replicas, turn.elsewhere_seconds
    # A folder may have a hundred thousand of them, and a call by position takes half as long as one by name.
    return TurnTimes(
        turn.round,
        _mean(steps),
        _disturbance(turn, cpus, replicas),
        (turn.steal_seconds or 0.0) / seconds,
        (turn.foreign_seconds or 0.0) / seconds,
        None if turn.wait_seconds is None else turn.wait_seconds / seconds,
        None if elsewhere is None else max(0.0, elsewhere - SLACK_SECONDS * sqrt(cpus)) / turn.seconds,
        None if turn.cpu_seconds is None else turn.cpu_seconds / turn.seconds,
    )


def _mean(steps: Sequence[float]) -> float:
    return sum([seconds / len(steps) for seconds in steps])  # a sum of steps may be more than a number holds


class LaunchTimes(NamedTuple):
    """The step time of a launch, the number of CPUs it kept busy, and its turns."""

    seconds: float | None
    cpus_busy: float | None
    turns: tuple[TurnTimes, ...]


def launch_times(counted: Iterable[CountedTurn], cpus: int, replicas: int = 1) -> LaunchTimes:
    """The times of a launch on some CPUs: the mean of the steps of its calmest turns.

    A CPU runs at two speeds if it has neighbours: a quantile of steps jumps between them, the mean does not. Without a
    quiet turn all are used, and the launch is left out of its point or adjusted.
    """
    timed = [(turn, steps) for turn, steps in counted if steps and turn.seconds > 0]
    turns = tuple([_turn_times(turn, steps, cpus, replicas) for turn, steps in timed])
    used = calmest(turns) or turns
    calm = set(map(id, used))
    steps = [*chain.from_iterable([steps for turn, (_, steps) in zip(turns, timed, strict=True) if id(turn) in calm])]
    if not steps:
        return LaunchTimes(None, None, turns)
    known = [turn.cpus_busy for turn in used if turn.cpus_busy is not None]
    busy = fmean(known) if known else 0.0
    return LaunchTimes(_mean(steps), busy if LEAST_BUSY < busy < MOST_BUSY else None, turns)


def _disturbance(turn: Turn, cpus: int, replicas: int) -> float | None:
    """CPU time per second and replica that was stolen, or that others used on the same cores."""
    others = (turn.steal_seconds, turn.foreign_seconds, turn.sibling_seconds)
    known = [seconds for seconds in others if seconds is not None]
    slack = SLACK_SECONDS * sqrt(cpus / replicas)
    return max(0.0, sum(known) / replicas - slack) / turn.seconds if known else None


def calmest(turns: Iterable[TurnTimes]) -> list[TurnTimes]:
    """The calm turns or, without any, the quiet ones."""
    quiet = [turn for turn in turns if turn.quiet]
    return [turn for turn in quiet if turn.calm] or quiet


def share_taken(turns: Iterable[TurnTimes]) -> float:
    """The share of their time that steps of quiet turns may have lost to others within the limit of quiet.

    A step loses nothing to another process that its threads did not wait for.
    """
    quiet = calmest(turns)
    if not quiet:
        return 0.0
    taken = fmean(turn.stolen + turn.foreign for turn in quiet)
    waits = [turn.stolen + turn.waited for turn in quiet if turn.waited is not None]
    return min(LARGEST_SHARE, taken, fmean(waits) if waits else taken)


@dataclass(frozen=True, slots=True)
class Slope:
    """The growth of log step time per unit of disturbance, and the half width of its interval."""

    value: float
    reach: float


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A launch at zero disturbance: its seconds and, as logarithms, the correction and its uncertainty."""

    seconds: float
    correction: float
    uncertain: float


def slope(launches: Sequence[Sequence[TurnTimes]]) -> Slope | None:
    """The slope within launches, or over launches of a single turn each; None unless it is clearly above 0."""
    groups = [[turn for turn in turns if turn.disturbance is not None] for turns in launches]
    if all(len(turns) <= 1 for turns in groups):
        groups = [[turn for turns in groups for turn in turns]]
    known = [turns for turns in groups if turns]
    centred = [
        pair for turns in known for pair in _centred([(turn.disturbance or 0.0, log(turn.seconds)) for turn in turns])
    ]
    freedom = len(centred) - len(known) - 1
    spread = sum(x * x for x, _ in centred)
    if freedom < LEAST_FREEDOM or spread <= 0:
        return None
    value = sum(x * y for x, y in centred) / spread
    error = sqrt(sum((y - value * x) ** 2 for x, y in centred) / freedom / spread)
    reach = student_t(freedom) * error
    return Slope(value, reach) if value > reach else None


def _centred(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    middle = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    return [(x - middle[0], y - middle[1]) for x, y in pairs]


def adjust(turns: Sequence[TurnTimes], by: Slope) -> Adjusted | None:
    """A launch at zero disturbance, by the median of its turns; None if the correction is too large."""
    taken = [turn.disturbance or 0.0 for turn in turns]
    correction = by.value * median(taken)
    if correction > LARGEST_CORRECTION:
        return None
    moved = median(log(turn.seconds) - by.value * share for turn, share in zip(turns, taken, strict=True))
    return Adjusted(exp(moved), correction, (by.reach + MODEL_ERROR * by.value) * median(taken))
