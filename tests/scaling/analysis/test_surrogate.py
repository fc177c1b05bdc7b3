from itertools import product

import numpy as np
import pytest

from scaling.analysis.surrogate import Observations, posterior, space

SETTINGS = [
    {"intra": intra, "inter": inter, "jit": jit, "cores": 4}
    for intra, inter, jit in product((1, 2, 4, 8, 16), (1, 2, 4), ("off", "on"))
]


def truth(setting: dict[str, float | str]) -> float:
    """A valley at four threads, and compilation that brings a tenth."""
    intra, inter = np.log2(float(setting["intra"])) - 2, np.log2(float(setting["inter"]))
    return 0.05 * intra**2 + 0.03 * inter - (0.1 if setting["jit"] == "on" else 0.0)


def observed(members: list[int], cohort: int, chance: np.random.Generator, level: float = 0.0) -> list[tuple]:
    return [(one, cohort, truth(SETTINGS[one]) + level + chance.normal(0, 0.01)) for one in members]


def known_from(lines: list[tuple]):
    settings, cohorts, logs = zip(*lines, strict=True)
    return posterior(space(SETTINGS), Observations(np.array(settings), np.array(cohorts), np.array(logs)))


def test_axes_of_numbers_are_ordinal_others_have_categories_and_constant_ones_do_not_count():
    made = space(SETTINGS)
    assert made.axes == 3
    assert made.ordinals[0] == (0.0, 0.0)
    assert made.ordinals[-1] == (1.0, 1.0)
    assert {*made.categories} == {(0,), (1,)}


def test_settings_that_were_never_measured_are_predicted_from_the_others():
    chance = np.random.default_rng(1)
    lines = []
    for cohort in range(6):
        members = [0, *chance.choice(np.arange(1, len(SETTINGS)), 7, replace=False)]
        lines += observed([int(one) for one in members], cohort, chance, level=float(chance.normal(0, 0.5)))
    known = known_from(lines)
    errors = known.mean - known.mean[0] - np.array([truth(one) - truth(SETTINGS[0]) for one in SETTINGS])
    assert np.abs(errors).max() < 0.06
    assert np.sqrt((errors**2).mean()) < 0.025


def test_levels_of_cohorts_fall_out():
    chance = np.random.default_rng(2)
    calm, wandering = [], []
    for cohort, level in enumerate((0.0, 3.0, -2.0)):
        lines = observed([0, 3, 9, 14, 20, 27], cohort, chance)
        calm += lines
        wandering += [(setting, number, log + level) for setting, number, log in lines]
    one, other = known_from(calm), known_from(wandering)
    assert one.mean - one.mean[0] == pytest.approx(other.mean - other.mean[0], abs=1e-9)


def test_a_launch_that_never_left_a_slow_cpu_counts_for_little():
    chance = np.random.default_rng(3)
    lines = [line for cohort in range(4) for line in observed([0, 12, 13, 14, 18, 25], cohort, chance)]
    slow = [(setting, cohort, log + (0.3 if (setting, cohort) == (13, 2) else 0.0)) for setting, cohort, log in lines]
    difference, _ = known_from(slow).difference(13, 0)
    assert difference == pytest.approx(truth(SETTINGS[13]) - truth(SETTINGS[0]), abs=0.03)
