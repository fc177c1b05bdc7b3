"""The messages between processes, and the one codec they travel in: JSON with the type's name and exactly its fields.

Parent and child: `RunRequest`, answered by `RunResult` or `RunFailure`; a child that takes turns says `RunReady` first
and answers every `TurnRequest` by `TurnDone`. Parent and fork server: `ServerSetup`, then `RunRequest`s, answered by
`ServerReady`, `ChildStarted` or `Refusal`. Driver and node: `DescribeRequest` and
`NodeRunRequest`, answered by `NodeDescription`, `NodeRow` or `NodeRefusal`.

Read in the child before it has checked where it is pinned, so nothing but the standard library is imported here, and no
module of ours that imports more.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from scaling.analysis.ops.device_profile import DeviceProfile
from scaling.analysis.ops.traces import TracedStep
from scaling.analysis.truth import StatedTruth
from scaling.analysis.turns import Turn, TurnSpan
from scaling.analysis.witness import Witness
from scaling.machine.doctor.findings import Finding

M = TypeVar("M")
N = TypeVar("N")
Text = str | bytes | bytearray

# Those of the largest number of 64 bits, with its sign.
MOST_DIGITS = 20

# The key of the name of a message's type.
TYPE = "message"


class MessageError(ValueError):
    """A text that is not the message that was expected, and why, in a sentence."""


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """Where the factory of a workload is, in a file of the user's or by name, and its keyword arguments."""

    file: str | None
    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run, as a child is asked for it; what it inherits (environment, mask, memory policy) is not in it.

    `setting` holds the fields of `scaling.workloads.base.Setting`, a module that only the child imports. A child that
    takes turns gets a `TurnRequest` for each on its control pipe, and ends when that is closed. `beside` are the CPUs
    of the other replicas of its pack. A forked child sets `variables`, which its server may do without.
    """

    workload: WorkloadSpec
    setting: Mapping[str, str | int | None]
    cpus: str
    siblings: str
    framework: str
    device: str
    jit: bool
    memory: str
    precision: float
    max_seconds: float
    steps: int | None
    warmup: int | None
    traced: int | None
    takes_turns: bool
    group: str | None = None
    beside: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """A run for a fresh interpreter: who must be its parent, and the file descriptors of its reply and its control."""

    run: RunRequest
    parent: int
    reply_fd: int
    control_fd: int


@dataclass(frozen=True, slots=True)
class RunReady:
    """A child has built its workload, taken its first step, and waits for its turns."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Asks a child for a turn: steps for so many seconds, after as many that do not count.

    With `start_at`, a time of the clock that all processes share, its first step begins then and its last one ends
    with the time that is asked for, as those of the other replicas of its pack do.
    """

    round: int
    seconds: float
    settle_seconds: float
    start_at: float | None = None


@dataclass(frozen=True, slots=True)
class TurnDone:
    """A child has taken its turn, which may have been quiet; its steps come with its result."""

    round: int
    quiet: bool


@dataclass(frozen=True, slots=True)
class RunSections:
    """Seconds a child has spent in each part of a run, as far as it can know them."""

    imports: float
    init: float
    setup: float
    first_step: float | None
    run: float
    main: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that ended well: everything its row should say that only the child can know."""

    started_ns: int
    step_seconds: tuple[float, ...]
    turns: tuple[Turn, ...]
    spans: tuple[TurnSpan, ...]
    traced: tuple[TracedStep, ...]
    ended_by: str
    items_per_step: int
    first_loss: float | None
    last_loss: float | None
    cautions: tuple[str, ...]
    truth: StatedTruth | None
    sections: RunSections
    witness: Witness
    versions: Mapping[str, str]
    device_profile: DeviceProfile | None = None


@dataclass(frozen=True, slots=True)
class RunFailure:
    """A run that raised an error, in one line."""

    reason: str


@dataclass(frozen=True, slots=True)
class ServerSetup:
    """What a fork server is started with: its socket, and what it applies and imports before it serves.

    Servers of different `number`s are on different CPUs, where there are enough.
    """

    parent: int
    socket_fd: int
    number: int
    policy: tuple[int, tuple[int, ...]] | None
    modules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerReady:
    """A fork server has imported everything."""


@dataclass(frozen=True, slots=True)
class ChildStarted:
    """A fork server has forked a child."""

    pid: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A fork server cannot do what it was asked, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class DescribeRequest:
    """Asks a node what it is and what a study means there; `begun` is the study that its folder already holds."""

    study: str
    source: str
    begun: str | None


