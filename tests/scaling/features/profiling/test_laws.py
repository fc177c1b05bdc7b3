from dataclasses import replace
from math import log2

import pytest

from scaling.analysis.estimates import Estimate
from scaling.errors import FitError
from scaling.features.profiling.laws import held_out_steps, laws_of, loss, predict_step
from scaling.features.profiling.profile import OVERHEAD, UNEXPLAINED, part_times
from tests.traced import CONVOLUTIONAL, amdahl_traces, step, trace

ONE_NAME = {
    "_FusedMatMul": "MatMul",
    "ResourceApplyAdam": "ApplyAdam",
    "SparseSoftmaxCrossEntropyWithLogits": "CrossEntropy",
}


def seconds_on(threads: int) -> float:
    """What a step of the pretend machine takes, overhead and the unexplained with it."""
    ops = sum(one / 1e3 * (serial + (1 - serial) / threads) for one, serial, _ in CONVOLUTIONAL.values())
    return ops + 0.002 + 0.0005


@pytest.mark.parametrize("traced", [(1, 2), (1, 2, 4), (2, 3, 8)])
def test_every_op_gets_back_the_law_it_was_made_from(traced):
    parts = {part.name: part for part in laws_of(part_times(amdahl_traces(threads=traced))).parts}
    for name, (one, serial, _) in CONVOLUTIONAL.items():
        part = parts[ONE_NAME.get(name, name)]
        assert part.one_thread_seconds == pytest.approx(one / 1e3, rel=1e-6)
        assert part.serial_fraction.value == pytest.approx(serial, abs=1e-6)
    assert parts[OVERHEAD].serial_fraction.value == pytest.approx(1.0)
    assert parts[UNEXPLAINED].one_thread_seconds == pytest.approx(0.0005)


@pytest.mark.parametrize("threads", [1, 2, 7, 16, 100])
def test_where_every_op_follows_its_own_law_the_prediction_is_exact(threads):
    laws = laws_of(part_times(amdahl_traces(threads=(1, 2))))
    assert predict_step(laws, threads).seconds.value == pytest.approx(seconds_on(threads), rel=1e-6)
    assert laws.doublings(threads) == max(0.0, log2(threads / 2))


def test_a_plain_step_is_predicted_by_how_much_tracing_stretches_one():
    predicted = predict_step(laws_of(part_times(amdahl_traces(threads=(1, 2)))), 8)
    assert predicted.plain_seconds == pytest.approx(predicted.seconds.value / 1.05)


def test_lost_efficiency_is_attributed_to_the_ops_that_lost_it():
    loss_on_eight = loss(laws_of(part_times(amdahl_traces(threads=(1, 2)))), 8)
    lost = {name: one / 1e3 * serial * 7 / 8 for name, (one, serial, _) in CONVOLUTIONAL.items()}
    total = sum(lost.values()) + (0.002 + 0.0005) * 7 / 8
    shares = {part.name: part.share.value for part in loss_on_eight.parts}
    for name, seconds in lost.items():
        assert shares[ONE_NAME.get(name, name)] == pytest.approx(seconds / total, rel=1e-4)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert loss_on_eight.parts[0].name == "ApplyAdam"
    assert loss_on_eight.efficiency == pytest.approx(seconds_on(1) / 8 / seconds_on(8))
    assert loss_on_eight.significant


def test_the_loss_on_traced_threads_comes_from_their_traces():
    slow = {**CONVOLUTIONAL, "Tile": (10.0, 3.0, 1)}  # gets slower with threads, which no law says
    lost = loss(laws_of(part_times([*amdahl_traces(slow, threads=(1, 2, 4))])), 4)
    assert lost.parts[0].name == "Tile"
    assert lost.parts[0].seconds == pytest.approx(0.010 * (3 - 2 / 4) - 0.010 / 4)


def test_a_part_that_gets_slower_with_threads_is_named_and_stays_as_slow_as_it_is():
    laws = laws_of(part_times(amdahl_traces({"Tile": (10.0, 3.0, 1), "MatMul": (90.0, 0.0, 1)}, threads=(1, 2))))
    assert [part.name for part in laws.parts if part.slower] == ["Tile"]
    assert 0.010 < predict_step(laws, 16).parts["Tile"].value < 0.021


