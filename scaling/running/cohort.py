"""A cohort: one process per point of a series, all alive, all stopped but the one whose turn it is.

In a round every process takes one turn, in random order, so that whatever the machine does for a while it does to all
points, and ratios are taken within rounds. Where a process had no quiet turn in the rounds that were planned, further
ones follow, up to twice as many. A process between its turns is stopped with its whole group (SIGSTOP): it
is asleep on its control pipe anyway, but a framework's threads may spin, and what it uses meanwhile is measured and
kept. A process that fails, hangs or dies ends by itself, and the others go on.

Points that differ in their caps of power or clocks alone are measured by one process, which takes a turn under each: a
cap is of the machine, and a process that has been compiled and warmed up need not be made again for it.

A cohort that does not fit into memory takes its turns in parts. The first process, that of the fewest cores, is in
every part, so that every other has a partner in each of its rounds.
"""

import os
import random
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from math import fsum
from typing import Any

import psutil

from scaling.analysis.turns import WARMUP_ROUND
from scaling.machine.cgroups import memory_headroom
from scaling.running import processes
from scaling.running.caps import SETTLE_SECONDS as CAPS_SETTLE_SECONDS
from scaling.running.launcher import Child, ChildSpec, LaunchResult, StartChild, StartError, fail_if_left, not_started
from scaling.running.messages import MessageError, TurnDone, TurnRequest, decode
from scaling.running.pack import PackedChildren, PackSpec, open_child
from scaling.running.witness import ROOT, processes_below
from scaling.study.planning import SETTLE_SECONDS, Caps, Turns

# What a witness has of a run's turns together, and which of these are known of every turn.
OF_TURNS = {
    "cpu_seconds": "cpu_seconds",
    "busy_seconds": "busy_seconds",
    "steal_seconds": "steal_seconds",
    "run_queue_wait_seconds": "wait_seconds",
    "sibling_busy_seconds": "sibling_seconds",
    "elsewhere_busy_seconds": "elsewhere_seconds",
}
OF_ALL_TURNS = (
    *("pipeline_cpu_seconds", "pressure_seconds", "throttled_periods", "quota_periods"),
    *("involuntary_switches", "voluntary_switches", "instructions", "cycles", "mhz"),
)

