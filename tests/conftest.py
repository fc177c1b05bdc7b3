"""What every test has: a lock of its own, so that tests neither wait for a sweep on this machine nor hold one up.

Files are handed out whole to the processes that run tests. Those of `ALONE` measure, stop and kill runs on this
machine: one process gets them all, so that no two of them measure at a time, while the others have what only computes.
Tests that take real time (networks that learn, browsers, real schedulers, kills by chance, fuzzing) are marked `slow`.
A test that needs an extra which is not installed is skipped, with the name of the extra.

    pytest                                                  everything, one after another
    tox                                                     what is not slow, two at a time
    tox -e slow                                             what is slow
    tox -e frameworks                                       what needs torch and JAX
    tox -e lowest, tox -e newest                            the lowest versions of packages, the newest Python
    tox -e coverage                                         branches that no test takes

Modules, classes and tests run in an order that is new each time. `--randomly-seed=7` repeats that of seed 7.
"""

import fcntl
import os
import re
import resource
import shutil
import signal
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from scaling.errors import MissingExtraError, to_install
from tests.other_user import OtherUser

TESTS = Path(__file__).parent
# The same examples every time, and none of the clock's business.
settings.register_profile("tests", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")
ALONE = (
    "test_recipes.py",
    "scaling/api/test_results.py",
    *(f"scaling/cli/test_{name}.py" for name in ("run", "sweep")),
    *(
        f"scaling/running/test_{name}.py"
        for name in ("environment", "launcher", "lock", "real_cohorts", "real_packs", "reaper", "servers", "starting")
    ),
    "scaling/running/test_local.py",
    *(f"scaling/features/cluster/test_{name}.py" for name in ("node", "slurm")),
    *(f"workloads/test_{name}.py" for name in ("ceilings", "command", "network_threads")),
    "benchmarks/test_decomposition.py",
    "scaling/features/packs/test_command.py",
    *(f"scaling/features/services/test_{name}.py" for name in ("server", "real_servers")),
)

SLOW = (
    "fuzz/test_commands.py",
    "scaling/features/cluster/test_slurm.py",
    "scaling/features/services/test_real_servers.py",
    "workloads/test_network_threads.py",
)

# Long tests that share nothing are handed out one by one, so that no process is left with all of them.
ONE_BY_ONE = ("scaling/features/test_deleted.py",)

# What takes real time, or what only root can make, makes every test slow that asks for it.
SLOW_FIXTURES = {"browser", "second_user", "groups_can_be_made", "small_memory_group", "one_cpu_quota", "small_disk"}

# The extra that brings each package, by the name that it is imported by.
IMPORTED_AS = {"nvidia-ml-py": "pynvml", "pyyaml": "yaml"}
EXTRAS = {
    IMPORTED_AS.get(name, name.replace("-", "_")): extra
    for extra, requirements in reversed(
        tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"].items()
    )
    for name in re.findall(r"^[\w-]+", "\n".join(requirements), re.MULTILINE)
}
MISSING = {package for package in EXTRAS if find_spec(package) is None}

# What torch and JAX are needed for: not there where either is not installed, required where both are.
FRAMEWORKS = (
    *(f"scaling/running/frameworks/test_{name}.py" for name in ("foreach", "graphs", "torch", "jax")),
    "workloads/test_frameworks.py",
)
HAS_FRAMEWORKS = all(map(find_spec, ("torch", "jax")))

if "PYTEST_XDIST_WORKER" in os.environ:
    # One of several such processes: each is a thread's worth of work. Set before any array library is loaded.
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), "1")


def _is_in(files: tuple[str, ...], path: Path) -> bool:
    return path.relative_to(TESTS).as_posix() in files


def pytest_collection_modifyitems(items):
    marks = {"frameworks": FRAMEWORKS, "alone": ALONE, "slow": SLOW}
    for item in items:
        for name, files in marks.items():
            if _is_in(files, item.path):
                item.add_marker(name)
        if SLOW_FIXTURES.intersection(item.fixturenames):
            item.add_marker("slow")
        for package in {package for mark in item.iter_markers("needs") for package in mark.args} & MISSING:
            item.add_marker(pytest.mark.skip(f"needs {package}: {to_install(EXTRAS[package])}"))


def pytest_ignore_collect(collection_path, config):
    """Where torch or JAX is not installed, their tests are not even imported; where they are asked for, no others."""
    if collection_path.is_dir():
        return None
    if _is_in(FRAMEWORKS, collection_path):
        return None if HAS_FRAMEWORKS else True
    return True if config.option.markexpr == "frameworks" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Files as they are, but for those that measure: they are one."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            if _is_in(ONE_BY_ONE, config.rootpath / file):
                return nodeid
            return "alone" if _is_in(ALONE, config.rootpath / file) else file

    return ByFile(config, log)


def skip_without_extra(error: BaseException | None) -> None:
    """Skip what needs a package of an extra that is not installed."""
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or "").partition(".")[0]
    else:
        package = "".join(re.findall(r"\bneed (\w+), which is not installed", str(error)))
    if package in MISSING:
        pytest.skip(f"needs {package}: {to_install(EXTRAS[package])}", allow_module_level=True)


class Module(pytest.Module):
    def collect(self):
        try:
            return super().collect()
        except (self.CollectError, MissingExtraError) as error:
            skip_without_extra(error.__cause__ or error)
            raise


def pytest_pycollect_makemodule(module_path, parent):
    return Module.from_parent(parent, path=module_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    try:
        return (yield)
    except (ModuleNotFoundError, MissingExtraError) as error:
        skip_without_extra(error)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except (ModuleNotFoundError, MissingExtraError) as error:
        skip_without_extra(error)
        raise


def pytest_sessionfinish(session, exitstatus):
    """Of a few tests that were asked for, all or none may be slow; both is well."""
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


@pytest.fixture
def high_descriptor():
    """A function that gives a descriptor another number, above those that `select` takes."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2048), before[1]))

    def move(fd: int) -> int:
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 1024)
        os.close(fd)
        return moved

    yield move
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
def cut_name():
    """This process has a name that the kernel has cut within a character."""
    name = Path("/proc/self/comm")
    before = name.read_bytes()
    name.write_bytes(b"abcdefghijklmn\xc3")
    yield
    name.write_bytes(before)


@pytest.fixture(autouse=True)
def own_cpus():
    """Every test leaves the process on the CPUs it had."""
    before = os.sched_getaffinity(0)
    yield
    assert os.sched_getaffinity(0) == before
