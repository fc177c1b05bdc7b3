import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.shared.machines import first_run, row
from scaling.results.rows import Sections, row_to_json
from tests.mentions import mentions
from tests.scaling.cli.folders import folder_of, swept_rows
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import scaling as program

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


def test_the_table_has_intervals_and_one_verdict_per_line(tmp_path):
    completed = program("show", folder_of(tmp_path / "a", swept_rows()))
    answer, _, table = completed.stdout.partition("\n\n")
    header, *lines = table.splitlines()
    assert mentions(answer, "train 4 cores, … measured: 3.")
    assert header.split()[-2:] == ["launches", "verdict"]
    assert all(line.endswith("ok") for line in lines)


def test_at_most_five_notes_follow_and_all_with_verbose(tmp_path):
    names = [f"calibrated serial=0.{digit}" for digit in range(1, 9)]
    rows = [
        replace(one, run=replace(one.run, point=replace(one.run.point, workload=name)))
        for name in names
        for one in swept_rows(serial=0.2)
    ]
    folder = folder_of(tmp_path / "a", rows)
    *notes, more = scaling("show", folder).stderr.splitlines()
    every = scaling("show", folder, "-v").stderr.splitlines()
    assert (len(notes), every[:5]) == (5, notes)
    assert more == f"scaling: {len(every) - 5} more notes with -v"


HAND_MADE = {
    "a single launch": ([row()], "its usable launches are too few: 1"),
    "one step": (
        [row(replace(first_run(), launch=n), (0.1 * n,)) for n in (1, 2, 3)],
        "too few steady steps in a launch: 1",
    ),
    "equal values": (
        [row(replace(first_run(), launch=n)) for n in (1, 2, 3)],
        "exactly the same time, to the last digit",
    ),
    "nothing but failures": ([row(status="failed", reason="it broke", step_seconds=())], "failed: it broke"),
    "no step at all": ([row(step_seconds=())], "no step was measured"),
}


def test_a_curve_of_failures_only_is_refused_with_the_way_to_their_reasons(tmp_path):
    folder = folder_of(tmp_path / "a", HAND_MADE["nothing but failures"][0])
    refused = scaling("fit", folder)
    assert (refused.returncode, "the verdicts of `scaling show` say why" in refused.stderr) == (2, True)


@pytest.mark.parametrize("name", HAND_MADE)
def test_rows_with_little_information_get_a_sentence_and_no_certainty(tmp_path, name):
    rows, sentence = HAND_MADE[name]
    folder = folder_of(tmp_path / "a", rows)
    completed = scaling("show", folder, "-v")
    assert completed.returncode == 0
    assert sentence in completed.stdout + completed.stderr
    assert "Traceback" not in completed.stderr
    for point in shown(folder):
        assert point["verdict_code"] != "ok"
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
    assert "line 2 is" in completed.stderr


def test_points_are_chosen_by_their_settings(tmp_path):
    folder = folder_of(tmp_path / "a", swept_rows())
    chosen = json.loads(scaling("show", folder, "--where", "cores<=2,smt=1", "--json").stdout)["points"]
    assert [point["cores"] for point in chosen] == [1, 2]
    assert mentions(scaling("fit", folder, "--where", "workload=vgg").stderr, "--where matches … 3 points")
    assert "name it with -o" in scaling("report", folder, "--where", "cores<=2").stderr


def test_one_table_is_shown_at_a_time(tmp_path):
    asked = scaling("show", tmp_path, "--quantiles", "--why")
    assert "--why and --quantiles are" in asked.stderr


def test_an_empty_folder_is_a_sentence(tmp_path):
    completed = program("show", folder_of(tmp_path / "a", []))
    assert (completed.returncode, completed.stderr.count("\n")) == (2, 1)
    assert "no rows in" in completed.stderr


def test_rows_that_are_there_twice_and_machines_that_are_not_alike_are_named(tmp_path):
    rows = swept_rows()
    other = replace(rows[0].machine, host="other", cpu_model="Gustafson 1", fingerprint="f" * 16)
    joined = [*rows, rows[0], rows[1], replace(rows[0], machine=other, started_at="2027-01-01T00:00:00+00:00")]
    folder = folder_of(tmp_path / "joined", joined)
    notes = scaling("show", folder).stderr
    assert "2 repeated rows left out" in notes
    assert (
        f"rows from different machines: {len(rows)} runs on pretend (Amdahl 470), 1 run on other (Gustafson 1)" in notes
    )
    assert notes.splitlines()[:2] == scaling("fit", folder).stderr.splitlines()[:2]


def test_a_file_of_another_tool_has_points_whose_unknown_settings_are_null():
    points = json.loads(scaling("show", DATA / "pyperf.json", "--json").stdout)["points"]
    assert [(point["workload"], point["cores"], point["launches"]) for point in points] == [
        ("naps", cores, 5) for cores in (1, 2, 4)
    ]
    assert {points[0][name] for name in ("size", "placement", "framework", "host")} == {None}


