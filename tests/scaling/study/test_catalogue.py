import pytest

from scaling.errors import StudyError
from scaling.study.catalogue import check_workloads, read_catalogue, read_study_text, ready_made
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml
from tests.pretend import machine


@pytest.mark.parametrize("name", sorted(ready_made()))
@pytest.mark.parametrize(("cores", "smt"), [(1, 1), (2, 1), (6, 2), (20, 8)])
def test_every_ready_made_study_fits_any_machine(name, cores, smt):
    study = study_from_toml(read_study_text(name), name)
    check_workloads(study, read_catalogue())
    assert study.name == name
    assert study.question
    assert plan(study, machine(cores, smt)).runs


def test_an_unknown_study_is_refused_with_the_nearest_name():
    with pytest.raises(StudyError, match=r"no study 'quikc'; did you mean 'quick'\?"):
        read_study_text("quikc")


def test_a_study_file_that_is_not_there_is_refused():
    with pytest.raises(StudyError, match=r"study nowhere.toml cannot be read: No such file"):
        read_study_text("nowhere.toml")


def test_a_study_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "noise.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StudyError, match="not UTF-8"):
        read_study_text(str(tmp_path / "noise.toml"))


def test_a_folder_is_no_study(tmp_path):
    with pytest.raises(StudyError, match="cannot be read"):
        read_study_text(str(tmp_path))


def test_what_xla_cannot_compile_is_refused_with_the_reason():
    compiled = study_from_toml('workloads = ["autoenc", "speech"]\njit = true', "mine")
    with pytest.raises(StudyError, match="speech cannot train with jit = true, because XLA has no kernel for the CTC"):
        check_workloads(compiled, read_catalogue())
    check_workloads(study_from_toml('workloads = ["speech"]\njit = true\nmodes = "infer"', "mine"), read_catalogue())
