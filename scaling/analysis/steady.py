"""Which steps of a launch were warm-up. Pure."""

from collections.abc import Sequence
from statistics import median

# A step belongs to the steady state when it and the next two agree with the second half of the launch.
WINDOW = 3

# Agreement: within three robust standard errors of a window's median, and never stricter than half a percent.
STANDARD_ERRORS = 3.0
LEAST_TOLERANCE = 0.005
NORMAL_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation


def warmup_steps(step_seconds: Sequence[float]) -> int:
    """How many steps at the start are not yet steady; at most half of them, so that something is left."""
    cap = len(step_seconds) // 2
    settled = step_seconds[cap:]
    if not settled:
        return 0
    level = median(settled)
    spread = NORMAL_MAD * median(abs(each - level) for each in settled)
    tolerance = max(STANDARD_ERRORS * spread / WINDOW**0.5, LEAST_TOLERANCE * level)
    for start in range(cap):
        if abs(median(step_seconds[start : start + WINDOW]) - level) <= tolerance:
            return start
    return cap
