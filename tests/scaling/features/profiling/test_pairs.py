import random
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from scaling.analysis.traces import OpTime
from scaling.features.profiling.pairs import (
    critical_score,
    cumulative_shares,
    detectable_trend,
    mode_pairs,
    notable,
    outside_ops,
    stationarity,
    threadings,
    types_for,
)
from scaling.features.profiling.profile import profile, profiles
from tests.traced import CONVOLUTIONAL, amdahl_traces, step, trace

TAIL = {"MatMul": 0.5, "Mul": 0.3, "AddV2": 0.1, "Tanh": 0.095, "Exp": 0.005}


def test_types_below_one_percent_are_not_notable_but_stay_in_the_profile():
    made = profile([trace(step(TAIL))])
    assert [op.type for op in notable(made)] == ["MatMul", "Mul", "Add", "Tanh"]
    assert len(made.ops) == 5


def test_the_heaviest_types_make_ninety_percent():
    made = profile([trace(step(TAIL))])
    assert cumulative_shares(made) == pytest.approx((0.5, 0.8, 0.9, 0.995, 1.0))
    assert types_for(made) == 3
    assert types_for(made, 0.5) == 1


def test_steps_that_are_all_alike_are_steady():
    chance = random.Random(1)
    steps = [step({"MatMul": 0.01 * (1 + chance.gauss(0, 0.02))}) for _ in range(100)]
    result = stationarity(trace(*steps))
    assert result.coefficient_of_variation == pytest.approx(0.02, rel=0.2)
    assert result.stationary
    assert result.p > 0.01
    assert abs(result.drift) < 0.02


@pytest.mark.parametrize(("growth", "drift"), [(0.002, 0.18), (-0.002, -0.22)])
def test_steps_that_grow_longer_or_shorter_are_not_steady(growth, drift):
    chance = random.Random(1)
    steps = [step({"MatMul": 0.01 * (1 + growth * index + chance.gauss(0, 0.02))}) for index in range(100)]
    result = stationarity(trace(*steps))
    assert result.stationary is False
    assert result.drift == pytest.approx(drift, rel=0.2)
    assert result.p < 1e-6


def test_two_steps_have_no_trend():
    result = stationarity(trace(step({"MatMul": 1.0}), step({"MatMul": 2.0})))
    assert (result.drift, result.p, result.stationary) == (None, None, None)


@pytest.mark.parametrize(("steps", "noise", "stationary"), [(5, 0.0001, None), (10, 0.002, True), (10, 0.02, None)])
def test_steps_are_steady_only_where_they_are_enough_to_show_a_drift(steps, noise, stationary):
    chance = random.Random(3)
    result = stationarity(trace(*(step({"MatMul": 1 + chance.gauss(0, noise)}) for _ in range(steps))))
    assert result.stationary is stationary
    assert (result.steps_needed is None) == (steps < 6)
    assert steps < 6 or (result.steps_needed <= steps) == (stationary is True)


@pytest.mark.parametrize("steps", [6, 10, 20, 40])
def test_the_trend_said_to_be_detectable_is_found_nine_times_in_ten(steps):
    rng = np.random.default_rng(7)
    series = rng.standard_normal((300, steps)) + np.linspace(0, detectable_trend(steps), steps)
    found = np.mean([kendalltau(range(steps), one).pvalue < 0.01 for one in series])
    assert 0.83 < found < 0.97


def test_fewer_than_six_steps_show_no_trend_however_clear():
    assert critical_score(5) > 5 * 4 / 2
    assert critical_score(6) == 6 * 5 / 2


def test_training_is_held_against_inference_of_the_same_network_on_as_many_threads():
    forward = {name: CONVOLUTIONAL[name] for name in ("Conv2D", "_FusedMatMul")}
    traces = [*amdahl_traces(threads=(1, 2)), *amdahl_traces(forward, threads=(1,), mode="infer")]
    [pair] = mode_pairs(profiles(traces))
    assert pair.train.threads == pair.infer.threads == 1
    train, infer = pair.class_seconds("convolution")
    assert (train / infer, pair.class_seconds("optimisation")[1]) == (pytest.approx(3.0), 0.0)
    assert pair.ratio == pytest.approx(102.5 / 36.5)


def test_ops_against_threads_follow_their_own_laws():
    [threading] = threadings(profiles(amdahl_traces()))
    assert [one.threads for one in threading] == [1, 2, 4]
    times = [{op.type: op.seconds for op in one.ops} for one in threading]
    assert [one["CrossEntropy"] for one in times] == pytest.approx((0.001, 0.001, 0.001))
    assert [one["Conv2D"] for one in times] == pytest.approx((0.030, 0.01515, 0.007725))


def test_the_shares_of_optimiser_and_loss_rise_with_threads_where_they_scale_worse():
    one, _, four = profiles(amdahl_traces())
    assert four.class_share("optimisation") > one.class_share("optimisation")
    assert four.purpose_share("loss") > one.purpose_share("loss") > 0
    assert four.purpose_share("optimizer") > one.purpose_share("optimizer") > 0


def test_the_loss_is_unknown_where_a_trace_does_not_tell_purposes():
    without = replace(step({"MatMul": 1.0}), ops=(OpTime("CTCLoss", 1.0, 1),))
    assert profile([trace(without)]).purpose_share("loss") is None
    assert profile([trace(step({"MatMul": 1.0})), trace(without)]).purpose_share("loss") is None


def test_time_outside_ops_is_split_into_overhead_and_unexplained():
    made = profile([trace(step({"MatMul": 0.9}, overhead=0.08, unexplained=0.02))])
    assert outside_ops(made) == pytest.approx((0.08, 0.02))
