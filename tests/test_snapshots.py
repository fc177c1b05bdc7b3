"""What every command prints is what its snapshot has; `python -m tests.snapshots` writes them anew."""

import pytest

from tests.snapshots.cases import files, read_cases
from tests.snapshots.session import Session

CASES = [pytest.param(case, id=f"{path.stem}: {case.command}") for path in files() for case in read_cases(path)]


@pytest.fixture(scope="module")
def session():
    with Session() as opened:
        yield opened


@pytest.mark.parametrize("case", CASES)
def test_a_command_prints_what_its_snapshot_has(case, session):
    assert session.output(case.command) == case.output


def test_no_case_is_there_twice():
    commands = [case.command for path in files() for case in read_cases(path)]
    assert len(commands) == len(set(commands))
