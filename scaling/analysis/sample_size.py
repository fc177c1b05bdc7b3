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
from scaling.analysis.summary import Launch, Summary

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


def wants_more(summary: Summary, precision: float) -> bool:
    """Whether a point's interval is wider than the precision wanted, or missing."""
    return width(summary) > precision


def launches_needed(point: ScalingPoint, precision: float) -> int:
    """How many launches should bring a point's speedup, or on the fewest cores its time, to the precision wanted.

    From n launches with half width h, n (h / precision)² (Stein's rule with the present quantile of Student's t).
    """
    launches = len(point.summary.launches)
    estimate = point.summary.step if point.summary.point.cores == 1 else point.speedup
    half_width = estimate.half_width if estimate else None
    if half_width is None:
        return 0  # nothing is known, or it only ever failed and would fail again
    return ceil(launches * (half_width / precision) ** 2)


def width(summary: Summary) -> float:
    """Half the interval of a point, relative; infinite where there is none."""
    half_width = summary.step.half_width if summary.step else None
    return inf if half_width is None else half_width


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
