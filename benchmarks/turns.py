"""Processes that take turns: one works while the others wait, so that a change of the host's load affects all."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

# A turn is as many steps as pyperf by itself puts into a value, a tenth of a second.
STEPS_IN_A_TURN, TURNS = 4, 60
PATIENCE_SECONDS = 120.0
READY, GO = b"r", b"g"


class Conductor:
    """Lets the processes that come to a path work one at a time."""

    def __init__(self, path: Path) -> None:
        self._door = socket.socket(socket.AF_UNIX)
        self._door.settimeout(PATIENCE_SECONDS)
        self._door.bind(str(path))
        self._door.listen()

    def conduct(self, count: int) -> None:
        """Wait until so many are ready, then give turns until all have left; who is first changes with every round."""
        lines = [self._door.accept()[0] for _ in range(count)]
        for line in lines:
            line.settimeout(PATIENCE_SECONDS)
        lines = [line for line in lines if line.recv(1) == READY]
        while lines:
            lines = [line for line in lines if _took_its_turn(line)]
            lines = lines[1:] + lines[:1]

    def close(self) -> None:
        """Nobody else is expected."""
        self._door.close()


def _took_its_turn(line: socket.socket) -> bool:
    """False once the process has left."""
    try:
        line.sendall(GO)
        stays = line.recv(1) == READY
    except ConnectionError:
        stays = False
    if not stays:
        line.close()
    return stays


class Turns:
    """The turns of one process."""

    def __init__(self, path: str) -> None:
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(path)
        self._line.sendall(READY)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for it, work, and let the next one."""
        self._line.recv(1)
        yield
        self._line.sendall(READY)


@contextmanager
def conductor(path: Path) -> Iterator[Conductor]:
    """One at this path, gone afterwards."""
    with closing(Conductor(path)) as conducting:
        yield conducting
    path.unlink()
