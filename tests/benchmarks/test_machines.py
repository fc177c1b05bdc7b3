from pathlib import Path

import pytest

from benchmarks.machines import machine, predict, sizes_of
from scaling.features.profiling.kernel_errors import ERROR_SIZES

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture(scope="module")
def both_ways():
    two = machine(EXAMPLES / "ceilings-two", EXAMPLES / "profiles-now-two")
    folders = ("profiles-now-sixteen", "profiles-composed-sixteen")
    sixteen = machine(EXAMPLES / "ceilings-sixteen", *(EXAMPLES / name for name in folders))
    return predict(two, sixteen, draws=100), predict(sixteen, two, draws=100)


def test_the_sizes_of_errors_are_those_of_the_examples(both_ways):
    sizes = sizes_of(both_ways)
    assert (sizes.pair, sizes.network, sizes.doubling) == pytest.approx(
        (ERROR_SIZES.pair, ERROR_SIZES.network, ERROR_SIZES.doubling), abs=0.01
    )
    assert sizes.freedom == ERROR_SIZES.freedom


NETWORKS = {"alexnet", "autoenc", "deepq", "memnet", "residual", "seq2seq", "speech", "vgg"}


def test_all_eight_networks_are_predicted_both_ways_and_nearly_all_intervals_contain_what_was_measured(both_ways):
    for way in both_ways:
        held = [one for one in way.predictions if one.measured]
        assert {one.name.split()[0] for one in held} == NETWORKS
        for predicted in ([(one, one.by_ceilings) for one in held], [(one, one.by_networks) for one in held]):
            assert sum(one.inside(step) for one, step in predicted) >= 0.85 * len(held)
