"""The messages between processes and their codec: JSON with the name of the type and its fields.

A child replies to `RunRequest` by `RunResult` or `RunFailure`; if it takes turns, it first sends `RunReady`, and
`TurnDone` for every `TurnRequest`. A fork server replies to `ServerSetup` by `ServerReady`, and to descriptors of pipes
by `ChildStarted` or `Refusal`.

A request is trusted. A reply comes from a process in which any code may run, so msgspec checks its types. The child
pays for the imports of this module, which are few.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, overload

from scaling.analysis.device_profile import DeviceProfile
from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.traces import TracedStep
from scaling.analysis.turns import Turn, TurnSpan
from scaling.analysis.witness import Witness

M = TypeVar("M")
N = TypeVar("N")
Text = str | bytes | bytearray

# The key for the type of a message.
TYPE = "message"


class MessageError(ValueError):
    """A text that is not the expected message, with the reason in a sentence."""


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """A workload's factory, by name in a user's file, this package or a feature's module, and its keyword arguments."""

    file: str | None
    name: str
    options: Mapping[str, Any]

    @property
    def module(self) -> str:
        """The module of a workload that has no file."""
        return self.name if "." in self.name else f"scaling.workloads.{self.name}"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run as requested of a child, without what the child inherits (environment, affinity mask, memory policy).

    `setting` holds the fields of `scaling.workloads.base.Setting`, a module that only the child imports. A child that
    takes turns gets a `TurnRequest` for each on its control pipe, then `TurnsOver`. `beside` are the CPUs
    of the other replicas of its pack. A forked child sets `variables`, which its server may lack or have otherwise. A
    child that `waits_again` gets another run after its reply.
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
    waits_again: bool = False


@dataclass(frozen=True, slots=True)
class RunReady:
    """A child has built its workload, has taken its first step, and waits for its turns."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Requests a turn from a child: `settle_seconds` of steps that do not count, then `seconds` of steps that do.

    With `start_at`, a time of the clock that all processes share, its first step begins then and its last step ends
    with the requested time, at the same time as in the other replicas of its pack.
    """

    round: int
    seconds: float
    settle_seconds: float
    start_at: float | None = None


@dataclass(frozen=True, slots=True)
class TurnsOver:
    """No more turns follow, so a child replies."""


@dataclass(frozen=True, slots=True)
class TurnDone:
    """A child has taken its turn, which may have been quiet; its steps follow in its result."""

    round: int
    quiet: bool


@dataclass(frozen=True, slots=True)
class RunSections:
    """Seconds that a child has spent in each part of a run, as far as it knows."""

    imports: float
    init: float
    setup: float
    first_step: float | None
    run: float
    main: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """A successful run: all parts of its row that only the child knows."""

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
    figures: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFailure:
    """A run that raised an error, described in one line; a `shortage` is not the measured program's error."""

    reason: str
    shortage: bool = False


@dataclass(frozen=True, slots=True)
class ServerSetup:
    """The setup of a fork server: its socket, and what it applies and imports before it serves.

    Servers with different `number`s use different CPUs, if there are enough.
    """

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
    """A fork server's reason for not doing what was requested, which may be a shortage of the machine."""

    reason: str
    shortage: bool = False


# The beginnings of lines: a child is ready, has taken a turn, or ends a run that went well; no more turns follow.
READY, TURN_DONE, RESULT, TURNS_OVER = (
    f'{{"{TYPE}":"{message.__name__}"'.encode() for message in (RunReady, TurnDone, RunResult, TurnsOver)
)


def turn_done(round_number: int) -> bytes:
    """The beginning of the line by which a child reports its turn of a round."""
    return TURN_DONE + f',"round":{round_number},'.encode()


def encode(message: object) -> str:
    """A message as JSON."""
    text: dict[str, object] = {TYPE: type(message).__name__, **_facts(message)}
    return json.dumps(text, allow_nan=False, separators=(",", ":"), default=_facts)


def _facts(value: Any) -> dict[str, object]:
    if not is_dataclass(value):
        raise TypeError(f"a message cannot hold {value!r} ({type(value).__name__})")
    return {field.name: getattr(value, field.name) for field in fields(value)}


def send(fd: int, message: object) -> None:
    """Write a message to a pipe, as a line."""
    rest = f"{encode(message)}\n".encode()
    while rest:
        rest = rest[os.write(fd, rest) :]


def decode_request(text: Text, expected: type[M]) -> M:
    """The request from the process that started this one."""
    facts = json.loads(text)
    del facts[TYPE]
    return expected(**facts)


@overload
def decode(text: Text, expected: type[M], /) -> M: ...


@overload
def decode(text: Text, expected: type[M], other: type[N], /) -> M | N: ...


def decode(text: Text, *expected: type[Any]) -> Any:
    """The message of one of the expected types in a text from any process."""
    import msgspec  # takes longer to import than everything that a child needs

    try:
        name = msgspec.json.decode(text, type=dict[str, msgspec.Raw]).get(TYPE, b"")
        for message in expected:
            if bytes(name) == f'"{message.__name__}"'.encode():
                return msgspec.json.decode(text, type=message)
    except ValueError as error:
        raise MessageError(str(error)) from error
    except RecursionError as error:
        raise MessageError("it is nested too deeply") from error
    raise MessageError(f"it is not a {' or '.join(message.__name__ for message in expected)}")
