import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scaling.analysis import rules
from scaling.results.rows import Outcome, launch_of
from scaling.study.programs import Program
from scaling.workloads.command import ProgramError, number
from tests.runs import row_of, rows_of


def python(code: str) -> str:
    return f"command: '{sys.executable}' -c \"{code}\""


def outcome_of(code: str, **keys: Any) -> Outcome:
    return row_of(Program(name="prog", command=(sys.executable, "-c", code), **keys)).outcome


def test_a_program_is_started_once_per_launch(tmp_path):
    log = tmp_path / "log"
    row = row_of(python(f"open('{log}', 'a').write('x')"))
    assert (row.outcome.status, row.outcome.ended_by, len(row.outcome.step_seconds)) == ("ok", "executions", 1)
    assert log.read_text() == "x"
    assert rules.FEW_STEPS not in {doubt.rule for doubt in launch_of(row).doubts}


def test_one_process_is_one_step():
    row = row_of(python("pass"))
    assert row.outcome.status == "ok"
    assert all(0 < seconds < 60 for seconds in row.outcome.step_seconds)
    assert row.witness.cpu_seconds > 0
    assert row.witness.cpus_visited == str(row.run.flat_cpus[0])


def test_a_program_may_tell_its_own_step_times():
    outcome = row_of(python("[print('step_seconds: 0.25') for _ in range(5)]")).outcome
    assert outcome.step_seconds == (0.25,) * 5


def test_a_program_runs_on_the_cpus_of_the_run(tmp_path):
    mask_file = tmp_path / "mask"
    code = f"import os; open('{mask_file}', 'w').write(str(sorted(os.sched_getaffinity(0))))"
    row = row_of(python(code))
    assert mask_file.read_text() == str(sorted(row.run.flat_cpus))


@pytest.mark.parametrize(
    ("code", "reason"),
    [("raise SystemExit(3)", "exited with status 3"), ("import os; os.kill(os.getpid(), 9)", "was killed by signal 9")],
)
def test_a_program_that_fails_is_a_row_with_a_reason(code, reason):
    outcome = row_of(python(code)).outcome
    assert outcome.status == "failed"
    assert reason in outcome.reason


def test_what_a_failing_program_said_is_kept():
    outcome = row_of(python("import sys; print('why', file=sys.stderr); sys.exit(1)")).outcome
    assert "why" in outcome.stderr_tail


def test_items_are_the_users_to_say():
    assert row_of(python("pass"), items=32).outcome.items_per_step == 32


@pytest.mark.parametrize(("scale", "items"), [("strong", 100_000), ("weak", 200_000)])
def test_a_program_is_told_the_items_that_count_which_grow_with_the_cores(scale, items, tmp_path):
    log = tmp_path / "log"
    program = Program(name="prog", command=("sh", "-c", f"echo {{items}} > {log}"), items=100_000)
    outcome = row_of(program, scale=scale, cores=2).outcome
    assert (int(log.read_text()), outcome.items_per_step) == (items, items)


def test_what_prepares_a_program_and_its_warm_up_do_not_count(tmp_path):
    log = tmp_path / "log"
    hooks = {hook: f"sh -c 'echo {hook} >> \"{log}\"'" for hook in ("setup", "prepare", "cleanup")}
    outcome = outcome_of(f"open('{log}', 'a').write('run\\n')", **hooks, warmup=1, steps=2)
    assert len(outcome.step_seconds) == 2
    assert log.read_text().split() == ["setup", *["prepare", "run"] * 3, "cleanup"]


@pytest.mark.parametrize("warmup", [0, 1])
def test_a_launch_that_fails_is_cleaned_up_too_and_says_why_it_failed(tmp_path, warmup):
    cleanup = f"sh -c 'echo cleanup >> \"{tmp_path}/log\"; exit 7'"
    outcome = outcome_of("raise SystemExit(3)", cleanup=cleanup, warmup=warmup)
    assert outcome.reason.endswith("exited with status 3")
    assert (tmp_path / "log").read_text().split() == ["cleanup"]


def test_variables_folder_and_input_are_the_programs_own(tmp_path):
    (tmp_path / "in").write_text("7")
    seen = "(os.environ['X'], os.environ['OMP_NUM_THREADS'], os.getcwd(), sys.stdin.read())"
    code = f"import os, sys; sys.exit({seen} != ('a b', '1', '{tmp_path}', '7'))"
    outcome = outcome_of(code, env={"X": "a b"}, cwd=str(tmp_path), stdin=str(tmp_path / "in"))
    assert outcome.status == "ok", outcome.reason


def test_a_program_of_fixed_time_is_judged_by_what_it_achieves():
    outcome = outcome_of("print('rate: 1,250.0 per s')", throughput="rate: ([0-9.,]+)")
    assert (outcome.step_seconds, outcome.items_per_step) == ((1 / 1250,), 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234", 1234), ("12,345,678.9", 12345678.9), ("-1,000", -1000), ("0.123", 0.123), ("1e3", 1000), (" 7 ", 7)],
)
def test_commas_separate_thousands(text, value):
    assert number(text.encode()) == value


@pytest.mark.parametrize(
    "text", ["0,5", "0,123", "1,5", "1,23", "1,2345", "1234,567", "1,234,56", "1,234.5,6", "5,", ","]
)
def test_another_comma_is_refused_with_a_remedy(text):
    with pytest.raises(ProgramError, match=f"^'{text}' in its output has a comma .* print a point for decimals"):
        number(text.encode())


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "", "one"])
def test_what_is_no_finite_number_is_refused(text):
    with pytest.raises(ProgramError, match=f"^'{text}' in its output is not a number; correct the pattern$"):
        number(text.encode())


