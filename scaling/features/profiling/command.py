"""`scaling profile`: trace the operations of networks."""

from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.rules import Verdict
from scaling.analysis.traces import traces_by_point
from scaling.cli.measuring import Progress
from scaling.cli.options import Full, Json, NoWait, RetryFailed, refuse_idle
from scaling.cli.printing import print_json, print_lines, print_note, print_notes, print_table
from scaling.errors import StoreError, StudyError
from scaling.features.profiling import report
from scaling.features.profiling.evaluation import OpEvaluation, evaluate_ops
from scaling.features.profiling.library import (
    TRACED_STEPS,
    ProfileJob,
    carry_out_profile,
    prepare_profile,
    read_machines,
)
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
    typer.Argument(metavar="WORKLOAD...", help="Networks, one study such as fathom, or folders to show again."),
]
Mode = Annotated[str | None, typer.Option(metavar="train|infer", help="Mode, or train,infer for both.")]
Size = Annotated[str | None, typer.Option(metavar="published|small", help="Size of the networks; default: published.")]
ThreadCounts = Annotated[
    str | None, typer.Option(metavar="LIST", help="Numbers of intra-op threads, one per core, such as 1,2,4 or 1-8.")
]
Inter = Annotated[
    int | None,
    typer.Option(metavar="N", help="Inter-op threads: how many ops may run at the same time; default: 1."),
]
Items = Annotated[int | None, typer.Option(metavar="N", help="Items per step; default: the workload's own.")]
Steps = Annotated[
    int | None,
    typer.Option(
        metavar="N", help=f"Number of steps to trace; the first and the last are dropped; default: {TRACED_STEPS}."
    ),
]
Launches = Annotated[int | None, typer.Option(metavar="N", help="Number of processes to trace at each point.")]
ReproducibleTo = Annotated[
    float | None,
    typer.Option(
        metavar="POINTS",
        help="Trace more processes until a repeated profile changes no share by POINTS percentage points or more.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help=f"Results folder; stored runs are not repeated; default: {DEFAULT_FOLDER}.",
    ),
]
Predict = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Predict the step time on these numbers of threads, such as 8,16."),
]
OnMachine = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Predict the step time on another machine from its ceilings in this folder; needs --ceilings.",
    ),
]
CeilingsHere = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The ceilings of the profiled machine: a folder of `scaling sweep ceilings`."),
]
MeasuredThere = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR",
        help="Folder with profiles or rows of the other machine, compared with the prediction; may be repeated.",
    ),
]


def profile(
    workloads: Workloads,
    mode: Mode = None,
    size: Size = None,
    threads: ThreadCounts = None,
    inter: Inter = None,
    items: Items = None,
    steps: Steps = None,
    launches: Launches = None,
    reproducible_to: ReproducibleTo = None,
    output: Output = None,
    no_wait: NoWait = False,
    retry_failed: RetryFailed = False,
    predict: Predict = None,
    on_machine: OnMachine = None,
    ceilings: CeilingsHere = None,
    measured: MeasuredThere = None,
    full: Full = False,
    as_json: Json = False,
) -> None:
    """Trace the operations of networks: the time of each type in a step, and the time between operations.

    With several networks, modes or numbers of threads, the output compares them and names the ops that limit scaling.
    --predict adds the step time on more threads, --on-machine the step time on another machine. The status is 1 if a
    profile has too few quiet launches.

    Example: scaling profile alexnet memnet --threads 1,2 --size small
    """
    predicted = threads_to_predict(predict)
    elsewhere = _elsewhere(predicted, on_machine, ceilings, measured)
    if all(name not in read_catalogue() and Path(name).is_dir() for name in workloads):
        refuse_idle(
            "for stored profiles",
            mode=mode,
            size=size,
            threads=threads,
            inter=inter,
            items=items,
            steps=steps,
            launches=launches,
            reproducible_to=reproducible_to,
            output=output,
            no_wait=no_wait,
            retry_failed=retry_failed,
            full=full,
        )
        traced = [row for name in workloads for row in read_traced_rows(Path(name))]
        if len({row.row.machine.fingerprint for row in traced}) > 1:
            raise StoreError(
                f"{', '.join(workloads)}: profiles of several machines cannot be combined; show each machine by itself"
            )
        _print(traced, as_json, predicted, elsewhere)
    else:
        given = {"modes": _split(mode), "size": size, "cores": threads, "items": items, "launches": launches}
        settings = {"inter": 1 if inter is None else inter} | {
            key: value for key, value in given.items() if value is not None
        }
        traced_steps = TRACED_STEPS if steps is None else steps
        job = prepare_profile(workloads, output or DEFAULT_FOLDER, settings, traced_steps, reproducible_to, full)
        print_notes(job.notes)
        traced = carry_out_profile(job, retry_failed, not no_wait, Progress())
        _print(traced, as_json, predicted, elsewhere)
        print_notes(_irreproducible(job, traced))
        print_note(f"traces are in {job.folder}")
        if not any(map(trace_of, traced)):
            raise typer.Exit(1)
    made = profiles(trace for trace in map(trace_of, traced) if trace)
    if any(profile.verdict is Verdict.DISTURBED for profile in made):
        raise typer.Exit(1)


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def threads_to_predict(text: str | None) -> tuple[int, ...]:
    """The numbers of threads in --predict."""
    if text is None:
        return ()
    try:
        threads = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        threads = (0,)
    if not all(1 <= number <= MOST_THREADS for number in threads):
        raise StudyError(f"--predict {text}: use numbers of threads from 1 to {MOST_THREADS}, such as 8 or 4,8,16")
    return threads


