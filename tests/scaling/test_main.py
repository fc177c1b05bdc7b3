import signal
import subprocess
import sys
import time
from importlib.metadata import version

import pytest

# Runs a command that interrupts itself when it imports a module.
INTERRUPTED = """
import os, signal, sys
from scaling.__main__ import main
class Interrupts:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
sys.argv = ["scaling", "machine", "topology"]
main()
"""
# In the order of their import: a package of our own, libraries, and the module of the command.
IMPORTED = ["scaling.cli", "typer", "rich", "scaling.features", "scaling.cli.machine"]


def program(*code, **options):
    return subprocess.run([sys.executable, *code], capture_output=True, text=True, **options)


@pytest.mark.parametrize("module", IMPORTED)
def test_an_interrupt_while_the_program_imports_ends_it_without_a_word(module):
    completed = program("-c", INTERRUPTED.format(module=module))
    assert (completed.returncode, completed.stdout, completed.stderr) == (130, "", "")


def test_a_program_that_was_started_to_ignore_interrupts_does_so():
    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    completed = program("-c", INTERRUPTED.format(module="typer"), preexec_fn=ignore)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout


def test_python_starts_the_program_by_the_name_of_the_package():
    assert program("-m", "scaling", "--version").stdout == f"scaling {version('cpu-scaling')}\n"


@pytest.mark.slow
@pytest.mark.parametrize("milliseconds", range(0, 400, 20))
def test_an_interrupt_at_any_moment_of_the_start_prints_no_traceback(milliseconds):
    code = "import os; from scaling.__main__ import main; os.write(1, b'begun\\n'); main()"
    command = [sys.executable, "-c", code, "machine", "topology"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        # Python prints a traceback for an interrupt before the first line of the program.
        assert started.stdout.readline() == b"begun\n"
        time.sleep(milliseconds / 1000)
        started.send_signal(signal.SIGINT)
        assert b"Traceback" not in started.stderr.read()
