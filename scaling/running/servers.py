"""The sweep's view of the servers that fork runs: started when first needed, asked for children, ended with the sweep.

There is a server for each combination of settings that must be fixed before imports. Random effects of loading
libraries (addresses, hash order, the size of the environment) are drawn anew for every launch, as in a fresh
interpreter: servers come in generations, and a new generation begins when a point returns, once per block.
"""

import ast
import os
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from scaling.running import control_groups
from scaling.running.forkserver import LONGEST_MESSAGE
from scaling.running.launcher import CHILD_ENDS, ChildSpec, StartOrReuse, WorkerProcess
from scaling.running.messages import ChildStarted, MessageError, Refusal, ServerReady, ServerSetup, decode, encode
from scaling.running.processes import ending
from scaling.running.starting import ShortageError, StartError, patiently
from scaling.running.system import SYSTEM
from scaling.running.system_calls import Policy
from scaling.study.catalogue import A_FRAMEWORK, read_catalogue
from scaling.study.planning import Point
from scaling.study.workload import Named, OwnFile, workload

SERVER = "from scaling.running.forkserver import main; main()"

# Imports take seconds and a fork takes milliseconds, but both take longer on a machine that is busy or swaps.
READY_SECONDS = 300.0
FORK_SECONDS = 60.0

# If imports take longer than LONG_SECONDS, servers of later generations start together with the second generation: at
# most MOST_AT_ONCE, in at most SPARE_MEMORY of the free memory at SERVER_BYTES each.
LONG_SECONDS = 1.0
MOST_AT_ONCE = 8
SPARE_MEMORY = 0.1
SERVER_BYTES = 300e6

KERAS = "keras"

Reply = TypeVar("Reply", ServerReady, ChildStarted)


@dataclass(frozen=True, slots=True)
class Preparation:
    """The settings that a server must have before its imports, and the imports."""

    environment: tuple[tuple[str, str], ...]
    policy: Policy | None
    modules: tuple[str, ...]
    python: str = sys.executable


class Servers:
    """The servers of one generation, in a control group; the next begins when a point returns."""

    def __init__(self, guard: str | None = None) -> None:
        self._guard = guard
        self.generation = 1
        self._served: set[tuple[Point, str | None]] = set()
        self._servers: dict[Preparation, Server] = {}
        self._spares: dict[Preparation, Server] = {}
        self._slowest_seconds = 0.0
        self._waiting: defaultdict[Preparation, list[WorkerProcess]] = defaultdict(list)

    def start_or_reuse(self, preparation: Preparation) -> StartOrReuse:
        """The function that takes a process which waits for its next run, or lets a server fork one."""
        return StartOrReuse(self.ready(preparation).fork, self._waiting[preparation])

    def generation_for(self, point: Point, python: str | None = None) -> int:
        """The generation that forks a run of this point; a new generation ends the older servers."""
        if (point, python) in self._served:
            _close_all(self._servers)
            self._served.clear()
            self.generation += 1
        self._served.add((point, python))
        return self.generation

    def begin(self, preparations: Iterable[Preparation], following: Iterable[Preparation] = ()) -> None:
        """Start servers, which import together, with some of later generations (`following`); failures show on use."""
        missing = [wanted for wanted in preparations if wanted not in self._servers and wanted not in self._spares]
        room = self._room() if missing else 0
        for preparation in missing:
            with suppress(StartError):
                self._started(preparation)
        later = (wanted for wanted in following if wanted not in self._spares)
        for preparation in islice(later, max(0, room - len(missing))):
            with suppress(StartError):
                self._spares[preparation] = Server(preparation, len(self._servers) + len(self._spares), self._guard)

    def ready(self, preparation: Preparation) -> "Server":
        """A server that can fork; a new one if it is missing or has died."""
        server = self._started(preparation)
        self._slowest_seconds = max(self._slowest_seconds, server.wait_until_ready())
        return server

    def wait_for_spares(self) -> None:
        """Wait until no server imports any more; a failed server starts again when needed, which reports the error."""
        for preparation, server in [*self._spares.items()]:
            try:
                server.wait_until_ready()
            except StartError:
                del self._spares[preparation]

    def _started(self, preparation: Preparation) -> "Server":
        server = self._servers.get(preparation) or self._spares.pop(preparation, None)
        if server is None or server.close_if_exited():
            server = Server(preparation, len(self._servers), self._guard)
        self._servers[preparation] = server
        return server

    def _room(self) -> int:
        """The number of servers that may start at once; 0 before the second generation."""
        if self.generation == 1 or self._slowest_seconds < LONG_SECONDS:
            return 0
        cpus = len(os.sched_getaffinity(0))
        return min(cpus, MOST_AT_ONCE, int(SPARE_MEMORY * SYSTEM.free_bytes() / SERVER_BYTES))

    def close(self) -> None:
        """End all servers, and the processes that wait for their next run."""
        for process in chain.from_iterable(self._waiting.values()):
            process.end()
            process.close()
        _close_all(self._servers)
        _close_all(self._spares)


