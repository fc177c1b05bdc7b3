"""Everything else that happened during a run, and the circumstances with which it is compared. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from scaling.machine.topology import CpuSet, parse_list
from scaling.study.limits import Measured

# Busy time is counted in ticks of a hundredth of a second, one of which may be off at either end of a run. Errors of n
# CPUs add up like chance.
SLACK_SECONDS = 0.01
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


# A folder has a few lists, and each may name every CPU, which takes megabytes.
@lru_cache(64)
def cpus_of(text: str) -> CpuSet:
    """The CPUs of a list; empty if it is malformed."""
    try:
        return parse_list(text)
    except ValueError:
        return frozenset()
