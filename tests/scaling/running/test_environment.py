import re
import sys
from dataclasses import replace

import pytest

from benchmarks.shared.machines import first_run, machine, study
from scaling.errors import StudyError
from scaling.running.environment import environment, find_interpreter, row_variables, server_variables
from scaling.study.planning import plan
from scaling.study.programs import Program
from tests.runs import row_of, virtual_environment

SHELL = {"PATH": "/bin", "LC_ALL": "C", "OMP_NUM_THREADS": "7", "SLURM_CPU_BIND": "x", "LD_PRELOAD": "/evil.so"}


def test_only_an_allow_list_of_the_shell_reaches_a_run():
    variables = environment(first_run(), SHELL, "mark", "x86_64", "/scratch")
    assert {name for name in variables if name in SHELL} == {"PATH", "LC_ALL"}


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        ({}, {"LC_NUMERIC": "C"}),
        ({"LANG": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8"}, {"LANG": "de_DE.UTF-8", "LC_NUMERIC": "C"}),
        (
            {"LANG": "C", "LC_ALL": "de_DE.UTF-8", "LC_TIME": "en_GB.UTF-8", "LC_NUMERIC": "de_DE.UTF-8"},
            {"LANG": "de_DE.UTF-8", "LC_NUMERIC": "C"},
        ),
        ({"LC_ALL": "C"}, {"LC_ALL": "C", "LC_NUMERIC": "C"}),
        ({"LC_ALL": "", "LC_TIME": "en_GB.UTF-8"}, {"LC_ALL": "", "LC_TIME": "en_GB.UTF-8", "LC_NUMERIC": "C"}),
    ],
)
def test_a_run_has_the_locale_of_the_shell_except_for_numbers(shell, expected):
    variables = environment(first_run(), shell, "mark", "x86_64", "/scratch")
    assert {name: value for name, value in variables.items() if name.startswith(("LC_", "LANG"))} == expected
    assert dict(row_variables(variables))["LC_NUMERIC"] == "C"


def test_a_program_may_set_the_locale_of_its_numbers():
    program = Program(name="p", command=("sh", "-c", "echo step_seconds: $LC_NUMERIC"), env={"LC_NUMERIC": "0.25"})
    row = row_of(program)
    assert row.outcome.step_seconds == (0.25,)
    assert dict(row.environment)["LC_NUMERIC"] == "0.25"


def test_programs_of_another_interpreters_environment_are_found_first():
    run, shell = replace(first_run(), python="/old/bin/python"), {**SHELL, "VIRTUAL_ENV": "/shell", "PYTHONPATH": "/p"}
    variables = environment(run, shell, "mark", "x86_64", "/scratch")
    assert (variables["PATH"], variables["VIRTUAL_ENV"], variables["PYTHONPATH"]) == ("/old/bin:/bin", "/old", "/p")
    assert environment(run, {}, "mark", "x86_64", "/scratch")["PATH"] == "/old/bin"


def test_the_backend_is_set_and_the_shells_choice_of_kernels_is_kept():
    variables = environment(first_run(), SHELL, "mark", "x86_64", "/scratch")
    assert (variables["KERAS_BACKEND"], variables["TF_ENABLE_ONEDNN_OPTS"]) == ("tensorflow", "1")
    assert environment(first_run(), SHELL, "mark", "aarch64", "/scratch")["TF_ENABLE_ONEDNN_OPTS"] == "0"
    chosen = {**SHELL, "TF_ENABLE_ONEDNN_OPTS": "0"}
    assert environment(first_run(), chosen, "mark", "x86_64", "/scratch")["TF_ENABLE_ONEDNN_OPTS"] == "0"


