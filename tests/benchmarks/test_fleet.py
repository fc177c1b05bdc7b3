from dataclasses import replace

import pytest

from benchmarks.fleet import Costs, Fleet, measured, simulate

FREE = Costs(cpu=0.0, sync=0.0, interchange=0.0, travel=0.0, pilot=0.0, submit=0.0)


def test_every_run_is_made_once_however_many_are_lost():
    fleet = Fleet(nodes=20, runs=400, run_seconds=20, failures_per_hour=20)
    outcome = simulate(fleet, Costs())
    assert outcome.made == 400
    assert outcome.lost > 10


def test_without_costs_and_failures_nodes_are_idle_only_at_the_end():
    outcome = simulate(Fleet(10, 2000, 10, failures_per_hour=0.0), FREE)
    assert outcome.efficiency == pytest.approx(1.0, abs=0.02)


def test_a_saturated_driver_limits_the_rate_of_runs():
    costs = replace(FREE, cpu=0.004, sync=0.002, lines=3)
    outcome = simulate(Fleet(1000, 20_000, 5, failures_per_hour=0.0), costs)
    assert outcome.driver_busy == pytest.approx(1.0, abs=0.1)
    assert outcome.made / outcome.wall == pytest.approx(100, rel=0.1)


def test_group_commit_relieves_a_driver_that_waits_for_its_disk():
    costs = Costs(cpu=0.001, sync=0.01)
    fleet = Fleet(1000, 20_000, 20, failures_per_hour=0.0)
    assert simulate(fleet, costs, group=True).wall < 0.75 * simulate(fleet, costs).wall


def test_the_same_seed_makes_the_same_sweep():
    fleet = Fleet(50, 500, 20, failures_per_hour=5)
    assert simulate(fleet, Costs(), seed=3) == simulate(fleet, Costs(), seed=3)
    assert simulate(fleet, Costs(), seed=3) != simulate(fleet, Costs(), seed=4)


def test_the_drivers_costs_are_measured_on_the_code_it_runs(tmp_path):
    costs = measured(tmp_path)
    assert costs.cpu > 0
    assert len((tmp_path / "timed/rows.jsonl").read_text().splitlines()) == 200
