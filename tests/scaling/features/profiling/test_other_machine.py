"""Simulated pairs of machines whose ops reach their ceilings, or miss them by errors of known sizes."""

import random
from math import exp

import numpy as np
import pytest

from scaling.analysis.estimates import Estimate
from scaling.analysis.traces import one_name
from scaling.errors import FitError
from scaling.features.profiling.evaluation import MeasuredStep
from scaling.features.profiling.laws import StepLaws, StepPrediction
from scaling.features.profiling.other_machine import (
    BOUND_BY_COMPUTE,
    ERROR_SIZES,
    ClassError,
    ElsewherePrediction,
    Speeds,
    ceiling_laws,
    class_errors,
    distance,
    group_of,
    offsets,
    predict_elsewhere,
)
from scaling.features.profiling.profile import part_times
from tests.traced import step, trace

# Rates of `matmul` and `stream` on so many cores, and of one core between ops.
SMALL = {1: (40e9, 10e9), 2: (78e9, 12e9)}, 1.0
LARGE = {1: (150e9, 9e9), 2: (290e9, 16e9), 4: (540e9, 27e9), 16: (1100e9, 76e9)}, 1.5
# The same machine, three times as fast in everything.
FASTER = {cores: (3 * one, 3 * other) for cores, (one, other) in SMALL[0].items()}, 3.0
# Seconds on one core of SMALL that a rate divides, and seconds of one core.
WORK = {"Conv2D": (0.1, 0.0005), "MatMul": (0.012, 0.0025), "ResourceApplyAdam": (0.06, 0.001), "Mul": (0.01, 0.005)}


def speeds(machine, spread: float = 0.0) -> Speeds:
    rates, imports = machine

    def rate(value: float) -> Estimate:
        return Estimate(value, value * exp(-1.96 * spread), value * exp(1.96 * spread)) if spread else Estimate(value)

    both = {cores: {"matmul": rate(one), "stream": rate(other)} for cores, (one, other) in rates.items()}
    return Speeds("ceilings", both, rate(imports))


def predict(laws: StepLaws, here: Speeds, there: Speeds, threads: int, known=None, measured=None) -> StepPrediction:
    return predict_elsewhere(laws, there, threads, ERROR_SIZES.at(distance(here, there)), known or {}, measured)


def rate_of(machine, threads: int, name: str) -> float:
    (compute, memory), imports = machine[0][threads], machine[1]
    return (
        compute if group_of(one_name(name)) in BOUND_BY_COMPUTE else (compute * memory * imports * threads) ** (1 / 3)
    )


def parts_on(machine, threads: int, factors: dict[str, float] | None = None) -> dict[str, float]:
    seconds = {}
    for name, (divided, serial) in WORK.items():
        one = rate_of(SMALL, 1, name)
        alone = divided * one / rate_of(machine, threads, name) + serial * one / rate_of(machine, 1, name)
        seconds[name] = alone * (factors or {}).get(group_of(one_name(name)), 1.0)
    return seconds


def overhead_on(machine) -> float:
    return 0.003 / machine[1]


def seconds_on(machine, threads: int) -> float:
    return sum(parts_on(machine, threads).values()) + overhead_on(machine)


def traces_on(machine, noise: float = 0.0, seed: int = 1, launches: int = 3):
    chance = random.Random(seed)
    made = []
    for threads in machine[0]:
        for launch in range(1, launches + 1):
            slow = exp(chance.gauss(0, noise))
            parts = {
                name: seconds * slow * exp(chance.gauss(0, noise))
                for name, seconds in parts_on(machine, threads).items()
            }
            one = step(parts, overhead_on(machine) * slow)
            made.append(trace(*(one,) * 4, launch=launch, threads=threads))
    return part_times(made)


@pytest.mark.parametrize(("here", "there"), [(SMALL, LARGE), (LARGE, SMALL), (SMALL, FASTER)])
def test_where_ops_keep_their_share_of_the_ceilings_the_other_machine_is_predicted_exactly(here, there):
    times = traces_on(here)
    for threads in there[0]:
        predicted = predict(ceiling_laws(times, speeds(here)), speeds(here), speeds(there), threads)
        assert predicted.seconds.value == pytest.approx(seconds_on(there, threads), rel=1e-5)
        assert predicted.plain_seconds == pytest.approx(predicted.seconds.value / 1.05)


def test_a_machine_that_is_faster_in_everything_alike_is_predicted_as_precisely_as_it_was_measured():
    """Its kernels must be the same: ceilings known to 3 % and launches that differ by 2 % leave no more than that."""
    assert distance(speeds(SMALL), speeds(FASTER)) == pytest.approx(0.0)
    inside, widths = [], []
    for seed in range(40):
        chance = np.random.default_rng(seed)
        believed = [
            (
                {
                    cores: tuple(rate * exp(0.03 * chance.standard_normal()) for rate in rates)
                    for cores, rates in machine[0].items()
                },
                machine[1],
            )
            for machine in (SMALL, FASTER)
        ]
        times = traces_on(SMALL, noise=0.02, seed=seed)
        here, there = (speeds(machine, 0.03) for machine in believed)
        predicted = predict(ceiling_laws(times, here, size=200), here, there, 2)
        inside.append(predicted.seconds.contains(seconds_on(FASTER, 2)))
        widths.append(predicted.seconds.high / predicted.seconds.low)
    assert sum(inside) >= 35
    assert np.median(widths) < 1.5