# The next process is started while so many times the largest one's memory is free.
MEMORY_MARGIN = 1.25


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A process to be started, or several that run at once: their run, and what starts it, or why nothing can.

    One that is measured under several `caps` takes a turn under each of them in every round.
    """

    child: ChildSpec | PackSpec
    start: StartChild | StartError
    caps: tuple[Caps, ...] = (Caps(),)
    metered: bool = False


class Surroundings:
    """What is done around the turns of a cohort, beyond the processes themselves; nothing unless it is overridden."""

    def leave(self, cpus: frozenset[int]) -> None:
        """Have this process leave CPUs that are about to be used."""

    def set_caps(self, caps: Caps) -> bool:
        """Have the machine under these caps; whether any has changed."""
        return False

    def begin_turn(self, metered: bool) -> None:
        """A turn begins."""

    def end_turn(self) -> None:
        """A turn has ended."""


@dataclass(slots=True)
class _Member:
    """A process of a cohort, what has been spent on it, and what came of it."""

    spec: MemberSpec
    child: Child | PackedChildren | None = None
    result: LaunchResult | None = None
    last_quiet_round: int = WARMUP_ROUND
    active_seconds: float = 0.0
    parent_cpu_seconds: float = 0.0
    idle_cpu_seconds: float = 0.0
    cpu_when_stopped: float | None = None
    turn_caps: list[int] = field(default_factory=list)

    @property
    def alive(self) -> bool:
        return self.child is not None and self.result is None


def take_turns(
    specs: Sequence[MemberSpec],
    turns: Turns,
    order: random.Random,
    surroundings: Surroundings | None = None,
) -> list[LaunchResult]:
    """Have processes take turns, the first of them in every part of the cohort; what came of their runs, in order.

    A process that is measured under several caps has made a run under each.
    """
    spared = processes.children()
    members = [_Member(spec) for spec in specs]
    try:
        _CohortRun(turns, order, surroundings or Surroundings()).execute(members)
    finally:
        for member in members:
            if member.alive:
                _end(member)
        left = processes.end_children(spared)
    results = [(member, member.result or not_started("the cohort was ended before")) for member in members]
    return [one for member, result in results for one in _by_caps(member, fail_if_left(left, result))]


def _by_caps(member: _Member, result: LaunchResult) -> list[LaunchResult]:
    """What came of a process under each of its caps."""
    number = len(member.spec.caps)
    if number == 1:
        return [result]
    return [_part(result, member.turn_caps, index, number) for index in range(number)]


def _part(result: LaunchResult, turn_caps: Sequence[int], index: int, number: int) -> LaunchResult:
    """The turns of a process under one of its caps, and its warm-up; of its witness what every turn knows, and what is
    of the process."""
    outcome, sections = result.outcome, result.outcome.sections
    wall = None if sections.wall is None else sections.wall / number
    if outcome.status != "ok":
        return replace(result, outcome=replace(outcome, sections=replace(sections, wall=wall)))
    ends = [*accumulate(turn.steps for turn in outcome.turns)]
    own = [at for at, caps in enumerate(turn_caps) if caps == index or outcome.turns[at].round == WARMUP_ROUND]
    turns = tuple(outcome.turns[at] for at in own)
    counted = [turn for turn in turns if turn.round != WARMUP_ROUND]
    seconds = fsum(turn.seconds for turn in counted)
    totals: dict[str, Any] = {
        name: _total([getattr(turn, of_turn) for turn in counted]) for name, of_turn in OF_TURNS.items()
    }
    totals |= dict.fromkeys(OF_ALL_TURNS)
    return replace(
        result,
        outcome=replace(
            outcome,
            turns=turns,
            step_seconds=tuple(
                chain.from_iterable(outcome.step_seconds[ends[at] - outcome.turns[at].steps : ends[at]] for at in own)
            ),
            sections=replace(sections, run=seconds, wall=wall),
        ),
        witness=replace(result.witness, **totals),
        spans=tuple(result.spans[at] for at in own),
    )


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) if len(known) == len(values) else None


class _CohortRun:
    """Gives the members of a cohort their turns."""

    def __init__(self, turns: Turns, order: random.Random, surroundings: Surroundings) -> None:
        self.turns = turns
        self.order = order
        self.surroundings = surroundings
        self.last_round = WARMUP_ROUND
        self.largest_bytes = 0

    def execute(self, members: Sequence[_Member]) -> None:
        """Everything from the first start to the last end."""
        first, *rest = members
        waiting = deque(rest)
        self._start(first)
        while True:
            part = self._start_part(first, waiting)
            self._make_rounds([first, *part])
            self._finish(part)
            if not waiting:
                break
        self._finish([first])

    def _start_part(self, first: _Member, waiting: deque[_Member]) -> list[_Member]:
        """Start as many as fit into memory beside the first, and at least one."""
        part: list[_Member] = []
        while waiting and (not part or self._fits_into_memory(waiting[0], [first, *part])):
            part.append(waiting.popleft())
            self._start(part[-1])
        return part

    def _start(self, member: _Member) -> None:
        """Start a process, let it get ready and warm up, and stop it."""
        spec = member.spec.child
        self.surroundings.leave(spec.cpus)
        start = member.spec.start
        why = str(start) if isinstance(start, StartError) else self._lack_of_memory(spec)
        if isinstance(start, StartError) or why is not None:
            member.result = not_started(str(why))
            return
        with _charge_time(member):
            member.child = open_child(spec, start)
            ready = member.child.next_message() is not None
        if ready:
            self.largest_bytes = max(self.largest_bytes, *map(_own_bytes, member.child.pids))
            _stop(member)
            self._turn(member, WARMUP_ROUND)
        else:
            _end(member)

    def _lack_of_memory(self, spec: ChildSpec | PackSpec) -> str | None:
        """Why a pack cannot be started, from the memory of the largest process so far; None where it fits."""
        if not isinstance(spec, PackSpec):
            return None
        needed, free = len(spec.replicas) * self.largest_bytes, free_bytes()
        if needed <= free:
            return None
        return (
            f"{len(spec.replicas)} replicas need about {needed / 2**20:.0f} MiB, since one had "
            f"{self.largest_bytes / 2**20:.0f} MiB of its own, and {free / 2**20:.0f} MiB are free; give fewer replicas"
        )

    def _fits_into_memory(self, following: _Member, members: Iterable[_Member]) -> bool:
        """Whether one more process as large as the largest fits, or as many as a pack has."""
        spec = following.spec.child
        if isinstance(spec, PackSpec):
            return MEMORY_MARGIN * len(spec.replicas) * self.largest_bytes <= free_bytes()
        sizes = [
            _resident_bytes(pid) for member in members if member.alive and member.child for pid in member.child.pids
        ]
        return MEMORY_MARGIN * max(sizes, default=0) <= free_bytes()

    def _make_rounds(self, members: Sequence[_Member]) -> None:
        """The planned rounds, and further ones as long as a process has had no quiet turn in any."""
        earlier = self.last_round
        while present := self._present(members, earlier):
            self.last_round += 1
            slots = [(member, caps) for member in present for caps in range(len(member.spec.caps))]
            for member, caps in self.order.sample(slots, len(slots)):
                if member.alive:
                    self._turn(member, self.last_round, caps)

    def _present(self, members: Sequence[_Member], earlier: int) -> list[_Member]:
        """Who takes a turn in the next round after those made since an earlier one; nobody once there are enough."""
        made = self.last_round - earlier
        alive = [member for member in members if member.alive]
        without_quiet = any(member.last_quiet_round <= earlier for member in alive)
        return alive if made < self.turns.rounds or (without_quiet and made < self.turns.most_rounds) else []

    def _turn(self, member: _Member, number: int, caps: int = 0) -> None:
        """Let a process take a turn under one of its caps; what comes right after a change of caps does not count."""
        assert member.child is not None
        self.surroundings.leave(member.spec.child.cpus)
        changed = self.surroundings.set_caps(member.spec.caps[caps])
        settle = max(SETTLE_SECONDS, CAPS_SETTLE_SECONDS) if changed else SETTLE_SECONDS
        member.turn_caps.append(caps)
        with _charge_time(member):
            _continue(member)
            self.surroundings.begin_turn(member.spec.metered)
            member.child.request(TurnRequest(number, self.turns.seconds, settle))
            done = member.child.next_message()
            self.surroundings.end_turn()
        if done:
            if number != WARMUP_ROUND and _was_quiet(done):
                member.last_quiet_round = number
            _stop(member)
        else:
            _end(member)

    def _finish(self, members: Iterable[_Member]) -> None:
        """Let every process send what it has measured, and end."""
        for member in members:
            if member.alive:
                assert member.child is not None
                with _charge_time(member):
                    _continue(member)
                    member.child.close_control()
                    member.child.wait()
                _end(member)


def _was_quiet(message: bytes) -> bool:
    with suppress(MessageError):
        return decode(message, TurnDone).quiet
    return False


@contextmanager
def _charge_time(member: _Member) -> Iterator[None]:
    """Count the time that passes, and what this process uses of it, as the member's."""
    start, cpu = time.monotonic(), time.process_time()
    try:
        yield
    finally:
        member.active_seconds += time.monotonic() - start
        member.parent_cpu_seconds += time.process_time() - cpu


