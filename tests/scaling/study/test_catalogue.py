from importlib.resources import files

import pytest

from benchmarks.shared.machines import machine, study
from scaling.errors import StudyError, to_install
from scaling.study import catalogue as catalogue_module
from scaling.study.catalogue import (
    PROFILE_DEFAULTS,
    check_extras,
    check_traceable,
    check_workloads,
    find_executable,
    missing_extra_sentence,
    missing_extras,
    read_catalogue,
    read_study_text,
    ready_made,
    uses_framework,
)
from scaling.study.frameworks import WITHOUT_FRAMEWORK
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml


@pytest.mark.parametrize("name", sorted(ready_made()))
@pytest.mark.parametrize(("cores", "smt"), [(1, 1), (2, 1), (6, 2), (20, 8)])
def test_every_ready_made_study_fits_any_machine(name, cores, smt):
    study = study_from_toml(read_study_text(name), name)
    check_workloads(study, read_catalogue())
    assert study.name == name
    assert study.question
    assert plan(study, machine(cores, smt)).runs


def test_workloads_that_need_an_extra_are_distinguished_from_those_that_do_not():
    quick = study_from_toml(read_study_text("quick"), "quick")
    missing = missing_extras(quick, read_catalogue(), is_installed=lambda extra: False)
    assert missing == {"autoenc": "tensorflow", "memnet": "tensorflow"}
    assert missing_extras(quick, read_catalogue(), is_installed=lambda extra: True) == {}


def test_a_network_needs_the_extra_of_its_framework():
    asked = study('workloads = ["fcn", "matmul"]\nframework = ["tensorflow", "torch"]')
    missing = missing_extras(asked, read_catalogue(), is_installed=lambda extra: extra == "tensorflow")
    assert missing == {"fcn": "torch", "matmul": "torch"}


def test_programs_and_files_of_ones_own_need_no_extra():
    own = study('workloads = ["command: true", "mine.py:build", "stream", "calibrated serial=0.2"]')
    assert missing_extras(own, read_catalogue(), is_installed=lambda extra: False) == {}


@pytest.mark.parametrize("name", ["sort", "bench.sh", "train.py", "prog-1.2", "calibrated serial=0.1", "command: ./a"])
def test_a_program_uses_no_framework_whatever_its_name(name):
    assert not uses_framework(name)
    assert uses_framework("alexnet")
    assert uses_framework("mine.py:build")


def test_every_workload_that_imports_keras_names_its_extra():
    for name, entry in read_catalogue().items():
        source = files("scaling.workloads").joinpath(f"{name}.py").read_text()
        assert (entry.needs == "framework") == ("import keras" in source), name


def test_a_program_is_found_from_its_folder_and_a_bare_name_beside_an_interpreter(tmp_path, monkeypatch):
    (tmp_path / "prog").touch(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_executable("prog") is None
    found = {
        find_executable("./prog"),
        find_executable("./prog", "."),
        find_executable("prog", python=f"{tmp_path}/py"),
    }
    assert found == {str(tmp_path / "prog")}
    assert find_executable("./prog", "/") is None


def test_a_workload_without_its_extra_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(catalogue_module, "find_spec", lambda package: None)
    with pytest.raises(StudyError) as refused:
        check_extras(study('workloads = ["calibrated", "vgg", "memnet"]'), read_catalogue())
    assert str(refused.value) == missing_extra_sentence(["vgg", "memnet"], "tensorflow")
    assert str(refused.value).endswith(to_install("tensorflow"))
    check_extras(study('workloads = ["calibrated"]'), read_catalogue())


def test_what_is_there_without_a_study_is_a_study():
    value = study_from_toml(PROFILE_DEFAULTS, "profile", ["workloads=memnet"])
    check_traceable(value, read_catalogue(), 12)
    assert value.launches == 1


def test_a_file_without_a_factory_is_refused_with_what_it_has(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("from x import given\nalias = given\ndef build(setting): pass\nclass Steps: pass\n")
    for name in ("build", "Steps", "given", "alias"):
        check_workloads(study(f'workloads = ["{file}:{name}"]'), read_catalogue())
    for text in (f"{file}", f"{file}:biuld"):
        with pytest.raises(StudyError, match=f"it has build, Steps, as in {file}:build"):
            check_workloads(study(f'workloads = ["{text}"]'), read_catalogue())


def test_the_workloads_without_a_framework_are_known_without_the_catalogue():
    assert [name for name in read_catalogue() if not uses_framework(name)] == [*WITHOUT_FRAMEWORK]
