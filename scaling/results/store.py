"""The results folder: `rows.jsonl` with one line per run, `study.toml`, `machine.json`, `doctor.json` and more."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from scaling.analysis.traces import Trace
from scaling.analysis.witness import Witness
from scaling.errors import StoreError, escape_text
from scaling.features import features, resolve
from scaling.machine.doctor.findings import Finding
from scaling.machine.topology import Machine, Topology
from scaling.results.files import read_regular_text, replace_file
from scaling.results.jsonl import Lines, RecordFormat, has_lines, read_lines
from scaling.results.machine_file import MachineFile, machine_facts, read_machine_file, write_machine_facts
from scaling.results.rows import (
    Outcome,
    Pairs,
    ProgramFiles,
    Row,
    launch_of,
    row_from_json,
    row_identity,
    row_to_json,
)
from scaling.results.traces import (
    POWER,
    TRACES,
    PowerTrace,
    TracedRow,
    read_power,
    read_traced_rows,
    trace_of,
    traced_row_from_json,
    traced_row_to_json,
)
from scaling.study.privacy import LEFT_OUT, is_private, without_home, without_secrets

# Longer reasons and remarks are cut, in characters.
LONGEST_REASON = 2000
# Characters of the shortest value that is looked for in what a program printed.
LEAST_SECRET = 4
STUDY, FINDINGS = "study.toml", "doctor.json"
Keep = Callable[[Iterable[Row]], Iterable[Row]]
ROWS = RecordFormat(
    "rows", "row", "a sweep", row_to_json, row_from_json, lambda row: row.outcome.status == "ok", row_identity
)


def read_rows(folder: Path, on_repeat: Callable[[Row], None] = lambda row: None) -> Iterator[Row]:
    """Read the rows of a folder, without copies and a torn last line; refuse other bad lines."""
    return read_lines(folder, ROWS, on_repeat)


def period(rows: Sequence[Row]) -> str:
    """The start of the first and the last run, in UTC."""
    if not rows:
        return ""
    first, last = (_moment(extreme(row.started_at for row in rows)) for extreme in (min, max))
    if first[:10] == last[:10]:
        last = last[11:]
    return f"{first} UTC" if first.endswith(last) else f"{first} to {last} UTC"


def where_and_when(rows: Sequence[Row]) -> str:
    """Machine and day, such as 'sixteen, Intel(R) Xeon(R) Processor, 2026-11-16'."""
    if not rows:
        return ""
    hosts = {row.machine.host: row.machine.cpu_model or row.machine.arch for row in rows}
    days = dict.fromkeys(_moment(extreme(row.started_at for row in rows))[:10] for extreme in (min, max))
    machine = ", ".join(*hosts.items()) if len(hosts) == 1 else f"{len(hosts)} machines"
    return f"{machine}, {' to '.join(days)}"


def made_before(rows: Iterable[Row]) -> str:
    """A sentence about the results of a finished study."""
    rows = [*rows]
    if len(rows) == 1:
        return f"the run already exists, from {period(rows)}; `again=True` repeats it"
    return f"all {len(rows)} runs already exist, from {period(rows)}; `again=True` repeats them"


def _moment(text: str) -> str:
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M}"
    except ValueError:
        return text


def read_study_toml(folder: Path) -> str | None:
    """The study of a folder; None for a new folder."""
    path = folder / STUDY
    return read_regular_text(path) if path.exists() else None


def read_findings(folder: Path) -> tuple[Finding, ...] | None:
    """The doctor's findings when the sweep last began; None without `doctor.json`."""
    path = folder / FINDINGS
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(read_regular_text(path), type=tuple[Finding, ...])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise StoreError(f"{path} does not hold findings: {error}; remove it") from error


