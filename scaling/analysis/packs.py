"""A pack: replicas of a program that run at the same time, each on cores of its own, measured together. Pure.

Every replica begins a turn at the same moment and takes steps until the same moment. Only the *window* in which all of
them run counts, from the last start of counted steps to the first end. The throughput of a replica is the number of its
steps in the window, with partial steps counted by their share, over the length of the window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from statistics import median

from scaling.analysis.step_times import step_times
from scaling.analysis.turns import WARMUP_ROUND, Turn, TurnSpan, settled_steps
from scaling.machine.placement import Sharing
from scaling.machine.topology import parse_list
from scaling.study.limits import Measured

# Steps of a turn that are kept for any number of replicas; the figures of replicas use all of their steps.
LEAST_SAMPLE = 200


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica of a pack: its CPUs, the hardware it shares with the others, and its steps in the windows.

    `rates` are per turn. `late_seconds` is its largest delay behind the first replica to begin a turn.
    """

    cpus: str
    cpus_visited: str | None
    shares: Sharing
    steps: int
    items_per_second: Measured
    median_seconds: Measured | None
    p95_seconds: Measured | None
    p99_seconds: Measured | None
    late_seconds: Measured
    rates: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class Pack:
    """Replicas that ran at the same time: their joint figures over the `windows` of their turns, in seconds.

    `fairness` is Jain's index of their throughputs, 1 if all are equal and 1/n if one has all (Jain, Chiu & Hawe, DEC
    TR-301, 1984). `start_skew` is the time between the first and the last start of a turn as a share of the window, in
    the median turn, and `worst_start_skew` in the worst. `disjoint` means that no CPU was allowed to two replicas, and
    none was seen outside its own.
    """

    replicas: tuple[Replica, ...]
    windows: tuple[Measured, ...]
    items_per_second: Measured
    fairness: Measured
    slowest_over_fastest: Measured
    start_skew: Measured
    worst_start_skew: Measured
    disjoint: bool

    def rates_of(self, measured: int) -> tuple[float, ...]:
        """The joint throughput of the first `measured` replicas, turn by turn."""
        return tuple(fsum(turn) for turn in zip(*(one.rates for one in self.replicas[:measured]), strict=True))


@dataclass(frozen=True, slots=True)
class ReplicaRun:
    """The measurements of one replica: the seconds of all its steps, its turns and their times without pauses.

    `allowed` is its affinity mask at the end, which should equal `cpus`.
    """

    cpus: str
    allowed: str | None
    cpus_visited: str | None
    shares: Sharing
    items_per_step: int
    step_seconds: Sequence[float]
    turns: Sequence[Turn]
    spans: Sequence[TurnSpan]


@dataclass(frozen=True, slots=True)
class Merged:
    """A pack as one run: a sample of the counted steps of all replicas, its turns, and its replicas' figures."""

    step_seconds: tuple[float, ...]
    turns: tuple[Turn, ...]
    pack: Pack


def jain_index(rates: Sequence[float]) -> float:
    """The fairness of throughputs: the square of their mean over the mean of their squares."""
    squares = fsum(rate * rate for rate in rates)
    return fsum(rates) ** 2 / (len(rates) * squares) if squares > 0 else 1.0


def common_window(spans: Sequence[TurnSpan]) -> tuple[float, float]:
    """From the last start of counted steps to the first end; empty if they did not overlap."""
    begin, end = max(span.counted_from for span in spans), min(span.ended for span in spans)
    return begin, max(begin, end)


def shares_within(steps: Sequence[float], span: TurnSpan, window: tuple[float, float]) -> list[float]:
    """The share of every counted step inside a window; time between steps is spread evenly over them."""
    total = fsum(steps)
    stretch = (span.ended - span.counted_from) / total if total > 0 else 0.0
    begin, parts = span.counted_from, []
    for seconds in steps:
        length = seconds * stretch
        overlap = min(begin + length, window[1]) - max(begin, window[0])
        parts.append(min(1.0, max(0.0, overlap / length)) if length > 0 else 0.0)
        begin += length
    return parts


@dataclass(frozen=True, slots=True)
class _ReplicaTurn:
    counted: list[float]
    rate: float
    late: float
    turn: Turn
    share: float


