"""The server process: imports what runs need, creates nothing, and forks a child for every request.

A fork copies one thread only, and a framework whose runtime has started hangs in the child, so the server refuses to
fork once a runtime or thread has started in it. It exits when the sweep's end of the socket closes.
"""

import ctypes
import gc
import importlib
import os
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from typing import NoReturn

from scaling.machine.topology import parse_list
from scaling.running import system_calls, worker
from scaling.running.marks import wear_mark
from scaling.running.messages import ChildStarted, Refusal, RunRequest, ServerReady, ServerSetup, decode_request, encode
from scaling.running.starting import ShortageError, patiently

LONGEST_MESSAGE = 1 << 16
# The exit status of a process that could not fork, after writing the reason.
SHORTAGE = 75

# Threads that imports may start: jemalloc, which comes with Keras through pandas and Arrow, handles a fork itself.
HARMLESS_THREADS = {"jemalloc_bg_thd"}

# The names of OpenBLAS's function for its threads in NumPy's wheels, conda and distributions.
BLAS_FUNCTIONS = [
    f"{prefix}_set_num_threads{suffix}" for prefix in ("scipy_openblas", "openblas") for suffix in ("64_", "")
]
BLAS_MODULES = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")


def main() -> None:
    """Prepare as the command line requests, report that it is ready, and serve."""
    setup = decode_request(sys.argv[1], ServerSetup)
    wear_mark()
    connection = socket.socket(fileno=setup.socket_fd)
    connection.set_inheritable(False)
    # Libraries that count the CPUs of their mask when they are loaded start no threads for a single CPU.
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[setup.number % len(cpus)]})
    if setup.policy is not None:
        system_calls.apply_policy(setup.policy)
    try:
        for module in setup.modules:
            importlib.import_module(module)
    except BaseException as error:
        _send(connection, Refusal(worker.reason(error)))
        return
    gc.collect()
    gc.freeze()  # a collection in a child would copy all of the server's memory
    _send(connection, ServerReady())
    serve(connection)


def serve(connection: socket.socket) -> None:
    """Answer every request with the child's process ID, or with the reason for a refusal."""
    while True:
        text, fds, _, _ = socket.recv_fds(connection, LONGEST_MESSAGE, 4, socket.MSG_CMSG_CLOEXEC)
        if not text:
            return
        why_not = objection()
        reply = Refusal(why_not) if why_not else fork(fds, connection)
        for fd in fds:
            os.close(fd)
        _send(connection, reply)


def _send(connection: socket.socket, message: ServerReady | ChildStarted | Refusal) -> None:
    connection.send(encode(message).encode())


def objection() -> str | None:
    """The reason why a fork of this process would fail; None if it can fork."""
    for name, has_started in RUNTIMES.items():
        if has_started():
            return f"{name}'s runtime has already started in it, so a forked child would hang"
    others = _other_threads() - HARMLESS_THREADS
    return f"it has threads ({', '.join(sorted(others))}) that a forked child would lack" if others else None


def _other_threads() -> set[str]:
    names = set()
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            with open(f"/proc/self/task/{thread}/comm", errors="replace") as comm:
                names.add(comm.read().strip())
    return names


def _tensorflow_has_started() -> bool:
    """Whether TensorFlow has made a tensor or a variable, by its private state, since no public function says so."""
    context = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    return bool(getattr(context, "_initialized", False))


def _gpu_is_in_use() -> bool:
    """Whether any library has started the driver of a GPU, which opens files of the device."""
    for fd in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # closed since it was listed
            if os.readlink(f"/proc/self/fd/{fd}").startswith("/dev/nvidia"):
                return True
    return False


# Runtimes that a child cannot inherit, and whether they have started. JAX has started once its private state lists its
# devices. torch's runtime is OpenMP's pool, which shows as threads.
RUNTIMES = {
    "TensorFlow": _tensorflow_has_started,
    "JAX": lambda: bool(getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None)),
    "CUDA": _gpu_is_in_use,
}


def fork(fds: list[int], connection: socket.socket) -> ChildStarted | Refusal:
    """Fork a process that forks the child and exits at once; the sweep adopts the orphan."""
    read_fd, write_fd = os.pipe()
    with open(read_fd, "rb", buffering=0) as read_end, open(write_fd, "wb", buffering=0) as write_end:
        try:
            between = patiently(os.fork)
        except ShortageError as error:
            return Refusal(str(error), shortage=True)
        if between == 0:
            read_end.close()
            _double_fork(fds, connection, write_end)
        write_end.close()
        _, status = os.waitpid(between, 0)
        reply = read_end.read(LONGEST_MESSAGE).decode()
    if os.waitstatus_to_exitcode(status) == SHORTAGE:
        return Refusal(reply, shortage=True)
    return ChildStarted(int(reply)) if reply else Refusal("its child process ended before it started work")


def _double_fork(fds: list[int], connection: socket.socket, pid_pipe: FileIO) -> NoReturn:
    """In the intermediate process: fork the child. Neither process ever returns to the server's code."""
    try:
        if patiently(os.fork) == 0:
            _run_child(fds, connection, pid_pipe)
    except ShortageError as error:
        pid_pipe.write(str(error).encode())
        os._exit(SHORTAGE)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _run_child(fds: list[int], connection: socket.socket, pid_pipe: FileIO) -> NoReturn:
    """In the child: detach from the server, move to the run's CPUs, and become a worker."""
    started_ns = time.monotonic_ns()
    os.setsid()
    pid_pipe.write(str(os.getpid()).encode())
    pid_pipe.close()
    connection.close()
    reply_fd, stdout, stderr, control_fd = fds
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.close(stdout)
    os.close(stderr)
    inherited = dict(os.environ)
    worker.run_and_exit(worker.Pipes(reply_fd, control_fd), started_ns, lambda request: _prepare(request, inherited))


def _prepare(request: RunRequest, inherited: Mapping[str, str]) -> None:
    """Move to the CPUs of a run, and set what a fresh process would have."""
    os.sched_setaffinity(0, parse_list(request.cpus))
    os.environ.clear()
    os.environ.update({**inherited, **request.variables})
    if "tempfile" in sys.modules:
        vars(sys.modules["tempfile"])["tempdir"] = None  # the server's, if it has looked for one
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # a fresh process has random numbers of its own
    if {"keras", "torch"} & sys.modules.keys():  # NumPy alone is there for `calibrated`, which wants no such threads
        fit_blas_threads()


def fit_blas_threads() -> None:
    """Give NumPy the number of threads for matrix products that a fresh import would have started.

    OpenBLAS counts the CPUs of its mask once, when it is loaded, and a server loads it on a single CPU. Other libraries
    are left alone: Intel's counts when it first works.
    """
    cpus = len(os.sched_getaffinity(0))
    wanted = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or cpus
    threads = min(int(wanted), cpus)
    for module in filter(None, map(sys.modules.get, BLAS_MODULES if threads > 1 else ())):
        library = ctypes.CDLL(str(module.__file__))
        setter = next((name for name in BLAS_FUNCTIONS if hasattr(library, name)), None)
        if setter:
            getattr(library, setter)(threads)
