import json
from pathlib import Path

import pytest

from benchmarks.shared.machines import row
from scaling.results.rows import row_to_json
from tests.scaling.cli.folders import folder_of, swept_rows
from tests.scaling.cli.here import scaling

DATA = Path(__file__).parents[2] / "data" / "other_tools"


def shown(folder: Path) -> list[dict[str, object]]:
    completed = scaling("show", folder, "--json")
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)["points"]


def test_every_figure_comes_with_its_interval_and_verdict(tmp_path):
    one, two, four = shown(folder_of(tmp_path / "a", swept_rows()))
    assert four["speedup_low"] < four["speedup"] < four["speedup_high"]
    assert four["speedup"] == pytest.approx(1 / (0.1 + 0.9 / 4), rel=0.01)
    assert four["efficiency_low"] < four["speedup"] / 4 < four["efficiency_high"]
    assert four["karp_flatt"] == pytest.approx(0.1, abs=0.005)
    assert [point["verdict_code"] for point in (one, two, four)] == ["ok"] * 3
    assert (four["host"]["turns"], four["host"]["quiet_share"]) == (5, 1.0)
    assert four["reasons"] == []


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
    assert "line 2 is" in completed.stderr


def test_a_file_of_another_tool_has_points_whose_unknown_settings_are_null():
    points = json.loads(scaling("show", DATA / "pyperf.json", "--json").stdout)["points"]
    assert [(point["workload"], point["cores"], point["launches"]) for point in points] == [
        ("naps", cores, 5) for cores in (1, 2, 4)
    ]
    assert {points[0][name] for name in ("size", "placement", "framework", "host")} == {None}


def test_the_parts_of_a_loss_are_in_the_facts_with_their_intervals(tmp_path):
    one, _, four = shown(folder_of(tmp_path / "a", swept_rows(serial=0.2)))
    parts = four["decomposition"]
    lost = parts["idle"]["value"] + parts["computation"]["value"]
    assert lost == pytest.approx(1 - four["efficiency"])
    assert parts["idle"]["low"] < parts["idle"]["value"] < parts["idle"]["high"]
    assert parts["counters"] is None
    assert one["decomposition"]["idle"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert four["peak_memory_bytes"] is None


def test_quantiles_of_steps_are_shown_where_launches_have_enough_of_them(tmp_path):
    folder = folder_of(tmp_path / "results", swept_rows())
    completed = scaling("show", folder, "--quantiles")
    header, first, *_ = completed.stdout.splitlines()
    assert " ".join(header.split()) == "workload cores step median p95 p99 sd CV steps per launch"
    assert first.split()[-1] == "20"
    (point, *_) = json.loads(scaling("show", folder, "--json").stdout)["points"]
    assert point["step_seconds_p95_low"] < point["step_seconds_p95"] < point["step_seconds_p95_high"]
    assert (point["step_seconds_p50"], point["step_seconds_p99"]) == (pytest.approx(1.0, rel=0.01), None)
    assert (
        point["step_seconds_p5"] <= point["step_seconds_p25"] <= point["step_seconds_p75"] <= point["step_seconds_p95"]
    )
    assert (point["step_seconds_sd"], point["step_cv"]) == pytest.approx((0.0, 0.0), abs=1e-9)
