"""Rows, one per run, as values and as JSON. Pure.

The names and nesting of the JSON are a contract with all readers of `rows.jsonl`; unknown values are null. A row whose
run has an unknown key is refused, since points that differ in it alone would be merged.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, asdict, dataclass, fields, replace
from datetime import datetime
from functools import lru_cache
from itertools import chain
from math import isclose
from statistics import median
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta

from scaling.analysis import rules
from scaling.analysis.device_profile import DeviceProfile
from scaling.analysis.doubts import about_replicas, about_run, about_steps
from scaling.analysis.energy import LaunchEnergy, MeterEnergy, launch_energy
from scaling.analysis.packs import Pack
from scaling.analysis.rules import Doubt, Rule
from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.step_times import level_shift, step_noise, step_times
from scaling.analysis.summary import Launch
from scaling.analysis.turns import (
    EXECUTIONS,
    FIRST_ROUND,
    WARMUP_ROUND,
    CountedTurn,
    Turn,
    TurnTimes,
    counted_steps,
    launch_times,
    was_quiet,
)
from scaling.analysis.witness import Circumstances, Witness
from scaling.errors import OtherSchemaError, StoreError, excerpt
from scaling.features import features, resolve
from scaling.machine.topology import CpuSet, Machine
from scaling.study.axes import RESOLVED, RunCpus, StepCount
from scaling.study.limits import LONGEST_ROW, Measured, StepSeconds, is_time
from scaling.study.planning import Point, Run

T = TypeVar("T")

Pairs = tuple[tuple[str, str], ...]


def schema_of(*records: type) -> int:
    """The number of a schema, which grows with every field: older versions refuse larger ones."""
    return sum(len(fields(record)) for record in records)


SCHEMA = schema_of(Point, Run)
SchemaNumber = Annotated[int, Meta(ge=1, le=SCHEMA)]

# A shortage is our own failure to start a process; the program did not run.
Status = Literal["ok", "failed", "timeout", "interrupted", "shortage"]
SectionSeconds = Measured | None
# Above 2**53 a float cannot represent every integer.
Count = Annotated[int, Meta(ge=1, le=2**53)]

# Limit of 64-bit counters.
MOST_COUNTED = 2.0**64

# In rows without process seconds, steps with at least this share of the run are whole executions.
LEAST_OF_EXECUTION = 0.9
ROUNDING = 1e-6


class Sections(msgspec.Struct, frozen=True):
    """The seconds of a run by section, as in the Minsky study: exec to first line, imports, build, …"""

    spawn: SectionSeconds = None
    imports: SectionSeconds = msgspec.field(default=None, name="import")
    init: SectionSeconds = None
    setup: SectionSeconds = None
    first_step: SectionSeconds = None
    run: SectionSeconds = None
    main: SectionSeconds = None
    wall: SectionSeconds = None


NO_SECTIONS = Sections()


@dataclass(frozen=True, slots=True)
class Figure:
    """Values that a workload reports besides step times, one per step."""

    name: str
    values: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run; `reason` is a sentence unless the status is ok."""

    status: Status
    reason: str | None = None
    step_seconds: tuple[StepSeconds, ...] = ()
    turns: tuple[Turn, ...] = ()
    warmup_steps: StepCount = 0
    ended_by: str | None = None
    items_per_step: Count | None = None
    first_loss: float | None = None
    last_loss: float | None = None
    cautions: tuple[str, ...] = ()
    sections: Sections = NO_SECTIONS
    truth: StatedTruth | None = None
    stdout_tail: str | None = None
    stderr_tail: str | None = None
    pack: Pack | None = None
    device_profile: DeviceProfile | None = None
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """A measured file, by its name without folders; `digest` distinguishes files with the same name."""

    name: str
    size: StepCount
    mtime: float
    digest: str


# Measured files by workload name.
ProgramFiles = Mapping[str, tuple[ProgramFile, ...]]


