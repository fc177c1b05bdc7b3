"""Run, outcome and witness as values, and the JSON they travel in: one row is one run. Pure.

Names and nesting are a contract with everybody who reads `rows.jsonl`; what could not be read is null.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import chain, repeat
from math import isclose
from operator import attrgetter
from statistics import median
from typing import Annotated, Any, Literal, NotRequired, TypeVar, get_args, get_type_hints

import msgspec
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    GetPydanticSchema,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from scaling.analysis import rules
from scaling.analysis.energy import LaunchEnergy, MeterEnergy, launch_energy
from scaling.analysis.ops.device_profile import DeviceProfile
from scaling.analysis.packs import Pack
from scaling.analysis.rules import Doubt, Rule
from scaling.analysis.step_times import step_times
from scaling.analysis.summary import Launch
from scaling.analysis.truth import StatedTruth
from scaling.analysis.turns import (
    EXECUTIONS,
    FIRST_ROUND,
    WARMUP_ROUND,
    CountedTurn,
    LaunchTimes,
    Turn,
    TurnTimes,
    counted_steps,
    launch_times,
    was_quiet,
)
from scaling.analysis.warmup import level_shift, step_noise
from scaling.analysis.witness import Circumstances, Witness, doubts
from scaling.errors import OtherSchemaError, StoreError, escape_text
from scaling.machine.cpulist import CpuSet
from scaling.machine.topology import Machine
from scaling.study.planning import Cohort, Point, PositiveCount, Run, RunCpus, StepCount
from scaling.study.privacy import is_private, without_home, without_secrets
from scaling.study.spec import Start

T = TypeVar("T")

Pairs = tuple[tuple[str, str], ...]
# Workload, mode, size, items and placement.
Subject = tuple[Any, Any, Any, Any, Any]

SCHEMA = 1

Status = Literal["ok", "failed", "timeout", "interrupted"]


Seconds = FiniteFloat | None
# Above this a float no longer counts one by one.
Count = Annotated[int, Field(ge=1, le=2**53)]

# No counter of a processor gets this far.
MOST_COUNTED = 2.0**64

# Steps that take so much of an execution are all of it, in rows without the seconds of its process.
LEAST_OF_EXECUTION = 0.9
ROUNDING = 1e-6

# No reason or remark is longer than what a person reads.
LONGEST_REASON = 2000


def _with_keys(*names: str) -> BeforeValidator:
    """Refuses an object that lacks any of these keys: what is not known is null, so a missing key is a damaged line."""
    required = frozenset(names)

    def check(facts: Any) -> Any:
        if isinstance(facts, dict) and not facts.keys() >= required:
            missing = [name for name in names if name not in facts]
            raise PydanticCustomError("lacks_keys", "lacks {names}", {"names": ", ".join(missing)})
        return facts

    return BeforeValidator(check)


@dataclass(frozen=True, slots=True)
class Sections:
    """Where the seconds of a run went, as the Minsky study cut it: exec to first line, imports, build, …"""

    spawn: Seconds = None
    imports: Annotated[Seconds, Field(validation_alias="import")] = None
    init: Seconds = None
    setup: Seconds = None
    first_step: Seconds = None
    run: Seconds = None
    main: Seconds = None
    wall: Seconds = None


SectionsLine = Annotated[Sections, _with_keys("spawn", "import", "init", "setup", "first_step", "run", "main", "wall")]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run; a run that did not end well says why in one sentence."""

    status: Status
    reason: str | None = None
    step_seconds: tuple[Annotated[FiniteFloat, Field(gt=0)], ...] = ()
    turns: tuple[Turn, ...] = ()
    warmup_steps: StepCount = 0
    ended_by: str | None = None
    items_per_step: Count | None = None
    first_loss: FiniteFloat | None = None
    last_loss: FiniteFloat | None = None
    cautions: tuple[str, ...] = ()
    sections: SectionsLine = Sections()
    truth: StatedTruth | None = None
    stdout_tail: str | None = None
    stderr_tail: str | None = None
    pack: Pack | None = None
    device_profile: DeviceProfile | None = None


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """A file that was measured, by its name without folders; `digest` tells it from another of that name."""

    name: str
    size: Annotated[int, Field(ge=0)]
    mtime: FiniteFloat
    digest: str


