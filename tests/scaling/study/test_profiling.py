import pytest

from scaling.errors import StudyError
from scaling.study.catalogue import read_catalogue
from scaling.study.profiling import DEFAULTS, PLAIN_STEPS, check_can_be_traced, traced_plan
from scaling.study.spec import study_from_toml
from tests.pretend import machine, study

CATALOGUE = read_catalogue()


def test_only_the_thread_counts_that_were_asked_for_are_traced():
    runs = traced_plan(study("cores = [2, 4]\nlaunches = 2"), machine(8), 12).runs
    assert sorted((run.point.cores, run.launch) for run in runs) == [(2, 1), (2, 2), (4, 1), (4, 2)]
    assert {(run.traced, run.steps) for run in runs} == {(12, PLAIN_STEPS)}


def test_counts_by_a_word_are_those_of_a_study():
    runs = traced_plan(study('cores = "doubling"\nlaunches = 1'), machine(6), 12).runs
    assert sorted(run.point.cores for run in runs) == [1, 2, 4, 6]


def test_what_is_there_without_a_study_is_a_study():
    asked = study_from_toml(DEFAULTS, "profile", ["workloads=memnet"])
    check_can_be_traced(asked, CATALOGUE, 12)
    assert asked.launches == 1


def test_a_step_compiled_by_xla_is_refused():
    with pytest.raises(StudyError, match=r"compiled by XLA is one opaque operation, .* set jit = false"):
        check_can_be_traced(study('workloads = ["memnet"]\njit = true'), CATALOGUE, 12)


@pytest.mark.parametrize("name", ["calibrated", "calibrated serial=0.5", "command: true"])
def test_what_is_no_network_is_refused(name):
    with pytest.raises(StudyError, match=rf"workload '{name}': it is no network, .* there are alexnet, "):
        check_can_be_traced(study(f'workloads = ["{name}"]'), CATALOGUE, 12)


def test_too_few_steps_to_drop_two_are_refused():
    with pytest.raises(StudyError, match=r"--steps 2: .* give at least 3"):
        check_can_be_traced(study('workloads = ["memnet"]'), CATALOGUE, 2)
