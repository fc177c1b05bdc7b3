"""Messages between processes: they come back as they were sent; what is no such message is refused with a reason."""

import json
import os

import pytest

from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.traces import OpTime, TracedStep
from scaling.analysis.turns import Turn, TurnSpan
from scaling.analysis.witness import Witness
from scaling.running import messages
from scaling.running.messages import MessageError, decode, encode

RUN = messages.RunRequest(
    workload=messages.WorkloadSpec("mine.py", "build", {"width": 3, "names": ["a"], "share": 0.5}),
    setting={"mode": "train", "items": None, "cores": 2},
    cpus="0-1",
    siblings="",
    framework="tensorflow",
    device="cpu",
    jit=False,
    memory="none",
    precision=0.01,
    max_seconds=1,
    steps=None,
    warmup=None,
    traced=12,
    takes_turns=True,
)
RESULT = messages.RunResult(
    started_ns=1,
    step_seconds=(0.1, 0.2),
    turns=(Turn(0, 1, 1, 0.2), Turn(1, 1, 0, 0.1, cpu_seconds=0.1, steal_seconds=0.0)),
    spans=(TurnSpan(10.0, 10.1, 10.3), TurnSpan(11.0, 11.0, 11.4, ((11.1, 11.2), (11.2, 11.3)))),
    traced=(TracedStep(0.3, (OpTime("MatMul", 0.2, 4),), 0.05),),
    ended_by="precision",
    items_per_step=8,
    first_loss=None,
    last_loss=2.5,
    cautions=("a caution",),
    truth=StatedTruth(0.1, 2e-6),
    sections=messages.RunSections(0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    witness=Witness(cpus_at_start="0-1", threads=2, cpu_seconds=0.5),
    versions={"numpy": "2.0"},
)
ALL = [
    RUN,
    messages.RunReady(),
    messages.TurnRequest(3, 1.0, 0.3),
    messages.TurnRequest(3, 1.0, 0.3, start_at=12.5),
    messages.TurnDone(3, True),
    RESULT,
    messages.RunFailure("ValueError: no"),
    messages.ServerSetup(3, 0, (2, (0, 1)), ("numpy",)),
    messages.ServerSetup(3, 1, None, ()),
    messages.ServerReady(),
    messages.ChildStarted(7),
    messages.Refusal("it has threads"),
]


@pytest.mark.parametrize("message", ALL, ids=lambda message: type(message).__name__)
def test_a_message_comes_back_as_it_was_sent(message):
    assert decode(encode(message), type(message)) == message


def test_either_of_two_expected_messages_is_understood():
    for message in (RESULT, messages.RunFailure("no")):
        assert decode(encode(message).encode(), messages.RunResult, messages.RunFailure) == message


def changed(**facts: object) -> str:
    return json.dumps({**json.loads(encode(RESULT)), **facts})


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"message": "RunRes',
        "[1, 2]",
        encode(messages.RunFailure("no")),
        '{"message": "RunResult"}',
        changed(sections={"init": 1.0}),
        changed(witness=None),
        changed(started_ns="1"),
        changed(step_seconds=[0.1, None]),
        changed(versions=0).replace("0", "[" * 100_000 + "]" * 100_000),
        changed(last_loss=float("nan")),
        changed(last_loss=0.5).replace("0.5", "1e999"),
        changed(started_ns=1).replace("1", "1" * 9999),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_not_the_expected_message_is_refused(text):
    with pytest.raises(MessageError):
        decode(text, messages.RunResult)


@pytest.mark.parametrize("value", [float("nan"), object()])
def test_a_value_that_json_does_not_have_is_an_error_of_the_sender(value):
    with pytest.raises((ValueError, TypeError)):
        encode(messages.RunFailure(value))


def test_a_message_is_sent_whole_however_little_of_it_a_pipe_takes_at_once(monkeypatch):
    reader, writer = os.pipe()
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, text: write(fd, text[:7]))
    messages.send(writer, RUN)
    os.close(writer)
    with os.fdopen(reader, "rb") as sent:
        assert sent.read() == f"{encode(RUN)}\n".encode()
