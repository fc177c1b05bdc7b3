import re
import sys

import pytest

from scaling.errors import StudyError
from scaling.running import interpreter
from scaling.running.interpreter import find_interpreter
from tests.runs import virtual_environment


def test_an_interpreter_is_found_by_its_path_and_by_that_of_its_environment(tmp_path, monkeypatch):
    folder = virtual_environment(tmp_path / "venv")
    python = str(folder / "bin" / "python")
    monkeypatch.chdir(tmp_path)
    assert [find_interpreter(name) for name in ("venv", "venv/bin/python", python)] == [python] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path / "nowhere", r"interpreter .*nowhere; use"),
        (
            lambda path: virtual_environment(path / "empty", with_package=False),
            "No module named 'scaling'.*pip install",
        ),
    ],
)
def test_one_that_cannot_run_this_package_is_refused_in_a_sentence(make, message, tmp_path):
    with pytest.raises(StudyError, match=message):
        find_interpreter(str(make(tmp_path)))


def test_another_version_of_this_package_is_refused(monkeypatch):
    monkeypatch.setattr(interpreter, "version", lambda name: "0.0.1")
    with pytest.raises(StudyError, match=f"{re.escape(sys.executable)} has cpu-scaling .*, but this version is 0.0.1"):
        find_interpreter(sys.executable)
