"""A machine with a virtual clock: its CPUs, its processes, its /proc, and a `System` for each process.

A process that executes code does so in a thread of its own, but only one of them goes on at a time: a process gives way
when it computes, sleeps or waits, and the clock moves once all of them do. So every moment and every counter of a test
is exact, and the same in every run. Processes without code only load CPUs, as a script of events says.
"""

import heapq
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf
from types import SimpleNamespace

from scaling.analysis.witness import Witness
from scaling.machine.topology import format_list, parse_list
from scaling.running import launcher, worker
from scaling.running.launcher import ChildSpec, LaunchResult
from scaling.running.marks import MARK
from scaling.running.messages import RunRequest, TurnRequest, TurnsOver, WorkloadSpec, encode
from scaling.running.pack import PackedChildren, PackSpec
from scaling.running.steps import Observer
from scaling.running.system import System, Usage

KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
TICKS_PER_SECOND = 100
PARENT = 10
# Times are sums of others: two that are meant to be the same differ by less than this.
ROUNDING = 1e-9


class Killed(BaseException):
    """The process that executes this code was killed."""


@dataclass(eq=False)
class Thread:
    """A thread: its number, its CPU, whether it wants to run, and the seconds that it has run and waited."""

    number: int
    cpu: int
    is_busy: bool = False
    ran: float = 0.0
    waited: float = 0.0


@dataclass(eq=False)
class Process:
    """A process: its threads, the first of which executes its code, if it has any."""

    number: int
    parent: int
    cpus: frozenset[int]
    threads: list[Thread]
    leader: int
    name: str = "program"
    is_stopped: bool = False
    is_killed: bool = False
    has_ended: bool = False
    seconds_of_children: float = 0.0
    rss_bytes: int = 1 << 20
    # It goes on at a time, when something is the case, or when its first thread has run for so long.
    until: float = inf
    ready: Callable[[], bool] = lambda: False
    remaining: float = inf
    baton: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    has_code: bool = False
    error: BaseException | None = None

    @property
    def ran(self) -> float:
        return sum(thread.ran for thread in self.threads)


