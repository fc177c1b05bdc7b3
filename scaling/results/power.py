"""Power over time beside rows: `power.jsonl`, one line per run that was metered, by the run and when it began.

A line without its row is that of a run that was interrupted while its row was being stored, and is passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from scaling.errors import StoreError
from scaling.machine.power import Domain
from scaling.results.jsonl import Lines, RecordFormat, read_lines
from scaling.results.rows import RunLine, in_words, json_line, run_facts, run_of
from scaling.study.planning import Run


@dataclass(frozen=True, slots=True)
class MeterTrace:
    """The power that one meter showed during a run, in watts, at seconds since its first turn began."""

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
    facts = {
        "schema": 1,
        "run": run_facts(trace.run, None),
        "started_at": trace.started_at,
        "meters": trace.meters,
    }
    return json_line(facts)


def power_from_json(line: str | bytes) -> PowerTrace:
    """The trace that a line of JSON describes."""
    with in_words():
        parsed = msgspec.json.decode(line, type=_Line)
        run = run_of(parsed.run)
    if any(len(meter.seconds) != len(meter.watts) for meter in parsed.meters):
        raise StoreError("meters: seconds and watts are not of one length")
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
    """The traces of a folder, one after another; none where nothing was metered."""
    return read_lines(folder, POWER) if (folder / POWER.file).exists() else iter(())


class PowerStore:
    """The traces of a folder, open for appending once there is one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: Lines[PowerTrace] | None = None

    def append(self, trace: PowerTrace) -> None:
        """Put a trace on the disk, whole or not at all."""
        self._lines = self._lines or Lines(self._folder, POWER)
        self._lines.append(trace)

    def close(self) -> None:
        """Let others write."""
        if self._lines is not None:
            self._lines.close()
