"""What replicas do to each other, from launches of known truth, and which division is best."""

from dataclasses import replace
from itertools import product

import pytest

from benchmarks.shared.machines import machine, study
from benchmarks.shared.packs import PackedMachine, bandwidth, model, pack_study
from scaling.analysis.interference import (
    CrowdedDivision,
    Crowding,
    PackedSeries,
    choose,
    packed_series,
    slowdowns,
)
from scaling.analysis.summary import Launch, summarize
from scaling.results.rows import launch_of

STUDY = pack_study(launches="6")


def series_of(pretend: PackedMachine, **changes: object) -> PackedSeries:
    rows = [replace(launch_of(row), **changes) for row in pretend.rows(STUDY)]
    (series,) = packed_series(summarize(rows))
    return series


def packs(series: PackedSeries) -> list:
    return [one for one in series.divisions if one.point.replicas > 1]


def disturbed(pretend: PackedMachine, cores: tuple[int, ...]) -> PackedSeries:
    """The divisions where others took a CPU in all turns on replicas of so many cores."""
    (series,) = packed_series(summarize(_stolen(launch_of(row), cores) for row in pretend.rows(STUDY)))
    return series


def _stolen(launch: Launch, cores: tuple[int, ...]) -> Launch:
    if launch.point.cores not in cores:
        return launch
    return replace(launch, turns=tuple(replace(turn, disturbance=1.0) for turn in launch.turns))


def _later(launch: Launch) -> Launch:
    """The same in other rounds."""
    turns = tuple(replace(turn, round=10 + turn.round) for turn in launch.turns)
    return replace(launch, turns=turns, rates=tuple((10 + number, rate) for number, rate in launch.rates))


def names(series: PackedSeries) -> list[tuple[int, int]]:
    return [(one.point.replicas, one.point.cores) for one in series.divisions]


def test_every_division_of_the_cores_is_there_with_a_lone_replica_on_as_many():
    series = series_of(PackedMachine())
    assert names(series) == [(1, 1), (1, 2), (1, 4), (1, 8), (2, 4), (4, 2), (8, 1)]
    assert [(one.point.replicas, one.point.cores) for one in series.filling] == [(1, 8), (2, 4), (4, 2), (8, 1)]
    assert all(one.lone and one.lone.point == one.point.lone for one in series.divisions)


@pytest.mark.parametrize("truth", [0.0, 0.03, 0.2])
def test_the_interference_is_found_within_rounds_however_much_they_drift(truth):
    series = series_of(PackedMachine(slowdown=model(truth), drift=0.3))
    for one in series.filling[1:]:
        kept = 1 / (1 + truth * (one.point.replicas - 1))
        assert one.interference.low < kept < one.interference.high
        assert one.interference.half_width < 0.02


def test_the_interference_covers_its_truth_as_often_as_it_says():
    covered = 0
    for seed in range(40):
        series = series_of(PackedMachine(noise=0.03, rounds=4, seed=seed))
        covered += sum(
            bool(one.interference.contains(1 / (1 + 0.03 * (one.point.replicas - 1)))) for one in packs(series)
        )
    assert 0.9 <= covered / 120 <= 0.99


def test_throughput_is_that_of_all_replicas_and_the_promise_that_of_a_lone_one_times_their_number():
    one = series_of(PackedMachine(noise=0.001, drift=0.001)).filling[-1]
    assert one.throughput.value == pytest.approx(8 * 10 / 1.21, rel=0.01)
    assert one.promised.value == pytest.approx(80, rel=0.01)
    assert one.latency().value == pytest.approx(0.121, rel=0.01)
    assert one.fairness == pytest.approx(1, abs=1e-3)
    assert one.disjoint


def test_without_a_limit_the_smallest_replicas_do_most_where_they_do_not_disturb_each_other():
    choice = choose(series_of(PackedMachine(slowdown=model(0.0))))
    assert (choice.best.point.replicas, choice.promised.point.replicas) == (8, 8)


def test_a_limit_on_the_latency_decides_and_lone_replicas_may_have_promised_another_division():
    # Alone a replica on two cores takes 55 ms, beside three others 71.5 ms.
    series = series_of(PackedMachine(slowdown=model(0.1), noise=0.001, drift=0.001))
    choice = choose(series, 0.06)
    assert (choice.best.point.replicas, choice.promised.point.replicas) == (2, 4)
    nothing = choose(series, 0.001)
    assert (nothing.best, nothing.promised, nothing.rivals) == (None, None, ())


def test_divisions_that_cannot_be_told_from_the_best_are_named():
    choice = choose(series_of(PackedMachine(serial=0.0, slowdown=model(0.0), noise=0.05)))
    assert choice.rivals


