from dataclasses import replace
from math import inf

import numpy as np
import pytest

from benchmarks.shared.launches import TO_16, Truth, blocked_series, series
from scaling.analysis.curves.draws import Draws, estimate, nodes_up_to, whole_counts
from scaling.analysis.curves.fit import Curve, band, curve_counts, fit
from scaling.analysis.curves.laws import Law
from scaling.analysis.curves.observations import Measured
from scaling.analysis.series import Series

TRUTH = Truth(0.1, noise=0.01, grid=TO_16)
FIT = fit(series(TRUTH, np.random.default_rng(1)))
COUNTS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
NOTHING = Measured(np.array([1.0, 2.0]), np.zeros(2), np.eye(2), np.zeros(2), 0, np.ones(2))


def draws(serial, coherency=0.0, deviations=(0.0, 0.0, 0.0), scale="strong"):
    """One draw with nodes at 1, 2 and 4 cores."""
    one = np.ones(1)
    nodes = np.array([1.0, 2.0, 4.0])
    law = serial * one, coherency * one, np.zeros(1, dtype=int)
    return Draws(0.0 * one, *law, nodes, np.array([deviations]), one, NOTHING, scale)


@pytest.mark.parametrize(
    ("one", "limit"),
    [
        (draws(0.1), 10.0),
        (draws(0.0), inf),
        (draws(1.0), 1.0),
        (draws(0.1, deviations=(0.0, 0.0, np.log(2.0))), 5.0),
        (draws(0.04, 0.0006), 1.0 / (0.04 - 0.0006 + 2 * np.sqrt(0.0006 * 0.96))),
        (draws(0.02, 0.24), 1.0 / (0.02 + 0.98 / 2 + 0.24)),  # its peak, at two cores, is a node
        (draws(0.1, scale="weak"), inf),
        (draws(1.0, scale="weak"), 1.0),
    ],
    ids=["amdahl", "perfect", "serial", "off its law", "usl", "past its peak", "gustafson", "weak and serial"],
)
def test_the_limit_is_that_of_the_law_as_far_off_as_the_end_of_the_curve(one, limit):
    assert one.speedup_limit() == pytest.approx([limit])


def test_between_nodes_deviations_are_straight_in_doublings_and_beyond_them_as_at_the_last():
    off = draws(0.0, deviations=(0.0, 0.2, 0.4)).deviation(np.array([1.0, np.sqrt(2.0), 2.0, 4.0, 64.0]))
    assert off[0] == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.4])


@pytest.mark.parametrize("most", [2.0, 3.0, 16.0, 1000.0, 2.0**20])
def test_nodes_are_whole_numbers_to_twice_the_most_cores_and_ever_fewer_of_them(most):
    nodes = nodes_up_to(np.array([1.0, most]))
    assert (nodes[0], nodes[-1]) == (1.0, 2.0 * most)
    assert {1.0, most} <= set(nodes.tolist())
    assert len(nodes) < 120


def test_one_core_is_one_core_in_every_draw():
    assert (FIT.draws.speedup(np.array([1.0])) == 1.0).all()
    from_two = fit(replace(FIT.series, observations=FIT.series.observations[1:]))
    assert (from_two.draws.speedup(np.array([1.0])) == 1.0).all()


def test_at_measured_counts_draws_are_what_was_measured():
    spread = np.sqrt(FIT.draws.counts.variances)
    off = np.median(FIT.draws.log_time(COUNTS), axis=0) - FIT.draws.counts.logs
    assert (np.abs(off) < 1.5 * spread).all()
    assert (FIT.draws.log_time(COUNTS).std(axis=0) < 1.5 * spread).all()


def test_the_band_widens_between_counts_and_ever_more_beyond_them():
    bent = Series("bent", tuple(replace(one) for one in series(TRUTH, np.random.default_rng(1)).observations))
    bent = replace(bent, observations=tuple(_slower(one, 1.3 if one.cores == 4 else 1.0) for one in bent.observations))
    curve = fit(bent).draws
    widths = np.log(curve.speedup(np.array([8.0, 11.0, 16.0, 20.0, 24.0, 32.0]))).std(axis=0)
    assert widths[1] > max(widths[0], widths[2])
    assert (np.diff(widths[2:]) > 0.0).all()


def _slower(observation, factor):
    return replace(observation, launch_seconds=tuple(factor * seconds for seconds in observation.launch_seconds))


def test_launches_of_blocks_are_as_noisy_as_both():
    truth = replace(TRUTH, launches=40)
    counts = fit(blocked_series(truth, 0.1, np.random.default_rng(2))).draws
    assert np.median(counts.launch_variance(3.0)) == pytest.approx(0.01**2 + 0.1**2, rel=0.3)


def test_an_estimate_is_the_middle_of_draws_that_may_have_no_limit():
    found = estimate(np.array([1.0, 2.0, 3.0, inf, inf, inf, inf]))
    assert (found.value, found.low, found.high) == (inf, 1.0, inf)
    found = estimate(np.arange(2001.0))
    assert (found.value, found.low, found.high) == (1000.0, 50.0, 1950.0)


@pytest.mark.parametrize(
    ("one", "law"),
    [(draws(0.1), Law.AMDAHL), (draws(0.1, 0.01), Law.USL), (draws(0.1, scale="weak"), Law.GUSTAFSON)],
)
def test_draws_without_coherency_follow_no_law_of_overhead(one, law):
    assert one.law is law


def test_the_measured_and_the_extrapolated_part_of_a_curve_meet():
    measured, beyond = Curve(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.8, 3.0])).split(2.0)
    assert (list(measured.cores), list(beyond.cores)) == ([1.0, 2.0], [2.0, 4.0])


def test_efficiency_is_speedup_per_core_with_its_band():
    cores = np.array([1.0, 2.0, 4.0])
    curve = Curve(cores, cores, 0.5 * cores, 2.0 * cores).over_cores()
    assert (list(curve.middle), list(curve.low), list(curve.high)) == ([1.0] * 3, [0.5] * 3, [2.0] * 3)


def test_counts_of_a_line_include_the_fewest_and_the_most_measured_and_the_farthest():
    counts = curve_counts(FIT, 32.0)
    assert (counts[0], counts[-1]) == pytest.approx((1.0, 32.0))
    assert np.isclose(counts, FIT.most_cores).sum() == 1
    assert curve_counts(FIT, 8.0)[-1] == pytest.approx(16.0)


def test_the_band_of_a_line_holds_the_law_that_was_measured():
    cores = curve_counts(FIT, 32.0)
    drawn = band(cores, FIT.draws.speedup(cores))
    true = np.array([TRUTH.true_seconds(1) / TRUTH.true_seconds(n) for n in cores])
    assert drawn.middle == pytest.approx(true, rel=0.03)
    assert (drawn.low <= true * (1 + 1e-9)).all()
    assert (true <= drawn.high * (1 + 1e-9)).all()


@pytest.mark.parametrize("most", [1, 7, 1000, 1001, 1015, 10_000, 65_536, 2**31])
def test_whole_counts_are_all_and_beyond_a_thousand_those_of_three_digits(most):
    counts = whole_counts(most)
    assert list(counts) == sorted(set(counts))
    assert counts[: min(most, 1000)] == tuple(range(1, min(most, 1000) + 1))
    assert counts[-1] == most
    assert all(len(str(count).rstrip("0")) <= 3 for count in counts[:-1])
    assert len(counts) < 7000
