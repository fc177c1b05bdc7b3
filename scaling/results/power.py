"""Power over time in `power.jsonl`: one line per metered run, matched to its row by run and start.

Readers skip a line without a row: its run was interrupted before the row was stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from scaling.errors import StoreError
from scaling.machine.power import Domain
from scaling.results.jsonl import RecordFormat, read_lines
from scaling.results.rows import RunLine, in_words, json_line, run_facts, run_of
from scaling.study.planning import Run


@dataclass(frozen=True, slots=True)
class MeterTrace:
    """The power readings of one meter during a run, in watts, at seconds since the first turn began."""

    meter: str
    domain: Domain
    seconds: tuple[float, ...]
    watts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PowerTrace:
    """The power of a run over time."""

    run: Run
    started_at: str
    meters: tuple[MeterTrace, ...]


class _Line(msgspec.Struct):
    schema: Literal[1]
    run: RunLine
    started_at: str
    meters: Annotated[tuple[MeterTrace, ...], msgspec.Meta(min_length=1)]


def power_to_json(trace: PowerTrace) -> str:
    """A trace as one line of JSON."""
    run = run_facts(trace.run, None)
    return json_line({"schema": 1, "run": run, "started_at": trace.started_at, "meters": trace.meters})


def power_from_json(line: str | bytes) -> PowerTrace:
    """Parse a line of `power.jsonl`."""
    with in_words():
        parsed = msgspec.json.decode(line, type=_Line)
        run = run_of(parsed.run)
    if any(len(meter.seconds) != len(meter.watts) for meter in parsed.meters):
        raise StoreError("meters: seconds and watts differ in length")
    return PowerTrace(run, parsed.started_at, parsed.meters)


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
    return read_lines(folder, POWER) if (folder / POWER.file).exists() else iter(())
