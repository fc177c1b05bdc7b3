"""What must hold of every case: a known status, no traceback, an end in time, nothing else changed, plain text.

Nothing is left in TMPDIR and HOME but caches, and no process; JSON parses and matches its schema; and where what was
done to the input should not matter, the answer is that of the unharmed input.

A case runs in a forked process, so that a hang can be killed, memory is bounded, and one case leaves nothing to the
next; libraries are imported once, before.
"""

import hashlib
import io
import json
import os
import re
import resource
import select
import signal
import stat
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from jsonschema import Draft202012Validator, ValidationError

from benchmarks.shared.fuzz.cases import Case, Content, Link, Sparse
from scaling.cli.main import COMMANDS, main
from scaling.features import resolve
from scaling.reporting.schemas import json_schema, outputs
from scaling.running import processes
from scaling.running.marks import is_zombie

STATUSES = (0, 1, 2, 3, 130)
UNCAUGHT = 70
# Limits of a case: address space beyond that of the libraries, and CPU time.
MORE_MEMORY = 1 << 30
CPU_SECONDS = 20
# Larger files are compared by their size and time.
MOST_HASHED = 1 << 20
# C0 without tab and newline, DEL, and C1 as UTF-8 writes it.
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
BYSTANDERS = {"bystander": b"not yours\n", "bystander.d/kept": b"nor this\n"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with how a case ended, and what it printed."""

    case: Case
    faults: tuple[str, ...]
    status: int | None
    printed: str


def judge(case: Case, limit_seconds: float = 30.0) -> Verdict:
    """Run a case in a folder of its own and say what is wrong."""
    ended = _end_of(case, limit_seconds)
    faults = [*_status_faults(ended.status, ended.err), *_text_faults(case, ended.out, ended.err), *ended.faults]
    faults += _json_faults(case, ended)
    if case.unharmed is not None:
        sound = _end_of(replace(case, files=case.unharmed), limit_seconds)
        if (sound.status, sound.out) != (ended.status, ended.out):
            faults.append(f"another answer than that of the unharmed input, which has status {sound.status}")
    printed = (ended.out + ended.err).decode(errors="backslashreplace")[-3000:]
    return Verdict(case, tuple(faults), ended.status, printed)


@dataclass(frozen=True, slots=True)
class _End:
    """How a case ended, what it printed, and what it has left or changed that it should not have."""

    status: int | None
    out: bytes
    err: bytes
    faults: list[str]


def _end_of(case: Case, limit_seconds: float) -> _End:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        sandbox = Path(name)
        work = sandbox / "work"
        _write(work, case)
        before = _snapshot(work)
        status, left = _run(case, sandbox, limit_seconds)
        out, err = ((sandbox / part).read_bytes() for part in ("stdout", "stderr"))
        faults = [f"changed {path}" for path in _changes(before, _snapshot(work), case.outputs)]
        if status is not None:
            faults += [f"left {path.relative_to(sandbox)}" for path in _left_files(sandbox)]
            faults += [f"left {process}" for process in left]
    return _End(status, out, err, faults)


def _left_files(sandbox: Path) -> list[Path]:
    """What is left in TMPDIR and HOME, but for caches."""
    files = [path for folder in ("tmp", "home") for path in sorted((sandbox / folder).rglob("*"))]
    return [path for path in files if not path.is_relative_to(sandbox / "home/cache")]


def _json_faults(case: Case, ended: _End) -> list[str]:
    """What is wrong with JSON on stdout."""
    words = case.arguments[:1], case.arguments[:2]
    command = next((name for name in map(" ".join, words) if name in outputs()), None)
    if "--json" not in case.arguments or ended.status not in (0, 1) or command is None:
        return []
    try:
        _validator(command).validate(json.loads(ended.out, parse_constant=_no_json))
    except (ValueError, ValidationError) as error:
        return [f"JSON: {str(error).splitlines()[0][:200]}"]
    return []


def _no_json(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


@cache
def _validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(json_schema(command))


def import_commands() -> None:
    """Import once what every case needs."""
    for command in COMMANDS.values():
        resolve(command.function)
    import_module("scaling.api.figures")
    if find_spec("pyarrow"):
        # Its allocator reserves a gigabyte of address space with the first buffer.
        import_module("pyarrow.parquet")
        import_module("pyarrow").allocate_buffer(1)


def _write(work: Path, case: Case) -> None:
    for name, content in {**BYSTANDERS, **case.files}.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _put(path, content, work)


def _put(path: Path, content: Content, work: Path) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, Link):
        path.symlink_to(work / content.target)
    elif isinstance(content, Sparse):
        path.write_bytes(content.head)
        os.truncate(path, content.size)
    elif content.what == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()


def _run(case: Case, sandbox: Path, limit_seconds: float) -> tuple[int | None, list[str]]:
    """The status of a case, None where it had to be killed, and the processes that it has left."""
    adopted, before = processes.adopt_orphans(), processes.children()
    try:
        status = _run_to_its_end(case, sandbox, limit_seconds)
        left = [pid for pid in processes.children() - before if not is_zombie(pid)]
        described = [processes.describe(pid) for pid in left]
        for pid in processes.children() - before:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return status, described
    finally:
        processes.adopt_orphans(adopted)


def _run_to_its_end(case: Case, sandbox: Path, limit_seconds: float) -> int | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the threads of numerical libraries are idle
        child = os.fork()
    if child == 0:
        _run_child(case, sandbox)
    fd = os.pidfd_open(child)
    ended = bool(select.select([fd], [], [], limit_seconds)[0])
    os.close(fd)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else None


def _run_child(case: Case, sandbox: Path) -> None:
    """The child: the command with its output in files; never returns."""
    status = UNCAUGHT
    try:
        os.setsid()
        _enter(sandbox, case.encoding)
        sys.argv = ["scaling", *case.arguments]
        status = _call()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        os.write(2, traceback.format_exc().encode(errors="backslashreplace"))
    finally:
        os._exit(status)


def _enter(sandbox: Path, encoding: str) -> None:
    for number, name in ((0, os.devnull), (1, sandbox / "stdout"), (2, sandbox / "stderr")):
        fd = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(fd, number)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding=encoding)
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", closefd=False), encoding=encoding, errors="backslashreplace")
    os.chdir(sandbox / "work")
    places = {"HOME": "home", "XDG_CACHE_HOME": "home/cache", "TMPDIR": "tmp", "PATH": "bin", "SCALING_LOCK": "lock"}
    os.environ.update({name: str(sandbox / path) for name, path in places.items()})
    for path in ("home", "tmp", "bin"):
        (sandbox / path).mkdir()
    tempfile.tempdir = None
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MORE_MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))  # at the second one, the signal is SIGKILL
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _call() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return 0


def _snapshot(work: Path) -> dict[str, tuple[object, ...]]:
    return {str(path.relative_to(work)): _facts(path) for path in sorted(work.rglob("*"))}


def _facts(path: Path) -> tuple[object, ...]:
    facts = path.lstat()
    if facts.st_size > MOST_HASHED:
        return facts.st_mode, facts.st_mtime_ns, facts.st_size
    if stat.S_ISREG(facts.st_mode):
        return facts.st_mode, facts.st_mtime_ns, hashlib.sha256(path.read_bytes()).digest()
    return (facts.st_mode, str(path.readlink())) if path.is_symlink() else (facts.st_mode,)


def _changes(
    before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]], outputs: Sequence[str]
) -> list[str]:
    changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    return [path for path in changed if not any(path == one or path.startswith(f"{one}/") for one in outputs)]


def _status_faults(status: int | None, err: bytes) -> list[str]:
    if status is None:
        return ["no end in time"]
    if status == -signal.SIGXCPU:
        return [f"more than {CPU_SECONDS} s of CPU time"]
    faults = [] if status in STATUSES else [f"status {status}"]
    return [*faults, "traceback"] if b"Traceback (most recent call last)" in err else faults


def _text_faults(case: Case, out: bytes, err: bytes) -> list[str]:
    """Control characters of files; what somebody types may come back to them."""
    text = err if case.data else out + err
    if any(CONTROL.search(word.encode(errors="surrogateescape")) for word in case.arguments):
        return []
    found = CONTROL.search(text)
    return [f"control character {found.group()!r} printed"] if found else []
