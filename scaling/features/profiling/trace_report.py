"""Traced runs as tables, sentences and JSON facts: where the time of a step went."""

from collections.abc import Iterable, Iterator, Sequence

from scaling.analysis.traces import Trace, traces_by_point
from scaling.features.profiling.profile import OpShare, profile
from scaling.reporting.words import Table, count, duration, point_words, share, some_of, span
from scaling.results.traces import TracedRow, trace_of

LEAST_SHARE = 0.01

# What a trace should keep to; beyond it is no error, but is said.
MOST_TRACED_OVER_PLAIN = 1.2
MOST_UNEXPLAINED = 0.05


def trace_words(trace: Trace) -> str:
    """A traced run in one line: whose, how long a step, and its three parts."""
    step = profile([trace])
    parts = {
        "ops": step.busy_seconds,
        "framework overhead": step.overhead_seconds,
        "unexplained": step.unexplained_seconds,
    }
    shares = " + ".join(f"{name} {share(seconds / step.wall_seconds)}" for name, seconds in parts.items())
    stretch = "" if step.stretch is None else f"; traced/plain {step.stretch:.2f}"
    return (
        f"{_whose(trace)}: {duration(step.wall_seconds)} a step over {count(len(trace.steps), 'traced step')} = "
        f"{shares}{stretch}{'' if trace.quiet else '; disturbed'}"
    )


def _whose(trace: Trace) -> str:
    return _what(trace) + (f", launch {trace.launch}" if trace.launch > 1 else "")


def _what(trace: Trace) -> str:
    pools = [count(trace.threads, "thread")] + ([f"inter {trace.inter}"] if trace.inter > 1 else [])
    return ", ".join([f"{trace.point.workload} {trace.point.mode} {trace.point.size}", *pools])


def ops_table(*launches: Trace) -> Table:
    """Op types of at least one percent of the time of all ops, then the rest as one line, and the sum; where there are
    several launches, also the least and the largest share of a type in one of them."""
    step = profile(launches)
    several = len(launches) > 1
    shown = [op for op in step.ops if op.share >= LEAST_SHARE]
    rest = step.ops[len(shown) :]
    rows = [
        _op_row(op.type, op.seconds, op.share, op.executions, _launch_span(op) if several else None) for op in shown
    ]
    blank = "" if several else None
    if rest:
        seconds, part, executions = (sum(values) for values in zip(*map(_op_numbers, rest), strict=True))
        rows.append(_op_row(f"{len(rest)} more types", seconds, part, executions, blank))
    rows.append(_op_row("all ops", step.op_seconds, 1.0, sum(op.executions for op in step.ops), blank))
    columns = ("op type", ">a step", ">of op time", *((">in launches",) if several else ()), ">executions")
    return Table(columns, rows)


def _op_row(name: str, seconds: float, part: float, executions: float, span_words: str | None) -> tuple[str, ...]:
    in_launches = () if span_words is None else (span_words,)
    return (name, duration(seconds), share(part), *in_launches, f"{executions:g}")


def _op_numbers(op: OpShare) -> tuple[float, float, float]:
    return op.seconds, op.share, op.executions


def _launch_span(op: OpShare) -> str:
    """The least and the largest share of an op type in a launch."""
    return f"{span([100 * op.least, 100 * op.most], '.1f')} %"


def trace_remarks(traced: Iterable[TracedRow]) -> Iterator[str]:
    """A sentence for every run that failed, and for whatever the launches of a point do not keep to."""
    traces = []
    for one in traced:
        trace = trace_of(one)
        if trace is None:
            yield f"{point_words(one.row.run.point)}: {one.row.outcome.status}: {one.row.outcome.reason}"
        else:
            traces.append(trace)
    for launches in traces_by_point(traces).values():
        yield from (f"{_what(launches[0])}: {doubt}" for doubt in _doubts(launches))


def _doubts(launches: Sequence[Trace]) -> Iterator[str]:
    steps = [profile([trace]) for trace in launches]
    slower = [step.stretch for step in steps if step.stretch is not None and step.stretch > MOST_TRACED_OVER_PLAIN]
    if slower:
        yield (
            f"a traced step took {span(slower, '.2f')} times as long as a plain one{some_of(slower, launches)}; what "
            "tracing costs, or whatever else ran meanwhile, is in its figures"
        )
    unexplained = [step.unexplained_seconds / step.wall_seconds for step in steps]
    vague = [100 * part for part in unexplained if part > MOST_UNEXPLAINED]
    if vague:
        yield f"{span(vague, '.1f')} % of a step is unexplained{some_of(vague, launches)}"
    if launches[0].inter > 1:
        step = profile(launches)
        yield (
            f"ops ran at the same time: their seconds add up to {duration(step.op_seconds)} "
            f"in {duration(step.busy_seconds)} of a step, and shares are of that sum"
        )


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
    step = profile([trace])
    return {
        "steps": len(trace.steps),
        "wall_seconds": step.wall_seconds,
        "op_seconds": step.busy_seconds,
        "overlap_seconds": step.overlap_seconds,
        "overhead_seconds": step.overhead_seconds,
        "unexplained_seconds": step.unexplained_seconds,
        "plain_seconds": step.plain_seconds,
        "traced_over_plain": step.stretch,
        "ops": [
            {"type": op.type, "seconds": op.seconds, "share": op.share, "executions": op.executions} for op in step.ops
        ],
    }