class Machine:
    """CPUs, processes, a clock, and a script of events."""

    def __init__(self, cpus: int = 4, free_bytes: float = 2**34) -> None:
        self.now = self.beginning = 1000.0
        self.ticks = {cpu: dict.fromkeys(KINDS, 0.0) for cpu in range(cpus)}
        # The share of each CPU's time that goes to interrupts and to other virtual machines, whoever wants to run.
        self.shares = {cpu: dict.fromkeys(("irq", "softirq", "steal"), 0.0) for cpu in range(cpus)}
        self.awaits_disk: set[int] = set()
        # By how much a process on a CPU misses the moment that it waits for.
        self.lateness: dict[int, float] = {}
        self.free_bytes = free_bytes
        self.files: dict[str, str] = {}
        self.processes: dict[int, Process] = {}
        self.periods: dict[str, int] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count(PARENT)
        self._order = count()
        self.parent = self.add(0, range(cpus), name="sweep")
        self.parent.has_code = True
        self.is_at_a_standstill = False

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            self.kill(process)

    def add(
        self, parent: int, cpus: Iterable[int], threads: int = 1, leader: int | None = None, name: str = ""
    ) -> Process:
        """Add a process that does nothing yet, with its threads spread over its CPUs."""
        allowed = sorted(cpus)
        number = next(self._numbers)
        numbers = [number, *(next(self._numbers) for _ in range(threads - 1))]
        made = [Thread(number, allowed[index % len(allowed)]) for index, number in enumerate(numbers)]
        process = Process(number, parent, frozenset(allowed), made, leader or number, name or "program")
        self.processes[number] = process
        return process

    def start(self, code: Callable[["FakeSystem"], None], cpus: Iterable[int], threads: int = 1) -> Process:
        """Add a child of the sweep that executes code."""
        process = self.add(PARENT, cpus, threads)
        process.has_code, process.until = True, self.now

        def execute() -> None:
            process.baton.acquire()
            try:
                if not process.is_killed:
                    code(FakeSystem(self, process))
            except Killed:
                pass
            except BaseException as error:
                process.error = error
            process.has_ended = True
            for thread in process.threads:
                thread.is_busy = False
            self._next().baton.release()

        threading.Thread(target=execute, daemon=True).start()
        return process

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Let something happen this long after the start of the machine."""
        heapq.heappush(self._events, (self.beginning + seconds, next(self._order), action))

    def load(self, cpu: int, begin: float, end: float, process: Process | None = None) -> Process:
        """Let a thread of a process, by default a stranger's, want to run on a CPU in this time."""
        stranger = process or self.add(1, [cpu], name="stranger")
        thread = Thread(next(self._numbers), cpu)
        stranger.threads.append(thread)
        self.at(begin, lambda: setattr(thread, "is_busy", True))
        self.at(end, lambda: setattr(thread, "is_busy", False))
        return stranger

    def end(self, process: Process) -> None:
        """A process without code ends, and is waited for by its parent."""
        process.has_ended = True
        for thread in process.threads:
            thread.is_busy = False
        if process.parent in self.processes:
            self.processes[process.parent].seconds_of_children += process.ran

    def kill(self, process: Process) -> None:
        """Kill a process; its code goes no further."""
        if process is self.parent or process.has_ended:
            return
        process.is_killed, process.is_stopped = True, False
        process.until = self.now
        if process.has_code:
            self.block(self.parent, ready=lambda: process.has_ended)
        process.has_ended = True

    def block(
        self, process: Process, until: float = inf, ready: Callable[[], bool] = lambda: False, remaining: float = inf
    ) -> None:
        """Let others go on until this process may."""
        process.until, process.ready, process.remaining = until, ready, remaining
        process.threads[0].is_busy = remaining < inf
        following = self._next()
        if following is not process:
            following.baton.release()
            process.baton.acquire()
        process.threads[0].is_busy = False
        if process.is_killed:
            raise Killed
        if self.is_at_a_standstill:
            raise AssertionError("every process waits for another one, and nothing else will happen")

    def _next(self) -> Process:
        """The process that goes on; the clock moves until there is one."""
        while True:
            for process in self.processes.values():
                if self._may_go_on(process):
                    return process
            self._advance()
            if self.is_at_a_standstill:
                return self.parent

    def _may_go_on(self, process: Process) -> bool:
        if process.has_ended or process.is_stopped or not process.has_code:
            return False
        return process.until <= self.now + ROUNDING or process.remaining <= ROUNDING or process.ready()

    def _advance(self) -> None:
        """Let time pass until something happens."""
        alive = [process for process in self.processes.values() if not (process.has_ended or process.is_stopped)]
        running = {cpu: [] for cpu in self.ticks}
        for process in alive:
            for thread in process.threads:
                if thread.is_busy:
                    running[thread.cpu].append((process, thread))
        moments = [process.until for process in alive]
        moments += [self._events[0][0]] if self._events else []
        for cpu, pairs in running.items():
            speed = self._for_threads(cpu) / max(1, len(pairs))
            moments += [self.now + p.remaining / speed for p, thread in pairs if thread is p.threads[0] and speed]
        then = min(moments)
        if then == inf:
            self.is_at_a_standstill = True
            return
        self._account(max(0.0, then - self.now), running)
        self.now = max(self.now, then)
        while self._events and self._events[0][0] <= self.now + ROUNDING:
            heapq.heappop(self._events)[2]()

    def _for_threads(self, cpu: int) -> float:
        """The share of a CPU's time that is left to threads."""
        return 1.0 - sum(self.shares[cpu].values())

    def _account(self, seconds: float, running: dict[int, list[tuple[Process, Thread]]]) -> None:
        for cpu, pairs in running.items():
            for kind, share in self.shares[cpu].items():
                self.ticks[cpu][kind] += seconds * share
            left = seconds * self._for_threads(cpu)
            idle = "iowait" if cpu in self.awaits_disk else "idle"
            self.ticks[cpu]["user" if pairs else idle] += left
            for process, thread in pairs:
                thread.ran += left / len(pairs)
                thread.waited += left - left / len(pairs)
                if thread is process.threads[0]:
                    process.remaining -= left / len(pairs)

    def used(self, process: Process, cpus: Iterable[int]) -> float:
        """The seconds that the threads of a process have run on some CPUs."""
        return sum(thread.ran for thread in process.threads if thread.cpu in cpus)


