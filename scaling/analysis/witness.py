"""Everything else that happened during a run, and the doubts about its figure that follow. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

from scaling.analysis import rules
from scaling.analysis.rules import Doubt, Rule
from scaling.machine.topology import CpuSet, format_list, parse_list
from scaling.study.limits import Measured

# Busy time is counted in ticks of a hundredth of a second, one of which may be off at either end of a run. Errors of n
# CPUs add up like chance.
SLACK_SECONDS = 0.01
# CPUs visited are sampled ten times per second: shorter runs miss some.
LEAST_SECONDS_TO_JUDGE_VISITS = 1.0
DISCARDED = "discarded"  # the output of a program that nobody reads


@dataclass(frozen=True, slots=True)
class Witness:
    """Everything else that happened during a run's measured steps; None if the machine does not report it.

    Only programs have the last four: `process_seconds` is the time of executions from start to exit, whatever time is
    reported, `output` is read or discarded, `output_cpu_seconds` is the CPU time of reading it, and `output_held_by`
    names the processes that kept it open after the exit.
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
    cpu_seconds: Measured | None = None
    pipeline_cpu_seconds: Measured | None = None
    run_queue_wait_seconds: Measured | None = None
    busy_seconds: Measured | None = None
    sibling_busy_seconds: Measured | None = None
    elsewhere_busy_seconds: Measured | None = None
    steal_seconds: Measured | None = None
    pressure_seconds: Measured | None = None
    throttled_periods: int | None = None
    quota_periods: int | None = None
    involuntary_switches: int | None = None
    voluntary_switches: int | None = None
    max_rss_bytes: int | None = None
    mapped_file_bytes: int | None = None
    parent_cpu_seconds: Measured | None = None
    idle_cpu_seconds: Measured | None = None
    mhz: Measured | None = None
    temperature_celsius: Measured | None = None
    energy_joules: Measured | None = None
    instructions: int | None = None
    cycles: int | None = None
    process_seconds: Measured | None = None
    output: str | None = None
    output_cpu_seconds: Measured | None = None
    output_held_by: str | None = None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The CPUs, time and threads allotted to a run, with which its witness is compared.

    `turn_seconds` is the duration of its counted turns, if it took turns.
    """

    cpus: CpuSet
    run_seconds: float
    intra: int
    inter: int
    cautions: Sequence[str] = ()
    turn_seconds: float | None = None


def doubts(witness: Witness, circumstances: Circumstances) -> tuple[Doubt, ...]:
    """Every doubt about a run's figure."""
    against = [Doubt(rules.SETTING, detail=caution) for caution in circumstances.cautions]
    amounts = _amounts(witness, circumstances) if circumstances.run_seconds > 0 else ()
    exceeded = [Doubt(rule, amount) for rule, amount in amounts if amount is not None and amount > rule.limit]
    held = [Doubt(rules.OUTPUT_HELD, detail=witness.output_held_by)] if witness.output_held_by else []
    return (*against, *_about_cpus(witness, circumstances), *exceeded, *held)


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
    # Of a program that has ended, only the last CPU is known.
    if unused and witness.busy_threads is not None and circumstances.run_seconds >= LEAST_SECONDS_TO_JUDGE_VISITS:
        yield Doubt(rules.THREADS_UNUSED, unused)


def _amounts(witness: Witness, circumstances: Circumstances) -> tuple[tuple[Rule, float | None], ...]:
    seconds, waited = circumstances.run_seconds, witness.run_queue_wait_seconds or 0
    slack = SLACK_SECONDS * sqrt(len(circumstances.cpus))
    own, pressure = witness.cpu_seconds, _over(witness.pressure_seconds, seconds, waited)
    foreign = (
        None if own is None else _over(witness.busy_seconds, seconds, own + (witness.parent_cpu_seconds or 0) + slack)
    )
    return (
        (rules.FOREIGN_LOAD, foreign),
        (rules.SIBLING_LOAD, _over(witness.sibling_busy_seconds, seconds, slack)),
        (rules.LOAD_ELSEWHERE, _over(witness.elsewhere_busy_seconds, seconds, slack)),
        (rules.STEAL, _over(witness.steal_seconds, seconds, slack)),
        (rules.TOO_SHORT_TO_SEE, _unseen(witness, circumstances, slack)),
        (rules.THROTTLED, _over(witness.throttled_periods, 1, 0)),
        (rules.WAITING, _waiting(witness, circumstances)),
        # Counters read a moment apart may exceed the time.
        (rules.PRESSURE, None if pressure is None else min(1.0, pressure)),
        (rules.OVERSUBSCRIBED, max(circumstances.intra, circumstances.inter) / len(circumstances.cpus)),
        (rules.THREADS_EXCEEDED, _excess_cpu_time(witness, circumstances)),
        (rules.OUTPUT_READ, _over(witness.output_cpu_seconds, witness.process_seconds or seconds, 0)),
    )


def _unseen(witness: Witness, circumstances: Circumstances, slack: float) -> float | None:
    if witness.steal_seconds is None and witness.busy_seconds is None:
        return None
    seconds = circumstances.turn_seconds or circumstances.run_seconds
    return min(slack / seconds, float(len(circumstances.cpus)))


def _waiting(witness: Witness, circumstances: Circumstances) -> float | None:
    """The share of time that a busy thread waited; None with more threads than CPUs, which wait for each other."""
    threads, waited = witness.busy_threads, witness.run_queue_wait_seconds
    if not threads or waited is None or threads > len(circumstances.cpus):
        return None
    return min(1.0, waited / (circumstances.run_seconds * threads))


def _excess_cpu_time(witness: Witness, circumstances: Circumstances) -> float | None:
    """The CPU time beyond what a fixed number of threads can use, as a share, without its pipeline."""
    if not circumstances.intra or not circumstances.inter or witness.cpu_seconds is None:
        return None
    could = circumstances.run_seconds * circumstances.intra * circumstances.inter
    used = witness.cpu_seconds - (witness.pipeline_cpu_seconds or 0.0)
    return (used - SLACK_SECONDS) / could - 1


# A folder has a few lists, and each may name every CPU, which takes megabytes.
@lru_cache(64)
def _cpus(text: str) -> CpuSet:
    """The CPUs of a list; empty if it is malformed."""
    try:
        return parse_list(text)
    except ValueError:
        return frozenset()


def _over(value: float | None, whole: float, less: float) -> float | None:
    return None if value is None else max(0.0, value - less) / whole