def _close_all(servers: "dict[Preparation, Server]") -> None:
    while servers:
        servers.popitem()[1].close()


class Server:
    """A server process that imports and then forks, and the socket to it."""

    def __init__(self, preparation: Preparation, number: int, guard: str | None = None) -> None:
        self._started, self._seconds = time.monotonic(), 0.0
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()  # the replicas of a pack are started at once
        try:
            self._process = _start(preparation, theirs, number)
        except ShortageError:
            self._socket.close()
            raise
        except OSError as error:
            self._socket.close()
            raise StartError(f"its server cannot be started: {error.strerror}") from error
        control_groups.guard(guard, self._process.pid)

    def wait_until_ready(self) -> float:
        """Sleep until it has imported everything; returns the seconds that this took."""
        if not self._seconds:
            self._receive(ServerReady, READY_SECONDS)
            self._seconds = time.monotonic() - self._started
        return self._seconds

    def fork(self, spec: ChildSpec, ends: Mapping[str, int]) -> int:
        """Fork a child for a run; the child belongs to this process as if it had started it."""
        fds = [ends[name] for name in CHILD_ENDS]
        with self._one_at_a_time:
            with suppress(BrokenPipeError, ConnectionResetError):  # it has died, which the receive below detects
                socket.send_fds(self._socket, [b"fork"], fds)
            return self._receive(ChildStarted, FORK_SECONDS).pid

    def close_if_exited(self) -> bool:
        """Whether it has ended; releases its resources."""
        if self._process.poll() is None:
            return False
        self.close()
        return True

    def close(self) -> int:
        """End it at once, since it has nothing to lose; returns its exit code."""
        self._socket.close()
        self._process.kill()
        return self._process.wait()

    def _receive(self, expected: type[Reply], seconds: float) -> Reply:
        """The server's next message; ends a server that refuses, dies or sends nothing in time."""
        self._socket.settimeout(seconds)
        why, is_shortage = None, False
        try:
            text = self._socket.recv(LONGEST_MESSAGE)
            reply: Reply | Refusal | None = decode(text, expected, Refusal) if text else None
            if isinstance(reply, expected):
                return reply
            if isinstance(reply, Refusal):
                why, is_shortage = reply.reason, reply.shortage
        except TimeoutError:
            why = f"it did not answer within {seconds:g} s"
        except MessageError as error:
            why = f"its message cannot be used: {error}"
        except ConnectionResetError:
            pass
        how = ending(self.close())
        if is_shortage:
            raise ShortageError(why)
        raise StartError(f"its server failed: {why or how}")


def _start(preparation: Preparation, connection: socket.socket, number: int) -> subprocess.Popen[bytes]:
    setup = ServerSetup(connection.fileno(), number, preparation.policy, preparation.modules)

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [preparation.python, "-P", "-c", SERVER, encode(setup)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(connection.fileno(),),
            env=dict(preparation.environment),
            start_new_session=True,
        )

    with connection:
        return patiently(start)


def modules_for(text: str, framework: str) -> tuple[str, ...]:
    """The modules that a server imports for a workload: never more than the workload imports itself.

    A user's file gets the framework only if nothing but imports precedes its import in the file: variables that the
    file sets first would otherwise come too late.
    """
    ours = f"scaling.running.frameworks.{framework}"
    parsed = workload(text)
    if isinstance(parsed, Named):
        entry = read_catalogue().get(parsed.name)
        return () if entry is None else (ours, KERAS) if entry.needs == A_FRAMEWORK else ("numpy",)
    imported = _imported_first(Path(parsed.path)) if isinstance(parsed, OwnFile) else set()
    if not imported & {KERAS, framework}:
        return ()
    return (ours, KERAS) if KERAS in imported else (ours,)


def _imported_first(path: Path) -> set[str]:
    """Packages that a file imports before its other statements; empty if it cannot be read, which its child reports."""
    try:
        statements = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return set()
    packages: set[str] = set()
    for number, statement in enumerate(statements):
        if isinstance(statement, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            packages |= {(statement.module or "").partition(".")[0]}
        elif number or not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            break  # only a docstring may precede imports
    return packages
