import json

from tests.scaling.cli.here import scaling


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
