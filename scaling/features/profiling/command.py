"""`scaling profile`: which operations the steps of a network spend their time in."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.rules import Verdict
from scaling.analysis.traces import Trace, traces_by_point
from scaling.cli.options import Full, Json, NoWait, RetryFailed
from scaling.cli.printing import print_json, print_lines, print_note, print_notes, print_table
from scaling.cli.progress import Progress
from scaling.errors import StudyError
from scaling.features.profiling import report as operations
from scaling.features.profiling.evaluation import OpEvaluation, evaluate_ops
from scaling.features.profiling.library import TRACED_STEPS, ProfileJob, carry_out_profile, prepare_profile
from scaling.features.profiling.other_machine import OtherMachine, predict_on
from scaling.features.profiling.profile import profiles
from scaling.features.profiling.trace_report import ops_table, trace_facts, trace_remarks, trace_words
from scaling.reporting.words import point_words
from scaling.results.traces import TracedRow, read_traced_rows, trace_of
from scaling.study.catalogue import read_catalogue

DEFAULT_FOLDER = Path("results/profile")
MOST_THREADS = 4096


Workloads = Annotated[
    list[str],
    typer.Argument(
        metavar="WORKLOAD...", help="Networks by name; or one study, such as fathom; or folders, to show them again."
    ),
]
Mode = Annotated[str | None, typer.Option(metavar="train|infer", help="Or both: train,infer.")]
Size = Annotated[
    str | None, typer.Option(metavar="published|small", help="Size of the networks; the published one if left out.")
]
ThreadCounts = Annotated[
    str | None, typer.Option(metavar="LIST", help="Intra-op threads, each on a core of its own: 1,2,4 or 1-8.")
]
Inter = Annotated[int, typer.Option(metavar="N", help="Inter-op threads: ops that may run at the same time.")]
Items = Annotated[int | None, typer.Option(metavar="N", help="Items per step; the workload's own if left out.")]
Steps = Annotated[int, typer.Option(metavar="N", help="Traced steps; the first and the last are dropped.")]
Launches = Annotated[int | None, typer.Option(metavar="N", help="Traced processes of each point.")]
ReproducibleTo = Annotated[
    float | None,
    typer.Option(
        metavar="POINTS",
        help="Trace further processes until the same profile made again would differ by fewer percentage points "
        "in every share.",
    ),
]
Output = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", help="Results folder; runs that are there are not made again."),
]
Predict = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Predict the step on so many threads, from what was traced on fewer: 8,16."),
]


OnMachine = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Predict on another machine, whose ceilings are in this folder; with --ceilings."),
]
CeilingsHere = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Ceilings of the machine that was profiled (scaling sweep ceilings).")
]
MeasuredThere = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR", help="Profiles or rows of the other machine, to hold the prediction against; may be repeated."
    ),
]


def profile(
    workloads: Workloads,
    mode: Mode = None,
    size: Size = None,
    threads: ThreadCounts = None,
    inter: Inter = 1,
    items: Items = None,
    steps: Steps = TRACED_STEPS,
    launches: Launches = None,
    reproducible_to: ReproducibleTo = None,
    output: Output = DEFAULT_FOLDER,
    no_wait: NoWait = False,
    retry_failed: RetryFailed = False,
    predict: Predict = None,
    on_machine: OnMachine = None,
    ceilings: CeilingsHere = None,
    measured: MeasuredThere = None,
    full: Full = False,
    as_json: Json = False,
) -> None:
    """Trace the operations of networks: how long each type takes in a step, and what lies between them.

    Where several networks, modes or numbers of threads were traced, also how they compare, which ops keep a step from
    scaling, and with --predict how long it would take on more threads, or with --on-machine on another machine. The
    status is 1 where too few launches of a profile were quiet.

    Example: scaling profile alexnet memnet --threads 1,2 --size small
    """
    predicted = threads_to_predict(predict)
    elsewhere = _elsewhere(predicted, on_machine, ceilings, measured)
    stored = _stored_folders(workloads)
    if stored:
        traced = [row for folder in stored for row in read_traced_rows(folder)]
        _print(traced, as_json, predicted, elsewhere)
        _exit_where_disturbed(traced)
        return
    given = {"modes": _split(mode), "size": size, "cores": threads, "items": items, "launches": launches}
    settings = {"inter": inter} | {key: value for key, value in given.items() if value is not None}
    job = prepare_profile(workloads, output, settings, steps, reproducible_to, full)
    print_notes(job.notes)
    traced = carry_out_profile(job, retry_failed, not no_wait, Progress())
    _print(traced, as_json, predicted, elsewhere)
    _finish(job, traced)


def _finish(job: ProfileJob, traced: Sequence[TracedRow]) -> None:
    """Say what is not reproducible and where the traces are; the status is 1 where nothing quiet could be traced."""
    print_notes(_irreproducible(job, traced))
    print_note(f"traces are in {job.folder}")
    if not any(map(trace_of, traced)):
        raise typer.Exit(1)
    _exit_where_disturbed(traced)


def _exit_where_disturbed(traced: Sequence[TracedRow]) -> None:
    """End with status 1 where too few launches of a profile were quiet."""
    made = profiles(trace for trace in map(trace_of, traced) if trace)
    if any(one.verdict is Verdict.DISTURBED for one in made):
        raise typer.Exit(1)


def _stored_folders(names: Sequence[str]) -> list[Path]:
    """The folders that are to be shown again, if that is what was named; a workload's name is always the workload."""
    are_folders = all(name not in read_catalogue() and Path(name).is_dir() for name in names)
    return [Path(name) for name in names] if are_folders else []


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def threads_to_predict(text: str | None) -> tuple[int, ...]:
    """The numbers of threads that --predict names."""
    if text is None:
        return ()
    try:
        threads = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        threads = (0,)
    if not all(1 <= number <= MOST_THREADS for number in threads):
        raise StudyError(f"--predict {text}: give numbers of threads from 1 to {MOST_THREADS}, such as 8 or 4,8,16")
    return threads