@pytest.mark.parametrize("found", ["0", "-2", "0.0"])
@pytest.mark.parametrize("name", ["throughput", "seconds", "items"])
def test_a_figure_that_is_not_above_zero_is_refused_in_a_sentence(name, found):
    outcome = outcome_of(f"print('figure: {found}')", **{name: r"figure: (\S+)"})
    assert outcome.status == "failed"
    assert outcome.reason.startswith(f"the pattern of {name} found {float(found):g} in the output, but only ")
    assert "Traceback" not in outcome.stderr_tail


def test_items_that_are_not_whole_are_refused_in_a_sentence():
    outcome = outcome_of("print('2.5 files')", items=r"(\S+) files")
    assert outcome.reason.startswith("the pattern of items found 2.5 in the output, but only whole numbers above 0")


def test_seconds_and_items_are_found_in_either_stream():
    outcome = outcome_of(
        "import sys; print('12 files', file=sys.stderr); print('took 0.5 s')",
        seconds="took ([0-9.]+)",
        items="([0-9]+) files",
    )
    assert (outcome.step_seconds, outcome.items_per_step) == ((0.5,), 12)


@pytest.mark.parametrize(
    ("said", "how", "whole"),
    [
        ("", {}, True),
        ("", {"steps": 3}, True),
        ("took 0.5 s", {"seconds": "took ([0-9.]+)"}, False),
        ("rate: 0.01", {"throughput": "rate: ([0-9.]+)"}, False),
        ("step_seconds: 0.001", {}, False),
    ],
    ids=["process", "processes", "seconds", "throughput", "steps"],
)
def test_cpu_time_per_second_is_known_where_the_whole_process_was_timed(said, how, whole):
    row = row_of(Program(name="prog", command=(sys.executable, "-c", f"print({said!r})"), **how))
    launch = launch_of(row)
    assert (launch.whole_process, launch.cpus_busy is not None) == (whole, whole)
    assert row.witness.cpu_seconds > 0


def test_output_without_what_is_searched_for_is_a_failure_that_says_so():
    outcome = outcome_of("print('nothing')", throughput="rate: ([0-9.]+)")
    assert outcome.status == "failed"
    assert "'rate: ([0-9.]+)'" in outcome.reason


def test_a_failure_may_be_ignored_and_a_shell_asked_for():
    assert outcome_of("raise SystemExit(3)", ignore_failure=True).status == "ok"
    line = "test {threads} = 1 && echo step_seconds: 0.5 | cat"
    assert row_of(Program(name="p", command=line, shell=True)).outcome.step_seconds == (0.5,)


def test_the_whole_family_of_a_program_is_seen():
    code = "import subprocess, time; c = [subprocess.Popen(['sleep', '1']) for _ in range(3)]; time.sleep(0.5)"
    witness = row_of(Program(name="p", command=(sys.executable, "-c", code))).witness
    assert witness.threads >= 4
    assert witness.max_rss_bytes > 0
    assert witness.busy_threads is None


LOUD = "import sys; open('{log}', 'a').write('x'); sys.stdout.write('line\\n' * 400_000)"


def test_output_without_figures_costs_the_program_no_time(tmp_path):
    program = Program(name="p", command=(sys.executable, "-c", LOUD.format(log=tmp_path / "log")))
    rows = rows_of(program, launches=2)
    assert {(row.witness.output, len(row.outcome.step_seconds)) for row in rows} == {("discarded", 1)}
    # The first launch has read what it printed, and so executed it once more.
    assert len((tmp_path / "log").read_text()) == len(rows) + 1


def test_output_that_is_searched_is_read_and_a_note_says_what_that_costs():
    code = LOUD.format(log="/dev/null") + "; print('took 0.001 s')"
    row = row_of(Program(name="p", command=(sys.executable, "-c", code), seconds="took ([0-9.]+)"))
    assert (row.witness.output, row.outcome.step_seconds) == ("read", (0.001,))
    assert row.witness.output_cpu_seconds > 0
    costly = replace(row, witness=replace(row.witness, output_cpu_seconds=0.021, process_seconds=1.0))
    cheap = replace(row, witness=replace(row.witness, output_cpu_seconds=0.019, process_seconds=1.0))
    assert [rules.OUTPUT_READ in {doubt.rule for doubt in launch_of(one).doubts} for one in (costly, cheap)] == [
        True,
        False,
    ]


def test_a_program_that_leaves_a_process_behind_ends_with_its_own_exit():
    row = row_of(Program(name="p", command=("sh", "-c", "sleep 600 & exit 0")), timeout_seconds=60)
    assert row.outcome.status == "ok"
    held = next(doubt for doubt in launch_of(row).doubts if doubt.rule is rules.OUTPUT_HELD)
    assert "(sleep)" in held.detail


def parents_of(line: str, log: Path, launches: int) -> tuple[list[str], list[str]]:
    """The status of each launch of a shell line, and the process that executed it."""
    program = Program(name="p", command=("sh", "-c", f"echo $PPID >> {log}; {line}"))
    rows = rows_of(program, launches=launches, design="turns")
    return [row.outcome.status for row in rows], log.read_text().split()


def test_a_process_executes_all_launches_of_a_program(tmp_path):
    statuses, parents = parents_of("true", tmp_path / "log", launches=3)
    assert statuses == ["ok"] * 3
    assert len(parents) == 3
    assert len({*parents}) == 1


def test_after_a_launch_that_fails_another_process_executes_the_program(tmp_path):
    log = tmp_path / "log"
    statuses, parents = parents_of(f"test $(wc -l < {log}) -ne 2", log, launches=3)
    assert statuses == ["ok", "failed", "ok"]
    assert parents[0] == parents[1] != parents[2]
