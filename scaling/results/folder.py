"""A results folder read whole: rows, traces, study, machine, and what the doctor found before the first run."""

from dataclasses import dataclass
from pathlib import Path

from scaling.analysis.ops.traces import Trace
from scaling.errors import StoreError
from scaling.machine.doctor.findings import Finding
from scaling.results.machine_file import MachineFile, read_machine_file
from scaling.results.rows import Row
from scaling.results.store import ROWS, read_findings, read_rows, read_study_toml
from scaling.results.traces import TRACES, read_traced_rows, trace_of


@dataclass(frozen=True, slots=True)
class Folder:
    """What a sweep has left; None is what it did not."""

    name: str
    rows: tuple[Row, ...]
    study_toml: str | None
    machine: MachineFile | None
    findings: tuple[Finding, ...] | None
    traces: tuple[Trace, ...] = ()


def read_folder(path: Path) -> Folder:
    """A folder with at least one row; where only a profile wrote, the plain steps of its runs are the rows."""
    traced = tuple(read_traced_rows(path)) if (path / TRACES.file).exists() else ()
    has_rows = (path / ROWS.file).exists() or not traced
    rows = tuple(read_rows(path)) if has_rows else tuple(run.row for run in traced)
    if not rows:
        raise StoreError(f"no rows in {path} yet; run the sweep that writes there")
    return Folder(
        name=path.resolve().name,
        rows=rows,
        study_toml=read_study_toml(path),
        machine=read_machine_file(path),
        findings=read_findings(path),
        traces=tuple(trace for trace in map(trace_of, traced) if trace),
    )
