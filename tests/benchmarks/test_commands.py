"""Every command that docs/benchmarks.md names can be given: its options are known, and the quick ones run."""

import argparse
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.shared.tools import need_module, need_program
from tests.test_docs import inline_code

DOCUMENT = Path(__file__).parents[2] / "docs/benchmarks.md"
COMMANDS = sorted({code for code in inline_code(DOCUMENT.read_text()) if code.startswith("python -m benchmarks.")})
SMALLEST = {
    "calibrated": "--rounds 1",
    "coverage": "--sets 2 C1",
    "identical": "--pairs 2 --only statistics",
    "launch": "--rounds 1 --launches 2",
    "output": "--launches 1 --megabytes 1",
    "metering": "--seconds 0.3 --launches 0",
    "promises": "normal --sets 2",
    "held": "--sets 1 budgets",
}


class ParsedError(Exception):
    """The options are known; nothing is run."""


def give(monkeypatch, name, words):
    monkeypatch.setattr(sys, "argv", [name, *words])
    import_module(f"benchmarks.{name}").main()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_every_documented_command_are_known(command, monkeypatch):
    parse = argparse.ArgumentParser.parse_args

    def parse_only(parser, *arguments):
        parse(parser, *arguments)
        raise ParsedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    name, words = re.fullmatch(r"python -m benchmarks\.(\w+)(.*)", command).groups()
    with pytest.raises(ParsedError):
        give(monkeypatch, name, shlex.split(words))


@pytest.mark.parametrize("name", SMALLEST)
def test_a_quick_benchmark_prints_its_table(name, monkeypatch, capsys):
    give(monkeypatch, name, SMALLEST[name].split())
    assert "|" in capsys.readouterr().out


def test_a_benchmark_says_which_tool_is_missing():
    with pytest.raises(SystemExit, match=r"needs no_such_module, .* pip install"):
        need_module("no_such_module")
    with pytest.raises(SystemExit, match=r"needs no-such-program, .* package"):
        need_program("no-such-program")