def test_nothing_is_lost_where_everything_scales():
    laws = laws_of(part_times(amdahl_traces({"MatMul": (90.0, 0.0, 1)}, threads=(1, 2), overhead=0.0, unexplained=0.0)))
    assert not loss(laws, 8).significant


def test_a_loss_that_may_be_noise_is_not_shared_out():
    ops = {"MatMul": (90.0, 0.001, 1), "Mul": (10.0, 0.001, 1)}
    laws = laws_of(part_times(amdahl_traces(ops, threads=(1, 2), noise=0.05, overhead=0.0, unexplained=0.0)))
    assert not loss(laws, 2).significant


def test_an_interval_holds_the_truth_about_as_often_as_it_says():
    inside = 0
    for trial in range(60):
        laws = laws_of(part_times(amdahl_traces(threads=(1, 2), noise=0.01, workload=f"net{trial}")), size=400)
        predicted = predict_step(laws, 4, units=10**9)
        inside += predicted.seconds.low <= seconds_on(4) <= predicted.seconds.high
    assert inside >= 52


def test_noise_of_launches_makes_an_interval_and_the_op_that_is_unsure_is_named():
    laws = laws_of(part_times(amdahl_traces(threads=(1, 2), noise=0.03)))
    predicted = predict_step(laws, 16)
    assert predicted.seconds.low < predicted.seconds.value < predicted.seconds.high
    assert next(iter(predicted.imprecise_parts)) in {"Conv2D", "Conv2DBackpropFilter"}


def test_a_single_step_gives_a_value_without_an_interval():
    laws = laws_of(part_times(amdahl_traces(threads=(1, 2), launches=1, steps=1)))
    predicted = predict_step(laws, 4)
    assert (predicted.seconds.low, predicted.seconds.high) == (None, None)
    assert predicted.seconds.value == pytest.approx(seconds_on(4))


def test_one_launch_has_no_interval_and_names_no_loss():
    times = [1.00, 1.02, 0.98, 1.01, 0.99, 1.0]
    traces = [
        trace(*(step({"MatMul": seconds / threads, "Mul": 0.1 * seconds}) for seconds in times), threads=threads)
        for threads in (1, 2)
    ]
    laws = laws_of(part_times(traces))
    assert predict_step(laws, 4).seconds == Estimate(pytest.approx(0.35, rel=0.01))
    assert laws.serial_fraction.low is None
    assert not loss(laws, 2).significant


def test_a_part_at_its_bound_in_all_draws_has_no_interval_of_no_width():
    serial = {"Conv2D": (30.0, 0.05, 5), "Serial": (5.0, 1.3, 1)}
    laws = laws_of(part_times(amdahl_traces(serial, noise=0.001)))
    fractions = {part.name: part.serial_fraction for part in laws.parts}
    assert fractions["Serial"] == Estimate(1.0)
    assert fractions["Conv2D"].low < fractions["Conv2D"].high


def test_held_out_threads_are_predicted_by_ops_and_by_the_whole_step():
    times = part_times(amdahl_traces(threads=(1, 2, 4, 8), noise=0.002))
    assert [prediction.by_ops.threads for prediction in held_out_steps(times, (2, 4))] == [8]
    predictions = held_out_steps(times, (1, 2))
    assert [prediction.by_ops.threads for prediction in predictions] == [4, 8]
    for prediction in predictions:
        assert prediction.fitted_on == (1, 2)
        assert prediction.by_ops.error == prediction.by_ops.seconds.value / prediction.by_ops.measured - 1
        assert abs(prediction.by_ops.error) < 0.03
        assert abs(prediction.by_step.error) < 0.03
        assert prediction.by_ops.inside


def test_the_law_of_the_whole_step_is_the_sum_of_the_laws_of_its_parts():
    times = part_times(amdahl_traces(threads=(1, 2)))
    by_ops, by_step = laws_of(times), laws_of(times.as_one())
    assert by_ops.serial_fraction.value == pytest.approx(by_step.serial_fraction.value)


def test_one_number_of_threads_is_too_few():
    with pytest.raises(FitError, match=r"one number of threads \(1\)"):
        laws_of(part_times(amdahl_traces(threads=(1,))))


def test_ops_that_overlap_are_refused():
    with pytest.raises(FitError, match="profile it with --inter 1"):
        laws_of(part_times([replace(one, inter=2) for one in amdahl_traces()]))