Elsewhere = Callable[[OpEvaluation], OtherMachine]


def _elsewhere(
    threads: Sequence[int], on_machine: Path | None, ceilings: Path | None, measured: Sequence[Path] | None
) -> Elsewhere | None:
    """How to predict another machine, where that is wanted; its options come together."""
    if on_machine is None and ceilings is None and not measured:
        return None
    if on_machine is None or ceilings is None or not threads:
        raise StudyError(
            "a prediction of another machine needs --predict with numbers of threads, --on-machine with its ceilings, "
            "and --ceilings with those of the machine profiled; give all three"
        )
    return partial(predict_on, threads=threads, here=ceilings, there=on_machine, measured=measured or ())


def _irreproducible(job: ProfileJob, traced: Sequence[TracedRow]) -> Iterator[str]:
    for point, most in job.imprecise_points(traced).items():
        by = f"by {100 * most:.1f} points in the share of an op" if isfinite(most) else "by an unknown amount"
        yield (
            f"{point_words(point)}: made again, a profile of so many launches may differ {by}, and "
            f"{job.reproducible_to:g} points were asked for; trace on a quieter machine, or more --steps"
        )


def _print(traced: Sequence[TracedRow], as_json: bool, predict: Sequence[int], elsewhere: Elsewhere | None) -> None:
    """A line per run and a table per point on stdout, then the analysis; on stderr whatever speaks against it."""
    ordered = sorted(traced, key=_order)
    traces = [trace for trace in map(trace_of, ordered) if trace]
    if as_json:
        runs = [trace_facts(one) for one in ordered]
        result = evaluate_ops(traces, predict)
        facts = operations.op_facts(result)
        if elsewhere:
            facts["other_machine"] = operations.elsewhere_facts(elsewhere(result))
        print_json({"profiles": runs, "analysis": facts})
        return
    for number, launches in enumerate(traces_by_point(traces).values()):
        print_lines(*[""] * (number > 0), *map(trace_words, launches))
        print_table(ops_table(*launches))
    _print_analysis(traces, predict, elsewhere)
    print_notes(trace_remarks(ordered))


def _order(traced: TracedRow) -> tuple[str, str, int, int]:
    run = traced.row.run
    return run.point.workload, run.point.mode, run.point.cores, run.launch


def _print_analysis(traces: Sequence[Trace], predict: Sequence[int], elsewhere: Elsewhere | None) -> None:
    """Classes, similarity, stationarity, modes, threads and predictions: those that the traces have."""
    result = evaluate_ops(traces, predict)
    if not result.profiles:
        return
    sections = [operations.profiles_table(result)]
    if len(result.alike) > 1:
        sections.append(operations.shares_table(result))
    if any(profile.purpose_seconds for profile in result.profiles):
        sections.append(operations.purposes_table(result))
    sections += [operations.modes_table(result)] if result.pairs else []
    sections.append(operations.stationarity_table(result))
    sections += [operations.laws_table(scaling) for scaling in result.scalings]
    sections += (
        [operations.held_out_table(result.scalings)] if any(scaling.held_out for scaling in result.scalings) else []
    )
    sections += [operations.predictions_table(result.scalings)] if predict and result.scalings else []
    other = elsewhere(result) if elsewhere else None
    sections += [operations.elsewhere_table(other.predictions)] if other and other.predictions else []
    for table in sections:
        print_lines("")
        print_table(table)
    lines = operations.similarity_lines(result)
    lines += [sentence for scaling in result.scalings for sentence in operations.op_loss_sentences(scaling)]
    if lines:
        print_lines("", *lines)
    for remark in (*operations.op_remarks(result), *(other.refusals if other else ())):
        print_note(remark)
