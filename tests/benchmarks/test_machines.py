from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from benchmarks.machines import error_sizes, machine, predict, sizes_of
from scaling.errors import FitError
from scaling.features.profiling.other_machine import ERROR_SIZES, ClassError

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture(scope="module")
def both_ways():
    two = machine(EXAMPLES / "ceilings-two", EXAMPLES / "profiles-now-two")
    folders = ("profiles-now-sixteen", "profiles-composed-sixteen")
    sixteen = machine(EXAMPLES / "ceilings-sixteen", *(EXAMPLES / name for name in folders))
    return predict(two, sixteen, draws=200), predict(sixteen, two, draws=200)


@pytest.mark.slow
def test_the_sizes_of_errors_are_those_of_the_examples(both_ways):
    sizes = sizes_of(both_ways)
    assert (sizes.pair, sizes.network, sizes.doubling) == pytest.approx(
        (ERROR_SIZES.pair, ERROR_SIZES.network, ERROR_SIZES.doubling), abs=0.01
    )
    assert sizes.freedom == ERROR_SIZES.freedom


NETWORKS = {"alexnet", "autoenc", "deepq", "memnet", "residual", "seq2seq", "speech", "vgg"}


@pytest.mark.slow
def test_all_eight_networks_are_predicted_both_ways_and_nearly_all_intervals_contain_what_was_measured(both_ways):
    for way in both_ways:
        held = [one for one in way.predictions if one.measured]
        assert {one.name.split()[0] for one in held} == NETWORKS
        for predicted in ([one.by_ceilings for one in held], [one.by_networks for one in held]):
            assert sum(step.inside for step in predicted) >= 0.85 * len(held)


def test_the_sizes_of_errors_are_estimated_from_the_errors_of_many_pairs():
    apart = 0.8
    chance = np.random.default_rng(1)
    errors = []
    for pair in range(300):
        common = chance.normal(0, apart * 0.5)
        for network in range(5):
            for beyond in (0.0, 2.0):
                own = chance.normal(0, sqrt((apart * 0.3) ** 2 + 0.2**2 * beyond))
                weight = chance.uniform(0.1, 0.4)
                errors.append(
                    ClassError(f"{network}", f"class {pair}", 4 if beyond else 1, beyond, common + own, weight)
                )
    sizes = error_sizes([errors, [replace(error, log_error=-error.log_error) for error in errors]], apart)
    assert (sizes.pair, sizes.network, sizes.doubling) == pytest.approx((0.5, 0.3, 0.2), rel=0.15)
    with pytest.raises(FitError, match="at least two networks"):
        error_sizes([[ClassError("only", "matrix", 1, 0.0, 0.1, 0.5)]], apart)


def test_ops_of_the_other_machine_that_were_not_profiled_are_named_where_they_matter(both_ways):
    assert [refusal.rpartition(" (")[2] for refusal in both_ways[1].refusals] == ["Tanh)", *["Sigmoid, Tanh)"] * 2]
    assert both_ways[0].refusals == ()
