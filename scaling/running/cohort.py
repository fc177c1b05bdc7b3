"""A cohort: one process per point of a series, all alive, and all stopped except the one that takes its turn.

In a round every process takes one turn, in random order, so a disturbance of the machine affects all points, and ratios
are computed within rounds. More rounds follow, up to twice the planned number, while a process has had no quiet turn. A
process between its turns is stopped with its whole group (SIGSTOP), since a framework's threads may spin. One process
measures all points that differ only in their caps, and takes a turn under each.

Processes that may get ready in company do so at the same time if each can have a CPU to itself, and warm up one by one.
A cohort that does not fit into memory takes its turns in parts. The first process, which has the fewest cores, takes
part in all of them, so every other process has a partner in each of its rounds. Servers of a fixed port cannot live at
the same time: each takes all of its turns before the next one starts, in random order.
"""

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from math import fsum
from typing import Any

from msgspec import structs

from scaling.analysis.turns import WARMUP_ROUND
from scaling.running import processes
from scaling.running.controls import SETTLE_SECONDS as CAPS_SETTLE_SECONDS
from scaling.running.launcher import Child, ChildSpec, LaunchResult, StartChild, fail_if_left, not_started
from scaling.running.messages import READY, MessageError, TurnDone, TurnRequest, TurnsOver, decode, turn_done
from scaling.running.pack import PackedChildren, PackSpec, open_child
from scaling.running.starting import StartError
from scaling.running.system import SYSTEM, System
from scaling.running.witness import OF_TURNS, PAGE_BYTES, known, processes_below, status_bytes
from scaling.study.axes import Controls
from scaling.study.planning import SETTLE_SECONDS
from scaling.study.spec import Turns

# Parts of a witness that are known of all turns together, but not of each.
OF_ALL_TURNS = (
    *("pipeline_cpu_seconds", "pressure_seconds", "throttled_periods", "quota_periods"),
    *(
        "involuntary_switches",
        "voluntary_switches",
        "instructions",
        "cycles",
        "mhz",
        "process_seconds",
        "output_cpu_seconds",
    ),
)

# The free memory that the next process needs, as a multiple of the largest process's memory.
MEMORY_MARGIN = 1.25


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A process or pack to start, with the function that starts it or the reason why it cannot.

    In every round it takes a turn under each of its `caps`. It gets ready `in_company` if it measures nothing before.
    """

    child: ChildSpec | PackSpec
    start: StartChild | StartError
    caps: tuple[Controls, ...] = ((),)
    metered: bool = False
    in_company: bool = False


@dataclass(slots=True)
class ProcessSizes:
    """The memory of a workload's processes that were ready so far: the largest peak, and the largest unshared part."""

    peak_bytes: int = 0
    own_bytes: int = 0

    def note(self, pids: Iterable[int], system: System = SYSTEM) -> None:
        """Update the sizes from processes that are ready."""
        for pid in pids:
            self.peak_bytes = max(self.peak_bytes, status_bytes(pid, "VmHWM", system) or 0)
            self.own_bytes = max(self.own_bytes, _own_bytes(pid, system))


class Surroundings:
    """Hooks around the turns of a cohort, which do nothing by default."""

    def leave(self, cpus: frozenset[int]) -> None:
        """Move this process away from CPUs that are about to be used."""

    def set_caps(self, caps: Controls) -> bool:
        """Put the machine under these caps; returns whether any cap changed."""
        return False

    def begin_turn(self, metered: bool) -> None:
        """A turn begins."""

    def end_turn(self) -> None:
        """A turn has ended."""


@dataclass(slots=True)
class _Member:
    """A process of a cohort, the time spent on it, and its result."""

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


# Starts the process of a run, or the processes of a pack.
OpenChild = Callable[[ChildSpec | PackSpec, StartChild], Child | PackedChildren]


def take_turns(
    specs: Sequence[MemberSpec],
    turns: Turns,
    order: random.Random,
    surroundings: Surroundings | None = None,
    sizes: ProcessSizes | None = None,
    system: System = SYSTEM,
    open_child: OpenChild = open_child,
) -> list[LaunchResult]:
    """Let processes take turns, the first of them in every part of the cohort; returns a result for each of their caps.

    `sizes` holds the memory sizes from earlier cohorts of the workload, and is updated.
    """
    orphans = processes.Orphans(specs[0].child.mark)
    members = [_Member(spec) for spec in specs]
    run = _CohortRun(turns, order, surroundings or Surroundings(), sizes or ProcessSizes(), system, open_child)
    living = [[member] for member in order.sample(members, len(members))] if turns.alone else [members]
    try:
        for together in living:
            run.execute(together)
    finally:
        for member in members:
            if member.alive:
                _end(member)
        left = orphans.end(dict.fromkeys(group for spec in specs for group in spec.child.groups))
    results = [(member, member.result or not_started(StartError("the cohort was ended before"))) for member in members]
    return [
        _part(fail_if_left(left, result), member.turn_caps, index, len(member.spec.caps))
        for member, result in results
        for index in range(len(member.spec.caps))
    ]


