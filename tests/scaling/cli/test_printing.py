import ast
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.cli import printing
from scaling.cli.printing import as_options
from scaling.reporting.words import Table
from tests.mentions import mentions
from tests.scaling.cli.folders import folder_of, swept_rows
from tests.scaling.cli.scaling import SCALING, scaling

CLI = Path(printing.__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("printing") / "grün", swept_rows(one_core_seconds=1e-5))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_character_set_will_do(folder, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    completed = subprocess.run([SCALING, "show", folder], capture_output=True, env=environment)
    assert completed.returncode == 0
    assert ("us" if encoding == "ascii" else "µs") in completed.stdout.decode(encoding)
    assert b"Traceback" not in completed.stderr


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_stream_that_is_closed_or_full_fails_no_command(folder, redirection):
    command = [SCALING, "export", folder, "--format", "csv", "-o", folder / "rows.csv"]
    completed = subprocess.run(["sh", "-c", f'"$@" {redirection}', "sh", *command], capture_output=True, text=True)
    assert (completed.returncode, completed.stdout) == (0, "")
    assert "Traceback" not in completed.stderr
    assert (folder / "rows.csv").stat().st_size > 0


def test_a_reader_that_has_seen_enough_is_no_traceback(folder):
    command = ["sh", "-c", '"$@" | true', "sh", SCALING, "show", folder]
    assert subprocess.run(command, capture_output=True, text=True).stderr.count("Traceback") == 0


def test_a_full_stdout_is_one_sentence(folder):
    with Path("/dev/full").open("w") as full:
        completed = subprocess.run([SCALING, "show", folder], stdout=full, stderr=subprocess.PIPE, text=True)
    assert completed.returncode == 2
    assert mentions(completed.stderr, "stdout … No space left on device")
    assert "Traceback" not in completed.stderr


class Broken(io.StringIO):
    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")


def test_nobody_reading_the_notes_ends_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Broken())
    printing.print_note("a run was made")


def test_control_characters_never_reach_a_terminal(tmp_path, capsys):
    hostile = "\x1b[2J\x07\x9b31m\u202egnp.\r\n"
    printing.print_lines(hostile)
    printing.print_note(hostile)
    printing.print_table(Table(("name",), [(hostile,)]))
    said = capsys.readouterr()
    shown = r"\x1b[2J\x07\x9b31m\u202egnp.\r\n"
    assert said.out.splitlines()[0] == shown
    assert said.err == f"scaling: {shown}\n"
    assert said.out.splitlines()[2] == shown
    bad = folder_of(tmp_path / "bad", ['{"schema": 1, "run": {"workload": "\\u001b[2J"}}', "x"])
    assert "\x1b" not in scaling("show", bad).stderr


@pytest.mark.parametrize(("verbose", "shown"), [(False, ["a", "b", "1 more note with -v"]), (True, ["a", "b", "c"])])
def test_the_first_notes_are_printed_and_with_verbose_all(capsys, verbose, shown):
    printing.print_most_important(["a", "b", "c"], verbose, most=2)
    assert capsys.readouterr().err.splitlines() == [f"scaling: {note}" for note in shown]


def test_a_script_reads_json_from_one_line(capsys):
    printing.print_document({"a": [1, {"b": 2.5}]})
    assert capsys.readouterr().out == '{"a":[1,{"b":2.5}]}\n'


def test_commands_print_through_this_module_only():
    callers = {
        path.name
        for path in CLI.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id == "print"
    }
    assert callers == {"printing.py"}


@pytest.mark.parametrize(
    ("argument", "option"),
    [
        ("folder=", "-o"),
        ("again=True", "--again"),
        ("across_machines=True", "--across-machines"),
        ("form=csv", "--format csv"),
    ],
)
def test_an_argument_of_the_library_is_an_option_of_the_command_line(argument, option):
    assert as_options(f"give `{argument}`, or `scaling show`") == f"give {option}, or `scaling show`"
