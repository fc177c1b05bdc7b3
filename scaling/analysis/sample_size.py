"""How many launches, and how many steps in each, an estimate needs. Pure.

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

# The fewest launches that have a variance between them.
LEAST_LAUNCHES = 2


def steps_per_launch(launches: Sequence[Launch]) -> int | None:
    """The number of steady steps worth taking in the next launch; None where too few launches are known.

    None too where launches differ no more than their steps explain: then any number of steps is as good as its time.
    """
    known = [launch for launch in launches if launch.seconds and launch.steps]
    if len(known) < LEAST_LAUNCHES:
        return None
    step = fmean(launch.step_noise**2 for launch in known)
    between = _between(known, step)
    start_up = _start_up_seconds(known)
    if between <= 0 or step <= 0 or start_up is None:
        return None
    cost = median(launch.seconds or inf for launch in known)
    return max(1, ceil(sqrt(start_up / cost * step / between)))


def launches_needed(point: ScalingPoint, precision: float) -> float:
    """How many launches should bring a point's speedup, or on the fewest cores its time, to the precision wanted.

    From n launches with half width h, n (h / precision)² (Stein's rule with the present quantile of Student's t); more
    than any number where there is no interval yet, and none where every launch failed, as further ones would.
    """
    if point.summary.step is None:
        return 0
    return enlarged(len(point.summary.launches), precision_of(point), precision)


def enlarged(number: int, half_width: float | None, precision: float) -> float:
    """How many launches should have the precision wanted, from the half width that so many have."""
    return inf if half_width is None else ceil(number * (half_width / precision) ** 2)


def precision_of(point: ScalingPoint) -> float | None:
    """Half the interval, relative, of a point's speedup or, on one core or a single count, of its time."""
    estimate = point.summary.step if point.summary.point.cores == 1 or point.stands_alone else point.speedup
    return estimate.half_width if estimate else None


def _between(launches: Sequence[Launch], step: float) -> float:
    """Variance between launches, with what their steps explain taken off."""
    total = variance(log(launch.seconds or inf) for launch in launches)
    return total - step * fmean(1 / launch.steps for launch in launches)


def _start_up_seconds(launches: Sequence[Launch]) -> float | None:
    costs = [
        launch.wall_seconds - launch.run_seconds
        for launch in launches
        if launch.wall_seconds is not None and launch.run_seconds is not None
    ]
    return median(costs) if costs else None
