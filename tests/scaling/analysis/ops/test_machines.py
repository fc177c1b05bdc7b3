"""A simulated pair of machines: ops that reach their ceilings on both, so that the truth is known."""

import random
from math import exp

import numpy as np
import pytest

from scaling.analysis.estimates import Estimate
from scaling.analysis.ops.classes import one_name
from scaling.analysis.ops.machines import (
    ElsewherePrediction,
    MachineSpeeds,
    MeasuredStep,
    bound_of,
    ceiling_laws,
    predict_elsewhere,
    uncovered_ops,
)
from scaling.analysis.ops.profile import part_times
from scaling.errors import FitError
from tests.traced import step, trace

# Rates of `matmul` and `stream` on so many cores, and of one core between ops.
SMALL = {1: (40e9, 10e9), 2: (78e9, 12e9)}, 1.0
LARGE = {1: (150e9, 9e9), 2: (290e9, 16e9), 4: (540e9, 27e9), 16: (1100e9, 76e9)}, 1.5
# Work that a ceiling divides and work of one core, in units of the ceiling.
WORK = {"Conv2D": (4e9, 0.02e9), "MatMul": (0.5e9, 0.1e9), "ResourceApplyAdam": (0.6e9, 0.01e9), "Mul": (0.1e9, 5e7)}


def speeds(machine, spread: float = 0.0) -> MachineSpeeds:
    rates, one_core = machine

    def rate(value: float) -> Estimate:
        return Estimate(value, value * exp(-1.96 * spread), value * exp(1.96 * spread)) if spread else Estimate(value)

    both = {cores: {"compute": rate(one), "memory": rate(other)} for cores, (one, other) in rates.items()}
    return MachineSpeeds("ceilings", both, rate(one_core))


def parts_on(machine, threads: int) -> dict[str, float]:
    rates, _ = machine
    seconds = {}
    for name, (divided, serial) in WORK.items():
        column = 0 if bound_of(one_name(name)) == "compute" else 1
        seconds[name] = divided / rates[threads][column] + serial / rates[1][column]
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


@pytest.mark.parametrize(("here", "there"), [(SMALL, LARGE), (LARGE, SMALL)])
def test_where_ops_keep_their_share_of_the_ceilings_the_other_machine_is_predicted_exactly(here, there):
    times = traces_on(here)
    for threads in there[0]:
        predicted = predict_elsewhere(ceiling_laws(times, speeds(here), {}), speeds(there), threads)
        assert predicted.seconds.value == pytest.approx(seconds_on(there, threads), rel=1e-5)
        assert predicted.plain_seconds == pytest.approx(predicted.seconds.value / 1.05)


def test_the_interval_covers_the_noise_of_launches_and_of_ceilings():
    """Ceilings known to 3 % and launches that differ by 2 %: of forty pairs of machines, nearly all are inside."""
    inside = []
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
            for machine in (SMALL, LARGE)
        ]
        times = traces_on(SMALL, noise=0.02, seed=seed)
        here, there = (speeds(machine, 0.03) for machine in believed)
        predicted = predict_elsewhere(ceiling_laws(times, here, {}, size=200), there, 16)
        inside.append(predicted.seconds.contains(seconds_on(LARGE, 16)))
    assert sum(inside) >= 35


def test_a_ceiling_that_was_not_measured_is_named():
    with pytest.raises(FitError, match="has no ceiling of matmul on 8 cores, only on 1, 2, 4, 16; measure it with"):
        predict_elsewhere(ceiling_laws(traces_on(SMALL), speeds(SMALL), {}), speeds(LARGE), 8)


def test_laws_need_the_ceilings_of_two_numbers_of_threads():
    alone = {1: SMALL[0][1]}, SMALL[1]
    with pytest.raises(FitError, match="has ceilings for 1 of the traced numbers of threads \\(1, 2\\); laws need at"):
        ceiling_laws(traces_on(SMALL), speeds(alone), {})


def test_ops_that_no_ceiling_bounds_are_refused():
    traces = [
        trace(step({"Conv2D": 0.5, "MyOwnOp": 0.1}), launch=n, threads=threads) for threads in (1, 2) for n in (1, 2)
    ]
    with pytest.raises(FitError, match="17 % of the step is ops that no ceiling is known to bound \\(MyOwnOp\\)"):
        ceiling_laws(part_times(traces), speeds(SMALL), {})


def test_ops_of_the_other_machine_that_were_not_profiled_are_named_where_they_matter():
    assert uncovered_ops(["Conv2D"], {"Conv2D": 0.9, "LRN": 0.1}) == {"LRN": 0.1}
    assert uncovered_ops(["Conv2D"], {"Conv2D": 0.995, "Shape": 0.005}) == {}


@pytest.mark.parametrize(("traced", "error"), [(True, 0.0), (False, 1 / 1.05 - 1)])
def test_a_plain_measurement_is_held_against_a_plain_step(traced, error):
    predicted = predict_elsewhere(ceiling_laws(traces_on(SMALL, noise=0.001), speeds(SMALL), {}), speeds(LARGE), 4)
    one = ElsewherePrediction("pretend", predicted, MeasuredStep(seconds_on(LARGE, 4), traced, {}))
    assert one.error == pytest.approx(error, abs=0.01)
    assert one.inside is traced


def test_one_step_of_each_count_has_the_interval_of_the_ceilings():
    traces = [trace(step(parts_on(SMALL, threads), overhead_on(SMALL)), threads=threads) for threads in (1, 2)]
    laws = ceiling_laws(part_times(traces), speeds(SMALL, 0.05), {})
    predicted = predict_elsewhere(laws, speeds(LARGE, 0.05), 16).seconds
    assert predicted.low < 0.95 * predicted.value < predicted.value < 1.05 * predicted.value < predicted.high


def test_ops_of_short_executions_are_bound_by_one_core():
    """A hundred thousand executions of half a microsecond move a few kilobytes each, whatever their class."""
    names = [one_name(name) for name in WORK]
    laws = ceiling_laws(traces_on(SMALL), speeds(SMALL), {"Mul": 1e5, "MatMul": 1e5})
    bounds = dict(zip(laws.times.names, laws.bounds, strict=True))
    assert [bounds[name] for name in names] == ["compute", "compute", "memory", "one core"]
