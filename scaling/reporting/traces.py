"""Traced runs as tables, sentences and JSON facts: where the time of a step went."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from scaling.analysis.ops.traces import OpTime, Trace, by_point
from scaling.reporting.tables import Table
from scaling.reporting.words import count, duration, point_words, share, some_of, span
from scaling.results.traces import TracedRow, trace_of

LEAST_SHARE = 0.01

# What a trace should keep to; beyond it is no error, but is said.
MOST_TRACED_OVER_PLAIN = 1.2
MOST_UNEXPLAINED = 0.05


@dataclass(frozen=True, slots=True)
class MeanStep:
    """A step as the mean of what was traced, so that its parts add up; op types by falling time."""

    wall_seconds: float
    ops: tuple[tuple[str, float, float], ...]
    op_seconds: float
    overlap_seconds: float
    overhead_seconds: float
    unexplained_seconds: float


def mean_step(*launches: Trace) -> MeanStep:
    """The mean of the steps of a point's launches."""
    steps = [step for trace in launches for step in trace.steps]
    by_type: dict[str, list[OpTime]] = defaultdict(list)
    for step in steps:
        for op in step.ops:
            by_type[op.type].append(op)
    ops = [
        (name, sum(op.seconds for op in found) / len(steps), sum(op.executions for op in found) / len(steps))
        for name, found in by_type.items()
    ]
    return MeanStep(
        wall_seconds=fmean(step.wall_seconds for step in steps),
        ops=tuple(sorted(ops, key=lambda op: (-op[1], op[0]))),
        op_seconds=fmean(step.op_seconds for step in steps),
        overlap_seconds=fmean(step.overlap_seconds for step in steps),
        overhead_seconds=fmean(step.overhead_seconds for step in steps),
        unexplained_seconds=fmean(step.unexplained_seconds for step in steps),
    )


def traced_over_plain(trace: Trace) -> float:
    """How much longer a step takes for being traced, by medians."""
    return median(step.wall_seconds for step in trace.steps) / median(trace.plain_step_seconds)


def trace_words(trace: Trace) -> str:
    """A traced run in one line: whose, how long a step, and its three parts."""
    step = mean_step(trace)
    parts = {
        "ops": step.op_seconds,
        "framework overhead": step.overhead_seconds,
        "unexplained": step.unexplained_seconds,
    }
    told = " + ".join(f"{name} {share(seconds / step.wall_seconds)}" for name, seconds in parts.items())
    return (
        f"{_whose(trace)}: {duration(step.wall_seconds)} a step over {count(len(trace.steps), 'traced step')} = "
        f"{told}; traced/plain {traced_over_plain(trace):.2f}"
    )


def _whose(trace: Trace) -> str:
    return _what(trace) + (f", launch {trace.launch}" if trace.launch > 1 else "")


def _what(trace: Trace) -> str:
    pools = [count(trace.threads, "thread")] + ([f"inter {trace.inter}"] if trace.inter > 1 else [])
    return ", ".join([f"{trace.point.workload} {trace.point.mode} {trace.point.size}", *pools])


def ops_table(*launches: Trace) -> Table:
    """Op types of at least one percent of the time of all ops, then the rest as one line, and the sum; where there are
    several launches, also the least and the largest share of a type in one of them."""
    step = mean_step(*launches)
    total = sum(seconds for _, seconds, _ in step.ops)
    shown = [op for op in step.ops if op[1] >= LEAST_SHARE * total]
    rest = step.ops[len(shown) :]
    lines = [*shown]
    if rest:
        lines.append((f"{len(rest)} more types", sum(op[1] for op in rest), sum(op[2] for op in rest)))
    lines.append(("all ops", total, sum(op[2] for op in step.ops)))
    single = [_shares(trace) for trace in launches] if len(launches) > 1 else []
    rows = []
    for name, seconds, executions in lines:
        found = [100 * shares.get(name, 0.0) for shares in single]
        spread = (f"{span(found, '.1f')} %" if any(found) else "",) if single else ()
        rows.append((name, duration(seconds), share(seconds / total if total else 0.0), *spread, f"{executions:g}"))
    columns = ("op type", ">a step", ">of op time", *((">in launches",) if single else ()), ">executions")
    return Table(columns, rows)


def _shares(trace: Trace) -> dict[str, float]:
    """The share of op time of every op type in one launch."""
    ops = mean_step(trace).ops
    total = sum(seconds for _, seconds, _ in ops)
    return {name: seconds / total for name, seconds, _ in ops} if total else {}


def trace_remarks(traced: Iterable[TracedRow]) -> Iterator[str]:
    """A sentence for every run that failed, and for whatever the launches of a point do not keep to."""
    traces = []
    for each in traced:
        trace = trace_of(each)
        if trace is None:
            yield f"{point_words(each.row.run.point)}: {each.row.outcome.status}: {each.row.outcome.reason}"
        else:
            traces.append(trace)
    for launches in by_point(traces).values():
        yield from (f"{_what(launches[0])}: {doubt}" for doubt in _doubts(launches))


def _doubts(launches: Sequence[Trace]) -> Iterator[str]:
    slower = [ratio for ratio in map(traced_over_plain, launches) if ratio > MOST_TRACED_OVER_PLAIN]
    if slower:
        yield (
            f"a traced step took {span(slower, '.2f')} times as long as a plain one{some_of(slower, launches)}; what "
            "tracing costs, or whatever else ran meanwhile, is in its figures"
        )
    vague = [100 * part for part in map(_unexplained_share, launches) if part > MOST_UNEXPLAINED]
    if vague:
        yield f"{span(vague, '.1f')} % of a step is unexplained{some_of(vague, launches)}"
    if launches[0].inter > 1:
        step = mean_step(*launches)
        yield (
            f"ops ran at the same time: their seconds add up to {duration(step.op_seconds + step.overlap_seconds)} "
            f"in {duration(step.op_seconds)} of a step, and shares are of that sum"
        )


def _unexplained_share(trace: Trace) -> float:
    """How much of a step nobody explains."""
    step = mean_step(trace)
    return step.unexplained_seconds / step.wall_seconds


def trace_facts(traced: TracedRow) -> dict[str, object]:
    """A traced run for scripts, with every op type."""
    run, outcome = traced.row.run, traced.row.outcome
    point, trace = run.point, trace_of(traced)
    facts: dict[str, object] = {
        "workload": point.workload,
        "mode": point.mode,
        "size": point.size,
        "items": outcome.items_per_step,
        "threads": point.threads(point.intra),
        "inter": point.threads(point.inter),
        "launch": run.launch,
        "status": outcome.status,
        "reason": outcome.reason,
    }
    return facts if trace is None else facts | _step_facts(trace)


def _step_facts(trace: Trace) -> dict[str, object]:
    step = mean_step(trace)
    total = sum(seconds for _, seconds, _ in step.ops)
    return {
        "steps": len(trace.steps),
        "wall_seconds": step.wall_seconds,
        "op_seconds": step.op_seconds,
        "overlap_seconds": step.overlap_seconds,
        "overhead_seconds": step.overhead_seconds,
        "unexplained_seconds": step.unexplained_seconds,
        "plain_seconds": median(trace.plain_step_seconds),
        "traced_over_plain": traced_over_plain(trace),
        "ops": [
            {"type": name, "seconds": seconds, "share": seconds / total if total else 0.0, "executions": executions}
            for name, seconds, executions in step.ops
        ],
    }