def test_where_cohorts_were_in_parts_launches_are_compared_as_a_whole():
    pretend = PackedMachine(drift=0.0, noise=0.001)
    rows = [launch_of(row) for row in pretend.rows(STUDY)]
    apart = [_later(one) if one.pack else one for one in rows]
    (series,) = packed_series(summarize(apart))
    assert [round(1 / one.interference.value, 2) for one in packs(series)] == [1.03, 1.09, 1.21]


def test_a_folder_without_packs_has_no_series():
    rows = PackedMachine().rows(pack_study(cores=8, replicas="1"))
    assert packed_series(summarize(map(launch_of, rows))) == []


def test_disturbed_packs_have_no_interference_and_are_not_the_best():
    series = disturbed(PackedMachine(), (1,))
    assert [one.interference is None for one in packs(series)] == [False, False, True]
    choice = choose(series)
    assert [one.point.replicas for one in choice.unknown] == [8]
    assert choice.is_answer
    assert choice.best.point.replicas == 4


def test_one_division_that_is_valid_is_not_the_best_of_all():
    choice = choose(disturbed(PackedMachine(), (1, 2, 4)))
    assert len(choice.unknown) == 3
    assert not choice.is_answer
    assert choice.best is None


def test_divisions_known_to_more_than_a_factor_of_three_are_not_compared():
    series = series_of(PackedMachine(launch_noise=1.5, drift=0.0))
    choice = choose(series)
    assert len(choice.unknown) >= 3
    assert choice.best is None


def test_disturbed_packs_count_in_no_sizing():
    assert {one.cores for one in disturbed(PackedMachine(), (1,)).crowding.divisions} == {2, 4}
    assert disturbed(PackedMachine(), (1, 2, 4)).crowding is None


def test_a_measured_division_answers_for_itself_by_the_upper_end_of_its_interval():
    series = series_of(PackedMachine(slowdown=bandwidth(2.0), serial=0.0))
    for one in packs(series):
        found = series.crowding.slowdown(one.point.replicas, one.point.cores, 1)
        assert found == pytest.approx(1 / one.interference.low)
        assert found >= (2.0 if one.point.cores == 4 else 4.0)


CROWDING = Crowding((CrowdedDivision(8, 1, 1, 1.7), CrowdedDivision(4, 2, 1, 1.6), CrowdedDivision(2, 4, 1, 1.1)), 8)


@pytest.mark.parametrize(
    ("replicas", "cores", "slowdown"),
    [
        (8, 1, 1.7),
        (20, 1, 1.7),  # a machine has room for eight
        (4, 1, 1.3),  # three others add as much each as seven do
        (2, 3, 1.2),  # between two and four cores: the worse of both
        (1, 4, 1.0),
        (3, 8, 1.0),
    ],
)
def test_a_division_that_was_not_measured_suffers_as_the_worst_beside_it(replicas, cores, slowdown):
    assert CROWDING.slowdown(replicas, cores, 1) == pytest.approx(slowdown)
    assert CROWDING.slowdown(replicas, cores, 2) is None


def test_workloads_side_by_side_have_no_slowdown_where_one_was_disturbed():
    toml = 'workloads = ["calibrated", "stream"]\nbeside = ["calibrated", "stream"]\ncores = 4\ndesign = "turns"'
    launches = [launch_of(row) for row in PackedMachine().rows(study(toml, launches="4"))]
    stolen = [_stolen(one, (4,)) if one.point.workload == "stream" else one for one in launches]
    found = slowdowns(summarize(stolen))
    assert {one.workload for one in found if one.factor} == {"calibrated"}
    assert {one.workload for one in found if one.is_answer} == {"calibrated"}


def test_threads_per_core_are_told_apart_and_compete_for_the_same_cores():
    pretend = PackedMachine(topology=machine(8, smt=2))
    (series,) = packed_series(summarize(map(launch_of, pretend.rows(pack_study("smt = [1, 2]", launches="3")))))
    assert {one.threads for one in series.crowding.divisions} == {1, 2}
    assert len(series.filling) == 8


def test_each_of_two_workloads_is_held_beside_each_and_is_in_no_division_of_cores():
    question = study(
        'workloads = ["calibrated", "stream"]\nbeside = ["calibrated", "stream"]\ncores = 4\ndesign = "turns"',
        launches="4",
    )
    summaries = summarize(map(launch_of, PackedMachine(slowdown=model(0.1), noise=0.002).rows(question)))
    found = {(one.workload, one.beside): one for one in slowdowns(summaries)}
    assert found.keys() == {*product(("calibrated", "stream"), repeat=2)}
    assert {one.summary.point.cores for one in found.values()} == {4}
    for (workload, beside), one in found.items():
        assert one.factor.value == pytest.approx(1.1 if workload == beside else 1.2, rel=0.002)
        assert one.factor.is_answer
    assert all(division.point.beside is None for one in packed_series(summaries) for division in one.divisions)
