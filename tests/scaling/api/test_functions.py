"""Functions as a notebook has them, written into a file that a fresh process can import."""

import linecache
import runpy
import sys
from types import ModuleType

import pytest

from scaling.api import functions
from scaling.errors import StoreError, StudyError
from scaling.study.programs import Program

CELL = """
import math as m
from statistics import fmean
FACTOR = 3

class Twice:
    def of(self, value):
        return FACTOR * value

def inner(value):
    return Twice().of(m.sqrt(value))

def work(workers=1, most=4):
    if workers > most:
        return work(workers - 1)
    return fmean([inner(workers)])

def around(data):
    def use():
        return data
    return use

lost = around(object())
kept = around([1, 2])
short = lambda: 1
"""


USING = """
import xml.dom
import of_mine
from dataclasses import dataclass
from math import fsum as sum
from of_mine import one

@dataclass
class Pair:
    first: int

    def sum(self):
        return self.first

def use():
    return xml.dom.Node.__name__, of_mine.one(), one(), Pair(3).sum(), sum([3, 4])
"""


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook has after a cell: names of a main module whose source is known without a file."""

    def run(cell):
        main = ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", main)
        monkeypatch.setitem(linecache.cache, "<cell>", (len(cell), None, cell.splitlines(True), "<cell>"))
        exec(compile(cell, "<cell>", "exec"), vars(main))
        return main

    return run


@pytest.fixture
def cell(notebook):
    """The names of the cell of most tests."""
    return notebook(CELL)


@pytest.fixture
def measured(monkeypatch):
    """The study that would be carried out."""
    monkeypatch.setattr(functions, "run", lambda study, folder, **options: study)
    return functions.measure


def test_a_function_is_written_with_what_it_uses(cell, measured, tmp_path):
    study = measured(cell.work, tmp_path / "work", threads="workers", cores=[1, 2])
    assert study.workloads == (f"{tmp_path}/work.py:work workers={{threads}}",)
    assert (study.modes, study.cores, study.name) == (("run",), (1, 2), "work")
    again = runpy.run_path(str(tmp_path / "work.py"))["work"]
    assert again(4) == cell.work(4) == 6.0


def test_plain_values_around_a_function_are_written_and_others_refused(cell, measured, tmp_path):
    measured(cell.kept, tmp_path / "kept")
    assert runpy.run_path(str(tmp_path / "use.py"))["use"]() == [1, 2]
    with pytest.raises(StudyError, match="uses 'data' of type object"):
        measured(cell.lost, tmp_path / "lost")


def test_a_file_has_the_submodules_own_modules_decorators_and_hidden_builtins_of_its_function(
    notebook, measured, tmp_path, monkeypatch
):
    (tmp_path / "of_mine.py").write_text("def one(): return 1")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        main = notebook(USING)
    measured(main.use, tmp_path / "results" / "use")
    monkeypatch.delitem(sys.modules, "of_mine")
    monkeypatch.delattr("xml.dom")
    monkeypatch.delitem(sys.modules, "xml.dom")
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert runpy.run_path(str(tmp_path / "results/use.py"))["use"]() == ("Node", 1, 1, 3, 7.0)


def test_a_function_replaces_its_own_file_only(cell, measured, tmp_path):
    for _ in range(2):
        measured(cell.work, tmp_path / "work")
    (tmp_path / "inner.py").write_text("mine")
    with pytest.raises(StudyError, match="so it is not replaced"):
        measured(cell.inner, tmp_path / "inner")
    assert (tmp_path / "inner.py").read_text() == "mine"


@pytest.mark.parametrize("subject", [print, int, "lambda"])
def test_what_has_no_source_is_refused(cell, measured, tmp_path, subject):
    with pytest.raises(StudyError, match="define"):
        measured(cell.short if subject == "lambda" else subject, tmp_path / "it")


def test_a_function_without_a_folder_to_write_it_to_is_refused(cell, measured, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be created: File exists; choose another folder"):
        measured(cell.work, tmp_path / "file" / "it")


def test_threads_are_a_parameter_or_a_variable(cell, measured, tmp_path):
    assert measured(cell.work, tmp_path / "work", threads="OMP_NUM_THREADS").intra == ("cpus",)
    with pytest.raises(StudyError, match=r"has no such parameter \(it has workers, most\)"):
        measured(cell.work, tmp_path / "work", threads="pool")


def test_a_function_of_a_file_stays_there(measured, tmp_path, monkeypatch):
    (tmp_path / "of_a_file.py").write_text("def work(): pass")
    monkeypatch.syspath_prepend(tmp_path)
    import of_a_file

    assert measured(of_a_file.work).workloads == (f"{tmp_path}/of_a_file.py:work",)


def test_a_program_is_given_by_its_words_or_described(measured):
    by_words = measured(["zstd", "-T{threads}", "data"])
    assert by_words.programs == (Program(name="zstd", command=("zstd", "-T{threads}", "data")),)
    assert measured(by_words.programs[0], launches=3) == measured(["zstd", "-T{threads}", "data"], launches=3)


def test_a_program_has_no_parameter_for_its_threads(measured):
    assert measured(["zstd"], threads="OMP_NUM_THREADS") == measured(["zstd"])
    with pytest.raises(StudyError, match=r"put \{threads\} among its words"):
        measured(["zstd"], threads="workers")