@dataclass(frozen=True, slots=True)
class Row:
    """A run as stored."""

    run: Run
    outcome: Outcome
    witness: Witness
    machine: Machine
    versions: Pairs
    started_at: str
    environment: Pairs
    left_out: tuple[str, ...] = ()
    energy: tuple[MeterEnergy, ...] = ()
    program_files: tuple[ProgramFile, ...] = ()


def row_to_json(row: Row) -> str:
    """A row as one line of JSON."""
    return json_line(row_facts(row))


def json_line(facts: Mapping[str, object]) -> str:
    """Facts as a line of JSON; ValueError for a number that is not finite, and for a line that no reader takes."""
    line = json.dumps(msgspec.to_builtins(facts), allow_nan=False, separators=(",", ":"))
    if len(line) > LONGEST_ROW:
        raise ValueError(f"the line has {len(line) >> 20} MiB, more than the {LONGEST_ROW >> 20} MiB that are read")
    return line


def row_facts(row: Row) -> dict[str, object]:
    """A row as stored."""
    return {
        "schema": SCHEMA,
        **{name: getattr(row, name) for name in ROW_FIELDS},
        "run": run_facts(row.run, row.outcome.items_per_step),
        "versions": dict(row.versions),
        "environment": dict(row.environment),
    }


def run_facts(run: Run, items_per_step: int | None) -> dict[str, object]:
    """A run as stored; `asked` has the requested values of settings that became numbers."""
    point = run.point
    requested = {**requested_settings(point), "steps": run.steps}
    requested |= {name: value for name in ("warmup", "traced") if (value := getattr(run, name)) is not None}
    return {
        **asdict(point),
        "items": items_per_step,
        **point.thread_counts,
        **{name: getattr(run, name) for name in OF_RUN},
        "asked": requested,
    }


def requested_settings(point: Point) -> dict[str, int | str]:
    """The settings that may be words, as requested."""
    return {name: value for name in RESOLVED if (value := getattr(point, name)) is not None}


# Fields of a run that its line has beside its settings, and in `asked`.
OF_RUN = ("cpus", "launch", "seed", "start", "cohort")
OF_STEPS = ("steps", "warmup", "traced")


def _keys(record: type, names: Sequence[str] = (), /, **others: Any) -> list[tuple[Any, ...]]:
    """Fields of a dataclass as keys of a line, by default all, some with other types."""
    types = get_type_hints(record, include_extras=True) | others
    kept = [one for one in fields(record) if one.name in (names or types)]
    return [(one.name, types[one.name], *([] if one.default is MISSING else [one.default])) for one in kept]


POINT_FIELDS, ROW_FIELDS = Point.__slots__, Row.__slots__
_POINT_TYPES = get_type_hints(Point, include_extras=True)
_AskedLine: Any = msgspec.defstruct(
    "Asked",
    [
        *((name, _POINT_TYPES[name] | msgspec.UnsetType, msgspec.UNSET) for name in RESOLVED),
        *_keys(Run, OF_STEPS),
    ],
    forbid_unknown_fields=True,
)
# `asked` settings are checked with the point.
RunLine: Any = msgspec.defstruct(
    "Run",
    [*_keys(Point, **dict.fromkeys(RESOLVED, Any)), *_keys(Run, OF_RUN), ("asked", _AskedLine | None, None)],
    kw_only=True,
    forbid_unknown_fields=True,
)
RowLine: Any = msgspec.defstruct(
    "RowLine",
    [("schema", SchemaNumber), *_keys(Row, run=RunLine, versions=dict[str, str], environment=dict[str, str])],
    namespace={"__doc__": "A line of `rows.jsonl`; unknown keys outside its run are ignored."},
)


_SchemaLine: Any = msgspec.defstruct("Schema", [("schema", int, SCHEMA), ("run", dict[str, Any] | None, None)])
_decode_line = msgspec.json.Decoder(RowLine).decode
_NOTHING_ASKED = _AskedLine()


