import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.shared.machines import row
from scaling.errors import StoreError
from scaling.results.rows import Row
from scaling.results.store import with_program_files
from scaling.running import program_files as module
from scaling.running.program_files import program_files, refuse_changed_files
from scaling.study.programs import Program
from scaling.study.spec import Study

HELPER = "pkg/helper.py"
SOURCES = {
    "mine.py": "import os, pkg.helper\ndef build(setting):\n    import later\n",
    "later.py": "from pkg import data\n",
    "pkg/__init__.py": "",
    HELPER: "from . import sibling\nfrom ...above import nothing\n",
    "pkg/sibling.py": "import mine\nimport broken\n",
    "broken.py": "def",
    "unused.py": "",
    "data.txt": "1\n",
}
IMPORTED = {"mine.py", "later.py", "pkg/__init__.py", HELPER, "pkg/sibling.py", "broken.py"}
PYTHON = Path(sys.executable).name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "prog").write_text("#!/bin/sh\n")
    (tmp_path / "prog").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def study_of(*command: str, **keys: object) -> Study:
    return Study(programs=(Program(name="mine", command=command, **keys),), cores=[1], launches=1)


MODULE = Study(workloads=["mine.py:build"], cores=[1])


def names_of(*command: str, **keys: object) -> set[str]:
    return {file.name for file in program_files(study_of(*command, **keys))["mine"]}


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (["./prog", "data.txt", "mine.py"], {"prog"}),
        (["sort", "data.txt"], {"sort"}),
        (["sh", "prog", "data.txt"], {"sh", "prog"}),
        (["sh", "-c", "cat $0", "data.txt"], {"sh"}),
        (["env", "A=1", "./prog", "data.txt"], {"env", "prog"}),
        ([sys.executable, "-u", "mine.py", "data.txt"], {PYTHON, *IMPORTED}),
        ([sys.executable, "-m", "pkg.helper", "data.txt"], {PYTHON, *IMPORTED}),
        ([sys.executable, "-m"], {PYTHON}),
        (["./prog-{threads}"], set()),
        (["sh", "x" * 5000, "unused.py"], {"sh", "unused.py"}),
    ],
)
def test_a_program_is_its_executable_and_the_script_that_an_interpreter_is_given(folder, command, names):
    assert names_of(*command) == names


def test_a_shell_line_is_all_of_its_commands(folder):
    assert names_of("A=1 ./prog < data.txt | sort && (sh unused.py)", shell=True) == {"prog", "sort", "sh", "unused.py"}


def test_files_are_found_from_the_folder_that_a_program_is_started_in(folder, monkeypatch):
    monkeypatch.chdir("/")
    assert names_of("./prog", cwd=str(folder)) == {"prog"}
    assert names_of("sh", "unused.py", cwd=str(folder)) == {"sh", "unused.py"}


def test_a_bare_name_is_found_beside_the_interpreter_of_the_study(folder):
    files = program_files(Study(workloads=["command: prog"], python=str(folder / "python"), cores=[1]))
    assert [file.name for file in files["command: prog"]] == ["prog"]


def test_a_module_is_its_file_and_what_it_imports_from_its_folder(folder):
    files = program_files(Study(workloads=["calibrated", "mine.py:build width=2"], cores=[1]))
    assert {name: {file.name for file in listed} for name, listed in files.items()} == {
        "mine.py:build width=2": IMPORTED
    }


def change(path):
    path.write_text(path.read_text() + "1\n")


def replace_executable(path):
    new = path.with_name("new")
    new.write_bytes(b"\x7fELF")
    new.chmod(0o755)
    new.replace(path)


def stored(study: Study) -> Row:
    """A row of the only program of a study, as it is now."""
    files, made = program_files(study), row()
    (name,) = files
    point = replace(made.run.point, workload=name)
    return with_program_files(replace(made, run=replace(made.run, point=point)), files)


@pytest.mark.parametrize(
    ("study", "edit", "named"),
    [
        (study_of("./prog"), lambda folder: change(folder / "prog"), "prog"),
        (study_of("sh", "unused.py"), lambda folder: change(folder / "unused.py"), "unused.py"),
        (study_of("./prog"), lambda folder: replace_executable(folder / "prog"), "prog"),
        (MODULE, lambda folder: change(folder / "mine.py"), "mine.py"),
        (MODULE, lambda folder: change(folder / HELPER), HELPER),
        (MODULE, lambda folder: (folder / "later.py").unlink(), "later.py"),
    ],
)
def test_a_file_that_changed_is_refused_by_its_name(folder, study, edit, named):
    before = stored(study)
    edit(folder)
    with pytest.raises(
        StoreError, match=rf"holds 1 run made before {named} changed \(runs of 2026-01-01 00:00 UTC\); .*`again=True`"
    ):
        refuse_changed_files(folder, [before], program_files(study))


def test_a_file_of_another_time_and_the_same_content_has_not_changed(folder):
    study = study_of("./prog")
    before = stored(study)
    os.utime(folder / "prog", (1, 1))
    change(folder / "data.txt")
    assert stored(study).program_files != before.program_files
    refuse_changed_files(folder, [before], program_files(study))


def test_rows_from_before_there_were_files_are_let_be(folder):
    study = study_of("./prog")
    refuse_changed_files(folder, [replace(stored(study), program_files=())], program_files(study))


def test_a_large_file_is_known_by_its_ends_its_size_and_its_time(folder, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 8)
    monkeypatch.setattr(module, "END_BYTES", 4)
    path = folder / "large"

    def digest(content: bytes, mtime: int) -> str:
        path.write_bytes(content)
        path.chmod(0o755)
        os.utime(path, (mtime, mtime))
        module._digest.cache_clear()
        return program_files(study_of("./large"))["mine"][0].digest

    first = digest(b"1234-----5678", 1)
    assert digest(b"1234+++++5678", 1) == first
    others = [digest(b"1234-----5678", 2), digest(b"1234-----5679", 1), digest(b"0234-----5678", 1)]
    assert first not in [*others, digest(b"1234------5678", 1)]
