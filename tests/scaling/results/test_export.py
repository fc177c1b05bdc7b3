import csv
import io
import json
import re
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pandas as pd
import pyperf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared.machines import AmdahlMachine, machine, row, study
from benchmarks.shared.packs import PackedMachine, pack_study
from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.series import selected_series
from scaling.analysis.summary import select_points, summarize
from scaling.analysis.turns import Turn
from scaling.errors import MissingExtraError, StoreError, to_install
from scaling.results.export import is_export, read_export, write_export
from scaling.results.other_tools import AS_IT_IS, read_table
from scaling.results.rows import SCHEMA, launch_of
from scaling.results.store import read_rows
from scaling.study.planning import plan

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
PARQUET = pytest.param("parquet", marks=pytest.mark.needs("pyarrow"))
ROWS = [row(run) for run in plan(study("smt = 2"), machine(2, smt=2)).runs]
ROWS.append(row(ROWS[0].run, status="failed", reason='said "no", twice', step_seconds=(), items_per_step=None))


@pytest.mark.parametrize("form", ["csv", PARQUET])
def test_every_run_is_a_line_with_its_settings_and_figures(tmp_path, form):
    path = tmp_path / f"rows.{form}"
    assert write_export(ROWS, form, path) == len(ROWS)
    frame = pd.read_csv(path) if form == "csv" else pd.read_parquet(path)
    assert list(frame["cores"]) == [row.run.point.cores for row in ROWS]
    assert list(frame["cpus"])[:1] == [",".join(map(str, ROWS[0].run.flat_cpus))]
    assert frame["median_seconds"].dropna().tolist() == [0.1] * (len(ROWS) - 1)
    assert frame["reason"].iloc[-1] == 'said "no", twice'


@pytest.mark.needs("pyarrow")
def test_raw_steps_survive_both_forms(tmp_path):
    write_export(ROWS, "csv", tmp_path / "rows.csv")
    write_export(ROWS, "parquet", tmp_path / "rows.parquet")
    assert json.loads(pd.read_csv(tmp_path / "rows.csv")["step_seconds"].iloc[0]) == [0.1, 0.1, 0.1]
    assert list(pd.read_parquet(tmp_path / "rows.parquet")["step_seconds"].iloc[0]) == [0.1, 0.1, 0.1]


@given(st.lists(st.floats(min_value=1e-300, allow_infinity=False) | st.floats(1e-5, 1e17), max_size=4))
def test_steps_are_written_as_the_json_of_python_has_them(steps):
    (line,) = csv.DictReader(_csv_of(row(step_seconds=tuple(steps))))
    assert line["step_seconds"] == json.dumps(steps)


def _csv_of(one):
    written = io.BytesIO()
    write_export([one], "csv", written)
    return io.StringIO(written.getvalue().decode(), newline="")


def test_a_column_that_only_later_rows_have_is_empty_before(tmp_path):
    later = replace(ROWS[1], versions=(*ROWS[1].versions, ("numpy", "2.0, patched")))
    write_export([ROWS[0], later, ROWS[0]], "csv", tmp_path / "rows.csv")
    assert pd.read_csv(tmp_path / "rows.csv")["version_numpy"].fillna("").tolist() == ["", "2.0, patched", ""]
    assert list(read_export(tmp_path / "rows.csv")) == [as_exported(one) for one in (ROWS[0], later, ROWS[0])]


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(StoreError, match="cannot be written"):
        write_export(ROWS, "csv", tmp_path / "nowhere" / "rows.csv")


def as_exported(row):
    """A row without what a table has no room for."""
    return replace(row, environment=(), left_out=(), outcome=replace(row.outcome, stdout_tail=None, stderr_tail=None))


def test_an_exported_csv_reads_back_as_the_rows_it_was_made_of(tmp_path):
    turns = (Turn(0, steps=1, unsettled=0, seconds=0.1), Turn(1, steps=2, unsettled=1, seconds=0.1, cpu_seconds=0.4))
    stated = {"cautions": ("one, two", 'a "third"'), "first_loss": 0.5, "truth": StatedTruth(0.0, 2e-6), "turns": turns}
    rows = [*ROWS, row(ROWS[1].run, **stated)]
    write_export(rows, "csv", tmp_path / "rows.csv")
    assert is_export(tmp_path / "rows.csv")
    assert list(read_export(tmp_path / "rows.csv")) == [as_exported(one) for one in rows]


def test_a_command_of_several_lines_survives_a_csv(tmp_path):
    made = study(r"""cores = 1
workloads = ["command: sh -c 'one\ntwo\rthree'", "command: true"]""")
    rows = [row(run) for run in plan(made, machine(2)).runs]
    write_export(rows, "csv", tmp_path / "rows.csv")
    assert list(read_export(tmp_path / "rows.csv")) == [as_exported(one) for one in rows]


FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-5", "-5", "+1e3", "1-1", "a=1", "'x'"]


def test_text_that_a_spreadsheet_would_execute_gets_an_apostrophe_and_reads_back_without(tmp_path):
    rows = [replace(ROWS[0], versions=(("numpy", text),)) for text in FORMULAS]
    rows.append(replace(ROWS[0], run=replace(ROWS[0].run, point=replace(ROWS[0].run.point, workload="=cmd|x"))))
    rows.append(replace(ROWS[0], outcome=replace(ROWS[0].outcome, first_loss=-1.5)))
    write_export(rows, "csv", tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    kept = [line["version_numpy"] for line in cells if line["version_numpy"] in FORMULAS]
    assert kept == ["-5", "+1e3", "1-1", "a=1", "'x'"]
    assert {line["version_numpy"][:1] for line in cells[:8]} == {"'"}
    assert (cells[-2]["workload"], cells[-1]["first_loss"]) == ("'=cmd|x", "-1.5")
    assert list(read_export(tmp_path / "rows.csv")) == [as_exported(one) for one in rows]


def test_what_steps_were_fed_with_survives_an_export(tmp_path):
    fed = 'workloads = "autoenc"\ndata = ["fixed", "pipeline"]\npipeline_threads = [1, "auto"]\nonednn = ["auto", true]'
    rows = [row(run) for run in plan(study(fed), machine(2)).runs]
    write_export(rows, "csv", tmp_path / "rows.csv")
    assert list(read_export(tmp_path / "rows.csv")) == [as_exported(one) for one in rows]
    older = pd.read_csv(tmp_path / "rows.csv").query("data == 'fixed'")
    older.drop(columns=["data", "pipeline_threads", "asked_pipeline_threads"]).to_csv(tmp_path / "older.csv")
    assert {one.run.point.data for one in read_export(tmp_path / "older.csv")} == {"fixed"}


@pytest.mark.parametrize("folder", ["frameworks-most", "turns-sixteen", "ceilings-sixteen"])
def test_an_exported_example_reads_back_as_its_folder(tmp_path, folder):
    stored = list(read_rows(EXAMPLES / folder))
    write_export(stored, "csv", tmp_path / "rows.csv")
    steps = [replace(one, run=replace(one.run, steps=None)) for one in stored]
    assert list(read_export(tmp_path / "rows.csv")) == [as_exported(one) for one in steps]
    write_export(stored, "json", tmp_path / "rows.json")
    assert is_export(tmp_path / "rows.json")
    assert list(read_export(tmp_path / "rows.json")) == stored


def test_json_of_another_schema_or_with_a_damaged_row_is_refused(tmp_path):
    write_export(ROWS, "json", path := tmp_path / "rows.json")
    text = path.read_text()
    path.write_text(text.replace(f'"schema":{SCHEMA}', '"schema":999', 1))
    with pytest.raises(StoreError, match=rf"row 1 has schema 999, and .* reads {SCHEMA}"):
        list(read_export(path))
    path.write_text(text[:-2] + ', "rows": 5}')
    with pytest.raises(StoreError, match="cannot be read: Expected `array`"):
        list(read_export(path))
    path.write_text(text.replace('"launch":1', '"launch":0', 1))
    with pytest.raises(StoreError, match=r"row 1 is .* `scaling export` wrote: run\.launch"):
        list(read_export(path))
    path.write_text(text[:-10])
    with pytest.raises(StoreError, match="cannot be read"):
        list(read_export(path))


@pytest.mark.parametrize("form", ["csv", "json"])
def test_an_export_with_an_axis_that_this_version_does_not_know_is_refused(tmp_path, form):
    write_export(ROWS, form, path := tmp_path / "rows")
    text = path.read_text()
    text = text.replace('"workload":', '"huge_pages":true,"workload":') if form == "json" else "huge_pages," + text
    path.write_text(text)
    with pytest.raises(StoreError, match=r"has the (axis|column) 'huge_pages', which this version does not know; "):
        list(read_export(path))


SWEPT = list(AmdahlMachine(noise=0.01).execute(plan(study("cores = [1, 2]\nlaunches = 4"), machine(2)).runs))


def test_pyperf_gets_a_benchmark_per_point_and_a_process_per_launch(tmp_path):
    stolen = replace(SWEPT[0], witness=replace(SWEPT[0].witness, steal_seconds=1e3))
    launches = write_export([stolen, *SWEPT[1:]], "pyperf", tmp_path / "suite.json")
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "suite.json"))
    assert suite.get_benchmark_names() == [f"calibrated train compact smt1[cores={cores}]" for cores in (1, 2)]
    assert sum(len(one.get_runs()) for one in suite.get_benchmarks()) == launches == len(SWEPT) - 1
    assert suite.get_benchmarks()[1].mean() == pytest.approx(0.55, rel=0.02)