def run_of(line: Any) -> Run:
    """Build a run from its line."""
    asked = line.asked or _NOTHING_ASKED
    settings = {name: getattr(line, name) for name in POINT_FIELDS}
    settings |= {name: value for name in RESOLVED if (value := getattr(asked, name)) is not msgspec.UNSET}
    point = shared(msgspec.convert(settings, Point, strict=False))
    own = {name: getattr(line, name) for name in OF_RUN} | {name: getattr(asked, name) for name in OF_STEPS}
    return Run(point=point, **own | {"cpus": shared(line.cpus), "cohort": shared(line.cohort)})


@lru_cache(2**14)
def shared(value: T) -> T:
    """Return one object for equal values, since rows share most of their facts."""
    return value


@contextmanager
def in_words() -> Iterator[None]:
    """Turn decoding errors into a StoreError that names the key."""
    try:
        yield
    except RecursionError as error:
        raise StoreError("the line: it is nested too deeply") from error
    except (msgspec.MsgspecError, UnicodeError) as error:
        what, _, where = str(error).partition(" - at `$")
        raise StoreError(f"{where.strip('.`') or 'the line'}: {what[0].lower()}{what[1:]}") from error


def row_from_json(line: str | bytes) -> Row:
    """Parse a line of `rows.jsonl`."""
    return parse_line(line, lambda line: _row(_decode_line(line)))


def parse_line(line: str | bytes, parse: Callable[[str | bytes], T]) -> T:
    """Parse a line about a run; OtherSchemaError for one of a version with further axes."""
    try:
        with in_words():
            return parse(line)
    except StoreError:
        with suppress(ValueError, RecursionError):
            _refuse_other_schema(msgspec.json.decode(line, type=_SchemaLine))
        raise


def _refuse_other_schema(line: Any) -> None:
    run = line.run or {}
    asked = run.get("asked")
    known = {*RunLine.__struct_fields__, *_AskedLine.__struct_fields__}
    for key in (*run, *(asked if isinstance(asked, dict) else ())):
        if key not in known:
            raise OtherSchemaError(
                f"has the axis '{excerpt(key)}', which this version does not know; install the version of cpu-scaling "
                "that wrote it"
            )
    if line.schema > SCHEMA:
        raise OtherSchemaError(
            f"has schema {line.schema}, and this version reads {SCHEMA}; install a later version of cpu-scaling"
        )


def row_from_facts(facts: Mapping[str, Any]) -> Row:
    """Build a row from facts as stored; numbers may be text, as in a CSV."""
    try:
        with in_words():
            row = _row(msgspec.convert(facts, RowLine, strict=False))
    except StoreError:
        with suppress(ValueError):
            _refuse_other_schema(msgspec.convert(facts, _SchemaLine))
        raise
    try:
        row_to_json(row)
    except ValueError as error:
        raise StoreError("a number is not finite") from error
    return row


def _row(line: Any) -> Row:
    values = {name: getattr(line, name) for name in ROW_FIELDS} | {"run": run_of(line.run)}
    values |= {name: shared(values[name]) for name in ("machine", "program_files")}
    values |= {name: shared(tuple(values[name].items())) for name in ("versions", "environment")}
    return _refuse_impossible(Row(**values))


_COUNTS = [name for name, hint in get_type_hints(Witness).items() if int in get_args(hint)]


def _refuse_impossible(row: Row) -> Row:
    """The row, unless a count exceeds 64 bits or the replicas of a pack differ in their number of turns."""
    run, turns, pack = row.run, row.outcome.turns, row.outcome.pack
    if not -MOST_COUNTED < run.seed < MOST_COUNTED or not run.launch < MOST_COUNTED:
        raise StoreError("run: its launch or seed exceeds 64 bits")
    for name in _COUNTS:
        if (count := getattr(row.witness, name)) and not -MOST_COUNTED < count < MOST_COUNTED:
            raise StoreError(f"witness.{name}: the number exceeds 64 bits")
    if turns and not all(-1 < turn.unsettled <= turn.steps < MOST_COUNTED > turn.round for turn in turns):
        raise StoreError("outcome.turns: a turn has an impossible number of steps")
    if turns and not all(turn.seconds == 0 or is_time(turn.seconds) for turn in turns):
        raise StoreError("outcome.turns: a turn is shorter than any clock can measure")
    if pack and len({len(replica.rates) for replica in pack.replicas}) > 1:
        raise StoreError("outcome.pack: the rates of its replicas differ in length")
    return row