class Store(Lines[Row]):
    """A results folder open for appending, by one sweep at a time; its rows get the measured files."""

    def __init__(self, folder: Path, program_files: ProgramFiles | None = None) -> None:
        super().__init__(folder, ROWS)
        self._power: Lines[PowerTrace] | None = None
        self._program_files = program_files or {}

    def append(self, item: Row) -> None:
        """Append a row and sync it."""
        super().append(with_program_files(item, self._program_files) if self._program_files else item)

    def append_power(self, trace: PowerTrace) -> None:
        """Store the power of a run before its row."""
        self._power = self._power or Lines(self.folder, POWER)
        self._power.append(trace)

    def close(self) -> None:
        """Release the files and their locks."""
        if self._power:
            self._power.close()
        super().close()

    def write_study(self, toml: str) -> None:
        """Store the study beside its rows."""
        replace_file(self.folder / STUDY, toml)

    def write_machine(self, machine: Machine, topology: Topology) -> None:
        """Store the machine, unless the folder has it."""
        write_machine_facts(self.folder, machine_facts(machine, topology))

    def write_findings(self, findings: Sequence[Finding]) -> None:
        """Store the doctor's findings before the next runs."""
        text = msgspec.json.format(msgspec.json.encode(findings), indent=1)
        replace_file(self.folder / FINDINGS, f"{text.decode()}\n")


def with_program_files(row: Row, files: ProgramFiles) -> Row:
    """Add the measured files of the row's workload, or of both workloads of a pack."""
    measured = filter(None, (row.run.point.workload, row.run.point.beside))
    listed = chain.from_iterable(files.get(name, ()) for name in measured)
    return replace(row, program_files=tuple(dict.fromkeys(listed)))


def storable(row: Row) -> Row:
    """The row with text that is not Unicode escaped; a failed row if its values cannot be stored and read again."""
    escaped = replace(
        row,
        outcome=_change_texts(row.outcome, escape_text),
        versions=tuple((escape_text(name), escape_text(text)) for name, text in row.versions),
        environment=tuple((escape_text(name), escape_text(text)) for name, text in row.environment),
    )
    try:
        launch_of(row_from_json(row_to_json(escaped)))
    except (StoreError, ValueError, ArithmeticError, RecursionError) as error:
        reason = f"its measured values cannot be stored: {error}"[:LONGEST_REASON]
        outcome = escaped.outcome
        failed = Outcome("failed", reason, stdout_tail=outcome.stdout_tail, stderr_tail=outcome.stderr_tail)
        return replace(escaped, outcome=failed, witness=Witness())
    return escaped


def storable_trace(traced: TracedRow) -> TracedRow:
    """The traced run, or a failed one if its steps cannot be stored and read again."""
    row = storable(traced.row)
    if row.outcome.status != "ok" or not traced.steps:
        return TracedRow(row, ())
    try:
        traced_row_from_json(traced_row_to_json(TracedRow(row, traced.steps)))
    except (StoreError, ValueError) as error:
        return TracedRow(replace(row, outcome=Outcome("failed", f"its trace cannot be stored: {error}")), ())
    return TracedRow(row, traced.steps)


def public_row(row: Row) -> Row:
    """The row without personal data; `left_out` names the removed variables."""
    home, private, public = _public_environment(row.environment)
    point = row.run.point
    workload = without_secrets(point.workload)
    texts = _change_texts(row.outcome, lambda text: without_home(without_secrets(text), home))
    versions = _public_versions(row.versions, home)
    return replace(
        row,
        run=row.run if workload == point.workload else replace(row.run, point=replace(point, workload=workload)),
        outcome=texts,
        versions=versions,
        environment=public,
        left_out=tuple(dict.fromkeys((*row.left_out, *private))),
    )


# Rows of a folder share a handful of environments.
@lru_cache(256)
def _public_environment(environment: Pairs) -> tuple[str | None, tuple[str, ...], Pairs]:
    """The home folder, the names of private variables, and the other variables without secrets and the home."""
    private, home = tuple(name for name, _ in environment if is_private(name)), dict(environment).get("HOME")
    others = (pair for pair in environment if pair[0] not in private)
    return home, private, tuple((name, without_home(without_secrets(value), home)) for name, value in others)


@lru_cache(256)
def _public_versions(versions: Pairs, home: str | None) -> Pairs:
    return tuple((name, without_home(text, home)) for name, text in versions)


