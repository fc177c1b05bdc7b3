"""The server process: imports what runs need, creates nothing, and forks a child for every order it is sent.

A child keeps what was imported and nothing that was started: of several threads a fork keeps one, and a framework whose
runtime has started hangs in it. So the server refuses to fork once anything has started in it. It is asleep in a read
while a child measures, and leaves when the sweep's end of the line closes.
"""

import importlib
import json
import os
import socket
import sys
import time
import traceback
from io import FileIO
from typing import Any, NoReturn

from scaling.machine.cpulist import parse_list
from scaling.running import memory, worker
from scaling.running.frameworks import blas

LONGEST_MESSAGE = 1 << 18

# Threads that imports may start: jemalloc, which comes with Keras by way of pandas and Arrow, minds its own at a fork.
HARMLESS_THREADS = {"jemalloc_bg_thd"}


def main() -> None:
    """Get ready as the command line says, say so, and serve."""
    told = json.loads(sys.argv[1])
    if os.getppid() != told["parent"]:
        return  # the sweep was killed while we were being born
    line = socket.socket(fileno=told["line"])
    line.set_inheritable(False)
    # Libraries that count the CPUs of their mask as they are loaded start no threads for a single one.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if told["policy"] is not None:
        memory.apply_policy(told["policy"])
    try:
        for module in told["modules"]:
            importlib.import_module(module)
    except BaseException as error:
        line.send(json.dumps({"refused": worker.reason(error)}).encode())
        return
    line.send(json.dumps({"ready": True}).encode())
    serve(line)


def serve(line: socket.socket) -> None:
    """Answer every order with the process that carries it out, or with why there is none."""
    while True:
        message, fds, _, _ = socket.recv_fds(line, LONGEST_MESSAGE, 3, socket.MSG_CMSG_CLOEXEC)
        if not message:
            return
        why_not = objection()
        said = {"refused": why_not} if why_not else _forked(json.loads(message), fds, line)
        for fd in fds:
            os.close(fd)
        line.send(json.dumps(said).encode())


def objection() -> str | None:
    """Why a fork of this process would not do; None where it would."""
    if _runtime_has_started():
        return "TensorFlow's runtime has started in it, and a child that inherits that hangs"
    others = _other_threads() - HARMLESS_THREADS
    return f"it has threads ({', '.join(sorted(others))}) that a child would not have" if others else None


def _other_threads() -> set[str]:
    """The names of all threads but the main one."""
    names = set()
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            with open(f"/proc/self/task/{thread}/comm") as comm:
                names.add(comm.read().strip())
    return names


def _runtime_has_started() -> bool:
    """Whether TensorFlow has made a tensor or a variable; as it tells nobody, its private state is looked at."""
    context = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    return bool(getattr(context, "_initialized", False))


def _forked(order: dict[str, Any], fds: list[int], line: socket.socket) -> dict[str, Any]:
    """Fork a process that forks the child and leaves at once: the orphan then goes to the sweep, which adopts them."""
    heard, tell = os.pipe()
    with open(heard, "rb", buffering=0) as ear, open(tell, "wb", buffering=0) as mouth:
        try:
            between = os.fork()
        except OSError as error:
            return {"refused": f"it cannot fork: {error.strerror}"}
        if between == 0:
            ear.close()
            _bear(order, fds, line, mouth)
        mouth.close()
        os.waitpid(between, 0)
        child = ear.read(32)
    return {"pid": int(child)} if child else {"refused": "its child ended before it began"}


def _bear(order: dict[str, Any], fds: list[int], line: socket.socket, mouth: FileIO) -> NoReturn:
    """In the process between: fork the child. Neither ever returns to the server's code."""
    try:
        if os.fork() == 0:
            _live(order, fds, line, mouth)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _live(order: dict[str, Any], fds: list[int], line: socket.socket, mouth: FileIO) -> NoReturn:
    """In the child: leave the server behind, go where the order says, and be a worker."""
    born = time.monotonic_ns()
    os.setsid()
    mouth.write(str(os.getpid()).encode())
    mouth.close()
    line.close()
    answer_fd, stdout, stderr = fds
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.close(stdout)
    os.close(stderr)
    os.sched_setaffinity(0, parse_list(order["cpus"]))
    _freshen()
    worker.answer({**order, "answer_fd": answer_fd}, born)


def _freshen() -> None:
    """Be as a fresh process would: with chances of its own, and with matrix threads for its own CPUs."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "keras" in sys.modules:  # NumPy by itself is there for `calibrated`, which wants no such threads
        blas.fit_threads()
