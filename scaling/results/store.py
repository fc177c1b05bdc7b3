"""The results folder: `rows.jsonl`, one line a run, appended and synced as it comes; `study.toml`; `machine.json`;
`doctor.json`.

Nothing is lost: a row is on the disk before the next run begins. Nothing is half there: a line torn by a crash or a
full disk is set aside in `rows.torn`, and its run is measured again.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from scaling.errors import StoreError
from scaling.machine.findings import Finding
from scaling.machine.identity import Machine
from scaling.machine.topology import Topology
from scaling.results.rows import Row, row_from_json, row_to_json

ROWS, TORN, STUDY, MACHINE, RETRIED = "rows.jsonl", "rows.torn", "study.toml", "machine.json", "rows.retried.jsonl"
FINDINGS = "doctor.json"

# What must not change under a folder, because points would no longer mean the same; the rest is in every row.
COMPARED = ("host", "cpu_model", "arch", "fingerprint")
COMPARED_FACTS = ("online", "allowed", "isolated", "quota_cpus")

_FINDINGS = TypeAdapter(tuple[Finding, ...])


def read_rows(folder: Path) -> Iterator[Row]:
    """The rows of a folder, one after another; a torn last line is passed over, any other bad line is refused."""
    path = folder / ROWS
    try:
        lines = path.open("rb")
    except OSError as error:
        raise StoreError(
            f"no results in {folder}: {ROWS} cannot be read ({error.strerror}); give a folder that a sweep has written"
        ) from error
    with lines:
        number = 0
        for number, line in enumerate(lines, 1):
            try:
                yield row_from_json(line)
            except StoreError as error:
                if lines.read(1) == b"":
                    return
                raise StoreError(f"{path} line {number} is not a row: {error}; take that line out") from error


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
    return _differences(_read_json(path), _machine_facts(machine, topology)) if path.exists() else []


class Store:
    """A results folder open for appending, by one sweep at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(folder / ROWS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(
                f"the results folder {folder} cannot be written: {error.strerror}; choose another with -o"
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise StoreError(f"another sweep is writing to {folder}; wait for it or choose another with -o") from None
        _sync_folder(folder)
        self.set_aside = self._set_torn_line_aside()

    def close(self) -> None:
        """Let others write."""
        os.close(self._fd)

    def append(self, row: Row) -> None:
        """Put a row on the disk, whole or not at all."""
        end = os.lseek(self._fd, 0, os.SEEK_END)
        line = row_to_json(row).encode() + b"\n"
        try:
            _write_all(self._fd, line)
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, end)
            raise StoreError(
                f"{self.folder / ROWS} cannot be written: {error.strerror}; every earlier row is safe, "
                "the run just made will be measured again: make room and give the same command"
            ) from error

    def write_study(self, toml: str) -> None:
        """Keep the study beside its rows."""
        _replace(self.folder / STUDY, toml)

    def write_machine(self, machine: Machine, topology: Topology) -> None:
        """Keep the machine beside its rows, as it was when the folder was begun."""
        path = self.folder / MACHINE
        if not path.exists():
            _replace(path, json.dumps(_machine_facts(machine, topology), indent=1) + "\n")

    def write_findings(self, findings: Sequence[Finding]) -> None:
        """Keep what the doctor found just before the runs that follow."""
        _replace(self.folder / FINDINGS, _FINDINGS.dump_json(tuple(findings), indent=1).decode() + "\n")

    def set_failures_aside(self) -> int:
        """Move every row that is not ok out of the way, so that its run is made again; how many there were."""
        rows = list(read_rows(self.folder))
        failed = [row for row in rows if row.outcome.status != "ok"]
        if failed:
            with (self.folder / RETRIED).open("a") as retried:
                retried.writelines(row_to_json(row) + "\n" for row in failed)
                retried.flush()
                os.fsync(retried.fileno())
            kept = "".join(row_to_json(row) + "\n" for row in rows if row.outcome.status == "ok")
            _replace(self.folder / ROWS, kept)
            os.close(self._fd)
            self._fd = os.open(self.folder / ROWS, os.O_RDWR | os.O_CLOEXEC)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return len(failed)

    def _set_torn_line_aside(self) -> bool:
        """Cut a last line that is no whole row off the file and keep it in `rows.torn`; whether there was one."""
        start, last = _last_line(self._fd)
        if not last or (last.endswith(b"\n") and _is_row(last)):
            return False
        with (self.folder / TORN).open("ab") as torn:
            torn.write(last.rstrip(b"\n") + b"\n")
            torn.flush()
            os.fsync(torn.fileno())
        os.ftruncate(self._fd, start)
        os.fsync(self._fd)
        return True


def _last_line(fd: int) -> tuple[int, bytes]:
    """Where the last line of a file begins, and what it is; read from the end, for the file may be large."""
    size = os.lseek(fd, 0, os.SEEK_END)
    reach = 1 << 16
    while True:
        start = max(0, size - reach)
        text = os.pread(fd, size - start, start)
        newline = text.rstrip(b"\n").rfind(b"\n")
        if newline >= 0 or start == 0:
            return start + newline + 1, text[newline + 1 :]
        reach *= 4


def _is_row(line: bytes) -> bool:
    try:
        row_from_json(line)
    except StoreError:
        return False
    return True


def _write_all(fd: int, text: bytes) -> None:
    while text:
        text = text[os.write(fd, text) :]


def _replace(path: Path, text: str) -> None:
    """Write a small file so that a crash leaves the old one or the new one."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written: {error.strerror}; make room or choose another folder") from error
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text())
    except ValueError as error:
        raise StoreError(f"{path} is not JSON: {error}; restore it or choose another folder") from error
    return facts if isinstance(facts, dict) else {}


def _machine_facts(machine: Machine, topology: Topology) -> dict[str, Any]:
    return {**asdict(machine), "topology": topology.facts()}


def _differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    old_facts, new_facts = old.get("topology", {}), new["topology"]
    pairs = [(name, old.get(name), new[name]) for name in COMPARED]
    pairs += [(name, old_facts.get(name), new_facts[name]) for name in COMPARED_FACTS]
    return [f"{name} was {was!r} and is now {now!r}" for name, was, now in pairs if was != now]
