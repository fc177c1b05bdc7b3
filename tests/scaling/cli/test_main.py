import subprocess
import sys
from importlib.metadata import version

import pytest
import typer

from scaling.cli.main import COMMANDS, app
from tests.scaling.cli.here import scaling

SUMMARIES = {name: command.summary for name, command in COMMANDS.items()}


def command(name):
    found = typer.main.get_command(app)
    for word in name.split():
        found = found.commands[word]
    return found


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_summary_of_a_command_is_the_first_line_of_its_help(name):
    assert command(name).help.partition("\n\n")[0].replace("\n", " ") == SUMMARIES[name]


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_has_an_example_and_every_option_a_help_text(name):
    completed = command(name)
    assert f"Example: scaling {name} " in completed.help
    assert not [param.name for param in completed.params if not getattr(param, "help", None)]


def test_help_lists_the_commands_in_groups():
    completed = scaling("--help").stdout
    places = [
        completed.index(word) for word in ("Measure:", "  sweep", "Read:", "  show", "Machine:", "  machine topology")
    ]
    assert places == sorted(places)


def test_help_does_not_list_what_only_programs_need():
    assert "schema" not in scaling("--help").stdout


def test_version_is_that_of_the_package():
    assert scaling("--version").stdout == f"scaling {version('cpu-scaling')}\n"


def test_completion_can_be_installed_and_shown():
    completed = scaling("--help").stdout
    assert "--install-completion" in completed
    assert "--show-completion" in completed


def test_a_mistyped_command_is_refused_with_the_nearest():
    completed = scaling("capacty")
    assert completed.returncode == 2
    assert "capacity" in completed.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["machine", "topology"]])
def test_a_command_imports_only_what_it_needs(arguments):
    code = (
        f"import sys; sys.argv = ['scaling', *{arguments}]\n"
        "from scaling.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'pandas', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert completed.stdout.splitlines()[-1] == "[]", completed.stderr
