import errno
import os
import threading

import pytest

from scaling.running import launcher, starting
from scaling.running.starting import ShortageError, patiently
from scaling.study.programs import Program
from tests.runs import row_of

# What a process of a run does before anything else: its next processes are refused.
REFUSED = """
import subprocess
from scaling.running import starting
starting.PAUSES = (0.001, 0.001)
class Popen(subprocess.Popen):
    left = {left}
    def __init__(self, *arguments, **options):
        Popen.left -= 1
        if Popen.left >= 0:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        super().__init__(*arguments, **options)
subprocess.Popen = Popen
"""
UNAVAILABLE = (
    "scaling could not start a process: Resource temporarily unavailable, 3 times within 0.0 s; end other processes, "
    "or allow more with ulimit -u"
)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(starting, "PAUSES", (0.001, 0.001))


def refusing(times, error):
    """A start that is refused a number of times."""
    errors = [error] * times

    def start():
        if errors:
            raise errors.pop()
        return "started"

    return start


@pytest.mark.parametrize(("refusals", "pauses"), [(0, []), (1, [0.1]), (4, [0.1, 0.3, 1.0, 3.0])])
def test_pauses_between_starts_grow_for_four_seconds(refusals, pauses, monkeypatch):
    monkeypatch.undo()
    slept: list[float] = []
    assert patiently(refusing(refusals, OSError(errno.EAGAIN, "")), slept.append) == "started"
    assert slept == pauses


@pytest.mark.parametrize(
    "error",
    [*(OSError(number, os.strerror(number)) for number in starting.REMEDIES), RuntimeError("can't start new thread")],
    ids=str,
)
def test_a_start_is_tried_again_and_a_lasting_shortage_has_a_remedy(error):
    assert patiently(refusing(2, error)) == "started"
    with pytest.raises(ShortageError, match=r"^scaling could not start a process: .*, 3 times within .* s; \w"):
        patiently(refusing(3, error))


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOENT, "No such file"), RuntimeError("another"), PermissionError(errno.EACCES, "no")]
)
def test_another_error_is_the_callers(error):
    with pytest.raises(type(error)):
        patiently(refusing(1, error))


@pytest.mark.parametrize(("times", "status", "reason"), [(1, "ok", None), (9, "shortage", UNAVAILABLE)])
def test_a_run_whose_interpreter_cannot_be_started_is_not_the_programs_failure(monkeypatch, times, status, reason):
    real = launcher.spawn
    unavailable = BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    refused = [unavailable] * times

    def spawn(*arguments):
        if refused:
            raise refused.pop()
        return real(*arguments)

    monkeypatch.setattr("scaling.running.local.spawn", spawn)
    outcome = row_of("calibrated work=0.01 serial=1").outcome
    assert (outcome.status, outcome.reason) == (status, reason)


@pytest.mark.parametrize(("times", "status", "reason"), [(1, "ok", None), (9, "shortage", UNAVAILABLE)])
def test_a_run_whose_thread_cannot_be_started_is_not_the_programs_failure(monkeypatch, times, status, reason):
    real, refused = threading.Thread.start, [1] * times

    def start(thread):
        if thread._target is launcher._start_and_wait and refused:
            refused.pop()
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    outcome = row_of("command: true").outcome
    assert (outcome.status, outcome.reason) == (status, reason)


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.parametrize("design", ["apart", "turns"])
@pytest.mark.parametrize(("left", "status", "reason"), [(1, "ok", None), (99, "shortage", UNAVAILABLE)])
@pytest.mark.parametrize("hooks", [{}, {"setup": "true", "prepare": "true", "warmup": 1}], ids=["alone", "hooks"])
def test_a_program_that_the_system_refuses_to_start_has_not_failed(
    tmp_path, monkeypatch, start, design, left, status, reason, hooks
):
    (tmp_path / "sitecustomize.py").write_text(REFUSED.format(left=left))
    paths = (str(tmp_path), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    outcome = row_of(Program(name="prog", command=("true",), **hooks), start=start, design=design).outcome
    assert (outcome.status, outcome.reason) == (status, reason)
    assert not outcome.stderr_tail


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("garbage", "Exec format error; build it for this machine, or name its interpreter in its first line"),
        ("#!/nowhere/python\n", "No such file or directory; correct the path, or the interpreter in its first line"),
    ],
)
def test_a_program_that_cannot_be_executed_is_the_users_error_in_a_sentence(tmp_path, code, reason, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "prog"
    path.write_text(code)
    path.chmod(0o755)
    outcome = row_of(Program(name="prog", command=(str(path),))).outcome
    assert (outcome.status, outcome.reason) == ("failed", f"'~/prog' cannot be started: {reason}")
    assert not outcome.stderr_tail
