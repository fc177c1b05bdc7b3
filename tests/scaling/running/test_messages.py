"""Messages between processes: they come back as they were sent; what is no such message is refused with a reason."""

import json

import pytest

from scaling.analysis.ops.traces import OpTime, TracedStep
from scaling.analysis.truth import StatedTruth
from scaling.analysis.turns import Turn, TurnSpan
from scaling.analysis.witness import Witness
from scaling.machine.doctor.findings import Finding
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
    spans=(TurnSpan(10.0, 10.1, 10.3), TurnSpan(11.0, 11.0, 11.1)),
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
FINDING = Finding("governor", "caution", "powersave", "clocks", "set it")
ALL = [
    RUN,
    messages.SpawnRequest(RUN, parent=1, reply_fd=5, control_fd=6),
    messages.RunReady(),
    messages.TurnRequest(3, 1.0, 0.3),
    messages.TurnRequest(3, 1.0, 0.3, start_at=12.5),
    messages.TurnDone(3, True),
    RESULT,
    messages.RunFailure("ValueError: no"),
    messages.ServerSetup(1, 3, 0, (2, (0, 1)), ("numpy",)),
    messages.ServerSetup(1, 3, 1, None, ()),
    messages.ServerReady(),
    messages.ChildStarted(7),
    messages.Refusal("it has threads"),
    messages.DescribeRequest("toml", "test.toml", None),
    messages.NodeRunRequest("toml", "test.toml", "{}", {"host": "n1", "topology": {"online": [0]}}, None),
    messages.NodeDescription("n1", None, {"host": "n1"}, ("{}",), ("a note",), (FINDING,), None),
    messages.NodeRow("n1", "42", "{}"),
    messages.NodeRefusal(None, None, "no space", True),
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
    ("text", "reason"),
    [
        ("", "it is not JSON"),
        ('{"message": "RunRes', "it is not JSON"),
        ("[1, 2]", "it is no RunResult"),
        (encode(messages.RunFailure("no")), "it is no RunResult"),
        ('{"message": "RunResult"}', "RunResult lacks cautions, device_profile, ended_by, "),
        (changed(surprise=1), "RunResult has unknown surprise"),
        (changed(sections={"init": 1.0}), "RunResult.sections lacks first_step, imports, main, run, setup"),
        (changed(witness=None), "RunResult.witness is not an object"),
        (changed(started_ns="1"), 'RunResult.started_ns cannot be "1"'),
        (changed(items_per_step=True), "RunResult.items_per_step cannot be true"),
        (changed(step_seconds=[0.1, None]), "RunResult.step_seconds cannot be null"),
        (changed(step_seconds=0.1), "RunResult.step_seconds cannot be 0.1"),
        (changed(first_loss="low"), 'RunResult.first_loss cannot be "low"'),
        (changed(versions=["numpy"]), 'RunResult.versions cannot be ["numpy"]'),
        (changed(versions=0).replace("0", "[" * 100_000 + "]" * 100_000), "it is nested too deeply"),
        (changed(last_loss=float("nan")), "it holds a number that is not finite"),
        (changed(last_loss=0.5).replace("0.5", "1e999"), "it holds a number that is not finite"),
        (changed(started_ns=10**30), "it holds a number of 31 digits"),
        (changed(started_ns=1).replace("1", "1" * 9999), "it holds a number of"),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_not_the_expected_message_is_refused_with_a_reason(text, reason):
    with pytest.raises(MessageError) as error:
        decode(text, messages.RunResult)
    assert str(error.value).startswith(reason)


def test_a_fixed_number_of_values_must_be_just_that():
    text = encode(messages.ServerSetup(1, 3, 0, (2, (0,)), ())).replace("[2,[0]]", "[2]")
    with pytest.raises(MessageError, match=r"ServerSetup.policy cannot be \[2\]"):
        decode(text, messages.ServerSetup)


@pytest.mark.parametrize("value", [float("nan"), object()])
def test_a_value_that_json_does_not_have_is_an_error_of_the_sender(value):
    with pytest.raises((ValueError, TypeError)):
        encode(messages.RunFailure(value))