Elsewhere = Callable[[OpEvaluation], OtherMachine]


def _elsewhere(
    threads: Sequence[int], on_machine: Path | None, ceilings: Path | None, measured: Sequence[Path] | None
) -> Elsewhere | None:
    """The function that predicts another machine, if the options ask for it; they must come together."""
    if on_machine is None and ceilings is None and not measured:
        return None
    if on_machine is None or ceilings is None or not threads:
        raise StudyError(
            "to predict another machine, use --predict with numbers of threads, --on-machine with its ceilings, and "
            "--ceilings with the ceilings of the profiled machine"
        )
    return lambda result: predict_on(result, threads, *read_machines(ceilings, on_machine, measured or ()))


def _irreproducible(job: ProfileJob, traced: Sequence[TracedRow]) -> list[str]:
    differences = {
        point: f"by {100 * most:.1f} percentage points in an op's share" if isfinite(most) else "by an unknown amount"
        for point, most in job.imprecise_points(traced).items()
    }
    return [
        f"{point_words(point)}: not reproducible to {job.reproducible_to:g} percentage points: a repeated profile may "
        f"differ {by}"
        "; trace on a quieter machine or use more --steps"
        for point, by in differences.items()
    ]


def _print(traced: Sequence[TracedRow], as_json: bool, predict: Sequence[int], elsewhere: Elsewhere | None) -> None:
    """Print a line per run and a table per point, then the analysis; remarks go to stderr."""
    ordered = sorted(traced, key=_order)
    traces = [trace for trace in map(trace_of, ordered) if trace]
    result = evaluate_ops(traces, predict)
    other = elsewhere(result) if elsewhere and (as_json or result.profiles) else None
    if as_json:
        facts = report.op_facts(result) | ({"other_machine": report.elsewhere_facts(other)} if other else {})
        print_json({"profiles": [trace_facts(run) for run in ordered], "analysis": facts})
        return
    for number, launches in enumerate(traces_by_point(traces).values()):
        print_lines(*[""] * (number > 0), *map(trace_words, launches))
        print_table(ops_table(*launches))
    if result.profiles:
        _print_analysis(result, other)
    print_notes(trace_remarks(ordered))


def _order(traced: TracedRow) -> tuple[str, str, int, int]:
    run = traced.row.run
    return run.point.workload, run.point.mode, run.point.cores, run.launch


def _print_analysis(result: OpEvaluation, other: OtherMachine | None) -> None:
    """Print classes, similarity, stationarity, modes, threads and predictions, if the traces have them."""
    sections = [report.profiles_table(result)]
    sections += [report.shares_table(result)] if len(result.alike) > 1 else []
    sections += [report.purposes_table(result)] if any(one.purpose_seconds for one in result.profiles) else []
    sections += [report.modes_table(result)] if result.pairs else []
    sections.append(report.stationarity_table(result))
    sections += map(report.laws_table, result.scalings)
    sections += [report.held_out_table(result.scalings)] if any(one.held_out for one in result.scalings) else []
    sections += [report.predictions_table(result.scalings)] if any(one.predictions for one in result.scalings) else []
    sections += [report.elsewhere_table(other.predictions)] if other and other.predictions else []
    for table in sections:
        print_lines("")
        print_table(table)
    lines = report.similarity_lines(result)
    lines += [sentence for scaling in result.scalings for sentence in report.op_loss_sentences(scaling)]
    if lines:
        print_lines("", *lines)
    for remark in (*report.op_remarks(result), *(other.refusals if other else ())):
        print_note(remark)
