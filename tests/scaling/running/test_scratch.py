"""Scratch folders: empty for every run, and nobody else's."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from benchmarks.shared.machines import study
from scaling.errors import StoreError
from scaling.machine.sysfs import read_machine, read_topology
from scaling.running.launcher import StartError
from scaling.running.local import LocalEngine
from scaling.running.scratch import Scratch, remove
from scaling.study.planning import plan


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary folder that everybody may write to, as /tmp is; so that others can reach it, not below pytest's."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    for path in folder.iterdir():
        remove(path)
    folder.rmdir()


def test_a_scratch_folder_is_the_users_alone(temporary):
    scratch = Scratch()
    scratch.empty()
    for folder in (scratch.folder, scratch.runs):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == os.getuid()


@pytest.mark.parametrize("leave", [Path.touch, Path.mkdir, lambda path: path.symlink_to("/etc")])
def test_whatever_a_run_puts_in_the_place_of_its_folder_is_removed(temporary, leave):
    scratch = Scratch()
    scratch.empty()
    scratch.runs.rmdir()
    leave(scratch.runs)
    scratch.empty()
    assert stat.S_ISDIR(os.lstat(scratch.runs).st_mode)
    assert list(scratch.runs.iterdir()) == []


def test_a_scratch_folder_that_others_may_enter_is_not_used(temporary):
    scratch = Scratch()
    scratch.folder.chmod(0o755)
    with pytest.raises(StartError, match="no longer private to this user"):
        scratch.empty()
    scratch.folder.chmod(0o700)


def test_a_scratch_folder_that_is_gone_makes_failed_rows(temporary):
    scratch = Scratch()
    scratch.folder.rmdir()
    with pytest.raises(StartError, match="created: No such file"):
        scratch.empty()


@pytest.mark.parametrize(
    ("which", "why"),
    [("outer", "is no longer private to this user"), ("temporary", "cannot be created: Not a directory")],
)
def test_a_temporary_folder_that_a_file_has_replaced_makes_failed_rows_of_one_sentence(
    tmp_path, monkeypatch, which, why
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    topology, asked = read_topology(), study(cores="1", launches="2")
    with LocalEngine(asked, topology, read_machine(topology)) as engine:
        engine.scratch.folder.rmdir()
        if which == "outer":
            engine.scratch.folder.touch()
        else:
            temporary.rmdir()
            temporary.touch()
        rows = list(engine.execute(plan(asked, topology).runs[:2]))
    assert [row.outcome.status for row in rows] == ["failed", "failed"]
    for row in rows:
        assert row.outcome.reason.endswith(why)
        assert "\n" not in row.outcome.reason


def test_where_no_scratch_folder_can_be_made_a_sentence_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(StoreError, match="set TMPDIR"):
        Scratch()


def test_another_user_cannot_take_a_scratch_folder_over(temporary, second_user):
    scratch = Scratch()
    scratch.empty()
    attacks = {
        "look into it": lambda: list(scratch.folder.iterdir()),
        "write to it": lambda: (scratch.folder / "mine").touch(),
        "move it away": lambda: scratch.folder.rename(temporary / "away"),
        "remove it": lambda: scratch.folder.rmdir(),
        "open it up": lambda: scratch.folder.chmod(0o777),
    }
    answers = {what: second_user.call(attack) for what, attack in attacks.items()}
    assert answers == dict.fromkeys(attacks, "PermissionError")


def test_what_everybody_can_read_of_the_reaper_names_no_scratch_folder(temporary):
    topology = read_topology()
    with LocalEngine(study(), topology, read_machine(topology)) as engine:
        command = Path(f"/proc/{engine.reaper.pid}/cmdline").read_text()
    assert engine.scratch.folder.name not in command
    assert engine.mark not in command
