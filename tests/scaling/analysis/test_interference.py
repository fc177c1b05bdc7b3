"""What replicas do to each other, from launches of known truth, and which division is best."""

from dataclasses import replace
from itertools import product

import pytest

from benchmarks.shared.machines import machine, study
from benchmarks.shared.packs import PackedMachine, pack_study
from scaling.analysis.interference import PackedSeries, choose, coefficient, packed_series, slowdowns
from scaling.analysis.summary import summarize
from scaling.results.rows import launch_of

STUDY = pack_study(launches="6")


def series_of(pretend: PackedMachine, **changes: object) -> PackedSeries:
    rows = [replace(launch_of(row), **changes) for row in pretend.rows(STUDY)]
    (series,) = packed_series(summarize(rows))
    return series


def names(series: PackedSeries) -> list[tuple[int, int]]:
    return [(one.point.replicas, one.point.cores) for one in series.divisions]


def test_every_division_of_the_cores_is_there_with_a_lone_replica_on_as_many():
    series = series_of(PackedMachine())
    assert names(series) == [(1, 1), (1, 2), (1, 4), (1, 8), (2, 4), (4, 2), (8, 1)]
    assert [(one.point.replicas, one.point.cores) for one in series.filling] == [(1, 8), (2, 4), (4, 2), (8, 1)]
    assert all(one.lone and one.lone.point == one.point.lone for one in series.divisions)


@pytest.mark.parametrize("truth", [0.0, 0.03, 0.2])
def test_the_interference_is_found_within_rounds_however_much_they_drift(truth):
    series = series_of(PackedMachine(interference=truth, drift=0.3))
    for one in series.filling[1:]:
        kept = 1 / (1 + truth * (one.point.replicas - 1))
        assert one.interference.low < kept < one.interference.high
        assert one.interference.half_width < 0.02
    found = series.coefficients[1]
    assert found.low < truth < found.high
    assert found.high - found.low < 0.02


def test_the_coefficient_covers_its_truth_as_often_as_it_says():
    covered = 0
    for seed in range(40):
        pretend = PackedMachine(noise=0.03, rounds=4)
        rows = pretend.rows(replace(STUDY, seed=seed, workloads=(f"calibrated serial=0.{seed + 10}",)))
        (series,) = packed_series(summarize(map(launch_of, rows)))
        covered += bool(series.coefficients[1].contains(0.03))
    assert covered >= 34


def test_throughput_is_that_of_all_replicas_and_the_promise_that_of_a_lone_one_times_their_number():
    one = series_of(PackedMachine(noise=0.001, drift=0.001)).filling[-1]
    assert one.throughput.value == pytest.approx(8 * 10 / 1.21, rel=0.01)
    assert one.promised.value == pytest.approx(80, rel=0.01)
    assert one.latency().value == pytest.approx(0.121, rel=0.01)
    assert one.fairness == pytest.approx(1, abs=1e-3)
    assert one.disjoint


def test_without_a_limit_the_smallest_replicas_do_most_where_they_do_not_disturb_each_other():
    choice = choose(series_of(PackedMachine(interference=0.0)))
    assert (choice.best.point.replicas, choice.promised.point.replicas) == (8, 8)


def test_a_limit_on_the_latency_decides_and_lone_replicas_may_have_promised_another_division():
    # Alone a replica on two cores takes 55 ms, beside three others 71.5 ms.
    series = series_of(PackedMachine(interference=0.1, noise=0.001, drift=0.001))
    choice = choose(series, 0.06)
    assert (choice.best.point.replicas, choice.promised.point.replicas) == (2, 4)
    nothing = choose(series, 0.001)
    assert (nothing.best, nothing.promised, nothing.rivals) == (None, None, ())


def test_divisions_that_cannot_be_told_from_the_best_are_named():
    choice = choose(series_of(PackedMachine(serial=0.0, interference=0.0, noise=0.05)))
    assert choice.rivals


def test_where_cohorts_were_in_parts_launches_are_compared_as_a_whole():
    pretend = PackedMachine(drift=0.0, noise=0.001)
    rows = [launch_of(row) for row in pretend.rows(STUDY)]
    apart = [
        replace(one, rates=tuple((10 + number, rate) for number, rate in one.rates)) if one.pack else one
        for one in rows
    ]
    (series,) = packed_series(summarize(apart))
    assert series.coefficients[1].value == pytest.approx(0.03, abs=0.003)


def test_one_launch_has_no_interval_and_a_folder_without_packs_no_series():
    assert coefficient([[(2, 0.5)]]).value == pytest.approx(1.0)
    assert coefficient([[(2, 0.5)]]).low is None
    rows = PackedMachine().rows(pack_study(cores=8, replicas="1"))
    assert packed_series(summarize(map(launch_of, rows))) == []


def test_threads_per_core_have_coefficients_of_their_own_and_compete_for_the_same_cores():
    pretend = PackedMachine(topology=machine(8, smt=2))
    (series,) = packed_series(summarize(map(launch_of, pretend.rows(pack_study("smt = [1, 2]", launches="3")))))
    assert sorted(series.coefficients) == [1, 2]
    assert len(series.filling) == 8


def test_each_of_two_workloads_is_held_beside_each_and_is_in_no_division_of_cores():
    question = study(
        'workloads = ["calibrated", "stream"]\nbeside = ["calibrated", "stream"]\ncores = 4\ndesign = "turns"',
        launches="4",
    )
    summaries = summarize(map(launch_of, PackedMachine(interference=0.1, noise=0.002).rows(question)))
    found = {(one.workload, one.beside): one for one in slowdowns(summaries)}
    assert found.keys() == {*product(("calibrated", "stream"), repeat=2)}
    assert {one.summary.point.cores for one in found.values()} == {4}
    for (workload, beside), one in found.items():
        assert one.factor.low < (1.1 if workload == beside else 1.2) < one.factor.high
    assert all(division.point.beside is None for one in packed_series(summaries) for division in one.divisions)
