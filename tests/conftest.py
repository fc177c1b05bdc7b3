"""What every test has: a lock of its own, so that tests neither wait for a sweep on this machine nor hold one up."""

import os
import signal

import pytest


@pytest.fixture(autouse=True)
def own_lock(tmp_path_factory, monkeypatch):
    path = tmp_path_factory.getbasetemp() / "lock"
    monkeypatch.setenv("SCALING_LOCK", str(path))
    return path


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Programs that tests start can be interrupted, also where tests run in the background of a script."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def need(present: bool, what: str) -> None:
    """Skip a test that needs something of the system, or fail where the system was meant to have it."""
    if not present:
        reason = f"needs {what}"
        if os.environ.get("SCALING_REQUIRE_SYSTEM_TESTS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def own_cpus():
    """Every test leaves the process on the CPUs it had."""
    before = os.sched_getaffinity(0)
    yield
    assert os.sched_getaffinity(0) == before
