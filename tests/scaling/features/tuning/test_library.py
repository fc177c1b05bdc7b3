"""Searches as the library makes them: what is searched, what is kept, and what comes back."""

import sys

import pytest

import scaling
from scaling.errors import StoreError
from scaling.features.tuning import search as searching
from scaling.features.tuning.library import prepare_tuning
from scaling.features.tuning.report import TUNING, environment_lines, paste_python, read_search, settings_of
from scaling.machine.sysfs import read_topology
from scaling.results.store import read_rows

# A step takes as long as the block says, and a little more or less.
CODE = """
import os, random, sys
chance = random.Random(os.environ["SCALING_PADDING"] + sys.argv[1])  # another one in every launch, whenever it is made
print("step_seconds:", float(sys.argv[1]) * chance.gauss(1, 0.01))
"""
PROGRAM = [sys.executable, "-c", CODE, "{block}"]
BLOCKS = {"block": [0.02, 0.01]}


def test_a_network_is_searched_over_threads_compilation_and_onednn(tmp_path, monkeypatch):
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    cores = len(read_topology().cores)
    made = prepare_tuning("autoenc", tmp_path, cores, settings=["intra=[1]", "inter=[1]"]).search.grid
    default, *others = made.points
    assert (default.intra, default.inter, default.jit, default.onednn) == ("auto", "auto", False, None)
    assert {point.jit for point in others} == {False, True}
    assert {point.onednn for point in others} == {None, False}  # the shell has chosen the other
    plain = prepare_tuning("autoenc", tmp_path, cores, settings=["intra=[1]", "inter=[1]", "jit=false", "onednn=auto"])
    assert {(point.jit, point.onednn) for point in plain.search.grid.points} == {(False, None)}
    assert {
        point.onednn
        for point in prepare_tuning("calibrated", tmp_path, 1, parameters={"serial": ("0", "1")}).grid.points
    } == {None}


def test_a_search_returns_its_winner_and_keeps_what_it_chose_from(tmp_path, monkeypatch):
    monkeypatch.setattr(searching, "_both_quiet", lambda first, second: True)
    tuned = scaling.tune(PROGRAM, tmp_path, cores=1, parameters=BLOCKS)
    assert tuned.beaten
    assert tuned.winner == tuned.challenger
    assert tuned.gain.low < 2 < tuned.gain.high
    assert tuned.environment == {"OMP_NUM_THREADS": "1"}
    assert "'0.01'" in tuned.python
    frame = tuned.to_frame()
    assert [*frame["standing_code"]] == ["winner", "dropped"]
    rows = [*read_rows(tmp_path)]
    assert len(tuned.results.rows) == len(rows) == frame["launches"].sum()
    search = read_search(tmp_path)
    assert search == tuned.job.search
    assert search.outcome(rows) == tuned.outcome
    again = scaling.tune(PROGRAM, tmp_path, cores=1, parameters=BLOCKS)
    assert (len([*read_rows(tmp_path)]), again.outcome) == (len(rows), tuned.outcome)


def test_variables_of_a_program_are_its_own_and_among_what_to_set(tmp_path):
    job = prepare_tuning(["true"], tmp_path, parameters={}, variables=(("MODE", "a b"),))
    assert {program.env for program in job.study.programs} == {(("MODE", "a b"),)}
    settings = settings_of(job.grid.points[0], job.study, (0,))
    assert environment_lines(settings)[0] == "export MODE='a b'"
    assert "os.environ | {'MODE': 'a b', 'OMP_NUM_THREADS': " in paste_python(settings)


def test_a_budget_too_short_for_a_confirmation_leaves_the_default(tmp_path):
    tuned = scaling.tune(PROGRAM, tmp_path, cores=1, parameters=BLOCKS, budget=1e-3)
    assert not tuned.beaten
    assert not tuned.is_answer
    assert tuned.gain is None
    assert tuned.winner == tuned.job.grid.points[0]
    assert tuned.challenger == tuned.job.grid.points[1]


def test_a_search_that_cannot_be_read_is_refused_in_a_sentence(tmp_path):
    for text in ("{", '{"grid": {"points": [], "values": [], "names": {}}, "cpus": [], "objective": "latency"}'):
        (tmp_path / TUNING).write_text(text)
        with pytest.raises(StoreError, match=r"tuning\.json is not a valid search"):
            read_search(tmp_path)