def simulate_errors(seed: int, networks: int = 6) -> tuple[dict[str, float], list[ClassError]]:
    """Errors of the stated sizes: of a network that is to be predicted, by class, and those of others."""
    chance = np.random.default_rng(seed)
    apart = distance(speeds(SMALL), speeds(LARGE))
    own, others = {}, []
    for group in ("convolution", "matrix", "optimisation", "elementwise", "between ops"):
        common = apart * ERROR_SIZES.pair * chance.standard_normal()
        own[group] = exp(common + apart * ERROR_SIZES.network * chance.standard_normal())
        others += [
            ClassError(f"{number}", group, 2, 0.0, common + apart * ERROR_SIZES.network * chance.standard_normal(), 0.2)
            for number in range(networks)
        ]
    return own, others


def test_with_kernels_of_another_machine_intervals_have_their_coverage_and_other_networks_narrow_them():
    """A hundred pairs of machines whose kernels differ by the stated sizes: some 95 intervals contain the truth."""
    here, there = speeds(SMALL), speeds(LARGE)
    laws = ceiling_laws(traces_on(SMALL), here, size=400)
    by_ceilings, by_networks, narrower = [], [], []
    for seed in range(100):
        own, others = simulate_errors(seed)
        truth = sum(parts_on(LARGE, 2, own).values()) + overhead_on(LARGE) * own["between ops"]
        known = offsets(others, 2, ERROR_SIZES.at(distance(here, there)))
        alone, with_others = (predict(laws, here, there, 2, some).seconds for some in ({}, known))
        by_ceilings.append(alone.contains(truth))
        by_networks.append(with_others.contains(truth))
        narrower.append((with_others.high / with_others.low) / (alone.high / alone.low))
    assert sum(by_ceilings) >= 90
    assert sum(by_networks) >= 90
    assert max(narrower) < 1.0


def test_beyond_the_traced_threads_an_interval_is_wider():
    here, there = speeds(SMALL), speeds(LARGE)
    laws = ceiling_laws(traces_on(SMALL), here)
    ratios = [
        predicted.seconds.high / predicted.seconds.low
        for predicted in (predict(laws, here, there, threads) for threads in (2, 4, 16))
    ]
    assert ratios == sorted(ratios)


def test_a_ceiling_that_was_not_measured_is_named():
    with pytest.raises(FitError, match=r"8 cores .* 1, 2, 4, 16\);"):
        predict(ceiling_laws(traces_on(SMALL), speeds(SMALL)), speeds(SMALL), speeds(LARGE), 8)


def test_laws_need_the_ceilings_of_two_numbers_of_threads():
    alone = {1: SMALL[0][1]}, SMALL[1]
    with pytest.raises(FitError, match=r"threads \(1, 2\), but .* for 1"):
        ceiling_laws(traces_on(SMALL), speeds(alone))


def test_ops_that_no_ceiling_bounds_are_refused():
    traces = [
        trace(step({"Conv2D": 0.5, "MyOwnOp": 0.1}), launch=n, threads=threads) for threads in (1, 2) for n in (1, 2)
    ]
    with pytest.raises(FitError, match=r"17 % .* ceiling \(MyOwnOp\)"):
        ceiling_laws(part_times(traces), speeds(SMALL))


@pytest.mark.parametrize(("traced", "error"), [(True, 0.0), (False, 1 / 1.05 - 1)])
def test_a_plain_measurement_is_held_against_a_plain_step(traced, error):
    laws = ceiling_laws(traces_on(SMALL, noise=0.001), speeds(SMALL))
    measured = MeasuredStep(
        trace(step({"MatMul": 1.0})).point, 1, 2, seconds_on(FASTER, 2), parts_on(FASTER, 2) if traced else None
    )
    predicted = predict(laws, speeds(SMALL), speeds(FASTER), 2, measured=measured)
    assert predicted.error == pytest.approx(error, abs=0.01)
    assert predicted.inside is traced


def test_one_step_of_each_count_has_the_interval_of_the_ceilings():
    traces = [trace(step(parts_on(SMALL, threads), overhead_on(SMALL)), threads=threads) for threads in (1, 2)]
    laws = ceiling_laws(part_times(traces), speeds(SMALL, 0.05))
    predicted = predict(laws, speeds(SMALL, 0.05), speeds(FASTER, 0.05), 2).seconds
    assert predicted.low < 0.95 * predicted.value < predicted.value < 1.05 * predicted.value < predicted.high


def test_errors_are_of_classes_that_take_a_part_of_the_step_worth_mentioning():
    laws = ceiling_laws(traces_on(SMALL), speeds(SMALL))
    predicted = predict(laws, speeds(SMALL), speeds(LARGE), 4)
    twice = {one_name(name): seconds * 2 for name, seconds in parts_on(LARGE, 4).items()}
    measured = MeasuredStep(trace(step({"MatMul": 1.0})).point, 1, 4, 1.0, twice)
    errors = list(class_errors(ElsewherePrediction("pretend", laws, measured, predicted)))
    assert {error.group for error in errors} == {"convolution", "matrix", "optimisation", "elementwise"}
    assert [exp(error.log_error) for error in errors] == pytest.approx([2.0] * 4, rel=1e-3)
    assert {error.doublings for error in errors} == {1.0}
