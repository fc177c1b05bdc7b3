import numpy as np
import pytest
from scipy.optimize import least_squares

from scaling.analysis.fits import solving
from scaling.analysis.fits.solving import solve

CORES = np.array([1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0])
USL = np.stack([1 / CORES, np.ones_like(CORES), CORES - 1], axis=-1)[None]


def one_by_one(logs, weights):
    """The same fit by a solver for one problem at a time."""
    solution = least_squares(
        lambda p: np.sqrt(weights) * (logs - p[0] - np.log(1 / CORES + p[1] * (1 - 1 / CORES) + p[2] * (CORES - 1))),
        [logs[0], 0.03, 1e-4],
        bounds=([-np.inf, 0, 0], [np.inf, 1, 1]),
        x_scale=[1, 0.01, 1e-4],
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    return solution.x, 2 * solution.cost


@pytest.mark.parametrize("coherency", [0.0, 1e-4])
def test_a_batch_agrees_with_one_solver_call_each(coherency):
    chance = np.random.default_rng(1)
    truth = np.log(1 / CORES + 0.03 * (1 - 1 / CORES) + coherency * (CORES - 1))
    logs, weights = truth + chance.normal(0, 0.02, (40, CORES.size)), chance.uniform(0.5, 5, CORES.size)
    solution = solve(logs, weights, lambda _: USL)
    one_core = solution.coefficients[:, :2].sum(axis=1)
    for row in range(40):
        expected, squares = one_by_one(logs[row], weights)
        assert solution.squares[row] == pytest.approx(squares, rel=1e-8)
        assert solution.coefficients[row, 1] / one_core[row] == pytest.approx(expected[1], abs=2e-7)
        assert solution.coefficients[row, 2] / one_core[row] == pytest.approx(expected[2], abs=2e-8)


def test_no_coefficient_is_negative_unless_it_may_be():
    logs = np.log(1 / CORES**1.1)  # faster than linear
    assert (solve(logs, np.ones(CORES.size), lambda _: USL).coefficients >= 0).all()
    assert (solve(logs, np.ones(CORES.size), lambda _: USL, bounded=False).coefficients[:, 1:] < 0).any()


def test_exact_times_are_solved_exactly():
    truth = np.array([[0.9, 0.1, 0.002], [0.5, 0.5, 0.0], [1.0, 0.0, 1e-3]])
    solution = solve(np.log(truth @ USL[0].T), np.ones(CORES.size), lambda _: USL)
    assert solution.coefficients == pytest.approx(truth, abs=1e-8)


def test_a_count_without_weight_does_not_matter():
    logs = np.log(USL[0] @ [0.9, 0.1, 0.002])
    spoilt, weights = logs.copy(), np.ones(CORES.size)
    spoilt[4], weights[4] = 99.0, 0.0
    assert solve(spoilt, weights, lambda _: USL).coefficients == pytest.approx(np.array([[0.9, 0.1, 0.002]]), abs=1e-8)


def with_second_threads(smt):
    """Columns in which the last four counts use two threads per core of so much yield."""
    shared = np.arange(CORES.size) >= 5
    effective = CORES * (1.0 + shared * smt)
    return np.stack([1 / effective, np.ones_like(effective), effective - 1], axis=-1)


@pytest.mark.parametrize(("design", "smt"), [(lambda _: USL, None), (with_second_threads, np.full((40, 1), 0.3))])
def test_pieces_of_a_batch_that_is_too_large_are_solved_as_the_whole(monkeypatch, design, smt):
    logs = np.log(USL[0] @ [0.9, 0.1, 0.002]) + np.random.default_rng(1).normal(0, 0.02, (40, CORES.size))
    whole = solve(logs, np.ones(CORES.size), design, smt=smt)
    monkeypatch.setattr(solving, "LARGEST_BATCH", 7 * CORES.size)
    pieces = solve(logs, np.ones(CORES.size), design, smt=smt)
    assert pieces.squares == pytest.approx(whole.squares, rel=1e-9)
    assert pieces.coefficients == pytest.approx(whole.coefficients, abs=1e-6)
    assert (pieces.smt_yields is None) == (smt is None)
    if smt is not None:
        assert pieces.smt_yields == pytest.approx(whole.smt_yields, abs=1e-5)


def test_yields_of_several_levels_are_found_together_with_the_law():
    cores = np.tile([1.0, 2.0, 4.0, 8.0, 16.0], 3)
    level = np.repeat([0, 1, 2], 5)

    def design(smt):
        each = np.where(level == 0, 0.0, np.take(smt, np.maximum(level - 1, 0), axis=1))
        effective = cores * (1.0 + each)
        return np.stack([1 / effective, np.ones_like(effective), effective - 1], axis=-1)

    truth = np.array([[0.25, 0.35]])
    logs = np.log(design(truth)[0] @ [0.9, 0.1, 0.002])
    found = solve(logs, np.ones(cores.size), design, smt=np.array([[0.1, 0.1]]))
    assert found.smt_yields == pytest.approx(truth, abs=1e-6)
    assert found.coefficients == pytest.approx(np.array([[0.9, 0.1, 0.002]]), abs=1e-6)
