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


def test_version_is_that_of_the_package():
    assert scaling("--version").stdout == f"scaling {version('cpu-scaling')}\n"


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