def row_identity(row: Row) -> int:
    """Equal for copies: rows of the same run with the same start."""
    return hash((row.run.key, row.started_at))


def launch_seconds(row: Row) -> float | None:
    """The step time of a row, if it has one."""
    return launch_times(_counted_steps(row), len(_cpu_set(row.run.cpus)), row.run.point.replicas).seconds


def _counted_steps(row: Row) -> list[CountedTurn]:
    turns = (row.outcome.turns or (_whole_run(row),)) if row.outcome.status == "ok" else ()
    return counted_steps(row.outcome.step_seconds, turns)


def steady_steps(row: Row) -> list[float]:
    """Step times without warm-up."""
    return [*chain.from_iterable(steps for _, steps in _counted_steps(row))]


def quiet_steps(row: Row) -> list[float]:
    """Step times of quiet turns, or of all turns if none was quiet."""
    cpus, replicas = len(_cpu_set(row.run.cpus)), row.run.point.replicas
    quiet = [steps for turn, steps in _counted_steps(row) if was_quiet(turn, cpus, replicas)]
    return [*chain.from_iterable(quiet)] or steady_steps(row)


def launch_of(row: Row) -> Launch:
    """The launch of a row, for the analysis."""
    outcome, witness, run, cpus = row.outcome, row.witness, row.run, _cpu_set(row.run.cpus)
    counted = _counted_steps(row)
    times = launch_times(counted, len(cpus), run.point.replicas)
    steps = [*chain.from_iterable(steps for _, steps in counted)]
    whole_process = _is_whole_process(row)
    return Launch(
        point=run.point,
        number=run.launch,
        seconds=times.seconds,
        items=outcome.items_per_step,
        wall_seconds=outcome.sections.wall,
        started=_epoch_seconds(row.started_at),
        reason=outcome.reason,
        not_started=outcome.status == "shortage",
        steps=len(steps),
        run_seconds=outcome.sections.run,
        mhz=witness.mhz,
        truth=outcome.truth,
        doubts=tuple(_doubts(row, cpus, steps, times.turns)) if steps else (),
        turns=times.turns,
        cohort=run.cohort.name if run.cohort else None,
        whole_process=whole_process,
        cpus_busy=None if whole_process is False else times.cpus_busy,
        ipc=_rate(witness.instructions, witness.cycles),
        clock_hz=_rate(witness.cycles, witness.cpu_seconds),
        peak_memory_bytes=witness.max_rss_bytes,
        step_times=step_times(steps),
        throttled_share=_throttled_share(row),
        pipeline_share=_rate(witness.pipeline_cpu_seconds, witness.cpu_seconds),
        cpus=cpus,
        rates=_rates(row),
        pack=outcome.pack,
        energy=_energy(row),
        figures={figure.name: median(figure.values) for figure in outcome.figures if figure.values},
    )


