"""`scaling show`: the answer and every point."""

import sys
from collections.abc import Callable
from itertools import chain
from typing import Annotated

from typer import Option

from scaling.analysis.comparison import compare_backends
from scaling.analysis.rules import Verdict
from scaling.api.results import Results, load
from scaling.api.sources import Source as OneSource
from scaling.cli.options import Columns, CoresFrom, Json, Source, Verbose, Where, parse_columns
from scaling.cli.printing import (
    MOST_NOTES,
    print_answers,
    print_json,
    print_lines,
    print_most_important,
    print_notes,
    print_table,
)
from scaling.errors import FitError, grouped
from scaling.features import Beside, Standings, features, node_types_at, resolve
from scaling.reporting.answers import study_answer_facts, study_answers
from scaling.reporting.fits import fit_sentence, serial_sentence
from scaling.reporting.losses import loss_sentences, losses_table, not_counted_sentence, not_decomposed_sentence
from scaling.reporting.points import (
    backends_table,
    point_facts,
    point_remarks,
    points_table,
    quantiles_table,
    sections_facts,
    sections_notes,
    sections_table,
    sparklines_table,
)
from scaling.results.evaluation import Evaluation

# At most this many series are fitted.
MOST_SERIES = 20


def show(
    source: Source,
    why: Annotated[bool, Option("--why", help="Causes of lost efficiency at every point, and peak memory.")] = False,
    quantiles: Annotated[bool, Option("--quantiles", help="Median, p95, p99, sd and CV of step times.")] = False,
    sections: Annotated[
        bool,
        Option(
            "--sections",
            help="INIT, SETUP, RUN, MAIN and WALL times of whole processes, relative to WALL on the most cores.",
        ),
    ] = False,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    where: Where = "",
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Show the answer, then every point: step time, speedup and efficiency, with intervals and verdicts.

    Notes list problems with points; -v adds the law of every series and the causes of lost efficiency.
    --why shows these causes, --quantiles the distribution of step times, and --sections the wall time of whole
    processes by section.

    Example: scaling show results/quick
    """
    views: dict[str, Callable[[OneSource], None]] = {
        "--why": _print_losses,
        "--quantiles": _print_quantiles,
        "--sections": _print_sections,
    }
    chosen = [view for view, given in zip(views, (why, quantiles, sections), strict=True) if given]
    if len(chosen) > 1:
        raise FitError(f"{' and '.join(chosen)} are separate tables; choose one")
    several = node_types_at(source)
    standings: Standings | None = resolve(several.standings)(source) if several else None
    if standings and not standings.has_rows:
        _print_standings(standings, as_json)
        return
    results = load(source, cores_from=cores_from, columns=parse_columns(columns)).where(where)
    if as_json:
        print_json({**(standings.facts if standings and not sections else {}), **_facts(results, sections)})
        return
    if standings and (verbose or not standings.is_complete):
        _print_standings(standings, as_json)
    print_points(results, verbose, views[chosen[0]] if chosen else None)


def print_points(
    results: Results, verbose: bool = False, print_source: Callable[[OneSource], None] | None = None
) -> None:
    """Print answers and points, or another view, for every node type."""
    for source in results.sources:
        if source.node_type:
            models = " and ".join(sorted(set(source.machines.values())))
            print_lines(f"{source.node_type}, {models}, on {', '.join(sorted(source.machines))}:")
        if print_source is None:
            _print_source(source, verbose)
        else:
            print_source(source)
        if beside := _beside(results, source):
            if beside.sentences:
                print_lines("", *beside.sentences)
                print_table(beside.table)
            print_lines("")


def _print_standings(standings: Standings, as_json: bool) -> None:
    if as_json:
        print_json({**standings.facts, "node_types": []})
        return
    for table in standings.tables:
        print_table(table)
        print_lines("")
    print_notes(standings.sentences)


def _beside(results: Results, source: OneSource) -> Beside | None:
    """The additions of a feature to the points of a node type."""
    several = node_types_at(results.path)
    return None if several is None else resolve(several.beside_points)(source)


def _print_source(source: OneSource, verbose: bool) -> None:
    """Print answers and points on stdout, and notes on stderr, the gravest first."""
    result, points = source.glance(MOST_SERIES), source.points
    answers = [answer.sentence for answer in study_answers(result)]
    serial = [serial_sentence(limits.fit) for limits in result.limits]
    print_answers(answers, verbose, [sentence for sentence in serial if sentence])
    if verbose and sys.stdout.isatty():
        print_table(sparklines_table(points))
        print_lines("")
    print_table(points_table(points))
    backends = compare_backends(point.summary for point in points)
    if backends:
        print_lines("", "step times side by side, and as multiples of the fastest:")
        print_table(backends_table(backends))
    worst = [verdict for verdict in Verdict if verdict is not Verdict.OK]
    explanations = [sentence for sentence in _explanations(result) if sentence not in answers]
    notes = [*source.notes, *point_remarks(points, worst), *grouped(result.complaints), *explanations]
    cautions = point_remarks(points, [Verdict.OK])
    named = [f"{source.node_type}: {note}" if source.node_type else note for note in (*notes, *cautions)]
    print_most_important(named, verbose, min(MOST_NOTES, len(notes)))


def _explanations(result: Evaluation) -> list[str]:
    """The causes of lost efficiency, the sentences of features, and the law of every series."""
    of_features = (resolve(function)(result.summaries) for feature in features() for function in feature.sentences)
    return [*loss_sentences(result.points), *chain.from_iterable(of_features), *map(fit_sentence, result.fits)]


def _print_losses(source: OneSource) -> None:
    print_table(losses_table(source.points))
    unknown = not_decomposed_sentence(source.points), not_counted_sentence(source.points)
    print_notes(filter(None, [*source.notes, *unknown]))


def _print_quantiles(source: OneSource) -> None:
    print_table(quantiles_table(source.points))
    print_notes(source.notes)


def _print_sections(source: OneSource) -> None:
    print_table(sections_table(source.sections))
    print_notes([*source.notes, *sections_notes(source.sections)])


def _facts(results: Results, sections: bool) -> dict[str, object]:
    facts = [sections_facts(one.sections) if sections else _points(results, one) for one in results.sources]
    if not results.has_node_types:
        return facts[0]
    names = [source.node_type for source in results.sources]
    return {"node_types": [{"node_type": name, **own} for name, own in zip(names, facts, strict=True)]}


def _points(results: Results, source: OneSource) -> dict[str, object]:
    beside = _beside(results, source)
    return {
        "answers": [study_answer_facts(answer) for answer in study_answers(source.glance(MOST_SERIES))],
        "points": [point_facts(point) for point in source.points],
        **(beside.facts if beside else {}),
    }
