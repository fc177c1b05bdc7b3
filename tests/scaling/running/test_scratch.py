"""What a traced run writes while it is traced is gone afterwards, however it ends."""

import pytest

from scaling.machine.identity import read_machine
from scaling.machine.sysfs import read_topology
from scaling.running.engines.local import LocalEngine
from scaling.running.guardian import Guardian
from tests.pretend import first_run, study


def leave(scratch):
    scratch.mkdir()
    (scratch / "half.xplane.pb").write_bytes(b"half of a trace")


def test_a_run_that_is_ended_leaves_nothing_behind(monkeypatch):
    topology = read_topology()
    with LocalEngine(study(), topology, read_machine(topology)) as engine:

        def ended(_):
            leave(engine.scratch)
            raise KeyboardInterrupt

        monkeypatch.setattr(engine, "_made", ended)
        with pytest.raises(KeyboardInterrupt):
            list(engine.trace([first_run()]))
        assert not engine.scratch.exists()


def test_no_two_engines_share_a_scratch_folder():
    topology = read_topology()
    machine = read_machine(topology)
    with LocalEngine(study(), topology, machine) as one, LocalEngine(study(), topology, machine) as other:
        assert one.scratch != other.scratch
        assert not one.scratch.exists()


def test_the_guardian_removes_what_a_killed_profile_has_left(tmp_path):
    scratch = tmp_path / "scratch"
    guardian = Guardian("nobody carries this mark", scratch=scratch)
    leave(scratch)
    guardian.close()
    assert not scratch.exists()
