"""The results folder: `rows.jsonl`, one line per run; `study.toml`; `machine.json`; `doctor.json`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from scaling.errors import StoreError
from scaling.machine.doctor.findings import Finding
from scaling.machine.identity import Machine
from scaling.machine.topology import Topology
from scaling.results.jsonl import Lines, RecordFormat, read_lines, replace_file
from scaling.results.machine_file import machine_facts, write_machine_facts
from scaling.results.rows import Row, row_from_json, row_to_json

STUDY, FINDINGS = "study.toml", "doctor.json"
ROWS = RecordFormat("rows", "row", "a sweep", row_to_json, row_from_json, lambda row: row.outcome.status == "ok")

_FINDINGS = TypeAdapter(tuple[Finding, ...])


def read_rows(folder: Path) -> Iterator[Row]:
    """The rows of a folder, one after another; a torn last line is passed over, any other bad line is refused."""
    return read_lines(folder, ROWS)


def read_study_toml(folder: Path) -> str | None:
    """The study a folder was begun with; None in a new folder."""
    path = folder / STUDY
    return path.read_text() if path.exists() else None


def read_findings(folder: Path) -> tuple[Finding, ...] | None:
    """What the doctor reported when the sweep was last begun; None where it was not asked."""
    path = folder / FINDINGS
    if not path.exists():
        return None
    try:
        return _FINDINGS.validate_json(path.read_bytes())
    except ValidationError as error:
        raise StoreError(f"{path} does not hold findings: {len(error.errors())} are wrong; take it away") from error


class Store(Lines[Row]):
    """A results folder open for appending, by one sweep at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ROWS)

    def write_study(self, toml: str) -> None:
        """Store the study beside its rows."""
        replace_file(self.folder / STUDY, toml)

    def write_machine(self, machine: Machine, topology: Topology) -> None:
        """Store the machine beside its rows, as it was when the folder was begun."""
        write_machine_facts(self.folder, machine_facts(machine, topology))

    def write_findings(self, findings: Sequence[Finding]) -> None:
        """Store what the doctor reported just before the runs that follow."""
        replace_file(self.folder / FINDINGS, _FINDINGS.dump_json(tuple(findings), indent=1).decode() + "\n")