@dataclass(frozen=True, slots=True)
class NodeRunRequest:
    """One run for a node that must be like `machine`; its reply is also written to `spool`, where there is one.

    With `full`, its row keeps the user's variables and folders.
    """

    study: str
    source: str
    run: str
    machine: Mapping[str, Any]
    spool: str | None
    full: bool = False


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """What a node is, the study's runs there (each as JSON), and why its folder holds another study, if it does."""

    node: str | None
    job: str | None
    machine: Mapping[str, Any]
    runs: tuple[str, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    another: str | None


@dataclass(frozen=True, slots=True)
class NodeRow:
    """The row of a run that a node has executed, as JSON."""

    node: str | None
    job: str | None
    row: str


@dataclass(frozen=True, slots=True)
class NodeRefusal:
    """A node does not do what it was asked: because of the study or, where it is `sick`, of this node alone."""

    node: str | None
    job: str | None
    reason: str
    sick: bool


# How the lines begin that a child writes before the reply that ends its run.
MESSAGES_DURING_A_RUN = tuple(f'{{"{TYPE}":"{message.__name__}"'.encode() for message in (RunReady, TurnDone))


def encode(message: object) -> str:
    """A message as JSON."""
    text: dict[str, object] = {TYPE: type(message).__name__, **_facts(message)}
    return json.dumps(text, allow_nan=False, separators=(",", ":"), default=_facts)


@overload
def decode(text: Text, expected: type[M], /) -> M: ...


@overload
def decode(text: Text, expected: type[M], other: type[N], /) -> M | N: ...


def decode(text: Text, *expected: type[Any]) -> Any:
    """The message of one of the expected types that a text holds."""
    try:
        facts = json.loads(text, parse_float=_finite, parse_int=_short, parse_constant=_finite)
    except MessageError:
        raise
    except ValueError as error:
        raise MessageError("it is not JSON") from error
    except RecursionError as error:
        raise MessageError("it is nested too deeply") from error
    name = facts.pop(TYPE, None) if isinstance(facts, dict) else None
    for message in expected:
        if message.__name__ == name:
            return _build(message, facts, name)
    raise MessageError(f"it is no {' or '.join(message.__name__ for message in expected)}")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise MessageError("it holds a number that is not finite")
    return number


def _short(digits: str) -> int:
    """A whole number as a kernel or a clock may report it."""
    if len(digits) > MOST_DIGITS:
        raise MessageError(f"it holds a number of {len(digits)} digits")
    return int(digits)


def _facts(value: Any) -> dict[str, object]:
    if not is_dataclass(value):
        raise TypeError(f"a message cannot hold {value!r} ({type(value).__name__})")
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _build(message: type[M], facts: Any, where: str) -> M:
    """A dataclass from exactly its fields."""
    if not isinstance(facts, dict):
        raise MessageError(f"{where} is not an object")
    hints = _hints(message)  # type: ignore[arg-type]  # a class is hashable
    for problem, names in (("lacks", hints.keys() - facts.keys()), ("has unknown", facts.keys() - hints.keys())):
        if names:
            raise MessageError(f"{where} {problem} {', '.join(sorted(names))}")
    return message(**{name: _value(hint, facts[name], f"{where}.{name}") for name, hint in hints.items()})


@cache
def _hints(message: type) -> dict[str, Any]:
    return get_type_hints(message)


def _value(hint: Any, value: Any, where: str) -> Any:
    """A field's value, checked against its annotation; lists become tuples, objects dataclasses."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return None if value is None and NoneType in arguments else _first_that_fits(arguments, value, where)
    if origin is tuple and isinstance(value, list):
        inner = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(inner) == len(value):
            return tuple(_value(one, item, where) for one, item in zip(inner, value, strict=True))
    elif origin is not None and isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, dict):
        return {key: _value(arguments[1], item, where) for key, item in value.items()}
    elif is_dataclass(hint) and isinstance(hint, type):
        return _build(hint, value, where)
    elif _is_plain(hint, value):
        return value
    raise MessageError(f"{where} cannot be {json.dumps(value)[:60]}")


def _first_that_fits(hints: tuple[Any, ...], value: Any, where: str) -> Any:
    for hint in hints:
        try:
            return _value(hint, value, where)
        except MessageError:
            continue
    raise MessageError(f"{where} cannot be {json.dumps(value)[:60]}")


def _is_plain(hint: Any, value: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    allowed = {float: (float, int), int: (int,), str: (str,), bool: (bool,)}
    return hint is Any or type(value) in allowed.get(hint, ())
