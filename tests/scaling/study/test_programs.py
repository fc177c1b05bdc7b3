import pytest

from benchmarks.shared.machines import machine
from scaling.errors import StudyError
from scaling.study.axes import PROGRAM_MODE
from scaling.study.planning import plan
from scaling.study.programs import FromShell, Program, fill, fixed_threads, from_shell, program_name
from scaling.study.spec import Study, incompatibility, study_from_toml, study_to_toml

TOML = """
launches = 2
cores = [1, 2]

[[programs]]
name = "zstd"
command = "zstd -T{threads} -f 'my data' -o /dev/null"
env = { ZSTD_NBTHREADS = "{threads}", "A.B" = "\\"" }
prepare = ["sync"]
items = 3

[[programs]]
name = "sysbench"
command = ["sysbench", "cpu", "--threads={threads}", "run"]
throughput = "events per second: *([0-9.]+)"
"""


def read(toml: str) -> Study:
    return study_from_toml(toml, "test.toml")


def test_a_table_describes_a_program_and_is_written_as_it_was_read():
    study = read(TOML)
    zstd, sysbench = study.programs
    assert zstd.argv() == ("zstd", "-T{threads}", "-f", "my data", "-o", "/dev/null")
    assert sysbench.argv()[0] == "sysbench"
    assert read(study_to_toml(study, "again")) == study


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("/opt/bin/prog -t 2", "prog"),
        ("python3.11 src/train.py --fast", "train.py"),
        ("python -c pass", "python"),
        ("mpirun ./solve", "solve"),
        ("mpirun -n 4 ./solve", "mpirun"),
        ("sh {script}", "sh"),
        ("zstd data.tar", "zstd"),
        ("", ""),
    ],
)
def test_a_program_without_a_name_is_called_by_its_file_or_by_the_script_it_is_given(line, name):
    assert program_name(line.split()) == program_name([line]) == name


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("/opt/My Tools/my prog", "-n", "4"), "my-prog"),
        (("python3", "/a b/my script.py"), "my-script.py"),
        (("./a@b(1)",), "a-b-1-"),
        (("./" + 200 * "a",), 100 * "a"),
    ],
)
def test_a_default_name_is_a_name_that_a_program_may_have(words, name):
    assert Program(name=program_name(words), command=words).name == name


def test_points_of_a_program_have_its_name_and_no_mode():
    runs = plan(read(TOML), machine(4)).runs
    assert {run.point.workload for run in runs} == {"zstd", "sysbench"}
    assert {run.point.mode for run in runs} == {PROGRAM_MODE}
    assert runs[0].point.subject in ("zstd", "sysbench")


def test_a_program_among_the_workloads_has_no_mode_either():
    runs = plan(read('workloads = ["command: true", "calibrated"]\nmodes = ["train", "infer"]'), machine(1)).runs
    assert {run.point.subject for run in runs} == {"command: true", "calibrated train", "calibrated infer"}


def test_placeholders_are_filled_in_and_all_other_braces_are_left_alone():
    values = {"threads": 8, "cpus": "0-7"}
    assert fill('-t{threads} {cpus} {"a": {"b": 1}} {{threads}} {}', values) == '-t8 0-7 {"a": {"b": 1}} {threads} {}'


def test_items_are_those_of_a_program_its_preparation_or_its_variables():
    assert Study(programs=(Program(name="a", command="x {items}"),), scale="weak").scale == "weak"
    assert Study(programs=(Program(name="a", command="x", prepare="make {items}"),), items=(1, 2)).items == (1, 2)
    assert Study(programs=(Program(name="a", command="x", env={"N": "{items}"}),), scale="weak").scale == "weak"
    assert Study(workloads="command: x {items}", scale="weak").scale == "weak"


def test_a_folder_takes_further_programs_but_none_that_was_described_otherwise():
    begun, changed = read(TOML), read(TOML.replace("/dev/null", "out"))
    more = read(TOML + '[[programs]]\nname = "pigz"\ncommand = "pigz -p {threads} data"\n')
    plans = {one: plan(one, machine(4)) for one in (begun, changed, more)}
    assert incompatibility(begun, more, plans[more].drops(plans[begun])) is None
    assert incompatibility(begun, changed) == "program 'zstd' was defined differently"
    assert "programs was ['zstd', 'sysbench', 'pigz']" in incompatibility(more, begun, plans[begun].drops(plans[more]))


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        ("zstd -T4 data", "-T4"),
        ("pytest -n 4 tests", "-n 4"),
        ("make -j8", "-j8"),
        ("prog --threads=2 x", "--threads=2"),
        ("prog --threads 2", "--threads 2"),
        ("zstd -T{threads} -n 4", None),
        ("sleep 4", None),
        ("sort -k 2 data", None),
    ],
)
def test_a_number_of_threads_that_follows_no_cores_is_found(line, fixed):
    assert fixed_threads(line.split()) == fixed


def test_a_variable_from_the_shell_must_have_the_value_that_its_study_was_begun_with():
    begun = from_shell({"A": "1"}, "A", FromShell())
    assert begun.value_in({"A": "1"}, "A") == "1"
    with pytest.raises(StudyError, match="different value"):
        begun.value_in({"A": "2"}, "A")
    with pytest.raises(StudyError, match="is not set there"):
        FromShell().value_in({"B": "1"}, "A")
