"""What every test has: a lock of its own, so that tests neither wait for a sweep on this machine nor hold one up.

Tests that ask what real runs had of the machine, or that stop and kill them, are marked `alone`: nothing else should
run beside them. All others may run several at a time. Those that take real time (networks that learn, browsers, real
schedulers, kills by chance, fuzzing) are marked `slow`.

    pytest                                                  everything, one after another
    tox                                                     what is not slow, two at a time where that is allowed
    tox -e slow                                             what is slow
    tox -e frameworks                                       what needs torch and JAX
"""

import os
import shutil
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.other_user import OtherUser

TESTS = Path(__file__).parent
ALONE = (
    *(f"scaling/cli/test_{name}.py" for name in ("run", "sweep")),
    *(
        f"scaling/running/test_{name}.py"
        for name in ("cohort", "environment", "launcher", "lock", "pack", "reaper", "servers")
    ),
    "scaling/running/engines/test_local.py",
    *(f"scaling/features/cluster/test_{name}.py" for name in ("node", "slurm")),
    *(f"workloads/test_{name}.py" for name in ("ceilings", "command", "network_threads")),
    "benchmarks/test_decomposition.py",
    "scaling/features/packs/test_command.py",
)

SLOW = (
    "fuzz/test_commands.py",
    "scaling/features/cluster/test_slurm.py",
    "scaling/reporting/page/test_in_a_browser.py",
    "workloads/test_network_threads.py",
)

# What torch and JAX are needed for: not there where either is not installed, required where both are.
FRAMEWORKS = (
    *(f"scaling/running/frameworks/test_{name}.py" for name in ("foreach", "graphs", "torch", "jax")),
    "workloads/test_frameworks.py",
)
HAS_FRAMEWORKS = all(map(find_spec, ("torch", "jax")))

if "PYTEST_XDIST_WORKER" in os.environ:
    # One of several such processes: each is a thread's worth of work. Set before any array library is loaded.
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), "1")


def alone(path: Path) -> bool:
    return path.relative_to(TESTS).as_posix() in ALONE


def needs_frameworks(path: Path) -> bool:
    return path.relative_to(TESTS).as_posix() in FRAMEWORKS


def pytest_collection_modifyitems(items):
    for item in items:
        if needs_frameworks(item.path):
            item.add_marker(pytest.mark.frameworks)
        if alone(item.path):
            item.add_marker(pytest.mark.alone)
        if item.path.relative_to(TESTS).as_posix() in SLOW:
            item.add_marker(pytest.mark.slow)


def pytest_ignore_collect(collection_path, config):
    """Where only one sort of test is asked for, the others are not even imported."""
    if needs_frameworks(collection_path) and not HAS_FRAMEWORKS:
        return True
    if config.option.markexpr == "frameworks":
        return None if collection_path.is_dir() or needs_frameworks(collection_path) else True
    marks = config.option.markexpr
    wanted = False if "not alone" in marks else True if "alone" in marks else None
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and wanted is not None and alone(collection_path) != wanted else None


def pytest_sessionfinish(session, exitstatus):
    """Of a few tests that were asked for, all or none may be such as run alone; both is well."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.option.markexpr:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(autouse=True)
def own_lock(tmp_path_factory, monkeypatch):
    path = tmp_path_factory.getbasetemp() / "lock"
    monkeypatch.setenv("SCALING_LOCK", str(path))
    return path


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Programs that tests start can be told to end, also in the background of a script or under nohup."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL, signal.SIGTERM: signal.SIG_DFL}
    for number, handler in usual.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def need(present: bool, what: str) -> None:
    """Skip a test that needs something of the system, or fail where the system was meant to have it."""
    if not present:
        reason = f"needs {what}"
        if os.environ.get("SCALING_REQUIRE_SYSTEM_TESTS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def second_user():
    """Another user of this machine, who exists for the tests alone."""
    need(os.geteuid() == 0 and shutil.which("useradd") is not None, "root, to make a second user")
    name = f"scaling-test-{os.getpid()}"
    subprocess.run(["useradd", "--system", "--no-create-home", name], check=True)
    yield OtherUser(name)
    subprocess.run(["userdel", name], check=True)


@pytest.fixture(autouse=True)
def own_cpus():
    """Every test leaves the process on the CPUs it had."""
    before = os.sched_getaffinity(0)
    yield
    assert os.sched_getaffinity(0) == before
