"""Responses of a real service under load, beside what `scaling capacity --arrivals` predicts from measured steps.

    python -m benchmarks.service [FOLDER] [--seconds 60] [--launches 5] [--launch-seconds 10] [--utilisations 0.3 …]

The request (`benchmarks/shared/requests.py`) is first measured as a workload on one core and on two, into FOLDER, or
what FOLDER has already is used. Then the same request is served on loopback by processes that share one listening
socket, whose backlog is the queue: two replicas of one core, and one of two cores. A load generator sends requests at
random (Poisson) at rates that should keep the replicas busy for the shares asked for. A response is from sending to
answer; the first tenth is left out. `others` is the CPU time per second that neither the service nor the generator
used. Servers end with the run, and by themselves when the benchmark is killed.
"""

import argparse
import asyncio
import mmap
import os
import random
import select
import signal
import socket
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

import scaling
from benchmarks.shared.requests import DIVISIONS, Request
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.levels import Size, level_curves
from scaling.analysis.sizing.question import Goal, Question, Queue
from scaling.analysis.sizing.services import Service

REQUEST = Path(__file__).parent / "shared" / "requests.py"
QUANTILE = 0.95
DESIGNS = ((2, 1), (1, 2))  # replicas and cores of each
# Seconds after which a server ends whatever happens.
LONGEST = 3600
SETTLING = 0.1


@dataclass(frozen=True, slots=True)
class Load:
    """What a load generator saw: the seconds of every response, and how busy servers and others were."""

    responses: tuple[float, ...]
    utilisation: float
    others: float

    def quantile(self, share: float) -> float:
        """The response that a share stays within."""
        return float(np.quantile(self.responses, share))


@dataclass(frozen=True, slots=True)
class Servers:
    """Server processes at a port, and the seconds that each has served so far."""

    port: int
    pids: tuple[int, ...]
    busy: "memoryview[float]"

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the servers, their helpers and this process."""
        own = [psutil.Process(), *map(psutil.Process, self.pids)]
        helpers = [child for server in own[1:] for child in server.children(recursive=True)]
        return sum(sum(process.cpu_times()[:2]) for process in [*own, *helpers])


@contextmanager
def serving(replicas: int, cores: int, divisions: float = DIVISIONS) -> Iterator[Servers]:
    """Servers, each on cores of its own, which end with the block."""
    cpus = sorted(os.sched_getaffinity(0))
    if replicas * cores > len(cpus):
        raise SystemExit(f"{replicas} replicas of {cores} cores need more than the {len(cpus)} CPUs there are")
    busy = memoryview(mmap.mmap(-1, 8 * replicas)).cast("d")
    alive, held = os.pipe()
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        listener.setblocking(False)
        pids = []
        for index in range(replicas):
            ready, tell = os.pipe()
            pid = _fork()
            if pid == 0:
                os.close(held)
                own = set(cpus[index * cores : (index + 1) * cores])
                _serve_until_the_end(listener, alive, tell, own, busy[index : index + 1], divisions)
            os.close(tell)
            os.read(ready, 1)
            os.close(ready)
            pids.append(pid)
        try:
            yield Servers(listener.getsockname()[1], tuple(pids), busy)
        finally:
            os.close(held)
            os.close(alive)
            for pid in pids:
                os.waitpid(pid, 0)


def _fork() -> int:
    """Fork; threads of libraries that may hold locks are of no concern to a server, which uses none of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _serve_until_the_end(
    listener: socket.socket, alive: int, tell: int, cpus: set[int], busy: "memoryview[float]", divisions: float
) -> None:
    """In a server: serve until the other end of a pipe is closed, and never return."""
    try:
        signal.alarm(LONGEST)
        os.sched_setaffinity(0, cpus)
        request = Request(len(cpus), random.SystemRandom().getrandbits(32), divisions)
        request.prepare()
        request.step()
        os.write(tell, b".")
        while alive not in (readable := select.select([listener.fileno(), alive], [], [])[0]):
            if readable:
                _serve_one(listener, request, busy)
    finally:
        os._exit(0)


