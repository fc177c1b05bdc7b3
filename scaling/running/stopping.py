"""When a launch has taken enough steps. Pure."""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

# Tracing, allocation and caches settle in the first few steps (TensorFlow's third step is still 1.26 times the rest);
# which of the steps were warm-up is judged afterwards, from all of them.
LEAST_STEPS = 13
SET_ASIDE = 3

# Looking costs a sort, so it is done at step counts that grow by this factor.
GROWTH = 1.25


class Limits(NamedTuple):
    """How exactly a launch should know its own median, how long it may try, and how many steps are worth taking.

    The number of steps is known once earlier launches show what a launch and a step cost and add; then it decides.
    """

    precision: float
    max_seconds: float
    steps: int | None = None


def ended_by(step_seconds: Sequence[float], elapsed: float, limits: Limits) -> str | None:
    """Why no further step is needed: 'precision', 'steps', 'max_seconds', or None to go on."""
    if elapsed >= limits.max_seconds:
        return "max_seconds"
    if len(step_seconds) < LEAST_STEPS:
        return None
    if limits.steps is not None:
        return "steps" if len(step_seconds) >= SET_ASIDE + limits.steps else None
    return "precision" if half_width(step_seconds[SET_ASIDE:]) <= limits.precision else None


def half_width(values: Sequence[float]) -> float:
    """Half the 95 % interval of the median, from order statistics, as a ratio of the median."""
    ordered = sorted(values)
    count = len(ordered)
    reach = 0.98 * sqrt(count)  # 1.96 standard deviations of a binomial with p = 1/2
    low = ordered[max(0, int(count / 2 - reach))]
    high = ordered[min(count - 1, int(count / 2 + reach))]
    return (high - low) / 2 / ordered[count // 2]


def next_look(steps: int) -> int:
    """The step count at which to ask again."""
    return max(LEAST_STEPS, int(steps * GROWTH) + 1)
