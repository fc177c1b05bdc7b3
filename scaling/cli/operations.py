"""What traces tell, printed: the part of `scaling profile` that comes after the runs themselves."""

from collections.abc import Sequence

from scaling.analysis.ops.traces import Trace
from scaling.cli.printing import print_note, print_table
from scaling.errors import StudyError

MOST_THREADS = 4096


def threads_to_predict(text: str | None) -> tuple[int, ...]:
    """The numbers of threads that --predict names."""
    if text is None:
        return ()
    try:
        found = tuple(dict.fromkeys(int(each) for each in text.split(",")))
    except ValueError:
        found = (0,)
    if not all(1 <= each <= MOST_THREADS for each in found):
        raise StudyError(f"--predict {text}: give numbers of threads from 1 to {MOST_THREADS}, such as 8 or 4,8,16")
    return found


def analysis_facts(traces: Sequence[Trace], predict: Sequence[int]) -> dict[str, object]:
    """Everything the traces tell, for scripts."""
    # Array libraries take a second to import, which no other command should pay for.
    from scaling.reporting.operations import op_facts
    from scaling.results.op_evaluation import evaluate_ops

    return op_facts(evaluate_ops(traces, predict))


def print_analysis(traces: Sequence[Trace], predict: Sequence[int]) -> None:
    """Classes, likeness, steadiness, modes, threads and predictions: each where there is something to tell."""
    from scaling.reporting import operations as shown
    from scaling.results.op_evaluation import evaluate_ops

    result = evaluate_ops(traces, predict)
    if not result.profiles:
        return
    sections = [shown.profiles_table(result)]
    if len(result.alike) > 1:
        sections.append(shown.shares_table(result))
    sections += [shown.modes_table(result)] if result.pairs else []
    sections.append(shown.steadiness_table(result))
    sections += [shown.laws_table(each) for each in result.scalings]
    sections += [shown.held_out_table(result.scalings)] if any(each.held_out for each in result.scalings) else []
    sections += [shown.predictions_table(result.scalings)] if predict and result.scalings else []
    for table in sections:
        print()
        print_table(table)
    lines = shown.likeness_lines(result)
    lines += [shown.loss_sentence(each.name, found) for each in result.scalings for found in each.losses]
    if lines:
        print("", *lines, sep="\n")
    for remark in shown.op_remarks(result):
        print_note(remark)
