"""Rows for other tools: a flat table, a line a run, as CSV or Parquet."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from scaling.errors import StoreError
from scaling.results.rows import Row, launch_of

# Nested, or whole pages of text: these stay in `rows.jsonl`.
NOT_IN_A_TABLE = ("sections", "stdout_tail", "stderr_tail", "items_per_step")


def write_export(rows: Iterable[Row], form: Literal["csv", "parquet"], path: Path) -> int:
    """Write rows to a file and return how many there were."""
    # Only here is pandas needed, and it takes half a second to import.
    import pandas as pd

    frame = pd.DataFrame(_columns(rows))
    try:
        if form == "csv":
            frame.assign(step_seconds=frame["step_seconds"].map(json.dumps)).to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}; choose another file with -o") from error
    return len(frame)


def _columns(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """The table column by column, which takes far less memory than row by row; gaps are filled with None."""
    columns: dict[str, list[Any]] = {}
    for number, row in enumerate(rows):
        for name, value in _flat(row).items():
            if name not in columns:
                columns[name] = [None] * number
            columns[name].append(value)
        for column in columns.values():
            column.extend([None] * (number + 1 - len(column)))
    return columns


def _flat(row: Row) -> dict[str, Any]:
    """A row with its nesting undone: the names of a row's JSON, with a prefix where two parts share one."""
    point, outcome = row.run.point, row.outcome
    asked = {"items": point.items, "intra": point.intra, "inter": point.inter}
    return {
        **_fields(point),
        "items": outcome.items_per_step,
        "intra": point.threads(point.intra),
        "inter": point.threads(point.inter),
        **{f"asked_{name}": str(value) for name, value in asked.items()},
        "cpus": ",".join(map(str, row.run.flat_cpus)),
        "launch": row.run.launch,
        "seed": row.run.seed,
        "start": row.run.start,
        "median_seconds": launch_of(row).seconds,
        **{name: value for name, value in _fields(outcome).items() if name not in NOT_IN_A_TABLE},
        **{f"{name}_seconds": value for name, value in _fields(outcome.sections).items()},
        **_fields(row.witness),
        **{f"machine_{name}": value for name, value in _fields(row.machine).items()},
        **{f"version_{name}": value for name, value in row.versions},
        "started_at": row.started_at,
    }


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