# By the names that points have.
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
    return json.dumps(row_facts(row), allow_nan=False, separators=(",", ":"))


def row_facts(row: Row) -> dict[str, object]:
    """A row as stored, under the names of the contract."""
    sections = asdict(row.outcome.sections)
    return {
        "schema": SCHEMA,
        "run": run_facts(row.run, row.outcome.items_per_step),
        "outcome": {
            **asdict(row.outcome),
            "sections": {"import" if k == "imports" else k: v for k, v in sections.items()},
        },
        "witness": asdict(row.witness),
        "machine": asdict(row.machine),
        "versions": dict(row.versions),
        "started_at": row.started_at,
        "environment": dict(row.environment),
        "left_out": row.left_out,
        "energy": [asdict(meter) for meter in row.energy],
        "program_files": [asdict(file) for file in row.program_files],
    }


def with_program_files(row: Row, files: ProgramFiles) -> Row:
    """A row that says which files were measured, of a pack of two workloads those of both."""
    measured = filter(None, (row.run.point.workload, row.run.point.beside))
    listed = chain.from_iterable(files.get(name, ()) for name in measured)
    return replace(row, program_files=tuple(dict.fromkeys(listed)))


def storable(row: Row) -> Row:
    """A row as it can be stored and read again: of a run whose figures cannot be, the row of a failed one.

    Text that is not Unicode, as a variable or a file name may be, is kept by escape.
    """
    escaped = replace(
        row,
        outcome=_change_texts(row.outcome, escape_text),
        versions=tuple((escape_text(name), escape_text(text)) for name, text in row.versions),
        environment=tuple((escape_text(name), escape_text(text)) for name, text in row.environment),
    )
    try:
        launch_of(row_from_json(row_to_json(escaped)))
    except (StoreError, ValueError, ArithmeticError, RecursionError) as error:
        reason = f"what it measured cannot be stored: {error}"[:LONGEST_REASON]
        tails = escaped.outcome.stdout_tail, escaped.outcome.stderr_tail
        failed = Outcome("failed", reason, stdout_tail=tails[0], stderr_tail=tails[1])
        return replace(escaped, outcome=failed, witness=Witness())
    return escaped


def run_facts(run: Run, items_per_step: int | None) -> dict[str, object]:
    """A run as stored: what was asked for stands under `asked` where it was a word and became a number."""
    point = run.point
    requested = {"items": point.items, "intra": point.intra, "inter": point.inter, "steps": run.steps}
    requested |= {"pipeline_threads": point.pipeline_threads} if point.pipeline_threads is not None else {}
    requested |= {name: value for name in ("warmup", "traced") if (value := getattr(run, name)) is not None}
    return {
        **asdict(point),
        "items": items_per_step,
        "intra": point.threads(point.intra),
        "inter": point.threads(point.inter),
        "pipeline_threads": point.pipeline_pool,
        "cpus": run.cpus,
        "launch": run.launch,
        "seed": run.seed,
        "start": run.start,
        "cohort": None if run.cohort is None else asdict(run.cohort),
        "asked": requested,
    }


class _Requested(TypedDict, total=False):
    """What was asked for, where it was a word and became a number; the settings of the point are checked with it."""

    items: Any
    intra: Any
    inter: Any
    pipeline_threads: Any
    steps: PositiveCount | None
    warmup: StepCount | None
    traced: PositiveCount | None


class _RunFacts(TypedDict):
    """A run as a line has it, beside the fields of its point; old rows have neither `start` nor `cohort`."""

    cpus: RunCpus
    launch: PositiveCount
    seed: int
    start: NotRequired[Start]
    cohort: NotRequired[Cohort | None]
    asked: NotRequired[_Requested | None]
    workload: NotRequired[Any]
    mode: NotRequired[Any]
    size: NotRequired[Any]
    items: NotRequired[Any]
    scale: NotRequired[Any]
    framework: NotRequired[Any]
    device: NotRequired[Any]
    jit: NotRequired[Any]
    cores: NotRequired[Any]
    smt: NotRequired[Any]
    placement: NotRequired[Any]
    memory: NotRequired[Any]
    intra: NotRequired[Any]
    inter: NotRequired[Any]
    quota: NotRequired[Any]
    data: NotRequired[Any]
    pipeline_threads: NotRequired[Any]
    replicas: NotRequired[Any]
    beside: NotRequired[Any]
    cpu_power_watts: NotRequired[Any]
    cpu_max_mhz: NotRequired[Any]
    gpu_power_watts: NotRequired[Any]
    gpu_max_mhz: NotRequired[Any]
    onednn: NotRequired[Any]


