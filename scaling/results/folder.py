"""A results folder read whole: rows, study, machine, and what the doctor found before the first run."""

from dataclasses import dataclass
from pathlib import Path

from scaling.errors import StoreError
from scaling.machine.findings import Finding
from scaling.results.machine_file import MachineFile, read_machine_file
from scaling.results.rows import Row
from scaling.results.store import read_findings, read_rows, read_study_toml


@dataclass(frozen=True, slots=True)
class Folder:
    """What a sweep has left; None is what it did not."""

    name: str
    rows: tuple[Row, ...]
    study_toml: str | None
    machine: MachineFile | None
    findings: tuple[Finding, ...] | None


def read_folder(path: Path) -> Folder:
    """A folder with at least one row."""
    rows = tuple(read_rows(path))
    if not rows:
        raise StoreError(f"no rows in {path} yet; run the sweep that writes there")
    return Folder(path.resolve().name, rows, read_study_toml(path), read_machine_file(path), read_findings(path))
