"""Traced runs in `traces.jsonl` and power over time in `power.jsonl`, one line per run.

A line of `traces.jsonl` has the row and its traced steps. To keep lines short, the types and purposes of operations are
listed once, and their times as one list per step. Old lines have no purposes. A line of `power.jsonl` is matched to its
row by run and start; readers skip a line without a row, whose run was interrupted before the row was stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from scaling.analysis.traces import OpTime, Purpose, Trace, TracedStep
from scaling.errors import StoreError
from scaling.machine.power import Domain
from scaling.machine.topology import Machine, Topology
from scaling.results.files import replace_file
from scaling.results.jsonl import Lines, RecordFormat, has_lines, read_lines
from scaling.results.machine_file import machine_facts, write_machine_facts
from scaling.results.rows import (
    SCHEMA,
    Row,
    RunLine,
    SchemaNumber,
    in_words,
    json_line,
    launch_of,
    parse_line,
    row_facts,
    row_from_json,
    row_identity,
    run_facts,
    run_of,
)
from scaling.study.axes import StepCount
from scaling.study.limits import Measured, Seconds, StepSeconds
from scaling.study.planning import Run

PROFILE = "profile.toml"


@dataclass(frozen=True, slots=True)
class TracedRow:
    """A traced run as stored; a failed run has no steps."""

    row: Row
    steps: tuple[TracedStep, ...]


class _TracedLine(msgspec.Struct, kw_only=True):
    types: tuple[str, ...]
    purposes: tuple[Purpose | None, ...] | None = None
    wall_seconds: tuple[StepSeconds, ...]
    overhead_seconds: tuple[Seconds, ...]
    overlap_seconds: tuple[Seconds, ...]
    op_seconds: tuple[tuple[Seconds, ...], ...]
    op_executions: tuple[tuple[StepCount, ...], ...]


class _Line(msgspec.Struct):
    """The part of a line beyond its row."""

    traced: _TracedLine


def traced_row_to_json(traced: TracedRow) -> str:
    """A traced run as one line of JSON."""
    return json_line({**row_facts(traced.row), "traced": _traced_facts(traced.steps)})


def traced_row_from_json(line: str | bytes) -> TracedRow:
    """Parse a line of `traces.jsonl`."""
    row = row_from_json(line)
    try:
        with in_words():
            traced = msgspec.json.decode(line, type=_Line).traced
        return TracedRow(row, tuple(_steps(traced)))
    except ValueError as error:
        raise StoreError("traced: its lists differ in length") from error


def _traced_facts(steps: tuple[TracedStep, ...]) -> dict[str, object]:
    by_key = [{(op.type, op.purpose): op for op in step.ops} for step in steps]
    keys = sorted({key for ops in by_key for key in ops}, key=lambda key: (key[0], str(key[1])))
    absent = OpTime("", 0.0, 0)
    return {
        "types": [op_type for op_type, _ in keys],
        "purposes": [purpose for _, purpose in keys],
        "wall_seconds": [step.wall_seconds for step in steps],
        "overhead_seconds": [step.overhead_seconds for step in steps],
        "overlap_seconds": [step.overlap_seconds for step in steps],
        "op_seconds": [[ops.get(key, absent).seconds for key in keys] for ops in by_key],
        "op_executions": [[ops.get(key, absent).executions for key in keys] for ops in by_key],
    }


def _steps(line: _TracedLine) -> Iterator[TracedStep]:
    columns = (line.wall_seconds, line.op_seconds, line.op_executions)
    purposes = line.purposes or (None,) * len(line.types)
    for wall, seconds, executions, overhead, overlap in zip(
        *columns, line.overhead_seconds, line.overlap_seconds, strict=True
    ):
        ops = zip(line.types, seconds, executions, purposes, strict=True)
        yield TracedStep(wall, tuple(OpTime(*op) for op in ops if op[2]), overhead, overlap)


def trace_of(traced: TracedRow) -> Trace | None:
    """The trace of a run, for the analysis; None for a failed run."""
    run, outcome = traced.row.run, traced.row.outcome
    if outcome.status != "ok" or outcome.items_per_step is None:
        return None
    launch = launch_of(traced.row)
    return Trace(
        point=run.point,
        launch=run.launch,
        threads=run.point.threads(run.point.intra),
        inter=run.point.threads(run.point.inter),
        items_per_step=outcome.items_per_step,
        steps=traced.steps,
        plain_step_seconds=outcome.step_seconds[outcome.warmup_steps :],
        quiet=not launch.spoiled and (not launch.turns or any(turn.quiet for turn in launch.turns)),
    )


TRACES = RecordFormat(
    "traces",
    "traced run",
    "a profile",
    traced_row_to_json,
    traced_row_from_json,
    lambda traced: traced.row.outcome.status == "ok",
    lambda traced: row_identity(traced.row),
)


def read_traced_rows(folder: Path) -> Iterator[TracedRow]:
    """Read the traced runs of a folder, failed ones included."""
    return read_lines(folder, TRACES)


def read_traces(folder: Path) -> list[Trace]:
    """Read the traces of a folder's successful runs."""
    return [trace for trace in map(trace_of, read_traced_rows(folder)) if trace is not None]


class TraceStore(Lines[TracedRow]):
    """A results folder open for appending traced runs, by one profile at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, TRACES)

    def write_profile(self, toml: str) -> None:
        """Store the last profile as a study."""
        replace_file(self.folder / PROFILE, toml)

    def write_machine(self, machine: Machine, topology: Topology) -> None:
        """Store the machine, unless the folder has it."""
        write_machine_facts(self.folder, machine_facts(machine, topology))


@dataclass(frozen=True, slots=True)
class MeterTrace:
    """The power readings of one meter during a run, in watts, at seconds since the first turn began."""

    meter: str
    domain: Domain
    seconds: tuple[Measured, ...]
    watts: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class PowerTrace:
    """The power of a run over time."""

    run: Run
    started_at: str
    meters: tuple[MeterTrace, ...]


class _PowerLine(msgspec.Struct):
    schema: SchemaNumber
    run: RunLine
    started_at: str
    meters: Annotated[tuple[MeterTrace, ...], msgspec.Meta(min_length=1)]


def power_to_json(trace: PowerTrace) -> str:
    """A trace as one line of JSON."""
    run = run_facts(trace.run, None)
    return json_line({"schema": SCHEMA, "run": run, "started_at": trace.started_at, "meters": trace.meters})


def power_from_json(line: str | bytes) -> PowerTrace:
    """Parse a line of `power.jsonl`."""
    parsed, run = parse_line(line, _power_of)
    if any(len(meter.seconds) != len(meter.watts) for meter in parsed.meters):
        raise StoreError("meters: seconds and watts differ in length")
    return PowerTrace(run, parsed.started_at, parsed.meters)


def _power_of(line: str | bytes) -> tuple[_PowerLine, Run]:
    parsed = msgspec.json.decode(line, type=_PowerLine)
    return parsed, run_of(parsed.run)


POWER = RecordFormat(
    "power",
    "power trace",
    "a sweep",
    power_to_json,
    power_from_json,
    lambda trace: True,
    lambda trace: hash((trace.run.key, trace.started_at)),
)


def read_power(folder: Path) -> Iterator[PowerTrace]:
    """Read the traces of a folder, if it has any."""
    return read_lines(folder, POWER) if has_lines(folder, POWER) else iter(())