def test_pyperf_tells_packs_and_quotas_from_lone_runs_by_their_names(tmp_path):
    limited = [AmdahlMachine().execute(plan(study("cores = [1]\nquota = [0.5]"), machine(2)).runs)]
    rows = [*PackedMachine().rows(pack_study("launches = 3", cores=2)), *chain.from_iterable(limited)]
    write_export(rows, "pyperf", tmp_path / "suite.json")
    names = [one["metadata"]["name"] for one in json.loads((tmp_path / "suite.json").read_text())["benchmarks"]]
    assert len(set(names)) == len(names)
    assert "calibrated train compact smt1 replicas=2[cores=1]" in names
    assert "calibrated train compact smt1 quota=0.5[cores=1]" in names


def test_what_pyperf_gets_is_read_as_the_series_it_came_from(tmp_path):
    write_export(SWEPT, "pyperf", tmp_path / "suite.json")
    (read,) = read_table(tmp_path / "suite.json", AS_IT_IS).series
    (series,) = selected_series(select_points(summarize(map(launch_of, SWEPT))))
    assert read.name == series.name
    for known, own in zip(read.observations, series.observations, strict=True):
        assert known.launch_seconds == pytest.approx(own.launch_seconds, rel=1e-12)


def test_extra_p_gets_the_launches_of_every_series_by_cores(tmp_path):
    write_export(SWEPT, "extrap", tmp_path / "extrap.json")
    document = json.loads((tmp_path / "extrap.json").read_text())
    assert document["parameters"] == ["cores"]
    (path,) = document["measurements"]
    points = document["measurements"][path]["time"]
    assert (path, [one["point"] for one in points]) == ("calibrated train compact smt1", [[1.0], [2.0]])
    assert [len(one["values"]) for one in points] == [5, 4]


@pytest.mark.parametrize("form", ["pyperf", "extrap"])
def test_where_nothing_counts_there_is_nothing_for_other_tools(form):
    with pytest.raises(StoreError, match="nothing to export"):
        write_export(ROWS[-1:], form, io.BytesIO())


def test_a_csv_of_another_tool_is_not_taken_for_an_export(tmp_path):
    (tmp_path / "plain.csv").write_text("cores,seconds\n1,2\n")
    assert not is_export(tmp_path / "plain.csv")
    assert not is_export(tmp_path / "nowhere.csv")


def test_a_damaged_export_is_refused_with_its_line(tmp_path):
    write_export(ROWS, "csv", tmp_path / "rows.csv")
    text = (tmp_path / "rows.csv").read_text().replace(",0.1,ok,", ",0.1,fine,", 1)
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(StoreError, match=r"rows.csv line 2 is .* `scaling export` wrote: outcome.status"):
        list(read_export(tmp_path / "rows.csv"))
    head, first, *_ = text.splitlines()
    (tmp_path / "rows.csv").write_text(f"{head}\n{first.partition(',')[0]}\n")
    with pytest.raises(StoreError, match=r"line 2 .*:"):
        list(read_export(tmp_path / "rows.csv"))


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"cores\n\x00\n"])
def test_a_file_that_is_no_export_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "rows.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreError, match=f"{path.name} .*; "):
        list(read_export(path))


@pytest.mark.parametrize("form", ["csv", PARQUET])
def test_rows_are_written_to_an_open_stream_too(tmp_path, form):
    stream = io.BytesIO()
    assert write_export(ROWS, form, stream) == len(ROWS)
    write_export(ROWS, form, tmp_path / "rows")
    assert stream.getvalue() == (tmp_path / "rows").read_bytes()


def test_parquet_without_its_package_is_refused_with_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=re.escape(to_install("parquet"))):
        write_export(ROWS, "parquet", tmp_path / "rows.parquet")
    assert not (tmp_path / "rows.parquet").exists()


@pytest.mark.needs("pyarrow")
def test_what_parquet_cannot_hold_is_refused_in_a_sentence(tmp_path):
    huge = row()
    with pytest.raises(StoreError, match=r"Parquet cannot hold .*; choose `form=csv`"):
        write_export([replace(huge, run=replace(huge.run, seed=10**30))], "parquet", tmp_path / "rows.parquet")


def test_an_export_with_more_columns_than_any_has_is_refused(tmp_path):
    write_export(ROWS, "csv", path := tmp_path / "rows.csv")
    path.write_text("".join(f"version_{number}," for number in range(2000)) + path.read_text())
    with pytest.raises(StoreError, match=r"has 2\d\d\d columns, more than 1000; export it again"):
        list(read_export(path))
