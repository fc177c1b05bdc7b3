import pytest

from benchmarks.shared.machines import machine, study
from scaling.study.compatibility import incompatibility, incompatibility_anywhere
from scaling.study.planning import plan


def obstacle(old: str, new: str) -> str | None:
    before, after = study(old), study(new)
    return incompatibility(before, after, plan(before, machine()).runs, plan(after, machine()).runs)


def test_the_same_study_goes_on():
    assert obstacle("", "") is None


def test_a_new_value_on_an_axis_goes_on():
    assert obstacle("cores = [2]", "cores = [2, 4]") is None
    assert obstacle("", 'modes = ["train", "infer"]') is None


def test_more_launches_go_on():
    assert obstacle("launches = 3", "launches = 5") is None


def test_the_same_points_in_other_words_go_on():
    assert obstacle("cores = [1, 2, 4, 8]", 'cores = "doubling"') is None


def test_another_question_is_only_words():
    assert obstacle('question = "a"', 'question = "b"') is None


def test_a_dropped_value_is_named():
    assert obstacle("cores = [2, 4]\nlaunches = 1", "cores = [2]\nlaunches = 1") == (
        "cores was [2, 4] and is now [2], which drops 1 of its runs"
    )


def test_a_changed_key_is_named():
    assert obstacle("", "seed = 2\nprecision = 0.1") == "precision was 0.01 and is now 0.1, seed was 1 and is now 2"


def test_another_way_of_starting_processes_is_another_study():
    assert obstacle("", 'start = "fork"') == "start was 'spawn' and is now 'fork'"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("", "seed = 2", "seed was 1 and is now 2"),
        ("cores = [1, 2, 4]", "cores = [2]", "cores was [1, 2, 4] and is now [2], which drops some of its runs"),
        ("launches = 3", "launches = 2", "launches was 3 and is now 2, which drops some of its runs"),
        ("cores = [1, 2]", "cores = [2, 4]", None),
        ("cores = [2, 4]", 'cores = "doubling"', None),
        ('smt = "all"', "smt = [1]", None),
    ],
)
def test_what_no_machine_would_go_on_with_is_known_without_one(old, new, why):
    assert incompatibility_anywhere(study(old), study(new)) == why