def without_values(outcome: Outcome, values: Iterable[str | None]) -> Outcome:
    """The outcome with *** for these values, which a program may have printed; shorter ones are in any text."""
    secrets = [value for value in values if value and len(value) >= LEAST_SECRET]

    def change(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, LEFT_OUT)
        return text

    return _change_texts(outcome, change) if secrets else outcome


def _change_texts(outcome: Outcome, change: Callable[[str], str]) -> Outcome:
    """Change every text of an outcome, and cut reason and cautions."""
    texts = ((name, getattr(outcome, name)) for name in ("reason", "stdout_tail", "stderr_tail"))
    changed: dict[str, Any] = {name: change(text) for name, text in texts if text is not None}
    if "reason" in changed:
        changed["reason"] = changed["reason"][:LONGEST_REASON]
    if outcome.cautions:
        changed["cautions"] = tuple(change(caution)[:LONGEST_REASON] for caution in outcome.cautions)
    return replace(outcome, **changed) if changed else outcome


@dataclass(slots=True)
class RowCensus:
    """Counts of the rows of a folder: copies, and runs by machine."""

    repeated: int = 0
    machines: Counter[Machine] = field(default_factory=Counter)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.machines.total()

    def count(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Pass rows on and count them."""
        for row in rows:
            self.machines[row.machine] += 1
            yield row

    def count_repeated(self, row: Row) -> None:
        """Count a copy of a row."""
        self.repeated += 1


@dataclass(frozen=True, slots=True)
class Folder:
    """The contents of a results folder; `of_features` has the files of features, by name."""

    name: str
    rows: tuple[Row, ...]
    study_toml: str | None
    machine: MachineFile | None
    findings: tuple[Finding, ...] | None
    traces: tuple[Trace, ...] = ()
    census: RowCensus = field(default_factory=RowCensus)
    notes: tuple[str, ...] = ()
    power: tuple[PowerTrace, ...] = ()
    of_features: Mapping[str, Any] = field(default_factory=dict)


def folder_of(name: str, rows: Iterable[Row], full: bool = False, keep: Keep = iter) -> Folder:
    """A folder of rows alone, such as exported ones."""
    census = RowCensus()
    kept = tuple(keep(census.count(rows if full else map(public_row, rows))))
    return Folder(name, kept, None, None, None, census=census)


def read_folder(path: Path, full: bool = False, keep: Keep = iter) -> Folder:
    """Read a folder with at least one row; in a folder of a profile alone, its plain steps are the rows.

    Personal data is left out unless `full`. `keep` takes all rows and returns the ones to keep.
    """
    traced = tuple(read_traced_rows(path)) if has_lines(path, TRACES) else ()
    has_rows = has_lines(path, ROWS) or not traced
    census = RowCensus()
    read = read_rows(path, census.count_repeated) if has_rows else (run.row for run in traced)
    rows = tuple(keep(census.count(read if full else map(public_row, read))))
    study_toml = read_study_toml(path)
    if not census.runs:
        raise StoreError(f"no rows in {path} yet; run the sweep that writes there")
    return Folder(
        name=path.resolve().name,
        rows=rows,
        study_toml=study_toml if full or study_toml is None else without_secrets(study_toml),
        machine=read_machine_file(path),
        findings=read_findings(path),
        traces=tuple(trace for trace in map(trace_of, traced) if trace),
        census=census,
        power=tuple(read_power(path)),
        of_features=_read_files_of_features(path),
    )


def glance_at_folder(path: Path) -> Folder:
    """Read a folder without its rows, unless it has the file of a feature, which needs them."""
    of_features = _read_files_of_features(path)
    if of_features:
        return read_folder(path)
    return Folder(path.resolve().name, (), read_study_toml(path), read_machine_file(path), None)


def _read_files_of_features(path: Path) -> dict[str, Any]:
    """The files of features in a folder, by name."""
    return {
        name: resolve(read)(path)
        for feature in features()
        for name, read in feature.files.items()
        if (path / name).exists()
    }