def _stop(member: _Member) -> None:
    """Stop the processes of a member and all of their groups, and wait until they have stopped."""
    assert member.child is not None
    pids = member.child.pids
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGSTOP)
    for pid in pids:
        with suppress(ChildProcessError):
            # It is looked at and not waited for: its end belongs to the thread that owns it.
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    member.cpu_when_stopped = fsum(map(_cpu_seconds, pids))


def _continue(member: _Member) -> None:
    """Continue the processes of a member where they were stopped; what they have used since then is noted."""
    assert member.child is not None
    pids = member.child.pids
    if member.cpu_when_stopped is not None:
        member.idle_cpu_seconds += max(0.0, fsum(map(_cpu_seconds, pids)) - member.cpu_when_stopped)
        member.cpu_when_stopped = None
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGCONT)


def _end(member: _Member) -> None:
    """End a process, whatever it is doing, and note what came of its run."""
    assert member.child is not None
    member.child.end()
    result = member.child.result(member.parent_cpu_seconds)
    sections = replace(result.outcome.sections, wall=member.active_seconds)
    member.result = replace(
        result,
        outcome=replace(result.outcome, sections=sections),
        witness=replace(result.witness, idle_cpu_seconds=member.idle_cpu_seconds),
    )


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process and of those it has started; those that have gone count no more."""
    total = 0.0
    for one in processes_below(pid):
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(one).cpu_times()
            total += times.user + times.system
    return total


def _resident_bytes(pid: int) -> int:
    with suppress(psutil.NoSuchProcess):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def _own_bytes(pid: int) -> int:
    """The memory of a process that it shares with no other: the code of libraries is there once for all replicas."""
    with suppress(psutil.NoSuchProcess):
        memory = psutil.Process(pid).memory_info()
        return int(memory.rss - memory.shared)
    return 0


def free_bytes() -> float:
    """How much memory the next processes may take."""
    return min(psutil.virtual_memory().available, memory_headroom(ROOT))
