from collections import Counter
from collections.abc import Iterator
from itertools import groupby, product

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis.speedup import precision_of, speedups
from scaling.analysis.summary import Launch, summarize
from scaling.errors import StoreError
from scaling.results.rows import launch_of
from scaling.results.store import Store, read_rows
from scaling.running.schedule import LEAST_LAUNCHES, Schedule, measure
from scaling.study.planning import Run, block, plan, series_of_points

STUDY = study("cores = [1, 2]\nlaunches = 4\nprecision = 0.01")
PLANNED = plan(STUDY, machine(2)).runs


def test_a_whole_sweep_ends_in_the_law_it_was_made_from(tmp_path):
    store = Store(tmp_path)
    swept = study('cores = "all"')
    rows = []
    schedule = Schedule(swept, plan(swept, machine(16)).runs)
    measure(schedule, AmdahlMachine(serial=0.1).execute(schedule), store.append, rows.append)
    assert list(read_rows(tmp_path)) == rows
    for point in speedups(summarize(map(launch_of, rows))):
        cores = point.summary.point.cores
        truth = 1 / (0.1 + 0.9 / cores)
        assert point.valid
        assert abs(point.speedup.value / truth - 1) < 0.005
        assert point.speedup.low <= point.speedup.value <= point.speedup.high


def test_a_row_is_stored_and_the_schedule_knows_it_before_the_caller_does(tmp_path):
    store = Store(tmp_path)
    schedule = Schedule(study(), plan(study(), machine(4)).runs)
    seen = []

    def on_row(row):
        seen.append(row)
        assert list(read_rows(tmp_path)) == seen
        assert schedule.completed == len(seen)

    measure(schedule, AmdahlMachine().execute(schedule), store.append, on_row)
    assert (len(seen), schedule.pending) == (schedule.total, [])


def test_a_request_to_stop_is_looked_for_after_every_row(tmp_path):
    schedule = Schedule(study(), plan(study(), machine(4)).runs)

    def check_stop():
        if schedule.completed == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(schedule, AmdahlMachine().execute(schedule), Store(tmp_path).append, lambda row: None, check_stop)
    assert len(list(read_rows(tmp_path))) == 3


def test_a_run_whose_row_could_not_be_stored_is_still_to_be_made():
    schedule, seen = Schedule(study(), plan(study(), machine(4)).runs), []

    def full_disk(item):
        raise StoreError("no space left")

    with pytest.raises(StoreError):
        measure(schedule, AmdahlMachine().execute(schedule), full_disk, seen.append)
    assert (schedule.completed, len(schedule.pending), seen) == (0, schedule.total, [])