def _run(facts: _RunFacts) -> Run:
    """A run from its line. Thousands of lines are of one point, which is checked once."""
    requested = facts.get("asked") or {}
    settings = {**facts, **requested}
    values = tuple(map(settings.get, POINT_FIELDS, repeat(MISSING)))
    try:
        point = _point(*values)
    except TypeError:  # a list or an object is no setting
        point = _point.__wrapped__(*values)
    return Run(
        point=point,
        cpus=_shared(facts["cpus"]),
        launch=facts["launch"],
        seed=facts["seed"],
        start=facts.get("start", "spawn"),
        steps=requested.get("steps"),
        warmup=requested.get("warmup"),
        traced=requested.get("traced"),
        cohort=facts.get("cohort"),
    )


# No folder that is read in seconds has more points.
MOST_POINTS = 2**16

MISSING = object()
POINT_FIELDS = tuple(Point.__dataclass_fields__)
_POINT = TypeAdapter(Point)


@lru_cache(MOST_POINTS, typed=True)
def _point(*values: Any) -> Point:
    """A point from its settings, in order."""
    settings = {name: value for name, value in zip(POINT_FIELDS, values, strict=True) if value is not MISSING}
    try:
        return _POINT.validate_python(settings)
    except ValidationError as error:
        raise PydanticCustomError("point", "{problem}", {"problem": first_wrong(error)}) from error


@lru_cache(1024)
def _shared(value: T) -> T:
    """The same object for equal ones: rows of a folder have most of their facts in common."""
    return value


# Read as it stands in the line, which the parser can check by itself, and made a run after that.
RunLine = Annotated[
    Run, GetPydanticSchema(lambda _, handler: handler.generate_schema(Annotated[_RunFacts, AfterValidator(_run)]))
]


# The keys that every version has written; those it has learnt since may be missing.
OutcomeLine = Annotated[
    Outcome,
    _with_keys(
        *("status", "reason", "step_seconds", "warmup_steps", "ended_by", "items_per_step", "sections"),
        *("stdout_tail", "stderr_tail"),
    ),
]


class RowLine(TypedDict):
    """A line of `rows.jsonl` as it must look; a key this version does not know is left alone."""

    __pydantic_config__ = ConfigDict(allow_inf_nan=False)  # type: ignore[misc]

    schema: Literal[1]
    run: RunLine
    outcome: OutcomeLine
    witness: Witness
    machine: Machine
    versions: dict[str, str]
    started_at: str
    environment: dict[str, str]
    left_out: NotRequired[tuple[str, ...]]
    energy: NotRequired[tuple[MeterEnergy, ...]]
    program_files: NotRequired[tuple[ProgramFile, ...]]


_LINE = TypeAdapter(RowLine)
_RUN: TypeAdapter[Run] = TypeAdapter(RunLine)


def run_to_json(run: Run) -> str:
    """A run that is yet to be made, as it travels to whoever makes it."""
    return json.dumps(run_facts(run, None), allow_nan=False, separators=(",", ":"))


def run_from_json(text: str | bytes) -> Run:
    """The run that a text describes."""
    try:
        return _RUN.validate_json(text)
    except ValidationError as error:
        raise StoreError(first_wrong(error)) from error


