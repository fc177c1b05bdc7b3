import sys

import pytest

from scaling.workloads.base import Setting
from scaling.workloads.command import build
from tests.runs import row_of

SETTING = Setting(mode="train", size="small", items=None, times=1, cores=4, smt=2, intra=0, inter=1, seed=1)


def python(code: str) -> str:
    return f'command: {sys.executable} -c "{code}"'


def test_places_are_filled_in_and_other_braces_are_left_alone():
    workload = build(SETTING, argv=["./a", "{cores}x{smt}", "-t={intra}", "{inter}", '{"json": 1}', "{{cores}}"])
    assert workload.argv == ["./a", "4x2", "-t=8", "1", '{"json": 1}', "{4}"]


def test_one_process_is_one_step():
    row = row_of(python("pass"))
    assert row.outcome.status == "ok"
    assert all(0 < seconds < 60 for seconds in row.outcome.step_seconds)
    assert row.witness.cpu_seconds > 0
    assert row.witness.cpus_visited == str(row.run.flat_cpus[0])


def test_a_program_may_tell_its_own_step_times():
    outcome = row_of(python("[print('step_seconds: 0.25') for _ in range(5)]")).outcome
    assert set(outcome.step_seconds) == {0.25}
    assert outcome.sections.first_step == 0.25


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
