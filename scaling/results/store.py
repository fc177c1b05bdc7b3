"""The results folder: `rows.jsonl`, one line a run; `study.toml`; `machine.json`; `doctor.json`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from scaling.errors import StoreError
from scaling.machine.doctor.findings import Finding
from scaling.machine.identity import Machine
from scaling.machine.topology import Topology
from scaling.results.jsonl import Kind, Lines, read_lines, replace_file
from scaling.results.rows import Row, row_from_json, row_to_json

STUDY, MACHINE, FINDINGS = "study.toml", "machine.json", "doctor.json"
ROWS = Kind("rows", "row", "a sweep", row_to_json, row_from_json, lambda row: row.outcome.status == "ok")

# What must not change under a folder, because points would no longer mean the same; the rest is in every row.
COMPARED = ("host", "cpu_model", "arch", "fingerprint")
COMPARED_FACTS = ("online", "allowed", "isolated", "quota_cpus")

_FINDINGS = TypeAdapter(tuple[Finding, ...])


def read_rows(folder: Path) -> Iterator[Row]:
    """The rows of a folder, one after another; a torn last line is passed over, any other bad line is refused."""
    return read_lines(folder, ROWS)


def read_study_toml(folder: Path) -> str | None:
    """The study a folder was begun with; None in a new folder."""
    path = folder / STUDY
    return path.read_text() if path.exists() else None


def read_findings(folder: Path) -> tuple[Finding, ...] | None:
    """What the doctor found when the sweep was last begun; None where nobody looked."""
    path = folder / FINDINGS
    if not path.exists():
        return None
    try:
        return _FINDINGS.validate_json(path.read_bytes())
    except ValidationError as error:
        raise StoreError(f"{path} does not hold findings: {len(error.errors())} are wrong; take it away") from error


def read_machine_differences(folder: Path, machine: Machine, topology: Topology) -> list[str]:
    """How the machine a folder was begun on differs from this one; nothing in a new folder."""
    path = folder / MACHINE
    return _differences(_read_json(path), machine_facts(machine, topology)) if path.exists() else []


class Store(Lines[Row]):
    """A results folder open for appending, by one sweep at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ROWS)

    def write_study(self, toml: str) -> None:
        """Keep the study beside its rows."""
        replace_file(self.folder / STUDY, toml)

    def write_machine(self, machine: Machine, topology: Topology) -> None:
        """Keep the machine beside its rows, as it was when the folder was begun."""
        write_machine(self.folder, machine, topology)

    def write_findings(self, findings: Sequence[Finding]) -> None:
        """Keep what the doctor found just before the runs that follow."""
        replace_file(self.folder / FINDINGS, _FINDINGS.dump_json(tuple(findings), indent=1).decode() + "\n")


def write_machine(folder: Path, machine: Machine, topology: Topology) -> None:
    """Keep the machine beside what is measured on it, as it was when the folder was begun."""
    path = folder / MACHINE
    if not path.exists():
        replace_file(path, json.dumps(machine_facts(machine, topology), indent=1) + "\n")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text())
    except ValueError as error:
        raise StoreError(f"{path} is not JSON: {error}; restore it or choose another folder") from error
    return facts if isinstance(facts, dict) else {}


def machine_facts(machine: Machine, topology: Topology) -> dict[str, Any]:
    """A machine as `machine.json` has it."""
    return {**asdict(machine), "topology": topology.facts()}


def _differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    old_facts, new_facts = old.get("topology", {}), new["topology"]
    pairs = [(name, old.get(name), new[name]) for name in COMPARED]
    pairs += [(name, old_facts.get(name), new_facts[name]) for name in COMPARED_FACTS]
    return [f"{name} was {was!r} and is now {now!r}" for name, was, now in pairs if was != now]
