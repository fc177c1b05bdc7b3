from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.shared.machines import machine, study
from scaling.errors import StudyError
from scaling.study import planning
from scaling.study.planning import (
    PLAIN_STEPS,
    START_UP_SECONDS,
    USUAL_STEP_SECONDS,
    estimated_seconds,
    plan,
    traced_plan,
)
from tests.scaling.machine.invented import regular, topology_of


def core_counts(toml: str, **shape: float) -> list[int]:
    return sorted({run.point.cores for run in plan(study(toml), machine(**shape)).runs})


def test_a_point_knows_its_baseline_its_usable_cores_and_what_is_measured_of_it():
    point = replace(plan(study(), machine(1)).runs[0].point, cores=4, smt=2, replicas=3, quota=2.5)
    assert point.baseline == replace(point, cores=1, replicas=1, quota=None)
    assert (point.usable_cores, replace(point, quota=9.0).usable_cores) == (7.5, 12)
    beside = replace(point, replicas=2, beside="other", quota=None)
    assert (beside.measured_replicas, beside.usable_cores, beside.baseline.beside) == (1, 4, None)


@pytest.mark.parametrize(("cores", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (16, [1, 2, 4, 8, 16])])
def test_doubling_goes_up_to_what_the_machine_has(cores, counts):
    assert core_counts("", cores=cores) == counts


def test_all_means_every_count():
    assert core_counts('cores = "all"', cores=5) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("toml", "cores", "size"),
    [
        (f"items = {list(range(1, 1001))}\nlaunches = 65536\ncores = [1, 2]", 2, "131,072,000 runs"),
        ('cores = "all"\nlaunches = 500\ndesign = "turns"', 1024, "262,400,000 CPUs"),
    ],
)
def test_a_plan_too_large_to_hold_is_refused_by_its_size_before_it_is_made(toml, cores, size, monkeypatch):
    monkeypatch.setattr(planning, "_points", None)
    with pytest.raises(StudyError, match=f"has .*{size}.*; use fewer"):
        plan(study(toml), machine(cores))


def test_the_most_cores_are_meant_alone():
    assert core_counts('cores = "most"', cores=6) == [6]
    assert core_counts('cores = "most"\nreserve = 0', cores=2) == [1]
    assert {run.launch for run in plan(study('cores = "most"\nlaunches = 2'), machine(6)).runs} == {1, 2}


def test_one_core_is_always_there():
    assert core_counts("cores = [3]", cores=4) == [1, 3]


def test_a_reserved_cpu_takes_its_core_out_of_all():
    assert core_counts('cores = "all"\nreserve = 0', cores=4) == [1, 2, 3]


def test_smt_all_goes_up_to_the_widest_core():
    widths = {run.point.smt for run in plan(study('smt = "all"'), machine(2, smt=4)).runs}
    assert widths == {1, 2, 3, 4}


def test_smt_doubling_ends_with_the_widest_core():
    assert sorted({run.point.smt for run in plan(study('smt = "doubling"'), machine(4, smt=8)).runs}) == [1, 2, 4, 8]


@pytest.mark.parametrize("word", ["all", "doubling"])
def test_a_machine_without_smt_is_measured_with_one_thread_per_core_and_that_is_said(word):
    planned = plan(study(f'smt = "{word}"'), machine(4))
    assert {run.point.smt for run in planned.runs} == {1}
    assert planned.notes == (
        "no core of this machine has a second hardware thread, so the study uses one thread per core",
    )


TWO_SOCKETS = topology_of(regular(counts=(2, 1, 1, 1), cores=2))


@pytest.mark.parametrize(
    ("toml", "topology", "measured"),
    [
        ("", machine(4), {"compact"}),
        ('smt = "all"', machine(4, smt=2), {"compact"}),
        ("", TWO_SOCKETS, {"compact", "scatter"}),
        ("cores = [4]", TWO_SOCKETS, {"compact"}),
        ("cores = [1]\nreplicas = [2]", TWO_SOCKETS, {"compact", "scatter"}),
    ],
)
def test_a_policy_that_chooses_the_cpus_of_another_for_every_size_is_left_out_and_that_is_said(
    toml, topology, measured
):
    planned = plan(study(f'placements = ["compact", "scatter"]\n{toml}'), topology)
    assert {run.point.placement for run in planned.runs} == measured
    said = "scatter chooses the same CPUs as compact here, so it is left out"
    assert (said in planned.notes) is (measured == {"compact"})


def test_cpus_that_a_user_lists_are_measured_as_asked_for():
    planned = plan(study('placements = ["compact", "cpus:0,1"]\ncores = [2]'), machine(2))
    assert {run.point.placement for run in planned.runs} == {"compact", "cpus:0,1"}


