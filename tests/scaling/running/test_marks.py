"""Processes are recognized by the marks of all sweeps around them, also after they have cleared their environment."""

import os
import subprocess
import sys

import pytest

from scaling.running import marks
from scaling.running.marks import MARK, marks_within, wears_mark

OUTER, INNER, OTHER = ("0123456789abcdef" * 2, "fedcba9876543210" * 2, "f" * 32)
WEAR = (
    "import os, sys; from scaling.running.marks import MARK, marks_within, wear_mark\n"
    "for mark in sys.argv[1:]: os.environ[MARK] = marks_within(mark); wear_mark()\n"
)


@pytest.fixture(params=["its environment", "no environment"])
def nested(request):
    """A process of a sweep that a sweep measures."""
    rest = "" if request.param == "its environment" else "os.execve('/bin/sh', ['sh', '-c', 'echo; read line'], {})"
    code = f"{WEAR}{rest or 'print(flush=True); sys.stdin.read()'}"
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, OUTER, INNER], env=environment, **pipes) as process:
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


@pytest.mark.parametrize(("mark", "wears"), [(OUTER, True), (INNER, True), (OTHER, False)])
def test_a_process_of_a_sweep_in_a_sweep_wears_the_marks_of_both(nested, mark, wears):
    assert wears_mark(nested, mark) is wears


def test_the_marks_of_a_sweep_are_those_around_it_and_its_own(monkeypatch):
    monkeypatch.delenv(MARK, raising=False)
    assert marks_within(OUTER) == OUTER
    monkeypatch.setenv(MARK, OUTER)
    assert marks.innermost(marks_within(INNER)) == INNER
    monkeypatch.setenv(MARK, marks_within(INNER))
    assert marks_within(OTHER).split(marks.SEPARATOR) == [OUTER, INNER, OTHER]
