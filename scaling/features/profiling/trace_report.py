"""Traced runs as tables, sentences and JSON facts: the parts of a step."""

from collections.abc import Iterable, Iterator, Sequence

from scaling.analysis.traces import Trace, traces_by_point
from scaling.features.profiling.profile import profile
from scaling.features.profiling.report import STEP_KEYS, values
from scaling.reporting.words import Table, count, duration, point_words, share, some_of, span
from scaling.results.traces import TracedRow, trace_of

LEAST_SHARE = 0.01

# A trace beyond these limits has a remark.
MOST_TRACED_OVER_PLAIN = 1.2
MOST_UNEXPLAINED = 0.05


def trace_words(trace: Trace) -> str:
    """A traced run in one line: its name, the time of a step, and its three parts."""
    step = profile([trace])
    parts = {
        "ops": step.busy_seconds,
        "framework overhead": step.overhead_seconds,
        "unexplained": step.unexplained_seconds,
    }
    shares = " + ".join(f"{name} {share(seconds / step.wall_seconds)}" for name, seconds in parts.items())
    launch = f", launch {trace.launch}" if trace.launch > 1 else ""
    stretch = "" if step.stretch is None else f"; traced/plain {step.stretch:.2f}"
    return (
        f"{_name(trace)}{launch}: {duration(step.wall_seconds)} per step over "
        f"{count(len(trace.steps), 'traced step')} = {shares}{stretch}{'' if trace.quiet else '; disturbed'}"
    )


def _name(trace: Trace) -> str:
    inter = f", inter {trace.inter}" if trace.inter > 1 else ""
    return f"{trace.point.workload} {trace.point.mode} {trace.point.size}, {count(trace.threads, 'thread')}{inter}"


def ops_table(*launches: Trace) -> Table:
    """Op types of at least one percent of op time, the rest as one line, and the sum; for several launches also the
    smallest and largest share of a type in a launch."""
    step = profile(launches)
    shown = [op for op in step.ops if op.share >= LEAST_SHARE]
    rest = step.ops[len(shown) :]
    lines = [
        (op.type, op.seconds, op.share, f"{span([100 * op.least, 100 * op.most], '.1f')} %", op.executions)
        for op in shown
    ]
    if rest:
        seconds, part, executions = (
            sum(getattr(op, name) for op in rest) for name in ("seconds", "share", "executions")
        )
        lines.append((f"{len(rest)} more types", seconds, part, "", executions))
    lines.append(("all ops", step.op_seconds, 1.0, "", sum(op.executions for op in step.ops)))
    rows = [
        (name, duration(seconds), share(part), *((spread,) if len(launches) > 1 else ()), f"{executions:g}")
        for name, seconds, part, spread, executions in lines
    ]
    in_launches = (">in launches",) if len(launches) > 1 else ()
    return Table(("op type", ">per step", ">of op time", *in_launches, ">executions"), rows)


def trace_remarks(traced: Iterable[TracedRow]) -> Iterator[str]:
    """A sentence for every failed run, and for every limit that launches of a point exceed."""
    traces = []
    for run in traced:
        trace = trace_of(run)
        if trace is None:
            yield f"{point_words(run.row.run.point)}: {run.row.outcome.status}: {run.row.outcome.reason}"
        else:
            traces.append(trace)
    for launches in traces_by_point(traces).values():
        yield from (f"{_name(launches[0])}: {doubt}" for doubt in _doubts(launches))


def _doubts(launches: Sequence[Trace]) -> Iterator[str]:
    steps = [profile([trace]) for trace in launches]
    slower = [step.stretch for step in steps if step.stretch is not None and step.stretch > MOST_TRACED_OVER_PLAIN]
    if slower:
        yield (
            f"a traced step took {span(slower, '.2f')} times as long as a plain one{some_of(slower, launches)}; "
            "the traced times include the cost of tracing or of other load"
        )
    unexplained = [step.unexplained_seconds / step.wall_seconds for step in steps]
    vague = [100 * part for part in unexplained if part > MOST_UNEXPLAINED]
    if vague:
        yield f"{span(vague, '.1f')} % of a step is unexplained{some_of(vague, launches)}"
    if launches[0].inter > 1:
        step = profile(launches)
        yield (
            f"ops overlapped: their times add up to {duration(step.op_seconds)} in {duration(step.busy_seconds)} of a "
            "step; shares are relative to that sum"
        )


def trace_facts(traced: TracedRow) -> dict[str, object]:
    """A traced run for scripts, with every op type."""
    run, outcome = traced.row.run, traced.row.outcome
    point, trace = run.point, trace_of(traced)
    facts: dict[str, object] = {
        **values(point, "workload mode size"),
        "items": outcome.items_per_step,
        "threads": point.threads(point.intra),
        "inter": point.threads(point.inter),
        "launch": run.launch,
        **values(outcome, "status reason"),
    }
    if trace is None:
        return facts
    step = profile([trace])
    return facts | {
        **values(step, "steps wall_seconds"),
        "op_seconds": step.busy_seconds,
        **values(step, STEP_KEYS),
        "traced_over_plain": step.stretch,
        "ops": [values(op, "type seconds share executions") for op in step.ops],
    }