def limits(toml: str, cores: int) -> list[tuple[int, float | None]]:
    """Cores and quotas of the first launch."""
    return [(run.point.cores, run.point.quota) for run in plan(study(toml), machine(cores)).runs if run.launch == 1]


def test_workloads_beside_each_other_that_do_not_fit_are_left_out_with_a_note():
    toml = 'workloads = ["calibrated", "stream"]\nbeside = "stream"\n'
    made = plan(study(toml), machine(4))
    assert made.notes == ("beside needs 8 cores, but only 4 can be used, so it is left out",)
    assert {run.point.beside for run in made.runs} == {None}
    made = plan(study(toml + "cores = 2"), machine(4))
    assert made.notes == ()
    assert {run.point.beside for run in made.runs} == {None, "stream"}


def test_quotas_are_an_axis_beside_one_core_without_a_quota():
    measured = limits("quota = [0.5, 2]\ncores = [2]\ndesign = 'turns'", 2)
    assert measured == [(1, None), (1, 0.5), (2, 0.5), (2, 2.0)]
    assert limits("quota = ['none', 1.5]\ncores = [2]\ndesign = 'turns'", 2) == [(1, None), (2, None), (2, 1.5)]


def test_only_a_pipeline_is_measured_with_every_number_of_its_threads():
    fed = 'workloads = "autoenc"\ndata = ["fixed", "fresh", "pipeline"]\npipeline_threads = [1, "cores"]\ncores = 2'
    points = {run.point for run in plan(study(fed), machine(2)).runs if run.point.cores == 2}
    assert {(point.data, point.pipeline_threads, point.thread_counts["pipeline_threads"]) for point in points} == {
        ("fixed", None, None),
        ("fresh", None, None),
        ("pipeline", 1, 1),
        ("pipeline", "cores", 2),
    }


def test_frameworks_are_an_axis_and_jax_has_no_other_threads_than_its_cpus():
    asked = study('workloads = ["fcn"]\nframework = ["torch", "jax"]\nintra = [1, 2, "cpus"]\ninter = 1\ncores = [4]')
    planned = plan(replace(asked, launches=1), machine(cores=4))
    threads = {(run.point.framework, run.point.cores, run.point.intra) for run in planned.runs}
    torch = {("torch", cores, intra) for cores in (1, 4) for intra in (1, 2, "cpus")}
    assert threads == torch | {("jax", 1, "cpus"), ("jax", 4, "cpus")}
    assert planned.notes == (planning.NO_THREADS_OF_JAX,)


def test_inter_op_threads_are_no_axis_of_a_workload_without_a_framework():
    asked = study('workloads = ["calibrated serial=0.2", "fcn"]\ninter = [1, 2]\ncores = 1\nlaunches = 1')
    planned = plan(asked, machine(cores=2))
    made = {(run.point.workload, run.point.inter) for run in planned.runs}
    assert made == {("calibrated serial=0.2", 1), ("fcn", 1), ("fcn", 2)}
    assert planned.notes == ("calibrated has no inter-op threads, so only its points with inter 1 are kept",)
    assert planned.drops(plan(replace(asked, inter=(1,)), machine(cores=2))) == 0


def test_replicas_may_fill_the_machine():
    runs = plan(study("cores = [2]\nreplicas = [2, 3]"), machine(4)).runs
    assert {run.point.replicas for run in runs if run.point.cores == 2} == {1, 2}


def test_quotas_take_turns_with_their_baseline():
    (series,) = planning.series_of_points(run.point for run in plan(study("quota = [0.5, 1]"), machine(2)).runs)
    assert {(point.cores, point.quota) for point in series} == {(1, None), (1, 0.5), (1, 1.0), (2, 0.5), (2, 1.0)}
    assert series[0] == series[0].baseline


def test_an_own_list_is_used_in_its_own_order():
    runs = plan(study('placements = "cpus:5,2,7"'), machine(8)).runs
    assert {run.point.cores: run.flat_cpus for run in runs} == {1: (5,), 2: (5, 2), 3: (5, 2, 7)}


def test_a_quota_below_the_cores_asked_for_is_refused():
    with pytest.raises(StudyError, match=r"4 CPUs .* CPU quota .* is 2\.5; raise"):
        plan(study("cores = 4"), machine(8, quota_cpus=2.5))


def test_a_study_that_fits_any_machine_stays_below_the_quota_and_says_so():
    made = plan(study(), machine(8, quota_cpus=2.5))
    assert {run.point.cores for run in made.runs} == {1, 2}
    assert "ends at 2 cores" in made.notes[0]


