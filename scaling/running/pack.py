"""A pack: the replicas of one run, each a pinned process, with the interface of a single `Child`.

They begin every turn at the same moment. If one hangs, fails or dies, the run has failed for its reason.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from scaling.analysis.packs import ReplicaRun, merge
from scaling.analysis.turns import WARMUP_ROUND
from scaling.analysis.witness import Witness
from scaling.machine.placement import Sharing
from scaling.machine.topology import format_list
from scaling.results.rows import Outcome, Sections
from scaling.running.launcher import Child, ChildSpec, LaunchResult, StartChild
from scaling.running.messages import MessageError, TurnDone, TurnRequest, decode, encode
from scaling.running.system import SYSTEM, System
from scaling.running.witness import OF_STRETCHES, known, union

# The time from the request of a turn to its start, in which stopped processes wake up and read the request.
LEAD_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class PackSpec:
    """A run of several replicas: how each is started, what each shares with the others, and how many are measured."""

    replicas: tuple[ChildSpec, ...]
    shares: tuple[Sharing, ...]
    measured: int | None = None

    @property
    def mark(self) -> str:
        """The mark of its sweep."""
        return self.replicas[0].mark

    @property
    def groups(self) -> list[str]:
        """The control groups of its processes."""
        return [group for replica in self.replicas for group in replica.groups]

    @property
    def cpus(self) -> frozenset[int]:
        """The CPUs of all replicas."""
        return union(replica.request.cpus for replica in self.replicas)

    @property
    def is_program(self) -> bool:
        """Whether a replica executes a program."""
        return any(replica.is_program for replica in self.replicas)


class PackedChildren:
    """The processes of a pack, from their start to their end."""

    def __init__(self, spec: PackSpec, children: Sequence[Child], system: System = SYSTEM) -> None:
        self.spec = spec
        self.children = children
        self._system = system
        self._failed: Child | None = None

    @property
    def pids(self) -> list[int]:
        """Its processes that were started, each the leader of its own group."""
        return [pid for child in self.children for pid in child.pids]

    def next_message(self, expected: bytes) -> bytes | None:
        """One line for lines with this beginning that all replicas send; None once a replica has ended or is late."""
        lines: dict[Child, bytes] = {}

        def is_settled() -> bool:
            for child in self.children:
                line = None if child in lines else child.take_message(expected)
                if line is not None:
                    lines[child] = line
            self._failed = self._failed or next((child for child in self.children if child.is_over), None)
            return self._failed is not None or len(lines) == len(self.children)

        self._sleep_until(is_settled, lambda: [child for child in self.children if child not in lines])
        return None if self._failed else _common_message(list(lines.values()))

    def wait(self) -> None:
        """Sleep until all have ended, or one has timed out."""

        def running() -> list[Child]:
            return [child for child in self.children if not child.is_over]

        self._sleep_until(lambda: not running() or any(child.timed_out for child in self.children), running)

    def _sleep_until(self, is_settled: Callable[[], bool], late: Callable[[], list[Child]]) -> None:
        """Read messages until the condition holds; after the deadline, the first late replica has timed out."""
        deadline = self._system.now() + self.spec.replicas[0].timeout_seconds
        while not is_settled():
            seconds = min(child.seconds_to_sleep(deadline) for child in self.children)
            running = [child for child in self.children if not child.is_over]
            for child in self._system.wait(running, seconds):
                child.read()
            if self._system.now() >= deadline and (missing := late()):
                missing[0].timed_out = True

    def request(self, message: object) -> None:
        """Send all replicas a message; a turn begins at the same moment in all of them."""
        if isinstance(message, TurnRequest):
            message = replace(message, start_at=self._system.now() + LEAD_SECONDS)
        for child in self.children:
            child.request(message)

    def end(self) -> None:
        """Kill the remaining processes of all replicas."""
        for child in self.children:
            child.end()

    def result(self, parent_cpu: float) -> LaunchResult:
        """The result of the run after its end: the failed replica's, or all replicas' together."""
        failed = self._failed or next((child for child in self.children if child.timed_out), None)
        if failed is not None:
            return self._failure(failed, failed.result(parent_cpu))
        results = [child.result(parent_cpu) for child in self.children]
        for child, result in zip(self.children, results, strict=True):
            if result.outcome.status != "ok":
                return self._failure(child, result)
        return _merge(self.spec, results)

    def _failure(self, child: Child, result: LaunchResult) -> LaunchResult:
        outcome, number = result.outcome, self.children.index(child) + 1
        reason = (
            f"replica {number} of {len(self.children)}, on CPUs {child.spec.request.cpus}: "
            f"{outcome.reason or 'it ended before the others'}; the others were ended"
        )
        status = "failed" if outcome.status == "ok" else outcome.status
        failed = Outcome(
            status,
            reason,
            sections=Sections(wall=outcome.sections.wall),
            stdout_tail=outcome.stdout_tail,
            stderr_tail=outcome.stderr_tail,
        )
        return LaunchResult(failed, Witness(parent_cpu_seconds=result.witness.parent_cpu_seconds), {})


def open_child(spec: ChildSpec | PackSpec, start: StartChild) -> Child | PackedChildren:
    """Start the process of a run, or the processes of a pack."""
    if isinstance(spec, ChildSpec):
        return Child(spec, start)
    return PackedChildren(spec, [Child(replica, start) for replica in spec.replicas])


def _common_message(lines: Sequence[bytes]) -> bytes:
    """One line for the lines of all replicas: a turn was quiet if it was quiet in all."""
    with suppress(MessageError):
        done = [decode(line, TurnDone) for line in lines]
        return encode(TurnDone(done[0].round, all(turn.quiet for turn in done))).encode()
    return lines[0]


def _merge(spec: PackSpec, results: Sequence[LaunchResult]) -> LaunchResult:
    outcomes = [result.outcome for result in results]
    merged = merge(
        [
            ReplicaRun(
                cpus=replica.request.cpus,
                allowed=result.witness.cpus_at_end,
                cpus_visited=result.witness.cpus_visited,
                shares=shares,
                items_per_step=result.outcome.items_per_step or 1,
                step_seconds=result.outcome.step_seconds,
                turns=result.outcome.turns,
                spans=[span.without_pauses for span in result.spans],
            )
            for replica, shares, result in zip(spec.replicas, spec.shares, results, strict=True)
        ],
        spec.measured,
    )
    first = outcomes[0]
    counted = [turn for turn in merged.turns if turn.round != WARMUP_ROUND]
    sections = [outcome.sections for outcome in outcomes]
    outcome = replace(
        first,
        step_seconds=merged.step_seconds,
        turns=merged.turns,
        warmup_steps=sum(turn.steps for turn in merged.turns if turn.round == WARMUP_ROUND),
        cautions=tuple(dict.fromkeys(caution for outcome in outcomes for caution in outcome.cautions)),
        pack=merged.pack,
        sections=Sections(
            **{name: known(max, [getattr(own, name) for own in sections]) for name in Sections.__struct_fields__}
        ),
    )
    if not any(turn.seconds > 0 for turn in counted):
        outcome = Outcome("failed", "its replicas never ran at the same time", sections=outcome.sections)
    masks = [replica.request.cpus for replica in spec.replicas]
    witness = _merge_witnesses([result.witness for result in results], masks)
    return LaunchResult(outcome, witness, results[0].versions, spans=results[0].spans)


# How parts of the witnesses of replicas become one: the first replica's, combined, or summed if not named here.
_ONE_FOR_ALL = ("intra_pool", "inter_pool", "pipeline_pool", "parent_cpu_seconds")
_MASKS = ("cpus_at_start", "cpus_at_end")
_OF_THE_MACHINE = ("elsewhere_busy_seconds", "pressure_seconds", "temperature_celsius", "energy_joules")
_COMBINED: dict[str, Callable[[Sequence[Any]], Any]] = {
    **dict.fromkeys((*_MASKS, "cpus_visited"), lambda lists: format_list(union(lists))),
    **dict.fromkeys(("mapped_file_bytes", *_OF_THE_MACHINE), max),
    "memory_policy": lambda policies: ", ".join(dict.fromkeys(policies)),
    **{name: OF_STRETCHES[name] for name in ("output", "output_held_by")},
    "mhz": fmean,
}


def _merge_witnesses(witnesses: Sequence[Witness], masks: Sequence[str]) -> Witness:
    values = {name: [getattr(witness, name) for witness in witnesses] for name in Witness.__dataclass_fields__}
    merged = {name: known(_COMBINED.get(name, sum), own) for name, own in values.items()}
    merged |= {name: values[name][0] for name in _ONE_FOR_ALL}
    for name in _MASKS:  # if a replica has other CPUs than requested, only these, so that the row shows it
        wrong = [mask for mask, own in zip(values[name], masks, strict=True) if mask not in (None, own)]
        merged |= {name: wrong[0]} if wrong else {}
    return Witness(**merged)