class FakeSystem(System):
    """The machine as one of its processes sees it."""

    def __init__(self, machine: Machine, process: Process) -> None:
        self.machine, self.process = machine, process
        self.woken = machine.now

    def now(self) -> float:  # type: ignore[override]
        return self.machine.now

    def compute(self, seconds: float, helpers: int = 0) -> None:
        """Use a CPU for so long, while some of the other threads are busy as well."""
        for thread in self.process.threads[1 : 1 + helpers]:
            thread.is_busy = True
        self.machine.block(self.process, remaining=seconds)
        for thread in self.process.threads[1 : 1 + helpers]:
            thread.is_busy = False

    def sleep(self, seconds: float) -> None:
        self.machine.block(self.process, until=self.machine.now + seconds)

    def wait_until(self, moment: float) -> None:
        late = self.machine.lateness.get(min(self.process.cpus), 0.0)
        self.machine.block(self.process, until=moment + late)
        self.woken = self.machine.now

    def process_id(self) -> int:
        return self.process.number

    def cpu_seconds(self) -> float:
        return self.process.ran

    def cpu_seconds_of(self, process: int) -> float:
        known = self.machine.processes.get(process)
        return known.ran if known and not known.has_ended else 0.0

    def usage(self) -> Usage:
        return Usage(self.process.ran, 0, 0, self.process.rss_bytes)

    def usage_of_children(self) -> Usage:
        return Usage(self.process.seconds_of_children, 0, 0, 0)

    def affinity(self) -> frozenset[int]:
        return self.process.cpus

    def affinity_of(self, process: int) -> frozenset[int] | None:
        known = self.machine.processes.get(process)
        return known.cpus if known else None

    def bandwidth_count(self, name: str) -> int | None:
        return self.machine.periods.get(name)

    def free_bytes(self) -> float:
        return self.machine.free_bytes

    def names(self, folder: str) -> list[str]:
        if match := re.fullmatch(r"/proc/(\d+)/task", folder):
            process = self.machine.processes.get(int(match[1]))
            return [str(thread.number) for thread in process.threads] if process and not process.has_ended else []
        files = [path.removeprefix(f"{folder}/") for path in self.machine.files if path.startswith(f"{folder}/")]
        return list(dict.fromkeys(name.partition("/")[0] for name in files))

    def text(self, path: str) -> str | None:
        if path == "/proc/stat":
            return "".join(f"cpu{cpu} {_in_ticks(ticks)} 0 0\n" for cpu, ticks in self.machine.ticks.items())
        if match := re.fullmatch(r"/proc/(\d+)(?:/task/(\d+))?/(\w+)", path):
            process = self.machine.processes.get(int(match[1]))
            if process is None or process.has_ended:
                return None
            thread = next((one for one in process.threads if str(one.number) == match[2]), process.threads[0])
            return self._text_of(process, thread, match[3])
        return self.machine.files.get(path)

    def _text_of(self, process: Process, thread: Thread, name: str) -> str | None:
        if name == "schedstat":
            return f"{round(thread.ran * 1e9)} {round(thread.waited * 1e9)} 7\n"
        if name == "children":
            others = self.machine.processes.values()
            below = [other.number for other in others if other.parent == process.number and not other.has_ended]
            return " ".join(map(str, below)) if thread is process.threads[0] else ""
        if name == "stat":
            ticks = [round(process.ran * TICKS_PER_SECOND), 0, round(process.seconds_of_children * TICKS_PER_SECOND), 0]
            fields = ["S", process.parent, process.leader, *[0] * 8, *ticks, *[0] * 4, process.number, *[0] * 16]
            return f"{process.number} (a) b) {' '.join(map(str, fields))} {thread.cpu} 0\n"
        if name == "statm":
            return f"9 {process.rss_bytes >> 12} {process.rss_bytes >> 14} 0 0 0 0\n"
        if name == "status":
            return f"Name:\t{process.name}\nVmHWM:\t{process.rss_bytes >> 10} kB\nRssFile:\t4 kB\n"
        return f"{process.name}\n" if name == "comm" else None

    def stop(self, leaders: Iterable[int]) -> None:
        self._set_stopped(leaders, True)

    def resume(self, leaders: Iterable[int]) -> None:
        self._set_stopped(leaders, False)

    def _set_stopped(self, leaders: Iterable[int], is_stopped: bool) -> None:
        groups = set(leaders)
        for process in self.machine.processes.values():
            if process.leader in groups:
                process.is_stopped = is_stopped

    def wait(self, sources, seconds: float):  # type: ignore[no-untyped-def]
        def ready() -> list["FakeChild"]:
            return [source for source in sources if source.has_news]

        self.machine.block(self.process, until=self.machine.now + seconds, ready=lambda: bool(ready()))
        return ready()


def _in_ticks(ticks: dict[str, float]) -> str:
    return " ".join(str(int(seconds * TICKS_PER_SECOND + ROUNDING)) for seconds in ticks.values())


NO_COUNTERS = dict.fromkeys(("instructions", "cycles"), SimpleNamespace(read=lambda: None))

REQUEST = RunRequest(
    workload=WorkloadSpec(None, "steps", {}),
    setting={},
    cpus="0",
    siblings="",
    framework="tensorflow",
    device="cpu",
    jit=False,
    memory="none",
    precision=0.1,
    max_seconds=10.0,
    steps=None,
    warmup=None,
    traced=None,
    takes_turns=True,
)


def child_spec(cpus: str = "0", timeout: float = 60.0, **request: object) -> ChildSpec:
    """A run on some CPUs."""
    return ChildSpec(replace(REQUEST, cpus=cpus, **request), None, timeout, {MARK: "0" * 32})


