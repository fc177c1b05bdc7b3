import json

import pandas as pd
import pytest

from scaling.errors import StoreError
from scaling.results.export import write_export
from scaling.study.planning import plan
from tests.pretend import machine, row, study

ROWS = [row(run) for run in plan(study("smt = 2"), machine(2, smt=2)).runs]
ROWS.append(row(ROWS[0].run, status="failed", reason='said "no", twice', step_seconds=(), items_per_step=None))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_every_run_is_a_line_with_its_settings_and_figures(tmp_path, form):
    path = tmp_path / f"rows.{form}"
    assert write_export(ROWS, form, path) == len(ROWS)
    frame = pd.read_csv(path) if form == "csv" else pd.read_parquet(path)
    assert list(frame["cores"]) == [each.run.point.cores for each in ROWS]
    assert list(frame["cpus"])[:1] == [",".join(map(str, ROWS[0].run.flat_cpus))]
    assert frame["median_seconds"].dropna().tolist() == [0.1] * (len(ROWS) - 1)
    assert frame["reason"].iloc[-1] == 'said "no", twice'


def test_raw_steps_survive_both_forms(tmp_path):
    write_export(ROWS, "csv", tmp_path / "rows.csv")
    write_export(ROWS, "parquet", tmp_path / "rows.parquet")
    assert json.loads(pd.read_csv(tmp_path / "rows.csv")["step_seconds"].iloc[0]) == [0.1, 0.1, 0.1]
    assert list(pd.read_parquet(tmp_path / "rows.parquet")["step_seconds"].iloc[0]) == [0.1, 0.1, 0.1]


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(StoreError, match="cannot be written"):
        write_export(ROWS, "csv", tmp_path / "nowhere" / "rows.csv")