class _Part(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A part of a line with the keys and types that this version writes, which is decoded several times as fast.

    What is decoded so is a row by the contract too; any other line is left to the contract.
    """


class _SectionsPart(_Part, kw_only=True):
    spawn: float | None
    imports: float | None = msgspec.field(name="import")
    init: float | None
    setup: float | None
    first_step: float | None
    run: float | None
    main: float | None
    wall: float | None


class _OutcomePart(_Part, kw_only=True):
    status: Status
    reason: str | None
    step_seconds: tuple[Annotated[float, msgspec.Meta(gt=0)], ...]
    turns: tuple[Turn, ...] = ()
    warmup_steps: Annotated[int, msgspec.Meta(ge=0)]
    ended_by: str | None
    items_per_step: Annotated[int, msgspec.Meta(ge=1, le=2**53)] | None
    first_loss: float | None = None
    last_loss: float | None = None
    cautions: tuple[str, ...] = ()
    sections: _SectionsPart
    truth: StatedTruth | None = None
    stdout_tail: str | None
    stderr_tail: str | None
    pack: Pack | None = None
    device_profile: DeviceProfile | None = None


class _RequestedPart(_Part):
    items: Any = MISSING
    intra: Any = MISSING
    inter: Any = MISSING
    pipeline_threads: Any = MISSING
    steps: Annotated[int, msgspec.Meta(ge=1)] | None = None
    warmup: Annotated[int, msgspec.Meta(ge=0)] | None = None
    traced: Annotated[int, msgspec.Meta(ge=1)] | None = None


class _RunPart(_Part, kw_only=True):
    workload: Any = MISSING
    mode: Any = MISSING
    size: Any = MISSING
    items: Any = MISSING
    scale: Any = MISSING
    framework: Any = MISSING
    device: Any = MISSING
    jit: Any = MISSING
    cores: Any = MISSING
    smt: Any = MISSING
    placement: Any = MISSING
    memory: Any = MISSING
    intra: Any = MISSING
    inter: Any = MISSING
    quota: Any = MISSING
    data: Any = MISSING
    pipeline_threads: Any = MISSING
    replicas: Any = MISSING
    beside: Any = MISSING
    cpu_power_watts: Any = MISSING
    cpu_max_mhz: Any = MISSING
    gpu_power_watts: Any = MISSING
    gpu_max_mhz: Any = MISSING
    onednn: Any = MISSING
    cpus: msgspec.Raw
    launch: Annotated[int, msgspec.Meta(ge=1)]
    seed: int
    start: Start = "spawn"
    cohort: msgspec.Raw = msgspec.Raw(b"null")
    asked: _RequestedPart | None = None


class _LineParts(_Part):
    schema: Literal[1]
    run: _RunPart
    outcome: _OutcomePart
    witness: Witness
    machine: msgspec.Raw
    versions: msgspec.Raw
    started_at: str
    environment: msgspec.Raw
    left_out: tuple[str, ...] = ()
    energy: tuple[MeterEnergy, ...] = ()
    program_files: msgspec.Raw = msgspec.Raw(b"[]")


class _SubjectRequested(msgspec.Struct):
    items: Any = MISSING


class _SubjectRun(msgspec.Struct):
    workload: Any
    mode: Any
    size: Any
    placement: Any
    items: Any = MISSING
    asked: _SubjectRequested | None = None


class _SubjectLine(msgspec.Struct):
    run: _SubjectRun


_decode_subject = msgspec.json.Decoder(_SubjectLine).decode


def subject_of_line(line: bytes) -> Subject:
    """What a line is about; lines of which this differs have no series in common. ValueError where it does not say.

    Points of one subject stand together in a table.
    """
    run = _decode_subject(line).run
    items = run.items if run.asked is None or run.asked.items is MISSING else run.asked.items
    return run.workload, run.mode, run.size, items, run.placement


def _read_once(part_type: Any) -> Callable[[bytes], Any]:
    """What reads a part that most lines of a folder have in common: once."""
    return lru_cache(4096)(TypeAdapter(part_type).validate_json)


_decode_line = msgspec.json.Decoder(_LineParts).decode
_read_cpus, _read_cohort, _read_machine = _read_once(RunCpus), _read_once(Cohort | None), _read_once(Machine)
_read_pairs = _read_once(Annotated[dict[str, str], AfterValidator(lambda pairs: tuple(pairs.items()))])
_read_program_files = _read_once(tuple[ProgramFile, ...])


class DecodedRun(msgspec.Struct, gc=False):
    """A run as it was read: what `Run` has of it, made in a tenth of the time."""

    point: Point
    cpus: RunCpus
    launch: int
    seed: int
    start: Start
    steps: int | None
    warmup: int | None
    traced: int | None
    cohort: Cohort | None

    @property
    def key(self) -> tuple[Point, int]:
        """What makes this run this run."""
        return self.point, self.launch


class DecodedRow(msgspec.Struct, gc=False):
    """A row as it was read, for whoever goes through very many: it has what `Row` has, made in a third of the time."""

    run: DecodedRun
    outcome: _OutcomePart
    witness: Witness
    machine: Machine
    versions: Pairs
    started_at: str
    environment: Pairs
    left_out: tuple[str, ...] = ()
    energy: tuple[MeterEnergy, ...] = ()
    program_files: tuple[ProgramFile, ...] = ()


AnyRow = Row | DecodedRow
SomeRow = TypeVar("SomeRow", bound=AnyRow)
SomeOutcome = TypeVar("SomeOutcome", bound=Outcome | _OutcomePart)


# The counts of a witness.
_COUNTS = [name for name, hint in get_type_hints(Witness).items() if int in get_args(hint)]
_counts = attrgetter(*_COUNTS)


def _refuse_impossible(row: SomeRow) -> SomeRow:
    """A row, unless it counts further than any counter goes, or replicas of a pack differ in their number of turns."""
    run, turns, pack = row.run, row.outcome.turns, row.outcome.pack
    if not -MOST_COUNTED < run.seed < MOST_COUNTED or not run.launch < MOST_COUNTED:
        raise StoreError("run: its launch or its seed is a number of more than 64 bits")
    for name, count in zip(_COUNTS, _counts(row.witness), strict=True):
        if count and not -MOST_COUNTED < count < MOST_COUNTED:
            raise StoreError(f"witness.{name}: it is a number of more than 64 bits")
    if turns and not all(-1 < turn.unsettled <= turn.steps < MOST_COUNTED > turn.round for turn in turns):
        raise StoreError("outcome.turns: the steps of a turn are no numbers that can be")
    if pack and len({len(replica.rates) for replica in pack.replicas}) > 1:
        raise StoreError("outcome.pack: the rates of its replicas are not of one length")
    return row


def _row_of_parts(line: _LineParts) -> DecodedRow:
    return DecodedRow(
        _run_of_part(line.run),
        line.outcome,
        line.witness,
        _read_machine(bytes(line.machine)),
        _read_pairs(bytes(line.versions)),
        line.started_at,
        _read_pairs(bytes(line.environment)),
        line.left_out,
        line.energy,
        _read_program_files(bytes(line.program_files)),
    )


def _run_of_part(run: _RunPart) -> DecodedRun:
    asked = run.asked or _RequestedPart()
    items = run.items if asked.items is MISSING else asked.items
    intra = run.intra if asked.intra is MISSING else asked.intra
    inter = run.inter if asked.inter is MISSING else asked.inter
    pipeline_threads = run.pipeline_threads if asked.pipeline_threads is MISSING else asked.pipeline_threads
    point = _point(
        *(run.workload, run.mode, run.size, items, run.scale, run.framework, run.device, run.jit, run.cores, run.smt),
        *(run.placement, run.memory, intra, inter, run.quota, run.data, pipeline_threads, run.replicas, run.beside),
        *(run.cpu_power_watts, run.cpu_max_mhz, run.gpu_power_watts, run.gpu_max_mhz, run.onednn),
    )
    return DecodedRun(
        point=point,
        cpus=_read_cpus(bytes(run.cpus)),
        launch=run.launch,
        seed=run.seed,
        start=run.start,
        steps=asked.steps,
        warmup=asked.warmup,
        traced=asked.traced,
        cohort=_read_cohort(bytes(run.cohort)),
    )


def whole_row(row: AnyRow) -> Row:
    """A row as a value, however it was read."""
    if isinstance(row, Row):
        return row
    run = row.run
    return Row(
        run=Run(
            point=run.point,
            cpus=run.cpus,
            launch=run.launch,
            seed=run.seed,
            start=run.start,
            steps=run.steps,
            warmup=run.warmup,
            traced=run.traced,
            cohort=run.cohort,
        ),
        outcome=_outcome_of_part(row.outcome),
        witness=row.witness,
        machine=row.machine,
        versions=row.versions,
        started_at=row.started_at,
        environment=row.environment,
        left_out=row.left_out,
        energy=row.energy,
        program_files=row.program_files,
    )


def _outcome_of_part(part: _OutcomePart) -> Outcome:
    spent = part.sections
    return Outcome(
        part.status,
        part.reason,
        part.step_seconds,
        part.turns,
        part.warmup_steps,
        part.ended_by,
        part.items_per_step,
        part.first_loss,
        part.last_loss,
        part.cautions,
        Sections(
            *(spent.spawn, spent.imports, spent.init, spent.setup, spent.first_step, spent.run, spent.main, spent.wall)
        ),
        part.truth,
        part.stdout_tail,
        part.stderr_tail,
        part.pack,
        part.device_profile,
    )


def decode_row(line: str | bytes) -> AnyRow:
    """The row that a line of JSON describes, as it is read fastest."""
    try:
        row = _row_of_parts(_decode_line(line))
    except (ValueError, TypeError, RecursionError):
        return row_from_any_json(line)
    return _refuse_impossible(row)


def row_from_json(line: str | bytes) -> Row:
    """The row a line of JSON describes."""
    return whole_row(decode_row(line))


def row_from_any_json(line: str | bytes) -> Row:
    """The same by the contract alone, which takes longer and says what is wrong with a line: StoreError."""
    try:
        return _row(_LINE.validate_json(line))
    except ValidationError as error:
        other = _other_schema(error)
        if other is not None:
            raise OtherSchemaError(
                f"has schema {other}, and this version reads {SCHEMA}; install a later version of cpu-scaling"
            ) from error
        raise StoreError(first_wrong(error)) from error


def _other_schema(error: ValidationError) -> int | None:
    """The schema of a line that has another one."""
    inputs = [one["input"] for one in error.errors(include_url=False) if one["loc"] == ("schema",)]
    return inputs[0] if inputs and type(inputs[0]) is int else None


def row_from_facts(facts: Mapping[str, Any]) -> Row:
    """The row that facts under the names of the contract describe; numbers may be text, as in a CSV."""
    try:
        return _row(_LINE.validate_python(facts))
    except ValidationError as error:
        raise StoreError(first_wrong(error)) from error


def _row(parsed: RowLine) -> Row:
    row = Row(
        run=parsed["run"],
        outcome=parsed["outcome"],
        witness=parsed["witness"],
        machine=_shared(parsed["machine"]),
        versions=_shared(tuple(parsed["versions"].items())),
        started_at=parsed["started_at"],
        environment=_shared(tuple(parsed["environment"].items())),
        left_out=parsed.get("left_out", ()),
        energy=parsed.get("energy", ()),
        program_files=_shared(parsed.get("program_files", ())),
    )
    return _refuse_impossible(row)


def first_wrong(error: ValidationError) -> str:
    """The first thing wrong with a line, and where in it."""
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "the line"
    return f"{where}: {first['msg'][0].lower()}{first['msg'][1:]}"


def row_identity(row: AnyRow) -> int:
    """Equal for rows of the same run that began at the same time: one of them is a copy."""
    return hash((row.run.key, row.started_at))


def public_row(row: SomeRow) -> SomeRow:
    """A row without what says more about a person than about the run; `left_out` names the variables."""
    home, private, public = _public_environment(row.environment)
    point = row.run.point
    workload = without_secrets(point.workload)
    texts = _change_texts(row.outcome, lambda text: without_home(without_secrets(text), home))
    versions = _public_versions(row.versions, home)
    if not private and (workload, texts, versions) == (point.workload, row.outcome, row.versions):
        return row
    return _replace(
        row,
        run=row.run if workload == point.workload else _replace(row.run, point=replace(point, workload=workload)),
        outcome=texts,
        versions=versions,
        environment=public,
        left_out=tuple(dict.fromkeys((*row.left_out, *private))),
    )


# Rows of a folder have a handful of environments between them.
@lru_cache(256)
def _public_environment(environment: Pairs) -> tuple[str | None, tuple[str, ...], Pairs]:
    """The home folder, the names of private variables, and the other variables."""
    private = tuple(name for name, _ in environment if is_private(name))
    return dict(environment).get("HOME"), private, tuple(pair for pair in environment if pair[0] not in private)


@lru_cache(256)
def _public_versions(versions: Pairs, home: str | None) -> Pairs:
    return tuple((name, without_home(text, home)) for name, text in versions)


def _change_texts(outcome: SomeOutcome, change: Callable[[str], str]) -> SomeOutcome:
    """An outcome with every text of the program's changed, reason and cautions no longer than a person reads."""
    reason, stdout, stderr = outcome.reason, outcome.stdout_tail, outcome.stderr_tail
    if not (reason or stdout or stderr or outcome.cautions):
        return outcome
    return _replace(
        outcome,
        reason=None if reason is None else change(reason)[:LONGEST_REASON],
        cautions=tuple(change(caution)[:LONGEST_REASON] for caution in outcome.cautions),
        stdout_tail=None if stdout is None else change(stdout),
        stderr_tail=None if stderr is None else change(stderr),
    )


def _replace(value: T, **changes: object) -> T:
    """A value with other parts."""
    return msgspec.structs.replace(value, **changes) if isinstance(value, msgspec.Struct) else replace(value, **changes)  # type: ignore[type-var]


def launch_seconds(row: AnyRow) -> float | None:
    """The step time of a row; None where it has none."""
    return _times(row, _counted_steps(row), len(_cpu_set(row.run.cpus))).seconds


def _counted_steps(row: AnyRow) -> list[CountedTurn]:
    turns = (row.outcome.turns or (_whole_run(row),)) if row.outcome.status == "ok" else ()
    return counted_steps(row.outcome.step_seconds, turns)


def _times(row: AnyRow, counted: Iterable[CountedTurn], cpus: int) -> LaunchTimes:
    point = row.run.point
    return launch_times(counted, cpus, point.replicas)


def steady_steps(row: AnyRow) -> list[float]:
    """The seconds of the steps of a row that count, without warm-up."""
    return [seconds for _, steps in _counted_steps(row) for seconds in steps]


def quiet_steps(row: AnyRow) -> list[float]:
    """Those of quiet turns, where there are any."""
    cpus, replicas = len(_cpu_set(row.run.cpus)), row.run.point.replicas
    quiet = [steps for turn, steps in _counted_steps(row) if was_quiet(turn, cpus, replicas)]
    return [seconds for steps in quiet for seconds in steps] or steady_steps(row)


def launch_of(row: AnyRow, *, with_steps: bool = True) -> Launch:
    """A row as the analysis sees it; without steps it says neither how they are distributed nor their rates."""
    outcome, witness, run, cpus = row.outcome, row.witness, row.run, _cpu_set(row.run.cpus)
    counted = _counted_steps(row)
    steps, times = [*chain.from_iterable([steps for _, steps in counted])], _times(row, counted, len(cpus))
    whole_process = _is_whole_process(row)
    return Launch(
        point=run.point,
        number=run.launch,
        seconds=times.seconds,
        items=outcome.items_per_step,
        wall_seconds=outcome.sections.wall,
        started=_epoch_seconds(row.started_at),
        reason=outcome.reason,
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
        step_times=step_times(steps) if with_steps else None,
        throttled_share=_throttled_share(row),
        pipeline_share=_pipeline_share(row),
        cpus=cpus,
        rates=_rates(row) if with_steps else (),
        pack=outcome.pack,
        energy=_energy(row),
    )


# Launches of a cohort start together.
@lru_cache(4096)
def _epoch_seconds(text: str) -> float | None:
    """A time in a row as seconds of the epoch; None where it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _energy(row: AnyRow) -> LaunchEnergy | None:
    """The energy of a step, of all replicas of a pack as many items'; None where it is not known."""
    if not row.energy or row.outcome.status != "ok":
        return None
    pack = row.outcome.pack
    return launch_energy(row.energy, row.outcome.items_per_step, pack.items_per_second if pack else None)


def _rates(row: AnyRow) -> tuple[tuple[int, float], ...]:
    """Items per second of every round: of a pack, those of all replicas in the window in which all ran."""
    outcome = row.outcome
    turns = [turn for turn in outcome.turns if turn.round != WARMUP_ROUND]
    if outcome.pack is not None:
        rates = outcome.pack.rates_of(row.run.point.measured_replicas)
        return tuple((turn.round, rate) for turn, rate in zip(turns, rates, strict=False) if rate > 0)
    items = outcome.items_per_step or 1
    return tuple((turn.round, items * (turn.steps - turn.unsettled) / turn.seconds) for turn in turns if turn.seconds)


def planned_launch(row: Row) -> Launch:
    """A row as a schedule sees it, which also asks how noisy its steps were."""
    return replace(launch_of(row), step_noise=step_noise(steady_steps(row)))


def is_execution(row: AnyRow) -> bool:
    """Whether a run was a program from its start to its end, of which a launch has few steps or one."""
    return row.outcome.ended_by == EXECUTIONS


def _rate(count: float | None, per: float | None) -> float | None:
    """How many of one thing per another; None where either is not known, or no measurement."""
    if count is None or per is None or not all(1 / MOST_COUNTED < one < MOST_COUNTED for one in (count, per)):
        return None
    return count / per


def _throttled_share(row: AnyRow) -> float | None:
    """The share of the periods of a run's quota in which it ran into it; None where it had none."""
    throttled, periods = row.witness.throttled_periods, row.witness.quota_periods
    if row.run.point.quota is None or throttled is None or not periods:
        return None
    return throttled / periods


def _pipeline_share(row: AnyRow) -> float | None:
    """The share of a run's CPU time that its input pipeline took; None where it had none."""
    return _rate(row.witness.pipeline_cpu_seconds, row.witness.cpu_seconds)


def _is_whole_process(row: AnyRow) -> bool | None:
    """Whether the time of a program is that from its start to its exit, and none that it reports; None for others."""
    if not is_execution(row):
        return None
    timed, process_seconds = sum(row.outcome.step_seconds), row.witness.process_seconds
    if process_seconds is None or row.outcome.pack:
        return timed >= LEAST_OF_EXECUTION * (row.outcome.sections.run or 0.0)
    return isclose(timed, process_seconds, rel_tol=ROUNDING)


def _whole_run(row: AnyRow) -> Turn:
    """A run that had the machine to itself, as its only turn; threads that waited did so for each other."""
    witness, outcome = row.witness, row.outcome
    own = None if witness.cpu_seconds is None else witness.cpu_seconds + (witness.parent_cpu_seconds or 0.0)
    seconds = outcome.sections.run or sum(outcome.step_seconds[outcome.warmup_steps :])
    seen = own, witness.busy_seconds, witness.steal_seconds
    return Turn(FIRST_ROUND, len(outcome.step_seconds), outcome.warmup_steps, seconds, *seen)


# Launches of a point have the same CPUs, or one of a few equivalent sets.
@lru_cache(4096)
def _cpu_set(cpus: RunCpus) -> CpuSet:
    return frozenset(chain.from_iterable(cpus))


def _made_by_quota(row: AnyRow) -> set[Rule]:
    """The rules that a run breaks by its own quota: its threads are stopped, and wait, and its steps are uneven."""
    quota = row.run.point.quota
    return set() if quota is None else {rules.THROTTLED, rules.WAITING, rules.PRESSURE, rules.UNSTEADY}


def _judged_by_turns(row: AnyRow, timed: Sequence[TurnTimes]) -> set[Rule]:
    """The rules that are applied turn by turn where a run took turns, and so not to the run as a whole."""
    turns = row.outcome.turns
    if not turns:
        return set()
    judged = {rules.STEAL, rules.FOREIGN_LOAD}
    if all(turn.sibling_seconds is not None for turn in turns):
        judged.add(rules.SIBLING_LOAD)
    if any(turn.calm and turn.elsewhere is not None for turn in timed):
        judged.add(rules.LOAD_ELSEWHERE)
    return judged


def _usual_turn(turns: Sequence[Turn]) -> float | None:
    """The median seconds of the turns that count; None where there are none."""
    counted = [turn.seconds for turn in turns if turn.round != WARMUP_ROUND]
    return median(counted) if counted else None


def _doubts(row: AnyRow, cpus: CpuSet, counted: Sequence[float], timed: Sequence[TurnTimes]) -> list[Doubt]:
    """What a row says against itself: from its steps, then from its witness."""
    point, outcome = row.run.point, row.outcome
    against = []
    if not outcome.turns and (apart := level_shift(counted)):
        against.append(Doubt(rules.UNSTEADY, apart))
    if len(counted) < rules.FEW_STEPS.limit and not is_execution(row):
        against.append(Doubt(rules.FEW_STEPS, len(counted)))
    threads = point.replicas * point.threads(point.intra), point.threads(point.inter)
    circumstances = Circumstances(
        cpus, outcome.sections.run or 0.0, *threads, outcome.cautions, _usual_turn(outcome.turns)
    )
    against += doubts(row.witness, circumstances)
    if outcome.pack is not None and not outcome.pack.disjoint:
        against.append(Doubt(rules.MASK, detail="replicas that may use each other's"))
    if not against:
        return []
    judged = _judged_by_turns(row, timed) | _made_by_quota(row)
    return [doubt for doubt in against if doubt.rule not in judged]
