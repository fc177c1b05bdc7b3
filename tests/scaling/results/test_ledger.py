import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared.machines import machine, study
from scaling.errors import StoreError
from scaling.results.ledger import Entry, Ledger, entry_from_json, entry_to_json, run_key
from scaling.study.planning import plan


def entry(event: str, key: str = "k", attempt: int = 1, **details: object) -> Entry:
    return Entry(event, "2026-01-01T00:00:00.000+00:00", "epyc", key, attempt, **details)


def test_an_entry_comes_back_as_it_went():
    for line in (entry("sent"), entry("lost", note="größer als √2"), Entry("begun", "now"), entry("result", node="n1")):
        assert entry_from_json(entry_to_json(line)) == line


def test_a_line_that_is_no_entry_is_refused():
    with pytest.raises(StoreError, match="not a journal's"):
        entry_from_json('{"event": "eaten", "at": "now"}')


def test_every_run_of_a_plan_has_a_key_of_its_own():
    runs = plan(study('modes = ["train", "infer"]', launches="3"), machine(8, smt=2)).runs
    assert len({run_key(run) for run in runs}) == len(runs)


def test_an_answer_counts_while_its_attempt_is_waited_for():
    ledger = Ledger([entry("sent")])
    assert ledger.accepts("epyc", "k", 1)
    assert not ledger.accepts("arm", "k", 1)
    assert not ledger.accepts("epyc", "other", 1)


def test_an_answer_to_an_attempt_that_was_lost_is_late():
    ledger = Ledger([entry("sent"), entry("lost")])
    assert not ledger.accepts("epyc", "k", 1)
    ledger.apply(entry("sent", attempt=2))
    assert not ledger.accepts("epyc", "k", 1)
    assert ledger.accepts("epyc", "k", 2)


def test_an_answer_counts_once():
    assert not Ledger([entry("sent"), entry("result")]).accepts("epyc", "k", 1)


def test_attempts_are_numbered_on_from_what_an_earlier_driver_has_sent():
    assert Ledger([entry("sent"), entry("lost"), entry("sent", attempt=2)]).next_attempt("epyc", "k") == 3
    assert Ledger().next_attempt("epyc", "k") == 1


def test_progress_counts_the_runs_of_a_node_type():
    begun = Entry("begun", "now")
    planned = Entry("planned", "now", "epyc", runs=9)
    sent = [entry("sent"), entry("lost"), entry("sent", attempt=2), entry("result", attempt=2), entry("sent", "other")]
    progress = Ledger([begun, planned, *sent, entry("late")]).progress("epyc")
    assert (progress.planned, progress.done, progress.running, progress.lost, progress.late) == (9, 1, 1, 1, 1)
    assert Ledger([begun, *sent, Entry("ended", "now")]).progress("epyc").running == 0


def test_why_a_node_type_was_left_is_known_until_a_driver_begins_anew():
    begun, ended = Entry("begun", "now"), Entry("ended", "now")
    ledger = Ledger([begun, Entry("left", "now", "epyc", note="none of its nodes can be had"), ended])
    assert ledger.progress("epyc").left == "none of its nodes can be had"
    ledger.apply(begun)
    assert ledger.progress("epyc").left is None


@given(st.lists(st.tuples(st.sampled_from(["sent", "lost", "result"]), st.integers(1, 4)), max_size=12))
def test_no_more_than_one_attempt_is_ever_waited_for(history):
    ledger = Ledger(entry(what, attempt=attempt) for what, attempt in history)
    assert sum(ledger.accepts("epyc", "k", attempt) for attempt in range(1, 6)) <= 1
