import json
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scaling.features.profiling.library import prepare_profile
from scaling.results.traces import TracedRow, TraceStore, read_traced_rows
from tests.mentions import mentions
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import SCALING, complaint, read_until
from tests.scaling.cli.scaling import scaling as program
from tests.scaling.reporting.test_schemas import check, printed

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"
SMALL = ["--size", "small", "--items", "2", "--steps", "4"]


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """A profile as a user makes it: what the command said, and the folder it wrote."""
    folder = tmp_path_factory.mktemp("profiled") / "results"
    return program("profile", "deepq", *SMALL, "-o", folder), folder


@pytest.fixture
def folder(profiled, tmp_path):
    """A copy of the results of a profile."""
    return shutil.copytree(profiled[1], tmp_path / "results")


def assert_traced(completed):
    """It ended well; whatever else runs here meanwhile may have disturbed it, which it then says."""
    disturbed = "launches were quiet; trace" in completed.stderr
    assert completed.returncode == (1 if disturbed else 0), completed.stderr


def lines(folder):
    return (folder / "traces.jsonl").read_bytes()


def test_a_profile_is_a_line_and_a_table_of_op_types(profiled):
    completed, folder = profiled
    assert_traced(completed)
    run, *_ = completed.stdout.split("\n\n")
    first, header, *ops, total = run.splitlines()
    assert first.startswith("deepq train small, 1 thread: ")
    assert all(
        part in first for part in ("2 traced steps", "ops ", "framework overhead", "unexplained", "traced/plain")
    )
    assert header.split() == ["op", "type", "per", "step", "of", "op", "time", "executions"]
    (facts,) = json.loads(scaling("profile", folder, "--json").stdout)["profiles"]
    types = [op["type"] for op in facts["ops"]]
    assert {"Conv2D", "Conv2DBackpropFilter"} <= set(types)
    shown = [line.split()[0] for line in ops]
    assert shown[:-1] == types[: len(shown) - 1]  # the last line counts the rest
    assert total.startswith("all ops")
    assert f"traces are in {folder}" in completed.stderr


def test_a_profile_leaves_its_traces_its_question_and_its_machine(profiled):
    assert {path.name for path in profiled[1].iterdir()} == {"traces.jsonl", "profile.toml", "machine.json"}


def test_the_same_command_again_traces_nothing_twice(folder):
    before = lines(folder)
    completed = scaling("profile", "deepq", *SMALL, "-o", folder)
    assert_traced(completed)
    assert "the run is stored already" in completed.stderr
    assert "all ops" in completed.stdout
    assert lines(folder) == before


def test_a_profile_goes_on_under_the_name_of_the_machine_that_it_was_begun_under(tmp_path):
    (tmp_path / "profile.toml").write_text('workloads = ["deepq"]\nmachine_name = "lent"\n')
    job = prepare_profile(["deepq"], tmp_path, {"size": "small"})
    assert (job.machine.host, job.study.machine_name) == ("lent", "lent")


@pytest.mark.slow
def test_further_launches_are_traced_until_a_profile_made_again_would_be_the_same(folder):
    completed = program("profile", "deepq", *SMALL, "--reproducible-to", "100", "-o", folder)
    assert_traced(completed)
    launches = [traced_row.row.run.launch for traced_row in read_traced_rows(folder)]
    made = max(launches)  # more than four where some were disturbed
    assert launches == list(range(1, made + 1))
    assert made >= 4
    assert completed.stdout.count("deepq train small, 1 thread") >= 4
    assert completed.stdout.count("all ops") == 1
    again = scaling("profile", "deepq", *SMALL, "--reproducible-to", "100", "-o", folder)
    assert f"all {made} runs" in again.stderr


def test_what_is_not_known_after_so_many_launches_is_said(folder):
    (traced_row,) = read_traced_rows(folder)
    store = TraceStore(folder)
    for number in range(2, 25):
        longer = {"Conv2D": number % 3 + 1}
        ops = tuple(replace(op, seconds=op.seconds * longer.get(op.type, 1)) for op in traced_row.steps[0].ops)
        step = replace(traced_row.steps[0], ops=ops, wall_seconds=sum(op.seconds for op in ops), overhead_seconds=0.0)
        store.append(TracedRow(replace(traced_row.row, run=replace(traced_row.row.run, launch=number)), (step,) * 2))
    store.close()
    completed = scaling("profile", "deepq", *SMALL, "--reproducible-to", "0.1", "-o", folder)
    assert "all 24 runs" in completed.stderr
    assert "not reproducible to 0.1 percentage points: " in completed.stderr


def test_a_folder_of_traces_is_shown_again(profiled, folder):
    assert scaling("profile", folder).stdout == profiled[0].stdout
    (facts,) = json.loads(scaling("profile", folder, "--json").stdout)["profiles"]
    assert (facts["workload"], facts["mode"], facts["threads"], facts["steps"]) == ("deepq", "train", 1, 2)
    parts = ("op_seconds", "overhead_seconds", "unexplained_seconds")
    assert sum(facts[part] for part in parts) == pytest.approx(facts["wall_seconds"])


def test_another_number_of_steps_wants_another_folder(folder):
    message = complaint(scaling("profile", "deepq", *SMALL, "--steps", "5", "-o", folder))
    assert "holds deepq train, 1 core" in message
    assert mentions(message, "4 traced … of 5")


def test_another_machine_is_refused_with_the_difference(folder):
    facts = json.loads((folder / "machine.json").read_text())
    (folder / "machine.json").write_text(json.dumps({**facts, "host": "elsewhere"}))
    message = complaint(scaling("profile", "deepq", *SMALL, "-o", folder))
    assert "results of another machine:" in message
    assert "instead of 'elsewhere'" in message


def test_a_run_that_fails_is_kept_with_its_reason_and_made_again_where_torn_or_asked_for(tmp_path):
    (tmp_path / "mine.py").write_text("def build(setting):\n    raise MemoryError('too large')\n")
    folder = tmp_path / "results"
    command = ("profile", f"{tmp_path}/mine.py:build", "-o", folder)
    completed = scaling(*command)
    assert completed.returncode == 1
    assert "failed: MemoryError: too large (mine.py line 2)" in completed.stderr
    (folder / "traces.jsonl").write_bytes(lines(folder)[:-30])
    torn = scaling(*command)
    assert "incomplete last line" in torn.stderr
    assert len(list(read_traced_rows(folder))) == 1
    again = scaling(*command, "--retry-failed")
    assert mentions(again.stderr, "1 failed run set aside in … to be repeated")


def test_an_interrupted_profile_keeps_whole_lines_and_says_how_to_go_on(tmp_path):
    (tmp_path / "mine.py").write_text("def build(setting):\n    raise MemoryError('too large')\n")
    folder = tmp_path / "results"
    command = [SCALING, "profile", f"{tmp_path}/mine.py:build", "--launches", "100", "-o", folder]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as profile:
        read_until(profile.stderr, "[1/100]")
        profile.send_signal(signal.SIGINT)
        message = profile.stderr.read()
    assert profile.returncode == 130
    stored = len(list(read_traced_rows(folder)))
    assert f"interrupted; {stored} of 100 runs are kept in {folder}; run the same command again to resume" in message


def test_what_is_printed_holds_to_its_schema():
    check("profile", printed("profile", EXAMPLES / "profiles-small"))
