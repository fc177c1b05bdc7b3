"""What else happened during a run, as a value, and what it says against the run's figure. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

from scaling.analysis import rules
from scaling.analysis.rules import Doubt, Rule
from scaling.machine.cpulist import CpuSet, format_list, parse_list

# Busy time is counted in ticks of a hundredth of a second: at either end of a run one may go to the wrong side. What n
# CPUs gain or lose that way adds up as chance does.
SLACK_SECONDS = 0.01

# CPUs visited are sampled ten times per second: in too short a run some are missed.
LEAST_SECONDS_TO_JUDGE_VISITS = 1.0


@dataclass(frozen=True, slots=True)
class Witness:
    """What else happened during a run's measured steps; None where the machine does not report it.

    `process_seconds` is how long the executions of a program took from start to exit, whatever time it reports itself.
    """

    cpus_at_start: str | None = None
    cpus_at_end: str | None = None
    memory_policy: str | None = None
    threads: int | None = None
    busy_threads: int | None = None
    intra_pool: int | None = None
    inter_pool: int | None = None
    pipeline_pool: int | None = None
    cpus_visited: str | None = None
    cpu_seconds: float | None = None
    pipeline_cpu_seconds: float | None = None
    run_queue_wait_seconds: float | None = None
    busy_seconds: float | None = None
    sibling_busy_seconds: float | None = None
    elsewhere_busy_seconds: float | None = None
    steal_seconds: float | None = None
    pressure_seconds: float | None = None
    throttled_periods: int | None = None
    quota_periods: int | None = None
    involuntary_switches: int | None = None
    voluntary_switches: int | None = None
    max_rss_bytes: int | None = None
    mapped_file_bytes: int | None = None
    parent_cpu_seconds: float | None = None
    idle_cpu_seconds: float | None = None
    mhz: float | None = None
    temperature_celsius: float | None = None
    energy_joules: float | None = None
    instructions: int | None = None
    cycles: int | None = None
    process_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The CPUs, time and threads that a run was allotted, which its witness is compared with.

    `turn_seconds` is how long its turns were that count, where it took turns.
    """

    cpus: CpuSet
    run_seconds: float
    intra: int
    inter: int
    cautions: Sequence[str] = ()
    turn_seconds: float | None = None


def doubts(witness: Witness, circumstances: Circumstances) -> tuple[Doubt, ...]:
    """Everything about a run that a reader of its figure should know."""
    against = [Doubt(rules.SETTING, detail=caution) for caution in circumstances.cautions]
    against += _about_cpus(witness, circumstances)
    against += _beyond_limits(witness, circumstances) if circumstances.run_seconds > 0 else ()
    return tuple(against)


def _about_cpus(witness: Witness, circumstances: Circumstances) -> Iterator[Doubt]:
    for mask in (witness.cpus_at_start, witness.cpus_at_end):
        if mask is not None and _cpus(mask) != circumstances.cpus:
            yield Doubt(rules.MASK, detail=f"{mask} instead of {format_list(circumstances.cpus)}")
            break
    if not witness.cpus_visited:
        return
    visited = _cpus(witness.cpus_visited)
    if visited - circumstances.cpus:
        yield Doubt(rules.STRAYED, detail=format_list(visited - circumstances.cpus))
    unused = len(circumstances.cpus - visited) / len(circumstances.cpus)
    # A program's own threads are gone when it has ended: only its last CPU is known.
    if unused and witness.busy_threads is not None and circumstances.run_seconds >= LEAST_SECONDS_TO_JUDGE_VISITS:
        yield Doubt(rules.THREADS_UNUSED, unused)


def _beyond_limits(witness: Witness, circumstances: Circumstances) -> list[Doubt]:
    amounts = _amounts(witness, circumstances)
    return [Doubt(rule, amount) for rule, amount in amounts if amount is not None and amount > rule.limit]


def _amounts(witness: Witness, circumstances: Circumstances) -> tuple[tuple[Rule, float | None], ...]:
    """Every rule with a limit, and how much of it there was; None where the machine did not report it."""
    seconds, waited = circumstances.run_seconds, witness.run_queue_wait_seconds or 0
    slack = SLACK_SECONDS * sqrt(len(circumstances.cpus))
    return (
        (rules.FOREIGN_LOAD, _over(_foreign_seconds(witness, slack), seconds)),
        (rules.SIBLING_LOAD, _over(_less(witness.sibling_busy_seconds, slack), seconds)),
        (rules.LOAD_ELSEWHERE, _over(_less(witness.elsewhere_busy_seconds, slack), seconds)),
        (rules.STEAL, _over(_less(witness.steal_seconds, slack), seconds)),
        (rules.TOO_SHORT_TO_SEE, _unseen(witness, circumstances, slack)),
        (rules.THROTTLED, _over(witness.throttled_periods, 1)),
        (rules.WAITING, _waiting(witness, circumstances)),
        (rules.PRESSURE, _share(_less(witness.pressure_seconds, waited), seconds)),
        (rules.OVERSUBSCRIBED, max(circumstances.intra, circumstances.inter) / len(circumstances.cpus)),
        (rules.THREADS_EXCEEDED, _excess_cpu_time(witness, circumstances)),
    )


def _foreign_seconds(witness: Witness, slack: float) -> float | None:
    if witness.cpu_seconds is None:
        return None
    return _less(witness.busy_seconds, witness.cpu_seconds + (witness.parent_cpu_seconds or 0) + slack)


def _unseen(witness: Witness, circumstances: Circumstances, slack: float) -> float | None:
    """What others may take per second without being seen, where it is known at all what they take."""
    if witness.steal_seconds is None and witness.busy_seconds is None:
        return None
    seconds = circumstances.turn_seconds or circumstances.run_seconds
    return min(slack / seconds, float(len(circumstances.cpus)))


def _waiting(witness: Witness, circumstances: Circumstances) -> float | None:
    """The share of time a busy thread waited; with more threads than CPUs waiting is their own doing."""
    threads, waited = witness.busy_threads, witness.run_queue_wait_seconds
    if not threads or waited is None or threads > len(circumstances.cpus):
        return None
    return _share(waited, circumstances.run_seconds * threads)


def _excess_cpu_time(witness: Witness, circumstances: Circumstances) -> float | None:
    """How much more CPU time a run with a fixed number of threads used than those threads could, its pipeline apart."""
    if not circumstances.intra or not circumstances.inter or witness.cpu_seconds is None:
        return None
    could = circumstances.run_seconds * circumstances.intra * circumstances.inter
    used = witness.cpu_seconds - (witness.pipeline_cpu_seconds or 0.0)
    return (used - SLACK_SECONDS) / could - 1


@lru_cache(4096)
def _cpus(text: str) -> CpuSet:
    """The CPUs of a list in a row; what is no list names no CPU."""
    try:
        return parse_list(text)
    except ValueError:
        return frozenset()


def _less(value: float | None, taken_off: float) -> float | None:
    return None if value is None else max(0.0, value - taken_off)


def _over(value: float | None, whole: float) -> float | None:
    return None if value is None else value / whole


def _share(value: float | None, whole: float) -> float | None:
    """A share of the time: counters that are read a moment apart may make it more than all."""
    return None if value is None else min(1.0, value / whole)