def _serve_one(listener: socket.socket, request: Request, busy: "memoryview[float]") -> None:
    """Serve the next request, unless another server was faster."""
    with suppress(BlockingIOError, ConnectionError):
        connection, _ = listener.accept()
        with connection:
            connection.setblocking(True)
            connection.recv(1)
            began = time.perf_counter()
            request.step()
            busy[0] += time.perf_counter() - began
            connection.sendall(b".")


def drive(servers: Servers, rate: float, seconds: float) -> Load:
    """Send requests at random for so many seconds, and await every answer."""
    cpu_seconds, served, began = _busy_cpu_seconds() - servers.cpu_seconds, sum(servers.busy), time.perf_counter()
    responses = asyncio.run(_send_requests(servers.port, rate, seconds))
    elapsed = time.perf_counter() - began
    return Load(
        responses=tuple(responses[int(SETTLING * len(responses)) :]),
        utilisation=(sum(servers.busy) - served) / elapsed / len(servers.pids),
        others=max(0.0, _busy_cpu_seconds() - servers.cpu_seconds - cpu_seconds) / elapsed,
    )


def _busy_cpu_seconds() -> float:
    """CPU time of all processes, and what was stolen."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


async def _send_requests(port: int, rate: float, seconds: float) -> Sequence[float]:
    clock, chance = asyncio.get_running_loop().time, random.Random(1)
    start, due, sent = clock(), 0.0, []
    while (due := due + chance.expovariate(rate)) < seconds:
        await asyncio.sleep(max(0.0, start + due - clock()))
        sent.append(asyncio.create_task(_response_seconds(port)))
    return await asyncio.gather(*sent)


async def _response_seconds(port: int) -> float:
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"?")
    await reader.read(1)
    writer.close()
    return time.perf_counter() - began


def measured_fit(folder: Path, launches: int, launch_seconds: float) -> SeriesFit:
    """The request as a workload, measured on one core and on two unless the folder has it."""
    study = scaling.Study(
        name="request",
        workloads=(f"{REQUEST}:build",),
        cores=(1, 2),
        design="apart",
        launches=launches,
        max_seconds=launch_seconds,
        precision=0.001,
    )
    (fitted,) = scaling.run(study, folder).fits.series_fits
    return fitted


def predict(fitted: SeriesFit, replicas: int, cores: int, rate: float) -> Queue:
    """What requests should meet."""
    question = Question(Goal.RESPONSE, 1.0, quantile=QUANTILE, arrivals=rate)
    (curve, *_) = level_curves(fitted, question)
    return Service(question).queue(Size(cores, curve), replicas)


def main() -> None:
    """Print a table row per design and utilisation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--launch-seconds", type=float, default=10.0)
    parser.add_argument("--utilisations", type=float, nargs="+", default=[0.3, 0.6, 0.8])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch) / "request"
        fitted = measured_fit(folder, options.launches, options.launch_seconds)
    share = f"{100 * QUANTILE:g} %"
    print("| replicas × cores | requests/s | busy, predicted | measured | others | ", end="")
    print(f"{share} of responses, predicted ms | measured ms | ratio |\n|---|---|---|---|---|---|---|---|")
    for replicas, cores in DESIGNS:
        service = predict(fitted, replicas, cores, 1e-6).utilisation.value * replicas / 1e-6
        for utilisation in options.utilisations:
            rate = utilisation * replicas / service
            with serving(replicas, cores) as servers:
                load = drive(servers, rate, options.seconds)
            queue, measured = predict(fitted, replicas, cores, rate), load.quantile(QUANTILE)
            print(
                f"| {replicas} × {cores} | {rate:.1f} | {queue.utilisation.value:.2f} | {load.utilisation:.2f} "
                f"| {load.others:.2f} | {_milliseconds(queue.response)} | {1000 * measured:.1f} "
                f"| {queue.response.value / measured:.2f} |",
                flush=True,
            )


def _milliseconds(seconds: Estimate) -> str:
    value, low, high = (f"{1000 * end:.1f}" for end in (seconds.value, seconds.low or 0.0, seconds.high or 0.0))
    return f"{value} ({low} to {high})"


if __name__ == "__main__":
    main()
