"""Run, outcome and witness as values, and the JSON they travel in: one row is one run. Pure.

Names and nesting are a contract with everybody who reads `rows.jsonl`; what could not be read is null.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import FiniteFloat, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from scaling.analysis.summary import Launch, launch_seconds
from scaling.errors import StoreError
from scaling.machine.identity import Machine
from scaling.study.planning import Point, Run
from scaling.study.spec import Items, Threads

SCHEMA = 1

Status = Literal["ok", "failed", "timeout", "interrupted"]


@dataclass(frozen=True, slots=True)
class Sections:
    """Where the seconds of a run went, as the Minsky study cut it: exec to first line, imports, build, …"""

    spawn: float | None = None
    imports: float | None = None
    init: float | None = None
    setup: float | None = None
    first_step: float | None = None
    run: float | None = None
    main: float | None = None
    wall: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run; a run that did not end well says why in one sentence."""

    status: Status
    reason: str | None = None
    step_seconds: tuple[float, ...] = ()
    warmup_steps: int = 0
    ended_by: str | None = None
    items_per_step: int | None = None
    first_loss: float | None = None
    last_loss: float | None = None
    cautions: tuple[str, ...] = ()
    sections: Sections = Sections()
    stdout_tail: str | None = None
    stderr_tail: str | None = None


@dataclass(frozen=True, slots=True)
class Witness:
    """What else happened during a run's measured steps; None where the machine does not tell."""

    cpus_at_start: str | None = None
    cpus_at_end: str | None = None
    memory_policy: str | None = None
    threads: int | None = None
    busy_threads: int | None = None
    intra_pool: int | None = None
    inter_pool: int | None = None
    cpus_visited: str | None = None
    cpu_seconds: float | None = None
    run_queue_wait_seconds: float | None = None
    busy_seconds: float | None = None
    sibling_busy_seconds: float | None = None
    steal_seconds: float | None = None
    pressure_seconds: float | None = None
    throttled_periods: int | None = None
    involuntary_switches: int | None = None
    voluntary_switches: int | None = None
    max_rss_bytes: int | None = None
    mapped_file_bytes: int | None = None
    parent_cpu_seconds: float | None = None
    mhz: float | None = None
    temperature_celsius: float | None = None
    energy_joules: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A run as stored."""

    run: Run
    outcome: Outcome
    witness: Witness
    machine: Machine
    versions: tuple[tuple[str, str], ...]
    started_at: str
    environment: tuple[tuple[str, str], ...]


def row_to_json(row: Row) -> str:
    """A row as one line of JSON."""
    sections = asdict(row.outcome.sections)
    return json.dumps(
        {
            "schema": SCHEMA,
            "run": _run_facts(row.run, row.outcome.items_per_step),
            "outcome": {
                **asdict(row.outcome),
                "sections": {"import" if k == "imports" else k: v for k, v in sections.items()},
            },
            "witness": asdict(row.witness),
            "machine": asdict(row.machine),
            "versions": dict(row.versions),
            "started_at": row.started_at,
            "environment": dict(row.environment),
        },
        allow_nan=False,
        separators=(",", ":"),
    )


def _run_facts(run: Run, items_per_step: int | None) -> dict[str, object]:
    """A run as stored: what was asked for stands under `asked` where it was a word and became a number."""
    point = run.point
    asked = {"items": point.items, "intra": point.intra, "inter": point.inter}
    return {
        **asdict(point),
        "items": items_per_step,
        "intra": point.threads(point.intra),
        "inter": point.threads(point.inter),
        "cpus": run.cpus,
        "launch": run.launch,
        "seed": run.seed,
        "asked": asked,
    }


class _Asked(TypedDict):
    items: Items
    intra: Threads
    inter: Threads


class _RunLine(TypedDict):
    workload: str
    mode: str
    size: str
    items: int | None
    scale: str
    framework: str
    device: str
    jit: bool
    cores: int
    smt: int
    placement: str
    memory: str
    intra: int
    inter: int
    cpus: tuple[tuple[int, ...], ...]
    launch: int
    seed: int
    asked: _Asked


Seconds = FiniteFloat | None
_SectionsLine = TypedDict(
    "_SectionsLine",
    {
        "spawn": Seconds,
        "import": Seconds,
        "init": Seconds,
        "setup": Seconds,
        "first_step": Seconds,
        "run": Seconds,
        "main": Seconds,
        "wall": Seconds,
    },
)


class _OutcomeLine(TypedDict):
    status: Status
    reason: str | None
    step_seconds: tuple[FiniteFloat, ...]
    warmup_steps: int
    ended_by: str | None
    items_per_step: int | None
    first_loss: FiniteFloat | None
    last_loss: FiniteFloat | None
    cautions: tuple[str, ...]
    sections: _SectionsLine
    stdout_tail: str | None
    stderr_tail: str | None


class _RowLine(TypedDict):
    """A line of `rows.jsonl` as it must look; a key this version does not know is left alone."""

    schema: Literal[1]
    run: _RunLine
    outcome: _OutcomeLine
    witness: Witness
    machine: Machine
    versions: dict[str, str]
    started_at: str
    environment: dict[str, str]


_LINE = TypeAdapter(_RowLine)


def row_from_json(line: str | bytes) -> Row:
    """The row a line of JSON describes."""
    try:
        parsed = _LINE.validate_json(line)
    except ValidationError as error:
        raise StoreError(_sentence(error)) from error
    return Row(
        run=_run(dict(parsed["run"])),
        outcome=_outcome(dict(parsed["outcome"])),
        witness=parsed["witness"],
        machine=parsed["machine"],
        versions=tuple(parsed["versions"].items()),
        started_at=parsed["started_at"],
        environment=tuple(parsed["environment"].items()),
    )


def _run(line: dict[str, Any]) -> Run:
    asked, cpus, launch, seed = (line.pop(name) for name in ("asked", "cpus", "launch", "seed"))
    return Run(Point(**{**line, **asked}), cpus, launch, seed)


def _outcome(line: dict[str, Any]) -> Outcome:
    sections = line.pop("sections")
    return Outcome(**line, sections=Sections(imports=sections.pop("import"), **sections))


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "the line"
    return f"{where}: {first['msg'][0].lower()}{first['msg'][1:]}"


def launch_of(row: Row) -> Launch:
    """A row as the analysis sees it."""
    outcome = row.outcome
    seconds = launch_seconds(outcome.step_seconds, outcome.warmup_steps) if outcome.status == "ok" else None
    return Launch(row.run.point, seconds, outcome.items_per_step, outcome.sections.wall, outcome.reason)