def merge(runs: Sequence[ReplicaRun], measured: int | None = None) -> Merged:
    """Replicas measured at the same time as one run, with the steps of the first `measured` ones or of all."""
    by_replica = [[steps for _, steps in settled_steps(run.step_seconds, run.turns)] for run in runs]
    turns: list[Turn] = []
    steps: list[float] = []
    parts: list[list[_ReplicaTurn]] = []
    windows: list[float] = []
    skews: list[float] = []
    for number, of_turn in enumerate(zip(*by_replica, strict=True)):
        spans = [run.spans[number] for run in runs]
        window = common_window(spans)
        seconds = window[1] - window[0]
        replicas = [
            _replica_turn(run, number, own, window, min(span.began for span in spans))
            for run, own in zip(runs, of_turn, strict=True)
        ]
        # Evenly chosen steps, about as many as a single run would have; all if they are few.
        counted = [step for one in replicas[:measured] for step in one.counted]
        kept = counted[:: max(1, min(len(replicas[:measured]), len(counted) // LEAST_SAMPLE))]
        steps += kept
        turns.append(_turn_of_pack(replicas, seconds, len(kept)))
        if turns[-1].round != WARMUP_ROUND:
            parts.append(replicas)
            windows.append(seconds)
            skews.append(max(one.late for one in replicas) / seconds if seconds > 0 else 1.0)
    return Merged(tuple(steps), tuple(turns), _pack(runs, parts, windows, skews, measured))


def _replica_turn(
    run: ReplicaRun, number: int, settled: Sequence[float], window: tuple[float, float], first: float
) -> _ReplicaTurn:
    span, turn, seconds = run.spans[number], run.turns[number], window[1] - window[0]
    parts = shares_within(settled, span, window) if seconds > 0 else [0.0] * len(settled)
    # A step longer than the window counts too: otherwise no step would.
    least = min(1.0, max(parts, default=0.0)) - 1e-9 if seconds > 0 else 2.0
    counted = [step for step, part in zip(settled, parts, strict=True) if part >= least]
    return _ReplicaTurn(
        counted=counted,
        rate=run.items_per_step * fsum(parts) / seconds if seconds > 0 else 0.0,
        late=span.began - first,
        turn=turn,
        share=min(1.0, seconds / turn.seconds) if turn.seconds > 0 else 0.0,
    )


def _turn_of_pack(replicas: Sequence[_ReplicaTurn], seconds: float, steps: int) -> Turn:
    """The turn of all replicas, with the disturbances of their counted steps in proportion to the window."""

    def total(name: str) -> float | None:
        known = [(getattr(one.turn, name), one.share) for one in replicas]
        return None if any(value is None for value, _ in known) else fsum(value * part for value, part in known)

    elsewhere = [one.turn.elsewhere_seconds for one in replicas]
    return Turn(
        round=replicas[0].turn.round,
        steps=steps,
        unsettled=0,
        seconds=seconds,
        cpu_seconds=total("cpu_seconds"),
        busy_seconds=total("busy_seconds"),
        steal_seconds=total("steal_seconds"),
        wait_seconds=total("wait_seconds"),
        sibling_seconds=total("sibling_seconds"),
        # All replicas see the same CPUs outside the pack.
        elsewhere_seconds=None if None in elsewhere else max(map(float, filter(None, elsewhere)), default=0.0),
    )


def _pack(
    runs: Sequence[ReplicaRun],
    parts: Sequence[Sequence[_ReplicaTurn]],
    windows: Sequence[float],
    skews: Sequence[float],
    measured: int | None,
) -> Pack:
    replicas = [_replica(run, [turn[index] for turn in parts], windows) for index, run in enumerate(runs)]
    rates = [replica.items_per_second for replica in replicas[:measured]]
    return Pack(
        replicas=tuple(replicas),
        windows=tuple(windows),
        items_per_second=fsum(rates),
        fairness=jain_index(rates),
        slowest_over_fastest=min(rates) / max(rates) if max(rates) > 0 else 1.0,
        start_skew=median(skews) if skews else 0.0,
        worst_start_skew=max(skews, default=0.0),
        disjoint=are_disjoint(runs),
    )


def _replica(run: ReplicaRun, turns: Sequence[_ReplicaTurn], windows: Sequence[float]) -> Replica:
    steps = [step for turn in turns for step in turn.counted]
    figures, total = step_times(steps), fsum(windows)
    weighted = fsum(turn.rate * seconds for turn, seconds in zip(turns, windows, strict=True))
    return Replica(
        cpus=run.cpus,
        cpus_visited=run.cpus_visited,
        shares=run.shares,
        steps=len(steps),
        items_per_second=weighted / total if total > 0 else 0.0,
        median_seconds=figures.quantile(0.5) if figures else None,
        p95_seconds=figures.quantile(0.95) if figures else None,
        p99_seconds=figures.quantile(0.99) if figures else None,
        late_seconds=max((turn.late for turn in turns), default=0.0),
        rates=tuple(turn.rate for turn in turns),
    )


def are_disjoint(runs: Sequence[ReplicaRun]) -> bool:
    """Whether no two replicas share a CPU, by their masks and by the CPUs that their threads visited."""
    masks = [parse_list(run.cpus) | parse_list(run.allowed or "") for run in runs]
    seen = [parse_list(run.cpus_visited or "") for run in runs]
    apart = len(frozenset().union(*masks)) == sum(map(len, masks))
    return apart and all(visited <= mask for visited, mask in zip(seen, masks, strict=True))
