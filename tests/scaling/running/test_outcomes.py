"""The outcome of a run, from what its process has replied and how it has ended."""

import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest

from scaling.analysis.turns import Turn, TurnSpan
from scaling.analysis.witness import Witness
from scaling.results.rows import Outcome, Sections
from scaling.running import launcher
from scaling.running.launcher import LaunchResult, fail_if_left
from scaling.running.messages import RunFailure, RunResult, TurnRequest, TurnsOver, encode
from scaling.running.starting import ShortageError, StartError
from tests.scaling.running.fake_system import FakeChild, Machine, child_spec, steps_of

SPEC = child_spec("0")


@pytest.fixture(scope="module")
def reply() -> RunResult:
    """The reply of a process that has taken a warm-up turn and two others."""
    with Machine(1) as machine:
        child = FakeChild(machine, SPEC, steps_of(0.125))
        for number in range(3):
            child.request(TurnRequest(number, 0.5, 0.25))
        child.request(TurnsOver())
        child.wait()
    return child.replied


def outcome_of(text: object = b"", status: int = 0, **state: object) -> LaunchResult:
    """The result of a run whose process has sent this, and has ended so."""
    sent = text if isinstance(text, bytes) else encode(text).encode()
    output = {"reply": bytearray(sent), "stdout": bytearray(b"printed"), "stderr": bytearray(b"\xff")}
    how = {"timed_out": state.pop("timed_out", False), "oom": state.pop("oom", False), "parent_cpu": 0.25}
    known = launcher._ProcessState(started=900.0, ended=1100.0, status=status, **state)
    return launcher._classify(SPEC, known, output, **how)


def test_a_reply_is_a_row_with_its_warm_up_and_the_parents_time(reply):
    result = outcome_of(reply)
    outcome = result.outcome
    assert (outcome.status, outcome.reason, outcome.ended_by) == ("ok", None, "rounds")
    assert outcome.warmup_steps == outcome.turns[0].steps
    assert (outcome.sections.spawn, outcome.sections.wall) == (100.0, 200.0)
    assert result.witness.parent_cpu_seconds == 0.25
    assert len(result.spans) == len(outcome.turns) == 3
    assert outcome.stdout_tail is None


IMPOSSIBLE = [
    ({"step_seconds": ()}, "its answer has no steps"),
    ({"step_seconds": (0.1, -1.0)}, "its answer has impossible step times, from -1 s to 0.1 s"),
    ({"step_seconds": (0.1, 0.0)}, "its answer has impossible step times, from 0 s to 0.1 s"),
    ({"step_seconds": (0.1, 1e9)}, "its answer has impossible step times, from 0.1 s to 1e+09 s"),
    ({"started_ns": -1}, "its answer has an impossible start time of -1 ns"),
    ({"started_ns": 2**63}, f"its answer has an impossible start time of {2**63} ns"),
    ({"items_per_step": 0}, "its answer has 0 items per step"),
    ({"items_per_step": 2**53 + 1}, f"its answer has {2**53 + 1} items per step"),
    ({"turns": (Turn(1, 9, 12, 1.0),)}, "its turns do not add up to its 18 steps"),
    ({"turns": (Turn(1, 9, 2, 1.0),)}, "its turns do not add up to its 18 steps"),
    ({"turns": (Turn(1, 18, 19, 1.0),)}, "its turns do not add up to its 18 steps"),
    ({"spans": ()}, "the times of its 3 turns overlap or are out of order"),
    ({"spans": (TurnSpan(3, 2, 4),) * 3}, "the times of its 3 turns overlap or are out of order"),
    (
        {"spans": (TurnSpan(1, 2, 4), TurnSpan(3, 5, 6), TurnSpan(7, 8, 9))},
        "the times of its 3 turns overlap or are out",
    ),
]


@pytest.mark.parametrize(("fields", "sentence"), IMPOSSIBLE)
def test_an_answer_that_cannot_be_is_a_failure_that_says_why(reply, fields, sentence):
    assert len(reply.step_seconds) == 18
    outcome = outcome_of(replace(reply, **fields)).outcome
    assert outcome.status == "failed"
    assert outcome.reason.startswith(sentence)
    assert (outcome.step_seconds, outcome.stdout_tail, outcome.stderr_tail) == (
        (),
        "printed",
        "\N{REPLACEMENT CHARACTER}",
    )


