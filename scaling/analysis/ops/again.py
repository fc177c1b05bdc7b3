"""Which profiles are worth further launches: those that would look different if they were made again. Pure."""

from collections.abc import Iterable, Sequence
from math import inf

from scaling.analysis.ops.profile import profile
from scaling.analysis.ops.traces import Trace, by_point
from scaling.study.planning import Point

# Launches that lie four points apart, as the restless do, need some ten to be known to two; what is not known by so
# many is a matter of a quieter machine.
MOST_LAUNCHES = 24


def unsure(traces: Iterable[Trace], within: float) -> dict[Point, float]:
    """The points whose profiles, made again, may differ by more in the share of an op, and by how much."""
    told = {point: _again(launches) for point, launches in by_point(traces).items()}
    return {point: again for point, again in told.items() if again > within}


def _again(launches: Sequence[Trace]) -> float:
    """How far such a profile may lie from this one, with its last launch or without: whoever looks after every launch
    and believes the first that says enough stops at a lucky one, 9 times of 100 instead of 5."""
    known = [profile(some).again for some in (launches, launches[:-1]) if some]
    return max(inf if again is None else again for again in known)