@pytest.mark.parametrize(("shell", "first"), [({}, "0"), ({"CUDA_VISIBLE_DEVICES": "3,1"}, "3")])
def test_a_run_sees_the_first_gpu_or_none(shell, first):
    runs = plan(study('workloads = ["fcn"]', device='["cpu", "gpu"]', framework='["torch", "jax"]'), machine(1)).runs
    seen = {
        (run.point.framework, run.point.device): environment(run, {**SHELL, **shell}, "mark", "x86_64", "/scratch")
        for run in runs
    }
    assert {key: variables["CUDA_VISIBLE_DEVICES"] for key, variables in seen.items()} == {
        ("torch", "cpu"): "-1",
        ("jax", "cpu"): "-1",
        ("torch", "gpu"): first,
        ("jax", "gpu"): first,
    }
    assert seen["torch", "gpu"]["KERAS_TORCH_DEVICE"] == "cuda:0"
    assert seen["jax", "gpu"]["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


def test_threads_asked_for_are_set_and_automatic_ones_are_not():
    variables = environment(first_run("intra = 2\ninter = 3"), SHELL, "mark", "x86_64", "/scratch")
    assert variables["OMP_NUM_THREADS"] == variables["TF_NUM_INTRAOP_THREADS"] == "2"
    assert variables["TF_NUM_INTEROP_THREADS"] == "3"


def test_the_padding_differs_from_run_to_run_and_not_from_time_to_time():
    one, other = first_run("launches = 2"), first_run("launches = 2\nseed = 5")
    assert environment(one, {}, "a", "x86_64", "/scratch") == environment(one, {}, "a", "x86_64", "/scratch")
    assert environment(one, {}, "a", "x86_64", "/scratch") != environment(other, {}, "a", "x86_64", "/scratch")


def test_forked_runs_of_a_generation_have_one_environment_and_those_of_another_another():
    runs = plan(study(start="fork", modes='["train", "infer"]', launches="2"), machine(2)).runs
    first, *others = (environment(run, SHELL, "a", "x86_64", "/scratch", generation=1) for run in runs)
    assert all(other == first for other in others)
    assert environment(runs[0], SHELL, "a", "x86_64", "/scratch", generation=2) != first


def test_a_server_needs_the_threads_of_a_run_only_where_its_framework_reads_them_as_it_is_loaded():
    for framework, needed in (("tensorflow", set()), ("torch", {"OMP_NUM_THREADS", "TF_NUM_INTEROP_THREADS"})):
        run = first_run(f'intra = 2\ninter = 3\nframework = "{framework}"')
        variables = environment(run, SHELL, "mark", "x86_64", "/scratch", generation=1)
        assert (
            server_variables(variables, run.point, False).keys() & {"OMP_NUM_THREADS", "TF_NUM_INTEROP_THREADS"}
            == needed
        )


def test_a_study_may_choose_onednn_against_the_shell():
    shell = {**SHELL, "TF_ENABLE_ONEDNN_OPTS": "0"}
    chosen = environment(first_run("onednn = true"), shell, "mark", "x86_64", "/scratch")
    assert chosen["TF_ENABLE_ONEDNN_OPTS"] == "1"
    assert server_variables(chosen, first_run("onednn = true").point, False)["TF_ENABLE_ONEDNN_OPTS"] == "1"


def test_a_row_keeps_the_padding_by_its_length_and_not_what_only_its_sweep_has():
    variables = environment(first_run(), SHELL, "mark", "x86_64", "/scratch")
    variables_of_row = dict(row_variables(variables))
    assert variables_of_row["SCALING_PADDING"] == f"{len(variables['SCALING_PADDING'])} characters"
    assert not variables_of_row.keys() & {"SCALING_SWEEP", "TMPDIR"}


def test_a_real_run_has_the_environment_its_row_says(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    shown = tmp_path / "seen"
    row = row_of(
        f"command: '{sys.executable}' -c \"import os; open('{shown}', 'w').write(' '.join(os.environ))\"", intra=2
    )
    seen = set(shown.read_text().split())
    said = {*(name for name, _ in row.environment), *row.left_out}
    assert seen - {"SCALING_SWEEP", "TMPDIR", "LC_CTYPE"} == said - {"LC_CTYPE"}
    assert {"PATH", "HOME"} <= set(row.left_out)
    assert dict(row.environment)["OMP_NUM_THREADS"] == "2"


def test_an_interpreter_is_found_by_its_path_and_by_that_of_its_environment(tmp_path, monkeypatch):
    folder = virtual_environment(tmp_path / "venv")
    python = str(folder / "bin" / "python")
    monkeypatch.chdir(tmp_path)
    assert [find_interpreter(name) for name in ("venv", "venv/bin/python", python)] == [python] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path / "nowhere", r"interpreter .*nowhere; use"),
        (
            lambda path: virtual_environment(path / "empty", with_package=False),
            "No module named 'scaling'.*pip install",
        ),
    ],
)
def test_one_that_cannot_run_this_package_is_refused_in_a_sentence(make, message, tmp_path):
    with pytest.raises(StudyError, match=message):
        find_interpreter(str(make(tmp_path)))


def test_another_version_of_this_package_is_refused(monkeypatch):
    monkeypatch.setattr("scaling.running.environment.version", lambda name: "0.0.1")
    with pytest.raises(StudyError, match=f"{re.escape(sys.executable)} has cpu-scaling .*, but this version is 0.0.1"):
        find_interpreter(sys.executable)