def test_an_answer_with_other_steps_than_the_fixed_number_is_a_failure(reply):
    request = replace(SPEC.request, warmup=3, steps=14, takes_turns=False)
    assert launcher._objection(request, reply) == "its answer has 18 steps instead of the requested 3 + 14"
    assert launcher._objection(replace(request, steps=15), reply) is None
    assert launcher._warmup_steps(request, reply) == 3


@pytest.mark.parametrize(
    ("sent", "status", "state", "expected", "reason"),
    [
        (b"", 0, {}, "failed", "exited with status 0 without an answer"),
        (b"", 3 << 8, {}, "failed", "exited with status 3 without an answer"),
        (b"[1, 2]", 0, {}, "failed", "exited with status 0 after 6 bytes that are not an answer: b'[1, 2]'"),
        (b'{"message": "RunResult"}', 0, {}, "failed", "exited with status 0 after 24 bytes that are not an answer"),
        (b"", signal.SIGSEGV, {}, "failed", "killed by signal 11 (SIGSEGV)"),
        (b"", signal.SIGKILL, {}, "failed", "killed by signal 9 (SIGKILL) (out of memory?)"),
        (
            *(b"", signal.SIGKILL, {"oom": True}, "failed"),
            "killed by signal 9 (SIGKILL): the machine or its control group ran out of memory",
        ),
        (b"", signal.SIGTERM, {}, "interrupted", "killed by signal 15 (SIGTERM)"),
        (b"", 0, {"timed_out": True}, "timeout", "no answer within 60 s, so it was ended"),
        (b"", 0, {"error": OSError("no")}, "failed", "could not be started on CPUs 0: no"),
        (b"", 0, {"error": ShortageError("no room")}, "shortage", "no room"),
        (RunFailure("it broke"), 0, {}, "failed", "it broke"),
        (RunFailure("no room", shortage=True), 0, {}, "shortage", "no room"),
    ],
)
def test_a_run_without_a_good_answer_says_how_it_ended(sent, status, state, expected, reason):
    result = outcome_of(sent, status, **state)
    assert result.outcome.status == expected
    assert result.outcome.reason.startswith(reason)
    assert (result.outcome.sections.wall, result.witness.parent_cpu_seconds) == (200.0, 0.25)


def test_memory_below_that_of_this_process_may_be_inherited_from_it():
    assert outcome_of(max_rss_bytes=1).witness.max_rss_bytes is None
    assert outcome_of(max_rss_bytes=2**60).witness.max_rss_bytes == 2**60


def test_a_run_that_leaves_processes_has_failed_and_the_first_of_them_are_named():
    sections = Sections(wall=2.0, run=1.0)
    good = LaunchResult(Outcome("ok", step_seconds=(1.0,), sections=sections), Witness(), {})
    assert fail_if_left([], good) is good
    left = [f"process {number}" for number in range(5)]
    failed = fail_if_left(left, good).outcome
    assert (failed.status, failed.step_seconds, failed.sections) == ("failed", (), Sections(wall=2.0))
    assert failed.reason.startswith(
        "it left process 0, process 1, process 2 and 2 others running, which this user cannot"
    )
    assert "and" not in fail_if_left(left[:3], good).outcome.reason.partition(" running")[0]
    bad = LaunchResult(Outcome("timeout", "it hung"), Witness(), {})
    assert fail_if_left(left[:1], bad).outcome.reason.startswith("it hung; it left process 0 running")
    assert fail_if_left(left[:1], bad).outcome.status == "timeout"


def test_a_process_that_waits_takes_the_next_run_unless_it_has_ended():
    ended, alive = (SimpleNamespace(pid=pid, is_alive=pid == 2, seen=[]) for pid in (1, 2))
    for process in (ended, alive):
        process.close = lambda process=process: process.seen.append("closed")
        process.request = process.seen.append
    start = launcher.StartOrReuse(lambda spec, ends: 3, [alive, ended])
    assert start.take(SPEC) is alive
    assert (ended.seen, alive.seen, start.waiting) == (["closed"], [SPEC.request], [])
    assert start.take(SPEC) is None


def test_a_run_that_was_not_started_says_why():
    assert launcher.not_started(StartError("no server")).outcome.reason == "could not be started: no server"
