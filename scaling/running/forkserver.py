"""The server process: imports what runs need, creates nothing, and forks a child for every request it is sent.

A child keeps what was imported and nothing that was started: of several threads a fork keeps one, and a framework whose
runtime has started hangs in it. So the server refuses to fork once anything has started in it. It is asleep in a read
while a child measures, and leaves when the sweep's end of the socket closes.
"""

import ctypes
import importlib
import os
import socket
import sys
import time
import traceback
from io import FileIO
from typing import NoReturn

from scaling.machine.cpulist import parse_list
from scaling.running import memory, worker
from scaling.running.marks import wear_mark
from scaling.running.messages import ChildStarted, Refusal, ServerReady, ServerSetup, decode_request, encode

LONGEST_MESSAGE = 1 << 16

# Threads that imports may start: jemalloc, which comes with Keras by way of pandas and Arrow, minds its own at a fork.
HARMLESS_THREADS = {"jemalloc_bg_thd"}

# The function that sets the threads of OpenBLAS, as the builds of NumPy's wheels, conda and distributions call it.
BLAS_FUNCTIONS = [
    f"{prefix}_set_num_threads{suffix}" for prefix in ("scipy_openblas", "openblas") for suffix in ("64_", "")
]
BLAS_MODULES = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")


def main() -> None:
    """Get ready as the command line says, say so, and serve."""
    setup = decode_request(sys.argv[1], ServerSetup)
    wear_mark()
    connection = socket.socket(fileno=setup.socket_fd)
    connection.set_inheritable(False)
    # Libraries that count the CPUs of their mask as they are loaded start no threads for a single one.
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[setup.number % len(cpus)]})
    if setup.policy is not None:
        memory.apply_policy(setup.policy)
    try:
        for module in setup.modules:
            importlib.import_module(module)
    except BaseException as error:
        _send(connection, Refusal(worker.reason(error)))
        return
    _send(connection, ServerReady())
    serve(connection)


def serve(connection: socket.socket) -> None:
    """Answer every request with the process that carries it out, or with why there is none."""
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
    """Why a fork of this process would not do; None where it would."""
    for name, has_started in RUNTIMES.items():
        if has_started():
            return f"{name}'s runtime has started in it, and a child that inherits that hangs"
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


def _tensorflow_has_started() -> bool:
    """Whether TensorFlow has made a tensor or a variable; as it does not say so, its private state is read."""
    context = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    return bool(getattr(context, "_initialized", False))


def _jax_has_started() -> bool:
    """Whether JAX has made an array or asked for its devices, by its private state too."""
    return bool(getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None))


def _gpu_is_in_use() -> bool:
    """Whether the driver of a GPU has been started, whoever did it: it has files of the device open."""
    with os.scandir("/proc/self/fd") as fds:
        return any(_target(fd.path).startswith("/dev/nvidia") for fd in fds)


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:  # closed since it was listed
        return ""


# Those that cannot be inherited; what torch must not have started is OpenMP's pool, which shows as threads.
RUNTIMES = {"TensorFlow": _tensorflow_has_started, "JAX": _jax_has_started, "CUDA": _gpu_is_in_use}


def fork(fds: list[int], connection: socket.socket) -> ChildStarted | Refusal:
    """Fork a process that forks the child and leaves at once: the orphan then goes to the sweep, which adopts them."""
    read_fd, write_fd = os.pipe()
    with open(read_fd, "rb", buffering=0) as read_end, open(write_fd, "wb", buffering=0) as write_end:
        try:
            between = os.fork()
        except OSError as error:
            return Refusal(f"it cannot fork: {error.strerror}")
        if between == 0:
            read_end.close()
            _double_fork(fds, connection, write_end)
        write_end.close()
        os.waitpid(between, 0)
        pid = read_end.read(32)
    return ChildStarted(int(pid)) if pid else Refusal("its child ended before it began")


def _double_fork(fds: list[int], connection: socket.socket, pid_pipe: FileIO) -> NoReturn:
    """In the process between: fork the child. Neither ever returns to the server's code."""
    try:
        if os.fork() == 0:
            _run_child(fds, connection, pid_pipe)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _run_child(fds: list[int], connection: socket.socket, pid_pipe: FileIO) -> NoReturn:
    """In the child: leave the server behind, move to the run's CPUs, and be a worker."""
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
    pipes = worker.Pipes(reply_fd, control_fd)
    request = pipes.run()
    os.sched_setaffinity(0, parse_list(request.cpus))
    os.environ.update(request.variables)
    _reseed()
    worker.run_and_exit(request, pipes, started_ns)


def _reseed() -> None:
    """Be as a fresh process would: with random numbers of its own, and with matrix threads for its own CPUs."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if {"keras", "torch"} & sys.modules.keys():  # NumPy alone is there for `calibrated`, which wants no such threads
        fit_blas_threads()


def fit_blas_threads() -> None:
    """Have NumPy use as many threads for matrix products as a fresh import would have started.

    OpenBLAS counts the CPUs of its mask once, as it is loaded, and a server is loaded on a single one. Another library
    in its place is left alone: Intel's counts when it first works.
    """
    cpus = len(os.sched_getaffinity(0))
    wanted = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or cpus
    threads = min(int(wanted), cpus)
    if threads > 1:
        for module in filter(None, map(sys.modules.get, BLAS_MODULES)):
            _set_blas_threads(str(module.__file__), threads)


def _set_blas_threads(library: str, threads: int) -> None:
    loaded = ctypes.CDLL(library)
    for name in BLAS_FUNCTIONS:
        if hasattr(loaded, name):
            getattr(loaded, name)(threads)
            return
