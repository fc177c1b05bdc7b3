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
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

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
        self._generation = 1
        self._served: set[tuple[Point, str | None]] = set()
        self._servers: dict[Preparation, Server] = {}

    def generation_for(self, point: Point, python: str | None = None) -> int:
        """The generation a run of this point is forked from; older servers are ended where that is a new one."""
        if (point, python) in self._served:
            self.close()
            self._served.clear()
            self._generation += 1
        self._served.add((point, python))
        return self._generation

    def begin(self, preparations: Iterable[Preparation]) -> None:
        """Have servers get ready at the same time; one that cannot be started says so once it is needed."""
        for preparation in preparations:
            with suppress(StartError):
                self._started(preparation)

    def ready(self, preparation: Preparation) -> "Server":
        """A server that can fork; a new one where there is none yet, or it has died."""
        server = self._started(preparation)
        server.wait_until_ready()
        return server

    def _started(self, preparation: Preparation) -> "Server":
        server = self._servers.get(preparation)
        if server is None or server.close_if_exited():
            server = self._servers[preparation] = Server(preparation, len(self._servers))
        return server

    def close(self) -> None:
        """End them all."""
        while self._servers:
            self._servers.popitem()[1].close()


class Server:
    """One server process, which is to get ready to fork, and the socket to it."""

    def __init__(self, preparation: Preparation, number: int) -> None:
        self._is_ready = False
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()  # the replicas of a pack are started at once
        try:
            self._process = _start(preparation, theirs, number)
        except OSError as error:
            self._socket.close()
            raise StartError(f"its server cannot be started: {error.strerror}") from error

    def wait_until_ready(self) -> None:
        """Sleep until it has imported everything."""
        if not self._is_ready:
            self._receive(ServerReady, READY_SECONDS)
            self._is_ready = True

    def fork(self, spec: ChildSpec, ends: Mapping[str, int]) -> int:
        """Have a child forked for a run; it belongs to us as if we had started it."""
        fds = [ends[name] for name in CHILD_ENDS]
        with self._one_at_a_time:
            with suppress(BrokenPipeError, ConnectionResetError):  # it has died, which shows as we receive
                socket.send_fds(self._socket, [encode(spec.request).encode()], fds)
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
    setup = ServerSetup(os.getpid(), connection.fileno(), number, preparation.policy, preparation.modules)
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