# Launches of a cohort share their start.
@lru_cache(4096)
def _epoch_seconds(text: str) -> float | None:
    """A time as seconds since the epoch; None if it is not a time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _energy(row: Row) -> LaunchEnergy | None:
    """The energy per step, or for the items of all replicas of a pack."""
    if not row.energy or row.outcome.status != "ok":
        return None
    pack = row.outcome.pack
    return launch_energy(row.energy, row.outcome.items_per_step, pack.items_per_second if pack else None)


def _rates(row: Row) -> tuple[tuple[int, float], ...]:
    """Items per second by round; for a pack, of all replicas in the window in which all ran."""
    outcome = row.outcome
    turns = [turn for turn in outcome.turns if turn.round != WARMUP_ROUND]
    if outcome.pack is not None:
        rates = outcome.pack.rates_of(row.run.point.measured_replicas)
        return tuple((turn.round, rate) for turn, rate in zip(turns, rates, strict=False) if rate > 0)
    items = outcome.items_per_step or 1
    return tuple((turn.round, items * (turn.steps - turn.unsettled) / turn.seconds) for turn in turns if turn.seconds)


def planned_launch(row: Row) -> Launch:
    """The launch of a row with its step noise, for a schedule."""
    return replace(launch_of(row), step_noise=step_noise(steady_steps(row)))


def _rate(count: float | None, per: float | None) -> float | None:
    """A quotient; None if either number is unknown or implausible."""
    if count is None or per is None or not all(1 / MOST_COUNTED < one < MOST_COUNTED for one in (count, per)):
        return None
    return count / per


def _throttled_share(row: Row) -> float | None:
    """The share of quota periods in which a run was throttled; None without a quota."""
    throttled, periods = row.witness.throttled_periods, row.witness.quota_periods
    if row.run.point.quota is None or throttled is None or not periods:
        return None
    return throttled / periods


def _is_whole_process(row: Row) -> bool | None:
    """Whether the time of a program spans start to exit instead of being reported; None for other workloads."""
    if row.outcome.ended_by != EXECUTIONS:
        return None
    timed, process_seconds = sum(row.outcome.step_seconds), row.witness.process_seconds
    if process_seconds is None or row.outcome.pack:
        return timed >= LEAST_OF_EXECUTION * (row.outcome.sections.run or 0.0)
    return isclose(timed, process_seconds, rel_tol=ROUNDING)


def _whole_run(row: Row) -> Turn:
    """A run without turns as its only turn; its threads waited only for each other."""
    witness, outcome = row.witness, row.outcome
    own = None if witness.cpu_seconds is None else witness.cpu_seconds + (witness.parent_cpu_seconds or 0.0)
    seconds = outcome.sections.run or sum(outcome.step_seconds[outcome.warmup_steps :])
    seen = own, witness.busy_seconds, witness.steal_seconds
    return Turn(FIRST_ROUND, len(outcome.step_seconds), outcome.warmup_steps, seconds, *seen)


# Launches of a point use one of a few sets of CPUs.
@lru_cache(4096)
def _cpu_set(cpus: RunCpus) -> CpuSet:
    return frozenset(chain.from_iterable(cpus))


def _judged_otherwise(row: Row, timed: Sequence[TurnTimes]) -> set[Rule]:
    """The rules that a run breaks because of its own quota, or that apply to its turns instead."""
    turns, judged = row.outcome.turns, set[Rule]()
    if row.run.point.quota is not None:
        judged |= {rules.THROTTLED, rules.WAITING, rules.PRESSURE, rules.UNSTEADY}
    if turns:
        judged |= {rules.STEAL, rules.FOREIGN_LOAD}
        if all(turn.sibling_seconds is not None for turn in turns):
            judged.add(rules.SIBLING_LOAD)
        if any(turn.calm and turn.elsewhere is not None for turn in timed):
            judged.add(rules.LOAD_ELSEWHERE)
    return judged


def _doubts(row: Row, cpus: CpuSet, counted: Sequence[float], timed: Sequence[TurnTimes]) -> list[Doubt]:
    """The doubts about a row: from its steps, then from its witness and figures."""
    point, outcome = row.run.point, row.outcome
    shift = None if outcome.turns else level_shift(counted)
    against = [*about_steps(shift, None if outcome.ended_by == EXECUTIONS else len(counted))]
    threads = point.replicas * point.threads(point.intra), point.threads(point.inter)
    turn_seconds = [turn.seconds for turn in outcome.turns if turn.round != WARMUP_ROUND]
    usual = median(turn_seconds) if turn_seconds else None
    circumstances = Circumstances(cpus, outcome.sections.run or 0.0, *threads, outcome.cautions, usual)
    against += about_run(row.witness, circumstances)
    if outcome.pack is not None:
        against += about_replicas(outcome.pack.disjoint)
    if outcome.figures:
        figures = {figure.name: figure.values for figure in outcome.figures}
        against += chain.from_iterable(resolve(judge)(figures) for feature in features() for judge in feature.doubts)
    judged = _judged_otherwise(row, timed) if against else set()
    return [doubt for doubt in against if doubt.rule not in judged]
