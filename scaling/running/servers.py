"""Servers that fork runs, as the sweep sees them: started when first needed, asked for children, ended with the sweep.

There is a server for everything that must be settled before its imports: the interpreter, the environment, the memory
policy, and what is imported. No two launches of a point share a server: what chance decides as libraries are loaded
(addresses, the order of hashes, the size of the environment) is decided anew for every launch, as it is for a fresh
interpreter. So there are generations of servers, and a new one begins when a point comes that this one has served: once
a block.
"""

import ast
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from scaling.running.cohort import free_bytes
from scaling.running.forkserver import LONGEST_MESSAGE
from scaling.running.launcher import CHILD_ENDS, ChildSpec, StartError
from scaling.running.memory import Policy
from scaling.running.messages import ChildStarted, MessageError, Refusal, ServerReady, ServerSetup, decode, encode
from scaling.running.processes import ending
from scaling.study.catalogue import A_FRAMEWORK, read_catalogue
from scaling.study.planning import Point
from scaling.study.workload import Named, OwnFile, workload

SERVER = "from scaling.running.forkserver import main; main()"

# Imports take seconds and a fork milliseconds; a machine that is busy or swaps takes its time.
READY_SECONDS = 300.0
FORK_SECONDS = 60.0

# Where imports take longer than this, servers of later generations are started with those of a second one, at most so
# many at once, which hold at most that part of the free memory with so many bytes each.
LONG_SECONDS = 1.0
MOST_AT_ONCE = 8
SPARE_MEMORY = 0.1
SERVER_BYTES = 300e6

KERAS = "keras"

Reply = TypeVar("Reply", ServerReady, ChildStarted)


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a server must have before it imports anything, and what it then imports."""

    environment: tuple[tuple[str, str], ...]
    policy: Policy | None
    modules: tuple[str, ...]
    python: str = sys.executable


class Servers:
    """The servers of one generation; a point that comes again begins the next."""

    def __init__(self) -> None:
        self.generation = 1
        self._served: set[tuple[Point, str | None]] = set()
        self._servers: dict[Preparation, Server] = {}
        self._spares: dict[Preparation, Server] = {}
        self._slowest_seconds = 0.0

    def generation_for(self, point: Point, python: str | None = None) -> int:
        """The generation a run of this point is forked from; older servers are ended where that is a new one."""
        if (point, python) in self._served:
            _close_all(self._servers)
            self._served.clear()
            self.generation += 1
        self._served.add((point, python))
        return self.generation

    def begin(self, preparations: Iterable[Preparation], following: Iterable[Preparation] = ()) -> None:
        """Have servers get ready at the same time, of later generations too; one that cannot says so once it is needed.

        `following` are those of later generations, in their order.
        """
        missing = [one for one in preparations if one not in self._servers and one not in self._spares]
        room = self._room() if missing else 0
        for preparation in missing:
            with suppress(StartError):
                self._started(preparation)
        for preparation in islice((one for one in following if one not in self._spares), max(0, room - len(missing))):
            with suppress(StartError):
                self._spares[preparation] = Server(preparation, len(self._servers) + len(self._spares))

    def ready(self, preparation: Preparation) -> "Server":
        """A server that can fork; a new one where there is none yet, or it has died."""
        server = self._started(preparation)
        self._slowest_seconds = max(self._slowest_seconds, server.wait_until_ready())
        return server

    def wait_for_spares(self) -> None:
        """Have none import any more; one that has failed is started anew when it is needed, which says why."""
        for preparation, server in [*self._spares.items()]:
            try:
                server.wait_until_ready()
            except StartError:
                del self._spares[preparation]

    def _started(self, preparation: Preparation) -> "Server":
        server = self._servers.get(preparation) or self._spares.pop(preparation, None)
        if server is None or server.close_if_exited():
            server = Server(preparation, len(self._servers))
        self._servers[preparation] = server
        return server

    def _room(self) -> int:
        """How many servers are started at once; none of a later generation before there has been a second."""
        if self.generation == 1 or self._slowest_seconds < LONG_SECONDS:
            return 0
        cpus = len(os.sched_getaffinity(0))
        return min(cpus, MOST_AT_ONCE, int(SPARE_MEMORY * free_bytes() / SERVER_BYTES))

    def close(self) -> None:
        """End them all."""
        _close_all(self._servers)
        _close_all(self._spares)


def _close_all(servers: "dict[Preparation, Server]") -> None:
    while servers:
        servers.popitem()[1].close()


class Server:
    """One server process, which is to get ready to fork, and the socket to it."""

    def __init__(self, preparation: Preparation, number: int) -> None:
        self._started, self._seconds = time.monotonic(), 0.0
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()  # the replicas of a pack are started at once
        try:
            self._process = _start(preparation, theirs, number)
        except OSError as error:
            self._socket.close()
            raise StartError(f"its server cannot be started: {error.strerror}") from error

    def wait_until_ready(self) -> float:
        """Sleep until it has imported everything; how long that took it."""
        if not self._seconds:
            self._receive(ServerReady, READY_SECONDS)
            self._seconds = time.monotonic() - self._started
        return self._seconds

    def fork(self, spec: ChildSpec, ends: Mapping[str, int]) -> int:
        """Have a child forked for a run; it belongs to us as if we had started it."""
        fds = [ends[name] for name in CHILD_ENDS]
        with self._one_at_a_time:
            with suppress(BrokenPipeError, ConnectionResetError):  # it has died, which shows as we receive
                socket.send_fds(self._socket, [b"fork"], fds)
            return self._receive(ChildStarted, FORK_SECONDS).pid

    def close_if_exited(self) -> bool:
        """Whether it is gone, by our doing or not."""
        if self._process.poll() is None:
            return False
        self.close()
        return True

    def close(self) -> int:
        """End it at once, since it has nothing to lose; how it ended."""
        self._socket.close()
        self._process.kill()
        return self._process.wait()

    def _receive(self, expected: type[Reply], seconds: float) -> Reply:
        """The server's next message; a server that refuses, dies or sends nothing for so long is ended."""
        self._socket.settimeout(seconds)
        why = None
        try:
            text = self._socket.recv(LONGEST_MESSAGE)
            reply: Reply | Refusal | None = decode(text, expected, Refusal) if text else None
            if isinstance(reply, expected):
                return reply
            why = reply.reason if isinstance(reply, Refusal) else None
        except TimeoutError:
            why = f"it did not answer within {seconds:g} s"
        except MessageError as error:
            why = f"what it sent cannot be used: {error}"
        except ConnectionResetError:
            pass
        how = ending(self.close())
        raise StartError(f"its server failed: {why or how}")


def _start(preparation: Preparation, connection: socket.socket, number: int) -> subprocess.Popen[bytes]:
    setup = ServerSetup(connection.fileno(), number, preparation.policy, preparation.modules)
    with connection:
        return subprocess.Popen(
            [preparation.python, "-P", "-c", SERVER, encode(setup)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(connection.fileno(),),
            env=dict(preparation.environment),
            start_new_session=True,
        )


def modules_for(text: str, framework: str) -> tuple[str, ...]:
    """What a server should import for a workload: never more than the workload would by itself, and not the workload.

    A file of the user's gets the framework only where nothing but imports comes before it in the file: variables that
    a file sets first would otherwise be set too late. Where it gets nothing, the child imports as it goes.
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
    """Packages a file imports before it does anything else; none where it cannot be read, which its child will say."""
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
        elif number or not _is_text(statement):
            break
    return packages


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