class Workload:
    """A workload whose steps take as long as a function says."""

    items_per_step = 1

    def __init__(self, step: Callable[[], object]) -> None:
        self.step = step


# Makes the workload of a process from the machine as that sees it, and its run.
Build = Callable[[FakeSystem, RunRequest], Workload]


def steps_of(seconds: float, helpers: int = 0) -> Build:
    """A workload whose steps all take this long."""
    return lambda system, request: Workload(lambda: system.compute(seconds, helpers))


class FakeChild:
    """A run in a process of the virtual machine, which executes the worker's own code, as the sweep sees it."""

    def __init__(self, machine: Machine, spec: ChildSpec, build: Build, threads: int = 1) -> None:
        self.machine, self.spec = machine, spec
        self.timed_out = False
        self.requests: deque[TurnRequest | TurnsOver] = deque()
        self.seen_requests: list[TurnRequest | TurnsOver] = []
        self.request_times: list[float] = []
        self.messages: deque[bytes] = deque()
        self.replied: object = None
        self.started = machine.now
        self.process = machine.start(
            lambda system: self._execute(system, build), parse_list(spec.request.cpus), threads
        )

    def _execute(self, system: FakeSystem, build: Build) -> None:
        request = self.spec.request
        workload = build(system, request)
        run = worker._BuiltRun(workload, None, *[system.now()] * 3, steps=getattr(workload, "taken", ()))
        cpus, siblings, beside = map(parse_list, (request.cpus, request.siblings, request.beside))
        observer = Observer(cpus, siblings, NO_COUNTERS, beside=beside, system=system)
        pipes = Pipes(self, system)
        measured = worker._take_requested_steps(run, request, observer, pipes)
        seen = Witness(format_list(cpus), format_list(system.affinity()), **measured.counters)
        self.replied = worker._result(request, round(self.started * 1e9), run, measured, seen)

    @property
    def pids(self) -> list[int]:
        return [self.process.number]

    @property
    def has_news(self) -> bool:
        return bool(self.messages) or self.process.has_ended

    @property
    def is_over(self) -> bool:
        return self.timed_out or (self.process.has_ended and not self.messages)

    def request(self, message: TurnRequest | TurnsOver) -> None:
        self.requests.append(message)
        self.seen_requests.append(message)
        self.request_times.append(self.machine.now)

    def take_message(self, expected: bytes | None) -> bytes | None:
        while self.messages:
            line = self.messages.popleft()
            if expected is not None and line.startswith(expected):
                return line
        return None

    def next_message(self, expected: bytes | None) -> bytes | None:
        deadline = self.machine.now + self.spec.timeout_seconds
        while not self.is_over:
            line = self.take_message(expected)
            if line is not None:
                return line
            self.machine.block(self.machine.parent, until=deadline, ready=lambda: self.has_news)
            self.timed_out = self.machine.now >= deadline and not self.has_news
        return None

    def wait(self) -> None:
        self.next_message(None)

    def read(self) -> None:
        """Messages need not be read from anywhere."""

    def seconds_to_sleep(self, deadline: float) -> float:
        return max(0.0, deadline - self.machine.now)

    def end(self) -> None:
        self.machine.kill(self.process)

    def result(self, parent_cpu: float) -> LaunchResult:
        state = launcher._ProcessState(started=self.started, ended=self.machine.now)
        if self.replied is None:
            why = "timeout" if self.timed_out else "failed"
            return LaunchResult(launcher.Outcome(why, str(self.process.error)), Witness(), {})
        return launcher._success(self.spec.request, state, self.replied, parent_cpu)


class Pipes:
    """The child's ends of its pipes."""

    def __init__(self, child: FakeChild, system: FakeSystem) -> None:
        self.child, self.system = child, system

    def send(self, message: object) -> None:
        self.child.messages.append(encode(message).encode())

    def next_turn(self) -> TurnRequest | None:
        requests = self.child.requests
        self.system.machine.block(self.system.process, ready=lambda: bool(requests))
        request = requests.popleft()
        return request if isinstance(request, TurnRequest) else None


def opener(machine: Machine, build: Build, threads: int = 1):  # type: ignore[no-untyped-def]
    """The function that starts the process of a run, or the processes of a pack, on the virtual machine."""
    opened: list[FakeChild] = []

    def open_child(spec: ChildSpec | PackSpec, start: object) -> object:
        if isinstance(spec, PackSpec):
            children = [FakeChild(machine, replica, build, threads) for replica in spec.replicas]
            opened.extend(children)
            return PackedChildren(spec, children, FakeSystem(machine, machine.parent))  # type: ignore[arg-type]
        opened.append(FakeChild(machine, spec, build, threads))
        return opened[-1]

    open_child.opened = opened  # type: ignore[attr-defined]
    return open_child
