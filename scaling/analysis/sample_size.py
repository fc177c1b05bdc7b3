"""The number of launches, and of steps in each, that an estimate needs. Pure.

Kalibera & Jones, "Rigorous benchmarking in reasonable time", ISMM 2013. A launch costs its start-up, a step its own
time. The variance of a point's mean over n launches of r steps is (between + step / r) / n, so for a given time the
best number of steps in a launch does not depend on n:

    r = sqrt(start-up cost / step cost * step variance / variance between launches)
"""

from collections.abc import Sequence
from math import ceil, inf, log, sqrt
from statistics import fmean, median, variance

from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.summary import Launch

# The fewest launches with a variance between them.
LEAST_LAUNCHES = 2


def steps_per_launch(launches: Sequence[Launch]) -> int | None:
    """The best number of steady steps in the next launch; None if it is unknown or any number is as good."""
    known = [launch for launch in launches if launch.seconds and launch.steps]
    walls = [(one.wall_seconds, one.run_seconds) for one in known]
    start_ups = [wall - run for wall, run in walls if wall is not None and run is not None]
    if len(known) < LEAST_LAUNCHES or not start_ups:
        return None
    seconds = [launch.seconds or inf for launch in known]
    step = fmean(launch.step_noise**2 for launch in known)
    # The variance between launches that their steps do not explain.
    between = variance(map(log, seconds)) - step * fmean(1 / launch.steps for launch in known)
    if between <= 0 or step <= 0:
        return None
    return max(1, ceil(sqrt(median(start_ups) / median(seconds) * step / between)))


def launches_needed(point: ScalingPoint, precision: float) -> float:
    """The launches that should bring a point's speedup, or on the fewest cores its time, to a precision.

    From n launches with half width h, n (h / precision)² (Stein's rule with the present quantile of Student's t);
    infinite without an interval, and 0 if every launch failed, since further ones would too.
    """
    if point.summary.step is None:
        return 0
    return enlarged(len(point.summary.launches), precision_of(point), precision)


def enlarged(number: int, half_width: float | None, precision: float) -> float:
    """The number of launches that should have a precision, from the half width of the present ones."""
    return inf if half_width is None else ceil(number * (half_width / precision) ** 2)


def precision_of(point: ScalingPoint) -> float | None:
    """The relative half width of a point's speedup or, on one core and without a speedup, of its time."""
    estimate = point.summary.step if point.summary.point.cores == 1 else point.speedup or point.summary.step
    return estimate.half_width if estimate else None
