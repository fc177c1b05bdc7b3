"""The doubts that follow from observations of a run, a launch, a point, a speedup or a comparison. Pure.

`rules` has the limits and the sentences. Every doubt is made here.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import exp, sqrt

from scaling.analysis import rules
from scaling.analysis.estimates import are_equal
from scaling.analysis.rules import Doubt, Rule, Verdict
from scaling.analysis.witness import SLACK_SECONDS, Circumstances, Witness, cpus_of
from scaling.machine.topology import format_list

# CPUs visited are sampled ten times per second: shorter runs miss some.
LEAST_SECONDS_TO_JUDGE_VISITS = 1.0


def about_run(witness: Witness, circumstances: Circumstances) -> tuple[Doubt, ...]:
    """Every doubt about a run's figure that follows from its witness."""
    against = [Doubt(rules.SETTING, detail=caution) for caution in circumstances.cautions]
    amounts = _amounts(witness, circumstances) if circumstances.run_seconds > 0 else ()
    exceeded = [Doubt(rule, amount) for rule, amount in amounts if amount is not None and amount > rule.limit]
    held = [Doubt(rules.OUTPUT_HELD, detail=witness.output_held_by)] if witness.output_held_by else []
    return (*against, *_about_cpus(witness, circumstances), *exceeded, *held)


def about_steps(shift: float | None, counted: int | None) -> Iterator[Doubt]:
    """The steps of a run: the shift between two levels, and how many count; None if that does not matter."""
    if shift:
        yield Doubt(rules.UNSTEADY, shift)
    if counted is not None and counted < rules.FEW_STEPS.limit:
        yield Doubt(rules.FEW_STEPS, counted)


def about_replicas(disjoint: bool) -> Iterator[Doubt]:
    """The replicas of a pack, whose CPUs are `disjoint` or not."""
    if not disjoint:
        yield Doubt(rules.MASK, detail="replicas that may use each other's")


def about_generator(generator: float, server: float, shared: float) -> Iterator[Doubt]:
    """A run under load: the busy shares of generator and server, and the CPUs that both used."""
    limit = rules.GENERATOR_BOUND.limit
    if generator >= limit > server:
        yield Doubt(rules.GENERATOR_BOUND, generator)
    if shared:
        yield Doubt(rules.SHARED_CORES, shared)


def about_turns(quiet: Sequence[bool]) -> Iterator[Doubt]:
    """The turns of a launch, each quiet or not."""
    if quiet and not any(quiet):
        yield Doubt(rules.NO_QUIET_TURN)


def about_clock(mhz: float | None, fastest: float) -> Iterator[Doubt]:
    """The clock of a launch beside the fastest of its point."""
    drop = 1 - mhz / fastest if mhz else 0.0
    if drop > rules.CLOCK.limit:
        yield Doubt(rules.CLOCK, drop)


def about_launches(seconds: Sequence[float], half_width: float | None, corrections: Sequence[float]) -> Iterator[Doubt]:
    """The launches of a point that count, the interval of their location, and the corrections of those adjusted."""
    if corrections:
        yield Doubt(rules.ADJUSTED, 1 - exp(-max(corrections)), launches=len(corrections), of=len(seconds))
    if len(seconds) < rules.FEW_LAUNCHES.limit:
        yield Doubt(rules.FEW_LAUNCHES, len(seconds))
    elif are_equal(seconds):
        yield from about_equal()
    else:
        yield from about_width(half_width)


def about_fixed_time() -> Doubt:
    """A program that takes as long on any number of cores."""
    return Doubt(rules.FIXED_TIME)


def about_equal() -> Iterator[Doubt]:
    """Values that are equal to the last digit."""
    yield Doubt(rules.EQUAL)


def about_width(half_width: float | None) -> Iterator[Doubt]:
    """An estimate whose interval is missing or too wide."""
    if half_width is None:
        yield Doubt(rules.NO_ANSWER)
    elif half_width > rules.WIDE.limit:
        yield Doubt(rules.WIDE, half_width)


def about_single_count() -> Iterator[Doubt]:
    """A series with one number of cores, which is not one."""
    yield Doubt(rules.ONE_CORE_COUNT)


def about_missing_baseline() -> Iterator[Doubt]:
    """A series whose one core has no step time."""
    yield Doubt(rules.ONE_CORE_NOT_MEASURED)


def about_baseline(verdict: Verdict, against: Iterable[Doubt]) -> Iterator[Doubt]:
    """A point's baseline, by its verdict and the doubts about it."""
    if verdict.valid:
        return
    rule = rules.BASELINE_DISTURBED if verdict is Verdict.DISTURBED else rules.BASELINE_NOT_VALID
    yield Doubt(rule, detail=", ".join(doubt.rule.name for doubt in against))


def about_drift(drift: float | None) -> Iterator[Doubt]:
    """A baseline that moved from its first launch to its last."""
    if drift is not None:
        yield Doubt(rules.DRIFT, drift)


def _about_cpus(witness: Witness, circumstances: Circumstances) -> Iterator[Doubt]:
    for mask in (witness.cpus_at_start, witness.cpus_at_end):
        if mask is not None and cpus_of(mask) != circumstances.cpus:
            yield Doubt(rules.MASK, detail=f"{mask} instead of {format_list(circumstances.cpus)}")
            break
    if not witness.cpus_visited:
        return
    visited = cpus_of(witness.cpus_visited)
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


def _over(value: float | None, whole: float, less: float) -> float | None:
    return None if value is None else max(0.0, value - less) / whole