def test_every_run_of_another_tool_counts_and_none_is_called_slow(tmp_path):
    (tmp_path / "t.csv").write_text("cores,seconds\n" + "".join(f"{n},{t / n}\n" for n in (1, 2) for t in (1, 1.01, 2)))
    completed = scaling("show", tmp_path / "t.csv")
    assert [line.split("  ")[-2].strip() for line in completed.stdout.splitlines()[-2:]] == ["3", "3"]
    assert "run counts and none" in completed.stderr


def test_stdin_is_read_where_a_dash_stands_for_the_file():
    completed = program("show", "-", "--cores-from", "threads", input=(DATA / "hyperfine.json").read_text())
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.partition("\n\n")[2].count("xargs -P {cores}") == 6
    table = program("fit", "-", "--column", "seconds=s", "--cores-from", "n", input="n,s\n1,4\n2,2.2\n4,1.3\n8,0.9\n")
    assert table.stdout.splitlines()[1].startswith("- ")


def test_a_series_of_one_core_count_is_shown_beside_others(tmp_path):
    (tmp_path / "t.csv").write_text("series,cores,seconds\na,1,4\na,1,4.1\na,2,2.1\na,2,2.2\nb,4,3\nb,4,3.1\n")
    completed = scaling("show", tmp_path / "t.csv")
    assert completed.returncode == 0, completed.stderr
    assert "b was measured on 4 cores only; to size it, measure other counts too\n" in completed.stdout
    assert [line.split()[:2] for line in completed.stdout.splitlines()[-3:]] == [["a", "1"], ["a", "2"], ["b", "4"]]
    assert "series 'b'" not in completed.stderr
    assert "series 'b' was measured at one core count only (4)" in scaling("fit", tmp_path / "t.csv").stderr


def test_counts_that_are_not_whole_have_laws_but_no_points(tmp_path):
    (tmp_path / "t.csv").write_text("cores,seconds\n1,4\n1.5,3\n3,2\n")
    assert scaling("fit", tmp_path / "t.csv").returncode == 0
    refused = scaling("show", tmp_path / "t.csv")
    assert refused.returncode == 2
    assert "series 't' has 1.5 cores," in refused.stderr


def test_options_for_other_tools_are_refused_for_results_of_ours(tmp_path):
    refused = scaling("show", folder_of(tmp_path / "a", swept_rows()), "--cores-from", "threads")
    assert refused.returncode == 2
    assert "has core counts; leave out --cores-from\n" in refused.stderr


def test_what_efficiency_is_lost_to_is_a_sentence_per_series_and_a_table_of_points(tmp_path):
    # The pretend rows all have the same CPU time, as those of a program that waits for a serial part.
    folder = folder_of(tmp_path / "a", swept_rows(serial=0.2))
    sentence = "scaling: calibrated train: at 4 cores 37 % is lost to idle or waiting cores"
    assert sentence in scaling("show", folder).stderr.splitlines()
    completed = scaling("show", folder, "--why")
    header, one, *_ = completed.stdout.splitlines()
    assert header.split()[-3:] == ["peak", "memory", "verdict"]
    assert one.split()[:4] == ["calibrated", "1", "100.0", "%"]
    assert "instructions, IPC and clock" in completed.stderr


def test_the_parts_of_a_loss_are_in_the_facts_with_their_intervals(tmp_path):
    one, _, four = shown(folder_of(tmp_path / "a", swept_rows(serial=0.2)))
    parts = four["decomposition"]
    lost = parts["idle"]["value"] + parts["computation"]["value"]
    assert lost == pytest.approx(1 - four["efficiency"])
    assert parts["idle"]["low"] < parts["idle"]["value"] < parts["idle"]["high"]
    assert parts["counters"] is None
    assert one["decomposition"]["idle"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert four["peak_memory_bytes"] is None


def test_what_a_program_loses_that_times_a_part_of_itself_is_not_available(tmp_path):
    def as_program(row):
        seconds = sum(row.outcome.step_seconds)
        return replace(
            row,
            outcome=replace(row.outcome, ended_by="executions", sections=Sections(run=1.0 + seconds)),
            witness=replace(row.witness, process_seconds=1.0 + seconds),
        )

    folder = folder_of(tmp_path / "a", map(as_program, swept_rows(serial=0.2)))
    reason = "the program reports its own time, and its CPU time is known for the whole process only"
    sentence = f"efficiency losses are not available: {reason}"
    assert sentence not in scaling("show", folder).stderr
    why = scaling("show", folder, "--why")
    assert why.stdout.count("not available") == 2 * 3
    assert why.stderr.splitlines() == [f"scaling: {sentence}"]
    assert {(point["decomposition"], point["not_decomposed"]) for point in shown(folder)} == {(None, reason)}
    assert sentence in scaling("plot", folder, "losses").stderr


def test_sections_are_refused_where_no_run_was_a_process_by_itself(tmp_path):
    rows = [replace(one, run=replace(one.run, start="fork")) for one in swept_rows()]
    completed = scaling("show", folder_of(tmp_path / "results", rows), "--sections")
    assert completed.returncode == 2
    assert "INIT and WALL" in completed.stderr


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
