"""Rows for other tools: a flat table, a line a run, as CSV or Parquet."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from scaling.errors import StoreError
from scaling.results.rows import Row, launch_of, row_to_json


def write_export(rows: Iterable[Row], form: Literal["csv", "parquet"], path: Path) -> int:
    """Write rows to a file and return how many there were."""
    # Only here is pandas needed, and it takes half a second to import.
    import pandas as pd

    frame = pd.DataFrame.from_records(list(map(_flat, rows)))
    try:
        if form == "csv":
            frame.assign(step_seconds=frame["step_seconds"].map(json.dumps)).to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}; choose another file with -o") from error
    return len(frame)


def _flat(row: Row) -> dict[str, Any]:
    """A row with its nesting undone: the names of a row's JSON, with a prefix where two parts share one."""
    facts = json.loads(row_to_json(row))
    outcome = facts["outcome"]
    sections = {f"{name}_seconds": value for name, value in outcome.pop("sections").items()}
    machine = {f"machine_{name}": value for name, value in asdict(row.machine).items()}
    versions = {f"version_{name}": value for name, value in row.versions}
    return {
        **_run_columns(facts["run"]),
        "median_seconds": launch_of(row).seconds,
        **{name: value for name, value in outcome.items() if not name.endswith("_tail")},
        **sections,
        **facts["witness"],
        **machine,
        **versions,
        "started_at": row.started_at,
    }


def _run_columns(run: dict[str, Any]) -> dict[str, Any]:
    asked = {f"asked_{name}": str(value) for name, value in run.pop("asked").items()}
    cpus = ",".join(str(cpu) for group in run.pop("cpus") for cpu in group)
    return {**run, **asked, "cpus": cpus}
