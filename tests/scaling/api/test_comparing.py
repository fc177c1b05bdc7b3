import re
from platform import python_version

import pytest

from scaling.api.comparing import LAUNCHES, carry_out_comparison, prepare_comparison, variant_settings
from scaling.api.progress import Monitor
from scaling.errors import StoreError
from scaling.results.store import read_rows
from tests.mentions import mentions
from tests.runs import virtual_environment

TINY = ("cores=1", "rounds=1", "turn_seconds=1e-5", "workloads=calibrated work=0.02")


@pytest.mark.parametrize(
    ("text", "setting"),
    [("intra=2", "intra=2"), ("command: ./new -n={cores}", 'workloads=["command: ./new -n={cores}"]')],
)
def test_a_variant_is_a_setting_or_a_program(text, setting):
    assert variant_settings(text)[0] == setting


def test_a_program_takes_the_place_of_the_programs_of_the_study(tmp_path):
    (tmp_path / "own.toml").write_text('cores = 1\n[[programs]]\nname = "own"\ncommand = "true"\n')
    job = prepare_comparison(tmp_path / "own.toml", ("command: true a", "command: true b"), tmp_path / "out")
    assert [{point.workload for point in one.points} for one in job.jobs] == [{"command: true a"}, {"command: true b"}]


def test_both_get_as_many_launches_as_can_show_a_difference_unless_a_number_is_given(tmp_path):
    job = prepare_comparison("quick", ("intra=1", "intra=2"), tmp_path, TINY)
    assert [one.study.launches for one in job.jobs] == [LAUNCHES, LAUNCHES]
    job = prepare_comparison("quick", ("intra=1", "intra=2"), tmp_path, (*TINY, "launches=2"))
    assert [one.study.launches for one in job.jobs] == [2, 2]


def test_variants_of_a_study_apart_take_turns(tmp_path):
    (tmp_path / "apart.toml").write_text('workloads = "calibrated"\ncores = 1\ndesign = "apart"\nlaunches = 2\n')
    job = prepare_comparison(tmp_path / "apart.toml", ("intra=1", "intra=2"), tmp_path / "out")
    assert [(one.study.design, one.study.launches) for one in job.jobs] == [("turns", LAUNCHES)] * 2


@pytest.mark.parametrize("full", [False, True])
def test_rows_of_both_have_the_users_variables_only_in_full(tmp_path, full, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    job = prepare_comparison("quick", ("seed=1", "seed=1"), tmp_path / "out", (*TINY, "launches=1"), full=full)
    carry_out_comparison(job, None, True, Monitor())
    rows = [row for one in job.jobs for row in read_rows(one.folder)]
    assert [("HOME" in dict(row.environment), "HOME" in row.left_out) for row in rows] == [(full, not full)] * 2


def test_rows_of_both_share_cohorts_and_the_same_again_makes_none(tmp_path):
    job = prepare_comparison("quick", ("intra=1", "intra=2"), tmp_path, (*TINY, "launches=1"))
    (difference,) = carry_out_comparison(job, None, True, Monitor()).differences
    assert (difference.pairs, difference.first.point.intra, difference.second.point.intra) == (1, 1, 2)
    rows = [list(read_rows(one.folder)) for one in job.jobs]
    assert [len(side) for side in rows] == [1, 1]
    assert rows[0][0].run.cohort == rows[1][0].run.cohort
    notes = []
    monitor = Monitor()
    monitor.note = notes.append
    carry_out_comparison(job, None, True, monitor)
    (note,) = notes
    assert mentions(note, "all 2 runs … 2")


def test_each_program_is_run_with_its_secrets_and_stored_without(tmp_path):
    programs = [
        f"command: python3 -c 'import sys; sys.exit(len(sys.argv[1]) != 12)' --token={value}"
        for value in ("abcd", "efgh")
    ]
    same_but_for_space = (programs[0], programs[1].replace(" --token", "  --token"))
    job = prepare_comparison("quick", same_but_for_space, tmp_path, (*TINY[:3], "launches=1"))
    carry_out_comparison(job, None, True, Monitor())
    rows = [row for one in job.jobs for row in read_rows(one.folder)]
    assert [(row.outcome.status, "--token=***" in row.run.point.workload) for row in rows] == [("ok", True)] * 2


def test_two_virtual_environments_are_measured_each_by_its_interpreter(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    one, other = (virtual_environment(tmp_path / name) for name in ("old", "new"))
    variants = (f"python={one}", f"python={other / 'bin' / 'python'}")
    job = prepare_comparison("quick", variants, tmp_path / "out", (*TINY, "launches=1", "start=spawn"))
    (difference,) = carry_out_comparison(job, None, True, Monitor()).differences
    assert difference.pairs == 1
    rows = [row for side in job.jobs for row in read_rows(side.folder)]
    assert [row.outcome.reason for row in rows] == [None, None]
    assert [dict(row.versions)["interpreter"] for row in rows] == ["~/old/bin/python", "~/new/bin/python"]
    assert [dict(row.versions)["python"] for row in rows] == [python_version()] * 2


def test_a_budget_says_what_it_has_bought(tmp_path):
    unreachable = "precision=1e-9"
    job = prepare_comparison("quick", ("seed=1", "seed=1"), tmp_path, (*TINY, "launches=1", unreachable), "1s")
    notes = []
    monitor = Monitor()
    monitor.note = notes.append
    carry_out_comparison(job, None, True, monitor)
    runs = sum(len(list(read_rows(side.folder))) for side in job.jobs)
    assert re.match(rf"{runs} runs; .*: 0 of 1 ratio is known", notes[-1])


def test_a_folder_of_other_variants_is_refused(tmp_path):
    settings = (*TINY, "launches=1")
    carry_out_comparison(prepare_comparison("quick", ("seed=1", "seed=1"), tmp_path, settings), None, True, Monitor())
    other = prepare_comparison("quick", ("seed=2", "seed=2"), tmp_path, settings)
    with pytest.raises(StoreError, match="holds another study"):
        carry_out_comparison(other, None, True, Monitor())
