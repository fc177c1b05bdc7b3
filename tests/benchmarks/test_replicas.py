"""Promises of replicas on simulated machines: measured divisions answer for themselves."""

from statistics import fmean

import pytest

from benchmarks.replicas import MACHINES, measure


@pytest.mark.parametrize("machine", MACHINES)
def test_promised_replicas_are_kept_however_they_disturb_each_other(machine):
    made = measure(machine, 6, 1, 0.95)["each for itself"]
    assert fmean(one.kept for one in made) > 0.9
    assert fmean(one.share for one in made) > 0.75


def test_one_coefficient_for_all_divisions_breaks_them_where_bandwidth_is_shared():
    made = measure("bandwidth", 3, 1, 0.95)["one s for all"]
    assert not any(one.kept for one in made if one.division == (2, 4))
    assert all(one.too_small for one in made if one.division == (2, 4))
