import subprocess
from dataclasses import replace

import pytest

from tests.mutants import ROOT, Mutant, MutantError, Outcome, Result, changed, load, run, too_many_equivalent

EVERY = list(load(ROOT))
MODULE = "def least(values):\n    smallest = min(values)\n    return smallest\n"
TEST = "from module import least\n\n\ndef test_least():\n    assert least([2, 1]) == 1\n"
FAULT = Mutant("made-up", "module.py", "smallest = min(values)", "smallest = max(values)", "", ("test_module.py",))
# `sorted` finds the smallest as well.
SAME = replace(FAULT, replacement="smallest = sorted(values)[0]")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    (tmp_path / "test_module.py").write_text(TEST)
    (tmp_path / "test_wrong.py").write_text(TEST.replace("1])", "0])"))
    return tmp_path


def problem(mutant: Mutant) -> str | None:
    """Why a mutant cannot be run; None if it can."""
    if missing := [test for test in mutant.tests if not (ROOT / test.partition("::")[0]).exists()]:
        return f"there is no {missing[0]}"
    try:
        source = mutant.mutate((ROOT / mutant.module).read_text())
        if mutant.module.endswith(".py"):
            compile(source, mutant.module, "exec")
    except (MutantError, SyntaxError) as error:
        return str(error)
    return None


def test_every_mutant_applies_to_a_single_place_and_compiles():
    assert [found for mutant in EVERY if (found := problem(mutant))] == []


def test_every_mutant_has_a_reason_and_few_are_called_equivalent():
    assert all(mutant.reason for mutant in EVERY)
    assert len(set(EVERY)) == len(EVERY)
    assert not too_many_equivalent(EVERY)


def test_a_fault_that_a_test_notices_is_killed_and_another_survives(project):
    broken = replace(FAULT, tests=("test_wrong.py",))
    results = run(project, [FAULT, SAME, broken, replace(FAULT, line="no such line")])
    assert [one.outcome for one in results] == [
        *(Outcome.KILLED, Outcome.SURVIVED),
        *(Outcome.BROKEN, Outcome.BROKEN),
    ]
    assert (project / "module.py").read_text() == MODULE


@pytest.mark.parametrize(
    ("outcome", "equivalent", "is_problem"),
    [
        (Outcome.KILLED, None, False),
        (Outcome.KILLED, "so it says", True),
        (Outcome.SURVIVED, None, True),
        (Outcome.SURVIVED, "no other answer", False),
        (Outcome.BROKEN, None, True),
    ],
)
def test_a_survivor_must_be_called_equivalent_and_no_other(outcome, equivalent, is_problem):
    assert (Result(replace(FAULT, equivalent=equivalent), outcome).problem is not None) is is_problem


def test_the_fault_has_the_indentation_of_its_line():
    several = replace(FAULT, line="smallest = min(values)\nreturn smallest", replacement="if values:\n    return 0")
    assert several.mutate(MODULE) == "def least(values):\n    if values:\n        return 0\n"


@pytest.mark.parametrize(
    ("line", "replacement"), [("return smallest", "return smallest"), ("least", "most"), ("values", "value")]
)
def test_a_fault_that_changes_nothing_or_has_no_whole_line_is_refused(line, replacement):
    with pytest.raises(MutantError):
        replace(FAULT, line=line, replacement=replacement).mutate(MODULE)


def test_mutants_are_chosen_by_what_differs_from_main(project):
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=project, check=True)

    def entry(line: str, tests: str) -> str:
        return (
            f'[[mutant]]\nmodule = "module.py"\nline = "{line}"\nreplacement = ""\nreason = ""\ntests = ["{tests}"]\n'
        )

    catalogue = project / "tests" / "mutants" / "made-up.toml"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_text(entry("kept", "test_wrong.py") + entry("touched", "test_module.py::test_least"))
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    assert changed(project, list(load(project))) == list(load(project))  # there is no commit before
    git("checkout", "-qb", "branch")
    catalogue.write_text(catalogue.read_text() + entry("new", "test_wrong.py"))
    git("commit", "-qam", "two")
    (project / "test_module.py").write_text(f"{TEST}\n")
    assert [one.line for one in changed(project, list(load(project)))] == ["touched", "new"]
