import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from scaling.results.rows import Row, row_to_json
from scaling.study.planning import plan
from tests.pretend import AmdahlMachine, first_run, machine, row, study
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import scaling as program


def folder_of(path: Path, rows: Iterable[Row | str]) -> Path:
    path.mkdir()
    lines = (each if isinstance(each, str) else row_to_json(each) for each in rows)
    (path / "rows.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return path


def swept(serial: float = 0.1, one_core_seconds: float = 1.0, seed: int = 1) -> list[Row]:
    """A whole study on a pretend machine."""
    runs = plan(study("cores = [1, 2, 4]", seed=str(seed)), machine(4)).runs
    return list(AmdahlMachine(serial, one_core_seconds).execute(runs))


def shown(folder: Path) -> list[dict[str, object]]:
    completed = scaling("show", folder, "--json")
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)["points"]


def test_every_figure_comes_with_its_interval_and_verdict(tmp_path):
    one, two, four = shown(folder_of(tmp_path / "a", swept()))
    assert four["speedup_low"] < four["speedup"] < four["speedup_high"]
    assert four["speedup"] == pytest.approx(1 / (0.1 + 0.9 / 4), rel=0.01)
    assert four["efficiency_low"] < four["speedup"] / 4 < four["efficiency_high"]
    assert four["karp_flatt"] == pytest.approx(0.1, abs=0.005)
    assert (one["valid"], two["valid"], four["valid"]) == (True, True, True)
    assert four["reasons"] == []


def test_the_table_has_intervals_and_one_verdict_per_line(tmp_path):
    completed = program("show", folder_of(tmp_path / "a", swept()))
    header, *lines = completed.stdout.splitlines()
    assert header.split()[-2:] == ["launches", "verdict"]
    assert all(line.endswith("valid") for line in lines)
    assert completed.stderr == ""


HAND_MADE = {
    "a single launch": ([row()], "only 1 launches count"),
    "one step": (
        [row(replace(first_run(), launch=n), (0.1 * n,)) for n in (1, 2, 3)],
        "too few steady steps in a launch: 1",
    ),
    "equal values": ([row(replace(first_run(), launch=n)) for n in (1, 2, 3)], "equal to the last digit"),
    "nothing but failures": ([row(status="failed", reason="it broke", step_seconds=())], "failed: it broke"),
    "no step at all": ([row(step_seconds=())], "no step was measured"),
}


@pytest.mark.parametrize("name", HAND_MADE)
def test_rows_with_little_information_get_a_sentence_and_no_certainty(tmp_path, name):
    rows, sentence = HAND_MADE[name]
    folder = folder_of(tmp_path / "a", rows)
    completed = scaling("show", folder)
    assert completed.returncode == 0
    assert sentence in completed.stdout + completed.stderr
    assert "Traceback" not in completed.stderr
    for point in shown(folder):
        assert not point["valid"]
        assert point["step_seconds_low"] is None or point["step_seconds_low"] < point["step_seconds_high"]


def spoiled(change: object) -> str:
    facts = json.loads(row_to_json(row()))
    change(facts)
    return json.dumps(facts)


BAD = {
    "a time of nothing": lambda facts: facts["outcome"].update(step_seconds=[0.0, 0.1]),
    "a negative time": lambda facts: facts["outcome"].update(step_seconds=[-0.1]),
    "not a number": lambda facts: facts["outcome"].update(step_seconds=[float("nan")]),
    "no core": lambda facts: facts["run"].update(cores=0),
    "no CPU": lambda facts: facts["run"].update(cpus=[]),
    "text for a number": lambda facts: facts["outcome"].update(warmup_steps="many"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_impossible_row_is_refused_with_its_line(tmp_path, name):
    completed = scaling("show", folder_of(tmp_path / "a", [row(), spoiled(BAD[name]), row()]))
    assert completed.returncode == 2
    assert completed.stderr.count("\n") == 1
    assert "line 2 is not a row" in completed.stderr


def test_an_empty_folder_is_a_sentence(tmp_path):
    completed = program("show", folder_of(tmp_path / "a", []))
    assert (completed.returncode, completed.stderr.count("\n")) == (2, 1)
    assert "no rows in" in completed.stderr


def test_the_same_program_twice_shows_no_difference(tmp_path):
    completed = scaling("compare", folder_of(tmp_path / "a", swept()), folder_of(tmp_path / "b", swept(seed=2)))
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert completed.stdout.startswith("no difference shown in 3 points\n")


def test_a_slower_program_is_reported_with_status_one(tmp_path):
    a, b = folder_of(tmp_path / "a", swept()), folder_of(tmp_path / "b", swept(one_core_seconds=1.02, seed=2))
    completed = program("compare", a, b)
    assert completed.returncode == 1
    assert completed.stdout.startswith("3 of 3 points differ; the most: calibrated train, ")
    assert "slower" in completed.stdout
    facts = json.loads(scaling("compare", a, b, "--json").stdout)
    assert facts["differs"]
    assert all(point["ratio_low"] < 1.02 < point["ratio_high"] for point in facts["points"])


def test_unlike_machines_are_compared_only_when_asked_for(tmp_path):
    elsewhere = [
        replace(each, machine=replace(each.machine, fingerprint="f" * 16, cpu_model="Other")) for each in swept(seed=2)
    ]
    a, b = folder_of(tmp_path / "a", swept()), folder_of(tmp_path / "b", elsewhere)
    refused = scaling("compare", a, b)
    assert refused.returncode == 2
    assert "Amdahl 470" in refused.stderr
    assert "--across-machines" in refused.stderr
    assert scaling("compare", a, b, "--across-machines").returncode == 0


def test_results_without_a_point_in_common_are_a_sentence(tmp_path):
    other = list(AmdahlMachine().execute(plan(study("cores = 1\nitems = 7"), machine(4)).runs))
    completed = scaling("compare", folder_of(tmp_path / "a", swept()), folder_of(tmp_path / "b", other))
    assert completed.returncode == 2
    assert "no measured point in common" in completed.stderr
