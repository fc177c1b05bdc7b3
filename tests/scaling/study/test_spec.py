from dataclasses import replace

import pytest

from benchmarks.shared.machines import machine, study
from scaling.errors import StudyError
from scaling.study.planning import plan
from scaling.study.programs import Program
from scaling.study.spec import (
    Study,
    Turns,
    incompatibility,
    incompatibility_anywhere,
    study_from_toml,
    study_to_toml,
    turns_of,
)


def test_a_study_needs_only_workloads_and_has_defaults_for_the_rest():
    value = study()
    assert (value.name, value.cores, value.smt, value.launches, value.seed) == ("test", "doubling", (1,), 5, 1)


def test_a_single_value_stands_for_a_list_of_one():
    value = study('workloads = "calibrated"\nmodes = "infer"\ncores = 4\nintra = 2')
    assert (value.workloads, value.modes, value.cores, value.intra) == (("calibrated",), ("infer",), (4,), (2,))


@pytest.mark.parametrize(
    ("text", "cores"), [("1-4", (1, 2, 3, 4)), ("1,2,8", (1, 2, 8)), ("[1, 1, 2]", (1, 2)), ("all", "all")]
)
def test_settings_from_the_command_line_are_toml_or_plain_text(text, cores):
    assert study(cores=text).cores == cores


def test_a_study_written_out_reads_back_as_the_same_study():
    value = study(
        'name = "x"\nquestion = "Wie \\"schnell\\"?\\u007f"\n'
        'workloads = ["calibrated serial=0.2", "command: ./a \\"b c\\""]\n'
        'cores = "1-3"\nsmt = "all"\nreserve = [0]\nwithin = "S0"\nintra = ["auto", 2]\njit = true\nprecision = 0.02'
    )
    assert study_from_toml(study_to_toml(value, "quick with --set cores=1-3"), "other.toml") == value


def test_a_study_made_in_python_is_the_one_read_from_toml():
    made = Study(workloads=["calibrated serial=0.2"], cores="1-3", modes="infer", name="mine")
    assert made == study_from_toml(
        'workloads = "calibrated serial=0.2"\ncores = [1, 2, 3]\nmodes = ["infer"]', "mine.toml"
    )
    assert Study(workloads="calibrated").name == "study"


def test_a_changed_study_is_checked_again():
    with pytest.raises(StudyError, match="launches"):
        replace(study(), launches=0)


@pytest.mark.parametrize("name", ["a/b", "..", ".", "../../etc", "nul\0", "a\nb", "\x1b[2J", "x" * 101])
def test_a_name_that_is_no_name_of_a_folder_is_refused(name):
    with pytest.raises(StudyError, match="name of a folder"):
        Study(workloads="calibrated", name=name)


def test_a_name_may_be_any_hundred_characters_a_folder_may_have():
    for name in ("x" * 100, "größer …", "..a", "-"):
        assert Study(workloads="calibrated", name=name).name == name


def test_a_study_shows_the_keys_that_it_was_given_and_escapes_them():
    study = Study(name="<b>", workloads=["calibrated"], cores=[1, 2])
    assert repr(study) == "Study(name='<b>', workloads=('calibrated',), cores=(1, 2))"
    assert "1, 2" in study._repr_html_()
    assert "<b>" not in study._repr_html_()


def test_a_folder_grows_along_what_steps_are_fed_with():
    old, new = study('workloads = "autoenc"'), study('workloads = "autoenc"\ndata = ["fixed", "pipeline"]')
    more = replace(new, pipeline_threads=(1, 2))
    plans = [plan(one, machine(2)) for one in (old, new, more)]
    assert incompatibility(old, more, plans[2].drops(plans[0])) is None
    assert incompatibility_anywhere(old, more) is None
    assert "which drops" in str(incompatibility(new, more, plans[2].drops(plans[1])))
    assert "which drops" in str(incompatibility_anywhere(new, more))


def test_a_folder_grows_along_frameworks():
    old, new = (study(f'workloads = ["fcn"]\nframework = {names}') for names in ('"torch"', '["torch", "jax"]'))
    assert incompatibility_anywhere(old, new) is None
    assert incompatibility_anywhere(new, old) is not None


def test_devices_are_an_axis_and_a_folder_grows_along_them():
    old, new = (study(f'workloads = ["fcn"]\ndevice = {devices}') for devices in ('"cpu"', '["cpu", "gpu"]'))
    assert {run.point.device for run in plan(new, machine(cores=2)).runs} == {"cpu", "gpu"}
    assert incompatibility_anywhere(old, new) is None
    assert incompatibility_anywhere(new, old) is not None


@pytest.mark.parametrize(
    ("most", "turns"),
    [
        (60.0, Turns(10, 1.0, 20)),
        (13.0, Turns(10, 1.0, 13)),
        (3.5, Turns(3, 1.0, 3)),
        (1.0, Turns(1, 1.0, 1)),
        (0.2, Turns(1, 0.2, 1)),
    ],
)
def test_the_turns_of_a_launch_end_with_its_longest_time(most, turns):
    assert turns_of(study(f'design = "turns"\nmax_seconds = {most}')) == turns


def obstacle(old: str, new: str) -> str | None:
    before, after = study(old), study(new)
    return incompatibility(before, after, plan(after, machine()).drops(plan(before, machine())))


def test_a_program_that_every_launch_executes_anew_has_one_turn():
    question = study("turn_seconds = 0.5\nmax_seconds = 60\nrounds = 5")
    assert turns_of(question).rounds == 5
    assert turns_of(question, Program(name="sort", command="sort")) == Turns(1, 0.5, 1)


def test_a_value_named_twice_is_measured_once():
    assert study("cores = [4, 2, 4]\nsmt = [1, 1]").cores == (4, 2)


def test_the_same_study_goes_on():
    assert obstacle("", "") is None


def test_a_new_value_on_an_axis_goes_on():
    assert obstacle("cores = [2]", "cores = [2, 4]") is None
    assert obstacle("", 'modes = ["train", "infer"]') is None


def test_more_launches_go_on():
    assert obstacle("launches = 3", "launches = 5") is None


def test_the_same_points_in_other_words_go_on():
    assert obstacle("cores = [1, 2, 4, 8]", 'cores = "doubling"') is None


def test_a_dropped_value_is_named():
    assert obstacle("cores = [2, 4]\nlaunches = 1", "cores = [2]\nlaunches = 1") == (
        "cores was [2, 4] and is now [2], which drops 1 of its runs"
    )


def test_an_axis_that_only_grew_is_not_named():
    before, after = "cores = [2, 4]\nlaunches = 1", "cores = [2]\nintra = [1, 2]\nlaunches = 2"
    assert obstacle(f"{before}\nintra = 1", after) == "cores was [2, 4] and is now [2], which drops 1 of its runs"


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
