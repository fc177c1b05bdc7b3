import random
from dataclasses import replace
from math import inf

import pytest

from scaling.analysis.ops.profile import MOST_LAUNCHES, irreproducible, profile
from scaling.analysis.ops.traces import Trace
from tests.traced import step, trace


def launches(shares, **fields) -> list[Trace]:
    """Launches in which an op has these shares."""
    first = trace(step({"MatMul": 1.0}), **fields)
    steps = [(step({"MatMul": each, "Mul": 1 - each}),) for each in shares]
    return [replace(first, launch=number, steps=each) for number, each in enumerate(steps, 1)]


def test_points_whose_launches_differ_are_told_and_the_others_are_not():
    restless, calm = launches((0.6, 0.7, 0.65, 0.65), threads=2), launches((0.6, 0.601, 0.602, 0.601))
    (found,) = irreproducible([*restless, *calm], 0.02).items()
    assert found == (restless[0].point, pytest.approx(0.1757, abs=1e-4))


def test_three_launches_tell_and_a_fourth_must_agree():
    for count in (1, 2, 3):
        assert list(irreproducible(launches((0.6,) * count), 0.5).values()) == [inf]
    assert irreproducible(launches((0.6,) * 4), 0.001) == {}
    (lucky,) = irreproducible(launches((0.55, 0.65, 0.60, 0.60)), 0.15).values()
    assert profile(launches((0.55, 0.65, 0.60, 0.60))).reproducibility < 0.15 < lucky


def traced_until_sure(chance: random.Random, spread: float, within: float) -> list[Trace]:
    made = launches([chance.gauss(0.5, spread) for _ in range(MOST_LAUNCHES)])
    return next((made[:n] for n in range(4, MOST_LAUNCHES) if not irreproducible(made[:n], within)), made)


@pytest.mark.parametrize("spread", [0.01, 0.02])
def test_two_profiles_traced_until_sure_differ_by_less_than_asked_for(spread):
    chance = random.Random(f"until sure {spread}")
    beyond = 0
    for _ in range(400):
        one, other = (profile(traced_until_sure(chance, spread, 0.02)) for _ in range(2))
        beyond += abs(one.share("MatMul") - other.share("MatMul")) >= 0.02
    assert beyond <= 0.06 * 400