def test_cores_of_two_threads_use_up_a_quota_twice_as_fast():
    assert core_counts('cores = "all"\nsmt = [2]', cores=4, smt=2, quota_cpus=5.0) == [1, 2]


def test_a_quota_below_one_cpu_leaves_nothing_to_measure():
    with pytest.raises(StudyError, match="quota"):
        plan(study(), machine(8, quota_cpus=0.5))


@given(launches=st.integers(1, 4), cores=st.integers(1, 9), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_every_block_holds_every_point_once_and_one_core_closes(launches, cores, seed):
    runs = plan(study(f'launches = {launches}\nseed = {seed}\nmodes = ["train", "infer"]'), machine(cores)).runs
    points = {run.point for run in runs}
    for launch in range(1, launches + 1):
        block = runs[(launch - 1) * len(points) : launch * len(points)]
        assert {run.point for run in block} == points
        assert {run.launch for run in block} == {launch}
    closing = runs[launches * len(points) :]
    assert {run.point for run in closing} == {point for point in points if point.cores == 1}
    assert max(Counter(run.key for run in runs).values()) == 1


def test_the_order_is_the_seeds():
    def order(seed: int) -> list[int]:
        return [run.point.cores for run in plan(study(f'cores = "all"\nseed = {seed}'), machine(8)).runs]

    assert order(1) == order(1)
    assert order(1) != order(2)


def cores_of(design: str) -> list[tuple[int, ...]]:
    """The core of a lone process in each of forty launches on a machine of eight."""
    made = plan(study(f'design = "{design}"\ncores = [1]\nlaunches = 40'), machine(8)).runs
    return [run.flat_cpus for run in made]


def test_with_turns_every_launch_chooses_its_cores_anew_and_apart_all_have_the_same():
    assert len(set(cores_of("turns"))) > 4
    assert set(cores_of("apart")) == {(0,)}


def test_threads_follow_cores_and_cpus():
    runs = plan(study('intra = ["auto", "cores", "cpus", 3]\ncores = [4]\nsmt = 2'), machine(4, smt=2)).runs
    four = {run.point.intra: run.point.threads(run.point.intra) for run in runs if run.point.cores == 4}
    assert four == {"auto": 0, "cores": 4, "cpus": 8, 3: 3}


def test_the_time_is_at_most_the_limit_and_as_measured_once_it_was():
    question = study("cores = [2]\nlaunches = 1\nmax_seconds = 10")
    runs = plan(question, machine(2)).runs
    assert estimated_seconds(runs, question, {}) == len(runs) * (START_UP_SECONDS + 10)
    assert estimated_seconds(runs, question, {runs[0].point: 1.5}) == len(runs) * 1.5


def test_a_fixed_number_of_steps_is_that_of_every_run_and_a_usual_step_is_assumed_until_one_was_made():
    question = study("cores = [1]\nlaunches = 1\nsteps = 20\nwarmup = 3\ntimeout_seconds = 30")
    runs = plan(question, machine(2)).runs
    assert {(run.steps, run.warmup) for run in runs} == {(20, 3)}
    assert {(run.steps, run.warmup) for run in traced_plan(question, machine(2), 5).runs} == {(20, 3)}
    usual = START_UP_SECONDS + 23 * USUAL_STEP_SECONDS
    assert estimated_seconds(runs, question, {}) == pytest.approx(len(runs) * usual)
    assert estimated_seconds(runs, study("steps = 65536\ntimeout_seconds = 30"), {}) == len(runs) * 30


def test_only_the_thread_counts_that_were_asked_for_are_traced():
    runs = traced_plan(study("cores = [2, 4]\nlaunches = 2"), machine(8), 12).runs
    assert sorted((run.point.cores, run.launch) for run in runs) == [(2, 1), (2, 2), (4, 1), (4, 2)]
    assert {(run.traced, run.steps) for run in runs} == {(12, PLAIN_STEPS)}


def test_counts_by_a_word_are_those_of_a_study():
    runs = traced_plan(study('cores = "doubling"\nlaunches = 1'), machine(6), 12).runs
    assert sorted(run.point.cores for run in runs) == [1, 2, 4, 6]


def test_points_leave_secrets_out_and_workloads_that_differ_in_nothing_else_are_refused():
    planned = plan(study('workloads = ["command: ./a --token=x"]'), machine(2))
    assert {run.point.workload for run in planned.runs} == {"command: ./a --token=***"}
    with pytest.raises(StudyError, match="differ only in a value"):
        plan(study('workloads = ["command: ./a --token=x", "command: ./a --token=y"]'), machine(2))
