"""Every command over hostile input: a few hundred cases here, thousands with `python -m benchmarks.fuzz`."""

import os
import signal
from pathlib import Path

import pytest

from benchmarks.shared.fuzz import oracle
from benchmarks.shared.fuzz.cases import Case, Sparse, case

SEED, CASES, PER_TEST = 2, 300, 25


@pytest.mark.parametrize("first", range(1, CASES, PER_TEST))
def test_hostile_input_gets_an_answer_or_a_sentence_and_changes_nothing_else(first):
    oracle.import_commands()
    verdicts = [oracle.judge(case(SEED, number), 120.0) for number in range(first, first + PER_TEST)]
    assert not [
        f"python -m benchmarks.fuzz --seed {SEED} --only {one.case.number}: {one.faults}\n{one.printed}"
        for one in verdicts
        if one.faults
    ]


def test_a_case_is_the_same_whenever_it_is_made():
    assert case(1, 17) == case(1, 17) != case(1, 18)


def faults(monkeypatch, command, limit_seconds=60.0, arguments=("show",), **fields):
    monkeypatch.setattr(oracle, "main", command)
    return oracle.judge(Case(1, "test", arguments, {"in/rows.jsonl": b"{}"}, **fields), limit_seconds).faults


def test_a_traceback_is_a_fault(monkeypatch):
    assert faults(monkeypatch, lambda: 1 / 0) == ("status 70", "traceback")


def test_a_hang_is_a_fault(monkeypatch):
    assert faults(monkeypatch, signal.pause, 0.1) == ("no end in time",)


def test_more_processor_time_than_a_case_may_take_is_a_fault(monkeypatch):
    def spin():
        while True:
            pass

    monkeypatch.setattr(oracle, "CPU_SECONDS", 1)
    assert faults(monkeypatch, spin) == ("more than 1 s of CPU time",)


def test_more_memory_than_a_case_may_take_is_a_fault(monkeypatch):
    assert faults(monkeypatch, lambda: bytes(2 * oracle.MORE_MEMORY)) == ("status 70", "traceback")


def test_a_file_of_gigabytes_takes_no_room_and_is_no_change(monkeypatch):
    monkeypatch.setattr(oracle, "main", lambda: None)
    large = Case(1, "test", ("show",), {"in/rows.jsonl": Sparse(b"{}", 40 * 2**30)})
    assert oracle.judge(large).faults == ()


def test_an_unknown_status_is_a_fault(monkeypatch):
    assert faults(monkeypatch, lambda: os._exit(4)) == ("status 4",)


@pytest.mark.parametrize("text", ["\x1b[2J", "\r", "\x7f", "\x9b2J"])
def test_a_control_character_on_a_terminal_is_a_fault(monkeypatch, text):
    (fault,) = faults(monkeypatch, lambda: print(text))
    assert fault.startswith("control character")


def test_a_change_is_a_fault_except_of_the_output(monkeypatch):
    def change():
        for name in ("bystander", "in/rows.jsonl", "new"):
            Path(name).write_text("changed")

    assert faults(monkeypatch, change, outputs=("new",)) == ("changed bystander", "changed in/rows.jsonl")


@pytest.mark.parametrize("place", ["TMPDIR", "HOME"])
def test_a_file_that_is_left_is_a_fault_except_in_a_cache(monkeypatch, place):
    def leave():
        Path(os.environ["XDG_CACHE_HOME"]).mkdir()
        for folder in (os.environ[place], os.environ["XDG_CACHE_HOME"]):
            Path(folder, "left").write_text("")

    assert faults(monkeypatch, leave) == (f"left {'tmp' if place == 'TMPDIR' else 'home'}/left",)


def test_a_process_that_is_left_is_a_fault(monkeypatch):
    def leave():
        if os.fork() == 0:
            os.setsid()
            signal.pause()

    (fault,) = faults(monkeypatch, leave)
    assert fault.startswith("left process ")


@pytest.mark.parametrize("text", ["{", "NaN", "{}", '{"schema": 1, "points": 3}'])
def test_json_that_does_not_parse_or_match_its_schema_is_a_fault(monkeypatch, text):
    (fault,) = faults(monkeypatch, lambda: print(text), arguments=("show", "--json"))
    assert fault.startswith("JSON: ")


def test_an_answer_that_differs_from_that_of_the_unharmed_input_is_a_fault(monkeypatch):
    def answer():
        print(len(Path("in/rows.jsonl").read_bytes()))

    assert faults(monkeypatch, answer, unharmed={"in/rows.jsonl": b"[]"}) == ()
    (fault,) = faults(monkeypatch, answer, unharmed={"in/rows.jsonl": b"[1]"})
    assert fault == "another answer than that of the unharmed input, which has status 0"
