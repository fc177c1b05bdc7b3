"""Results folders without a measurement."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.results.rows import Row, row_to_json
from scaling.study.planning import plan


def folder_of(path: Path, rows: Iterable[Row | str]) -> Path:
    """A results folder of these rows, or lines."""
    path.mkdir()
    lines = (row if isinstance(row, str) else row_to_json(row) for row in rows)
    (path / "rows.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return path


def swept_rows(serial: float = 0.1, one_core_seconds: float = 1.0, seed: int = 1) -> list[Row]:
    """A whole study on a pretend machine."""
    runs = plan(study("cores = [1, 2, 4]", seed=str(seed)), machine(4)).runs
    return list(AmdahlMachine(serial, one_core_seconds).execute(runs))