class Clock:
    """Time that passes when a run is made, and not otherwise."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def made(schedule: Schedule, clock: Clock, noise: float = 0.001) -> Iterator[Run]:
    """Carry a schedule out on a pretend machine where every run takes a second."""
    for row in AmdahlMachine(noise=noise).execute(schedule):
        clock.seconds += 1.0
        schedule.record(launch_of(row))
        yield row.run


def carried_out(budget: float | None, noise: float = 0.001, earlier: list[object] = ()) -> list[Run]:
    clock = Clock()
    return list(made(Schedule(STUDY, PLANNED, earlier, budget, clock), clock, noise))


def blocks(runs: list[Run]) -> list[list[int]]:
    return [[run.point.cores for run in block] for _, block in groupby(runs, key=lambda run: run.launch)]


def test_without_a_budget_the_runs_are_those_of_the_plan():
    assert [run.key for run in carried_out(None)] == [run.key for run in PLANNED]


@pytest.mark.parametrize("budget", [5.5, 6.5])
def test_a_short_budget_ends_after_a_whole_block_and_one_core_again(budget):
    runs = carried_out(budget)
    assert len(runs) == 5
    assert sorted(run.point.cores for run in runs) == [1, 1, 1, 2, 2]
    assert runs[-1].point.cores == 1


def test_even_the_shortest_budget_makes_one_whole_block():
    assert {run.point.cores for run in carried_out(0.001)} == {1, 2}


def test_a_budget_is_not_spent_once_the_intervals_of_five_launches_are_narrow_enough():
    assert len(carried_out(1000.0)) == len(PLANNED) + 2


def test_a_long_budget_is_spent_where_intervals_are_wide():
    runs = carried_out(40.0, noise=0.05)
    assert 38 <= len(runs) <= 40
    keys = [run.key for run in runs]
    assert len(set(keys)) == len(keys)


def test_a_budget_is_spent_until_every_interval_is_as_narrow_as_the_study_wants():
    clock = Clock()
    schedule = Schedule(STUDY, PLANNED, (), 9000.0, clock)
    for _ in made(schedule, clock, noise=0.02):
        pass
    assert clock.seconds < 9000.0
    assert all(precision_of(point) <= STUDY.precision for point in schedule.judged_points())


def test_a_schedule_goes_on_where_an_earlier_one_stopped():
    rows = list(AmdahlMachine().execute(PLANNED[:3]))
    assert [run.key for run in carried_out(None, earlier=map(launch_of, rows))] == [run.key for run in PLANNED[3:]]


def test_where_one_point_is_wide_all_points_of_its_series_get_the_launch_there_is_room_for():
    clock = Clock()
    schedule = Schedule(STUDY, PLANNED, (), 11.5, clock)
    noisy, quiet = AmdahlMachine(noise=0.1), AmdahlMachine(noise=0.0005)
    runs = []
    for run in schedule:
        (row,) = (noisy if run.point.cores == 2 else quiet).execute([run])
        clock.seconds += 1.0
        schedule.record(launch_of(row))
        runs.append(run)
    further = runs[8:]
    assert sorted(run.point.cores for run in further[:2]) == [1, 2]
    assert [run.point.cores for run in further[2:]] == [1]


def test_later_launches_get_the_number_of_steps_worth_taking():
    assert carried_out(None)[0].steps is None


@pytest.mark.parametrize("budget", [None, 6.0, 1.5])
def test_time_left_is_never_negative(budget):
    clock = Clock()
    schedule = Schedule(STUDY, PLANNED, (), budget, clock)
    for _ in made(schedule, clock):
        assert schedule.remaining_seconds() >= 0


def test_runs_made_at_once_may_end_in_any_order():
    schedule = Schedule(STUDY, PLANNED)
    rows = list(AmdahlMachine().execute(PLANNED))
    for row in reversed(rows):
        schedule.record(launch_of(row))
    assert (schedule.pending, schedule.completed) == ([], len(PLANNED))


def test_points_that_are_not_sure_have_launches_more_until_they_are():
    clock = Clock()

    def needs_more():
        return [point for point, known in schedule.launches.items() if len(known) < 4 + point.cores]

    schedule = Schedule(STUDY, PLANNED, needs_more=needs_more)
    runs = list(made(schedule, clock))
    planned = max(run.launch for run in PLANNED)
    assert [run.key for run in runs[: len(PLANNED)]] == [run.key for run in PLANNED]
    assert [(run.point.cores, run.launch) for run in runs[len(PLANNED) :]] == [(2, planned), (2, planned + 1)]
    assert not schedule.pending


TURNS = study('workloads = ["calibrated", "calibrated serial=0.2"]\ndesign = "turns"', cores="[1, 2, 4]", launches="3")
TURNS_PLAN = plan(TURNS, machine(8))
POINTS = list(dict.fromkeys(run.point for run in TURNS_PLAN.runs))


def turns_schedule(earlier=(), budget=None, clock=None):
    return Schedule(
        TURNS,
        TURNS_PLAN.runs,
        earlier,
        budget,
        clock or Clock(),
        further_block=lambda launch: block(TURNS, machine(8), POINTS, launch),
    )


def cohorts(runs):
    """The runs of every cohort, in the order in which they were made."""
    return [list(group) for _, group in groupby(runs, key=lambda run: run.cohort.name)]


def test_all_core_counts_of_a_series_take_turns_with_each_other():
    for members in cohorts(made(turns_schedule(), Clock(), 0.01)):
        assert [run.point.cores for run in members] == [1, 2, 4]
        assert len({(run.point.workload, run.launch) for run in members}) == 1
        assert {run.cohort.members for run in members} == {3}


def test_what_is_missing_of_a_cohort_is_made_beside_one_core_under_a_number_of_its_own():
    rows = list(AmdahlMachine().execute(TURNS_PLAN.runs))
    missing = next(row for row in rows if row.run.point.cores == 4 and row.run.launch == 2)
    one, four = made(turns_schedule([launch_of(row) for row in rows if row is not missing]), Clock())
    assert (one.point.cores, one.launch) == (1, 4)
    assert four.key == missing.run.key
    assert one.cohort == four.cohort


def test_what_is_missing_under_several_caps_is_made_beside_one_core_under_each():
    question = study('design = "turns"\ncpu_max_mhz = ["none", 2000]', cores="[1, 2]", launches="2")
    runs = plan(question, machine(2)).runs
    earlier = [Launch(run.point, run.launch, 1.0) for run in runs if run.point.cores == 1]
    for members in cohorts(made(Schedule(question, runs, earlier), Clock())):
        assert Counter((run.point.cores, run.point.cpu_max_mhz) for run in members) == dict.fromkeys(
            product((1, 2), (None, 2000)), 1
        )
        assert len({run.launch for run in members if run.point.cores == 1}) == 1


def test_a_program_given_up_under_one_cap_is_no_member_of_the_cohort():
    question = study(
        'workloads = ["command: true"]\ndesign = "turns"\ncpu_max_mhz = ["none", 2000]', cores="1", launches="2"
    )
    runs = plan(question, machine(1)).runs
    first = [run for run in runs if run.launch == 1]
    earlier = [Launch(run.point, 1, 1.0 if run.point.cpu_max_mhz else None, reason="no") for run in first]
    (cohort,) = cohorts(made(Schedule(question, runs, earlier), Clock()))
    assert [run.point.cpu_max_mhz for run in cohort] == [2000]
    assert cohort[0].cohort.members == 1


def test_the_number_of_one_core_beside_what_is_missing_is_none_that_is_yet_to_be_made():
    rows = [launch_of(row) for row in AmdahlMachine().execute(TURNS_PLAN.runs)]
    killed = [launch for launch in rows if launch.number == 1 and launch.point.cores < 4]
    runs = list(made(turns_schedule(killed), Clock()))
    assert max(Counter(run.key for run in runs).values()) == 1
    assert {run.key for run in TURNS_PLAN.runs} <= {run.key for run in runs} | {
        (one.point, one.number) for one in killed
    }


def test_a_budget_adds_whole_launches_to_all_points_of_a_series():
    clock = Clock()
    runs = list(made(turns_schedule(budget=1000, clock=clock), clock, 0.03))
    counts = Counter(run.point for run in runs)
    for series in series_of_points(POINTS):
        assert len({counts[point] for point in series}) == 1
        assert counts[series[0]] > TURNS.launches


def test_a_budget_that_is_too_short_still_makes_every_series_once():
    runs = list(made(turns_schedule(budget=0.5), Clock(), 0.01))
    assert Counter(run.launch for run in runs)[1] == len(POINTS)
    assert len(runs) == len(POINTS)


def test_precise_series_get_no_launch_beyond_five():
    clock = Clock()
    runs = list(made(turns_schedule(budget=1000, clock=clock), clock, 1e-5))
    assert len(runs) == LEAST_LAUNCHES * len(POINTS)


def test_a_program_that_failed_on_every_core_count_is_given_up():
    question = study('workloads = ["command: true", "calibrated"]', cores="[1, 2]", launches="3")
    schedule = Schedule(question, plan(question, machine(2)).runs)
    for run in schedule:
        failed = run.point.workload != "calibrated"
        schedule.record(Launch(run.point, run.launch, None if failed else 1.0, reason="no" if failed else None))
    made = {(run.workload, len(launches)) for run, launches in schedule.launches.items()}
    assert made == {("command: true", 1), ("calibrated", 3), ("calibrated", 4)}
    assert schedule.given_up == {"command: true": "no"}
    assert not schedule.pending


def test_a_program_that_could_not_be_started_for_a_shortage_is_not_given_up():
    question = study('workloads = ["command: true"]', cores="[1, 2]", launches="3")
    schedule = Schedule(question, plan(question, machine(2)).runs)
    for number, run in enumerate(schedule):
        is_shortage = number < 2
        seconds = None if is_shortage else 1.0
        schedule.record(Launch(run.point, run.launch, seconds, reason="no", not_started=is_shortage))
    assert (schedule.given_up, schedule.pending) == ({}, [])
    assert schedule.completed == 7


def test_a_program_that_failed_on_some_core_counts_is_tried_on_the_others():
    question = study('workloads = ["command: true"]', cores="[1, 2]", launches="3")
    runs = plan(question, machine(2)).runs
    failed = [Launch(run.point, 1, None, reason="no") for run in runs if (run.point.cores, run.launch) == (1, 1)]
    schedule = Schedule(question, runs, failed)
    for run in schedule:
        schedule.record(Launch(run.point, run.launch, 1.0))
    assert (schedule.given_up, schedule.pending, schedule.completed) == ({}, [], len(runs))


def test_after_twice_as_many_launches_a_series_that_began_badly_is_looked_at_again():
    clock = Clock()
    schedule = turns_schedule(budget=600, clock=clock)
    for run in schedule:
        apart = 0.1 if run.launch <= TURNS.launches else 1e-5
        clock.seconds += 1.0
        schedule.record(Launch(run.point, run.launch, 1.0 + apart * (run.launch % 3) * run.point.cores))
    assert {len(launches) for launches in schedule.launches.values()} == {8 * TURNS.launches}
