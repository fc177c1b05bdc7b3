"""Where a function of one variable leaves what is allowed, on both sides of its minimum at once. Pure.

The function is dear and likes many places at a time: a few widening looks until both ends are bracketed, a few rounds
of places inside the brackets, and the rest by proportion.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scaling.analysis.fits.observations import Floats

# Widening steps until an end is bracketed, then rounds of so many points inside the bracket until it is narrow enough
# for proportion, as a share of its distance from the minimum.
WIDENINGS = 60
ROUNDS = 12
POINTS = 8
NARROW = 1e-3
# Distances looked at first, in multiples of the one a normal distribution would have.
FIRST_LOOK, WIDER = np.array([0.5, 0.8, 1.0, 1.25, 1.6, 2.5, 4.0, 8.0]), 16.0
# Nothing is looked for farther out.
FARTHEST_LOOK = 1e15

# How far beyond what is allowed the function is at each of an array of places; below zero inside.
Excess = Callable[[Floats], Floats]


def crossings(beyond: Excess, start: float, guess: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Where the function crosses zero below and above its minimum; a bound where it does not."""
    sides = [_Side(start, -guess, bounds[0]), _Side(start, guess, bounds[1])]
    for _ in range(WIDENINGS):
        open_sides = [side for side in sides if not side.closed]
        if not open_sides:
            break
        _look(beyond, open_sides, [side.reach() for side in open_sides])
    for _ in range(ROUNDS):
        wide = [side for side in sides if side.wide]
        _look(beyond, wide, [side.between() for side in wide])
    return sides[0].end(), sides[1].end()


def _look(beyond: Excess, sides: "list[_Side]", places: list[Floats]) -> None:
    """One look at many places on one or both sides at once."""
    if sides:
        values = np.split(beyond(np.concatenate(places)), np.cumsum([len(each) for each in places])[:-1])
        for side, at, value in zip(sides, places, values, strict=True):
            side.narrow(at, value)


@dataclass(slots=True)
class _Side:
    """One side of a minimum: a place known to be inside, and one known to be outside as soon as there is one."""

    inside: float
    step: float
    bound: float
    outside: float | None = None
    start: float = 0.0
    inside_value: float = -1.0
    outside_value: float = 1.0
    closed: bool = False

    def __post_init__(self) -> None:
        self.start = self.inside

    @property
    def wide(self) -> bool:
        """Whether the bracket is still too wide."""
        return self.outside is not None and abs(self.outside - self.inside) > NARROW * abs(self.outside - self.start)

    def reach(self) -> Floats:
        """Places farther and farther out, no farther than the bound."""
        low, high = sorted((self.bound, self.start))
        places: Floats = np.clip(self.start + FIRST_LOOK * self.step, low, high)
        return places

    def between(self) -> Floats:
        """Places between the last one inside and the first one outside."""
        assert self.outside is not None
        return np.linspace(self.inside, self.outside, POINTS + 2)[1:]

    def narrow(self, places: Floats, values: Floats) -> None:
        """Take the places next to the crossing; where there is none, go farther out, or stop at the bound."""
        crossed = values > 0.0
        first = int(np.argmax(crossed)) if crossed.any() else len(places)
        if first > 0:
            self.inside, self.inside_value = float(places[first - 1]), float(values[first - 1])
        if first < len(places):
            self.outside, self.outside_value, self.closed = float(places[first]), float(values[first]), True
        elif self.outside is None:
            self.step *= WIDER
            self.closed = self.inside == self.bound or abs(self.inside) > FARTHEST_LOOK

    def end(self) -> float:
        """The crossing, between the two places by proportion; the bound where there is none."""
        if self.outside is None:
            return self.bound
        share = self.inside_value / (self.inside_value - self.outside_value)
        return self.inside + float(np.clip(share, 0.0, 1.0)) * (self.outside - self.inside)
