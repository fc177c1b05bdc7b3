import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.results.rows import Outcome
from scaling.study.planning import plan
from tests.mentions import mentions
from tests.scaling.cli.folders import folder_of, swept_rows
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import scaling as program

DATA = Path(__file__).parents[2] / "data" / "other_tools"


def test_the_same_program_twice_shows_no_difference(tmp_path):
    completed = scaling(
        "compare", folder_of(tmp_path / "a", swept_rows()), folder_of(tmp_path / "b", swept_rows(seed=2))
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert mentions(completed.stdout, "no difference … 3 points\n")


def test_a_slower_program_is_reported_with_status_one(tmp_path):
    a, b = folder_of(tmp_path / "a", swept_rows()), folder_of(tmp_path / "b", swept_rows(one_core_seconds=1.02, seed=2))
    completed = program("compare", a, b)
    assert completed.returncode == 1
    assert mentions(completed.stdout, "3 of 3 points differ; … calibrated train, ")
    assert "slower" in completed.stdout
    facts = json.loads(scaling("compare", a, b, "--json").stdout)
    assert facts["differs"]
    assert [point["ratio"] for point in facts["points"]] == pytest.approx([1.02] * 3, rel=0.01)


def test_unlike_machines_are_compared_only_when_asked_for(tmp_path):
    elsewhere = [
        replace(row, machine=replace(row.machine, fingerprint="f" * 16, cpu_model="Other"))
        for row in swept_rows(seed=2)
    ]
    a, b = folder_of(tmp_path / "a", swept_rows()), folder_of(tmp_path / "b", elsewhere)
    refused = scaling("compare", a, b)
    assert refused.returncode == 2
    assert "Amdahl 470" in refused.stderr
    assert "--across-machines" in refused.stderr
    assert scaling("compare", a, b, "--across-machines").returncode == 0


def test_results_without_a_point_in_common_are_a_sentence(tmp_path):
    other = list(AmdahlMachine().execute(plan(study("cores = 1\nitems = 7"), machine(4)).runs))
    completed = scaling("compare", folder_of(tmp_path / "a", swept_rows()), folder_of(tmp_path / "b", other))
    assert completed.returncode == 2
    assert "measured point in common" in completed.stderr


def test_two_programs_are_measured_in_turns_with_each_other(tmp_path):
    settings = ["--set", "cores=1", "--set", "rounds=1", "--set", "turn_seconds=0.01", "--set", "launches=6"]
    programs = ["command: sh -c 'echo step_seconds: 0.01$$'", "command: sh -c 'echo step_seconds: 0.02$$'"]
    completed = scaling("compare", "quick", "--between", *programs, "-o", tmp_path / "out", *settings)
    assert completed.returncode == 1, completed.stderr
    assert "1 of 1 point differ" in completed.stdout
    assert "6 pairs" in completed.stdout
    assert f"second is {programs[1]}, in {tmp_path / 'out' / 'B'}" in completed.stderr
    again = scaling("compare", tmp_path / "out" / "A", tmp_path / "out" / "B", "--json")
    (point,) = json.loads(again.stdout)["points"]
    assert (point["pairs"], point["verdict_code"]) == (6, "slower")
    assert point["second_point"]["workload"] == programs[1]


def test_a_version_that_crashes_fails_the_gate_and_the_reason_is_said(tmp_path):
    crashed = [
        row if row.run.point.cores < 4 else replace(row, outcome=Outcome("failed", "it crashed with signal 11"))
        for row in swept_rows(seed=2)
    ]
    a, b = folder_of(tmp_path / "a", swept_rows()), folder_of(tmp_path / "b", crashed)
    completed = scaling("compare", a, b, "--fail-above", "5%")
    assert completed.returncode == 1
    assert mentions(completed.stdout, "gate: failed: 1 point … it crashed with signal 11")
    (failed,) = json.loads(scaling("compare", a, b, "--json").stdout)["failed"]
    assert (failed["cores"], failed["failures"]) == (4, ["it crashed with signal 11"])


def test_three_launches_per_side_are_answered_with_how_many_it_takes(tmp_path):
    few = [[row for row in swept_rows(seed=seed) if row.run.launch <= 3] for seed in (1, 2)]
    completed = scaling("compare", folder_of(tmp_path / "a", few[0]), folder_of(tmp_path / "b", few[1]))
    assert completed.returncode == 0
    assert mentions(completed.stdout, "too few launches … 3 points\n")
    assert "least 4 launches" in completed.stderr


def test_one_folder_alone_is_answered_with_what_is_missing(tmp_path):
    completed = scaling("compare", folder_of(tmp_path / "a", swept_rows()))
    assert completed.returncode == 2
    assert "one study with --between" in completed.stderr


@pytest.mark.parametrize("option", [("--budget", "1m"), ("--full",), ("--again",), ("--set", "cores=1")])
def test_options_of_measuring_are_refused_where_nothing_is_measured(tmp_path, option):
    folder = folder_of(tmp_path / "a", swept_rows())
    completed = scaling("compare", folder, folder, *option)
    assert completed.returncode == 2
    assert f"{option[0]} would change nothing without --between A B; leave it out" in completed.stderr


def loaded(rows):
    """The same runs with a CPU taken by others all the while, three times as slow for it."""
    return [
        replace(
            row,
            witness=replace(row.witness, steal_seconds=10.0),
            outcome=replace(row.outcome, step_seconds=tuple(3.28 * step for step in row.outcome.step_seconds)),
        )
        for row in rows
    ]


def test_a_gate_has_a_status_of_its_own(tmp_path):
    before = folder_of(tmp_path / "before", swept_rows())
    slower = folder_of(tmp_path / "slower", swept_rows(one_core_seconds=1.1, seed=2))
    faster = folder_of(tmp_path / "faster", swept_rows(one_core_seconds=0.9, seed=2))
    busy = folder_of(tmp_path / "busy", loaded(swept_rows(seed=2)))
    gates = {
        after: program("compare", before, after, "--fail-above", margin)
        for after, margin in ((slower, "5%"), (faster, "0.05"), (busy, "5 %"))
    }
    assert [gate.returncode for gate in gates.values()] == [1, 0, 3]
    assert mentions(gates[slower].stdout, "gate: failed: … 5 % at 3 points; … calibrated train")
    assert mentions(gates[faster].stdout, "gate: passed: … 5 %;")
    assert gates[busy].stdout.startswith("none of 3 points")
    assert "gate: no answer" in gates[busy].stdout
    assert scaling("compare", before, slower, "--fail-above", "15%").returncode == 0


def test_a_disturbed_point_is_not_comparable_and_has_no_ratio(tmp_path):
    a, b = folder_of(tmp_path / "a", swept_rows()), folder_of(tmp_path / "b", loaded(swept_rows(seed=2)))
    completed = scaling("compare", a, b)
    assert completed.returncode == 0
    assert completed.stdout.count("not comparable") == 3
    assert "slower" not in completed.stdout
    assert mentions(completed.stderr, "1 core, compact: … few: 0")
    assert mentions(completed.stderr, "2 cores, compact: … CPUs")
    point = json.loads(scaling("compare", a, b, "--json").stdout)["points"][0]
    assert (point["verdict_code"], point["ratio"], point["point_verdict_codes"]) == (
        "not-comparable",
        None,
        ["ok", "disturbed"],
    )
    assert point["reason_codes"][0] == "too-few-launches"


@pytest.mark.parametrize("margin", ["much", "5", "-1%", "5%%", "nan"])
def test_a_margin_that_is_none_is_refused(tmp_path, margin):
    completed = scaling("compare", tmp_path, tmp_path, "--fail-above", margin)
    assert completed.returncode == 2
    assert f"--fail-above {margin}: write the tolerated slowdown as 5% or 0.05" in completed.stderr


def test_the_names_of_two_files_of_one_series_each_do_not_matter(csv):
    before = csv([(4, 3.20), (4, 3.21), (4, 3.22), (4, 3.25)], "seconds", "before")
    after = csv([(4, 3.60), (4, 3.61), (4, 3.62), (4, 3.65)], "seconds", "after")
    completed = scaling("compare", before, after, "--fail-above", "5%")
    assert completed.returncode == 1, completed.stderr
    assert completed.stdout.splitlines()[-1].split()[:2] == ["before", "4"]


def test_files_of_other_tools_are_compared_by_name_and_count():
    before, after = (DATA / f"hyperfine-{side}.json" for side in ("before", "after"))
    completed = scaling("compare", before, after, "--cores-from", "threads", "--fail-above", "5%")
    assert completed.returncode == 1
    assert "naps, 4 cores, 18.3 % (12.3 % to 23.9 %)" in completed.stdout
    assert completed.stderr.count("does not record CPUs") == 1