def _part(result: LaunchResult, turn_caps: Sequence[int], index: int, number: int) -> LaunchResult:
    """The result of a process under one of its caps: its turns, its warm-up, and the witness of these turns."""
    if number == 1:
        return result
    outcome, sections = result.outcome, result.outcome.sections
    wall = None if sections.wall is None else sections.wall / number
    if outcome.status != "ok":
        return replace(result, outcome=replace(outcome, sections=structs.replace(sections, wall=wall)))
    ends = [*accumulate(turn.steps for turn in outcome.turns)]
    own = [at for at, caps in enumerate(turn_caps) if caps == index or outcome.turns[at].round == WARMUP_ROUND]
    turns = tuple(outcome.turns[at] for at in own)
    counted = [turn for turn in turns if turn.round != WARMUP_ROUND]
    seconds = fsum(turn.seconds for turn in counted)
    totals: dict[str, Any] = {
        name: known(fsum, [getattr(turn, of_turn) for turn in counted]) for name, of_turn in OF_TURNS.items()
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
            sections=structs.replace(sections, run=seconds, wall=wall),
            device_profile=None,  # its steps came after all turns, under the last cap
        ),
        witness=replace(result.witness, **totals),
        spans=tuple(result.spans[at] for at in own),
    )


class _CohortRun:
    """Gives the members of a cohort their turns."""

    def __init__(
        self,
        turns: Turns,
        order: random.Random,
        surroundings: Surroundings,
        sizes: ProcessSizes,
        system: System = SYSTEM,
        open_child: OpenChild = open_child,
    ) -> None:
        self.turns = turns
        self.order = order
        self.surroundings = surroundings
        self.sizes = sizes
        self.system = system
        self.open_child = open_child
        self.last_round = WARMUP_ROUND

    def execute(self, members: Sequence[_Member]) -> None:
        """Run everything from the first start to the last end."""
        first, waiting = members[0], deque(members)
        if len(members) > 1 and not self.sizes.peak_bytes and members[-1].spec.in_company:
            # The last process, which has the most CPUs, shows how much memory the others will take.
            waiting.rotate(1)
            self._start([waiting.popleft()])
        self._start(self._next_group(waiting))
        while True:
            part = [member for member in members if member.alive and member is not first]
            part += self._start_part(waiting, has_others=bool(part))
            self._make_rounds([first, *part])
            self._finish(part)
            if not waiting:
                break
        self._finish([first])

    def _start_part(self, waiting: deque[_Member], has_others: bool) -> list[_Member]:
        """Start the processes that fit into memory beside the first, and at least one if it has no partner yet."""
        part: list[_Member] = []
        while waiting and (self._fit_into_memory([waiting[0]]) or not (part or has_others)):
            group = self._next_group(waiting)
            self._start(group)
            part += group
        return part

    def _next_group(self, waiting: deque[_Member]) -> list[_Member]:
        """The next process, with those after it that may get ready together; only one while sizes are unknown."""
        group = [waiting.popleft()]
        while waiting and self.sizes.peak_bytes and self._may_get_ready_together([*group, waiting[0]]):
            group.append(waiting.popleft())
        return group

    def _may_get_ready_together(self, members: Sequence[_Member]) -> bool:
        in_company = all(member.spec.in_company for member in members)
        # If the k-th smallest set of CPUs has at least k, each process can have a CPU to itself.
        numbers = sorted(len(member.spec.child.cpus) for member in members)
        each_has_a_cpu = all(number >= rank for rank, number in enumerate(numbers, 1))
        return in_company and each_has_a_cpu and self._fit_into_memory(members)

    def _start(self, members: Sequence[_Member]) -> None:
        """Start processes, let them get ready at the same time and warm up one by one, and stop them."""
        self.surroundings.leave(frozenset().union(*(member.spec.child.cpus for member in members)))
        for member in members:
            start = member.spec.start
            error = start if isinstance(start, StartError) else self._lack_of_memory(member.spec.child)
            if error is not None:
                member.result = not_started(error)
        starting = [member for member in members if member.result is None]
        with self._charge_time(*starting):
            for member in starting:
                assert not isinstance(member.spec.start, StartError)
                member.child = self.open_child(member.spec.child, member.spec.start)
            ready = [member for member in starting if self._stop_when_ready(member)]
        for member in starting:
            if member in ready:
                self._turn(member, WARMUP_ROUND)
            else:
                _end(member)

    def _stop_when_ready(self, member: _Member) -> bool:
        """Wait until a process is ready and stop it, as its threads may spin; returns whether it got ready."""
        assert member.child is not None
        if member.child.next_message(READY) is None:
            return False
        self.sizes.note(member.child.pids, self.system)
        self._stop(member)
        return True

    def _lack_of_memory(self, spec: ChildSpec | PackSpec) -> StartError | None:
        """The error of a pack that does not fit into memory, judged by the largest process so far; None if it fits."""
        if not isinstance(spec, PackSpec):
            return None
        needed, free = len(spec.replicas) * self.sizes.own_bytes, self.system.free_bytes()
        if needed <= free:
            return None
        return StartError(
            f"{len(spec.replicas)} replicas need about {needed / 2**20:.0f} MiB, {self.sizes.own_bytes / 2**20:.0f} "
            f"MiB each, but {free / 2**20:.0f} MiB are free; use fewer replicas"
        )

    def _fit_into_memory(self, members: Iterable[_Member]) -> bool:
        return MEMORY_MARGIN * sum(map(self._expected_bytes, members)) <= self.system.free_bytes()

    def _expected_bytes(self, member: _Member) -> int:
        spec = member.spec.child
        return len(spec.replicas) * self.sizes.own_bytes if isinstance(spec, PackSpec) else self.sizes.peak_bytes

    def _make_rounds(self, members: Sequence[_Member]) -> None:
        """Make the planned rounds, and more while a process has had no quiet turn."""
        earlier = self.last_round
        while present := self._present(members, earlier):
            self.last_round += 1
            slots = [(member, caps) for member in present for caps in range(len(member.spec.caps))]
            for member, caps in self.order.sample(slots, len(slots)):
                if member.alive:
                    self._turn(member, self.last_round, caps)

    def _present(self, members: Sequence[_Member], earlier: int) -> list[_Member]:
        """The members that take a turn in the next round of this part; empty after the last round."""
        made = self.last_round - earlier
        alive = [member for member in members if member.alive]
        without_quiet = any(member.last_quiet_round <= earlier for member in alive)
        return alive if made < self.turns.rounds or (without_quiet and made < self.turns.most_rounds) else []

    def _turn(self, member: _Member, number: int, caps: int = 0) -> None:
        """Let a process take a turn under one of its caps; steps right after a change of caps do not count.

        A program, which has no such steps, begins later.
        """
        assert member.child is not None
        self.surroundings.leave(member.spec.child.cpus)
        changed = self.surroundings.set_caps(member.spec.caps[caps])
        if changed and member.spec.child.is_program:
            wait_for_caps(self.system)
        settle = max(SETTLE_SECONDS, CAPS_SETTLE_SECONDS) if changed else SETTLE_SECONDS
        member.turn_caps.append(caps)
        with self._charge_time(member):
            self._continue(member)
            self.surroundings.begin_turn(member.spec.metered)
            member.child.request(TurnRequest(number, self.turns.seconds, settle))
            done = member.child.next_message(turn_done(number))
            self.surroundings.end_turn()
        if done:
            if number != WARMUP_ROUND and _was_quiet(done):
                member.last_quiet_round = number
            self._stop(member)
        else:
            _end(member)

    def _finish(self, members: Iterable[_Member]) -> None:
        """Let every process send its measurements and end."""
        for member in members:
            if member.alive:
                assert member.child is not None
                with self._charge_time(member):
                    self._continue(member)
                    member.child.request(TurnsOver())
                    member.child.wait()
                _end(member)

    @contextmanager
    def _charge_time(self, *members: _Member) -> Iterator[None]:
        """Charge the time that passes, and this process's CPU time, to the members in equal parts."""
        start, cpu = self.system.now(), self.system.cpu_seconds()
        try:
            yield
        finally:
            for member in members:
                member.active_seconds += (self.system.now() - start) / len(members)
                member.parent_cpu_seconds += (self.system.cpu_seconds() - cpu) / len(members)

    def _stop(self, member: _Member) -> None:
        """Stop the processes of a member with their groups."""
        assert member.child is not None
        pids = member.child.pids
        self.system.stop(pids)
        member.cpu_when_stopped = self._cpu_seconds(pids)

    def _continue(self, member: _Member) -> None:
        """Continue the stopped processes of a member, and record the CPU time they have used since then."""
        assert member.child is not None
        pids = member.child.pids
        if member.cpu_when_stopped is not None:
            member.idle_cpu_seconds += max(0.0, self._cpu_seconds(pids) - member.cpu_when_stopped)
            member.cpu_when_stopped = None
        self.system.resume(pids)

    def _cpu_seconds(self, pids: Iterable[int]) -> float:
        """The CPU time of processes and their descendants, without those that have ended."""
        alive = [process for pid in pids for process in processes_below(pid, self.system)]
        return fsum(map(self.system.cpu_seconds_of, alive))


def wait_for_caps(system: System = SYSTEM) -> None:
    """Wait until the machine follows changed caps."""
    system.sleep(CAPS_SETTLE_SECONDS)


def _was_quiet(message: bytes) -> bool:
    with suppress(MessageError):
        return decode(message, TurnDone).quiet
    return False


def _end(member: _Member) -> None:
    """End a process, whatever it is doing, and record the result of its run."""
    assert member.child is not None
    member.child.end()
    result = member.child.result(member.parent_cpu_seconds)
    sections = structs.replace(result.outcome.sections, wall=member.active_seconds)
    member.result = replace(
        result,
        outcome=replace(result.outcome, sections=sections),
        witness=replace(result.witness, idle_cpu_seconds=member.idle_cpu_seconds),
    )


def _own_bytes(pid: int, system: System) -> int:
    """The memory of a process that it shares with no other process: replicas share the code of libraries."""
    pages = (system.text(f"/proc/{pid}/statm") or "").split()
    return PAGE_BYTES * (int(pages[1]) - int(pages[2])) if pages else 0
