"""Points, comparisons, and the sections of whole processes as tables, sentences and JSON facts."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby

from scaling.analysis.comparison import Backend, BackendComparison, Change, Comparison, Difference, Gate
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Verdict
from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.step_times import SHOWN
from scaling.analysis.summary import PointSelection, Summary
from scaling.errors import grouped
from scaling.reporting.quantities import (
    VERDICT_WORDS,
    between,
    doubt_words,
    ends,
    is_slower,
    quantities,
    slowdown_words,
    step_cell,
    verdict_counts,
)
from scaling.reporting.words import Table, count, duration, point_words, share, span, with_interval
from scaling.results.evaluation import Evaluation, PointSections, SectionsOfRuns, Spread
from scaling.results.store import RowCensus
from scaling.study.axes import AXES, PROGRAM_MODE
from scaling.study.planning import SETTINGS, Point, settings_words

# At most this many machines are named.
MOST_MACHINES = 4

# Values that need no column: a program has no mode, another tool's file no placement, a fixed batch no pipeline.
WITHOUT_COLUMN = (PROGRAM_MODE, "", None)

BACKEND = tuple(name for name, axis in AXES.items() if axis.self_evident and axis.applies == "frameworks")

CHANGE_WORDS = {
    Change.SLOWER: "slower",
    Change.FASTER: "faster",
    Change.NONE_SHOWN: "no difference shown",
    Change.TOO_FEW: "too few launches",
    Change.NOT_COMPARABLE: "not comparable",
    Change.UNKNOWN: "unknown",
}
NORMALISED = ("init", "setup", "run", "main", "wall")
NONE_WHOLE = (
    "INIT and WALL are not known: no run was a process of its own from start to end; measure with "
    'start = "spawn" and design = "apart"'
)


def points_table(points: Sequence[ScalingPoint]) -> Table:
    """The quantities and the verdict of every point."""
    columns = [(quantity, headers) for quantity in quantities() if (headers := quantity.headers(points))]
    rows = [(point.summary.point, [cell for one, _ in columns for cell in one.cells(point)]) for point in points]
    return table_by_point(rows, [header for _, headers in columns for header in headers])


def table_by_point(
    rows: Iterable[tuple[Point, Sequence[str]]], headers: Sequence[str], hidden: Collection[str] = ()
) -> Table:
    """A row per point: its workload, its unusual settings but for `hidden`, its cores and these cells."""
    rows = list(rows)
    unusual = [name for name in unusual_settings([point for point, _ in rows]) if name not in hidden]
    lines = [(*setting_cells(point, unusual), *cells) for point, cells in rows]
    return Table(("workload", *unusual, ">cores", *headers), lines)


def backends_table(comparisons: Sequence[BackendComparison]) -> Table:
    """The step time of every point by backend; slower backends have the ratio to the fastest."""
    backends = sorted({backend for one in comparisons for backend in one.summaries})
    several = [len({backend[part] for backend in backends}) > 1 for part in range(len(BACKEND))]
    names = [" ".join(part for part, varies in zip(one, several, strict=True) if varies) for one in backends]
    rows = [(one.point, [_backend_cell(one, backend) for backend in backends]) for one in comparisons]
    return table_by_point(rows, [f">{name}" for name in names], BACKEND)


def _backend_cell(comparison: BackendComparison, backend: Backend) -> str:
    summary, ratio = comparison.summaries.get(backend), comparison.ratios.get(backend)
    if summary is None or summary.step is None:
        return "-"
    slower = f", × {with_interval(ratio, '{:.2f}'.format)}" if ratio is not None and ratio.value != 1.0 else ""
    return f"{step_cell(summary)}{slower}"


def quota_sentence(points: Iterable[Point]) -> str | None:
    """The number of packs and of points under a CPU quota, which curves leave out; None without any."""
    known = list(points)
    limited, packs = sum(point.quota is not None for point in known), sum(point.replicas > 1 for point in known)
    named = [f"{count(limited, 'point')} under a CPU quota"] if limited else []
    named += [f"{count(packs, 'pack')} of replicas"] if packs else []
    return f"curves leave out {' and '.join(named)}; `scaling show` lists them" if named else None


def quantiles_table(points: Sequence[ScalingPoint]) -> Table:
    """Quantiles and scatter of all steps of every point, disturbed or not, with intervals over launches."""
    names = (f">{'median' if level == 0.5 else f'p{100 * level:g}'}" for level in SHOWN)
    rows = [(point.summary.point, _quantile_cells(point.summary)) for point in points]
    return table_by_point(rows, (">step", *names, ">sd", ">CV", ">steps per launch"))


def _quantile_cells(summary: Summary) -> list[str]:
    deviation, variation = summary.step_figures["sd"], summary.step_figures["cv"]
    return [
        step_cell(summary),
        *(with_interval(summary.step_figures[f"p{100 * level:g}"], duration) for level in SHOWN),
        "-" if deviation is None else duration(deviation.value),
        "-" if variation is None else share(variation.value),
        span(summary.step_counts, "d") if summary.step_counts else "-",
    ]


def point_remarks(points: Iterable[ScalingPoint], of: Collection[Verdict] = tuple(Verdict)) -> list[str]:
    """A sentence for every broken rule with one of these verdicts: the worst point, and the number of others."""
    by_rule: dict[tuple[int, str], list[tuple[float, str]]] = {}
    for point in points:
        name, slowdown = point_words(point.summary.point), point.summary.slowdown
        for doubt in (one for one in point.all_doubts if one.rule.verdict in of):
            remark = abs(doubt.amount), f"{name}: {doubt_words(doubt)}"
            by_rule.setdefault((-doubt.rule.verdict.severity, doubt.rule.code), []).append(remark)
        if slowdown and is_slower(slowdown) and Verdict.OK in of:
            remark = slowdown.p90, f"{name}: {slowdown_words(slowdown)}"
            by_rule.setdefault((1, "host"), []).append(remark)
    groups = [by_rule[key] for key in sorted(by_rule, key=lambda key: key[0])]
    return [
        max(remarks, key=lambda remark: remark[0])[1]
        + (f"; also at {count(len(remarks) - 1, 'other point')}" if len(remarks) > 1 else "")
        for remarks in groups
    ]


def evaluation_notes(evaluation: Evaluation) -> list[str]:
    """Notes on the rows of an evaluation, and on the points that its fits leave out."""
    left_out = filter(None, [left_out_sentence(evaluation.selection)])
    limited = filter(None, [quota_sentence(point.summary.point for point in evaluation.points)])
    folder = evaluation.folder
    notes = [*folder.notes, *census_notes(folder.census), *left_out, *limited]
    return [*notes, *grouped(evaluation.complaints)]


def census_notes(census: RowCensus) -> list[str]:
    """Notes on repeated rows and on rows of different machines."""
    notes = []
    if census.repeated:
        notes.append(f"{count(census.repeated, 'repeated row')} left out (same run and start as another row)")
    if len({machine.fingerprint for machine in census.machines}) > 1:
        named = [
            f"{count(runs, 'run')} on {machine.host} ({machine.cpu_model or machine.arch})"
            for machine, runs in census.machines.most_common(MOST_MACHINES)
        ]
        notes.append(f"the folder has rows from different machines: {', '.join(named)}; use one folder per machine")
    return notes


def left_out_sentence(chosen: PointSelection) -> str | None:
    """The points that fits leave out, and why; None if they use all."""
    taken, left_out = len(chosen.taken), len(chosen.left_out)
    names = Counter(doubt.rule.name for summary in chosen.left_out for doubt in summary.doubts if doubt.rule.spoils)
    verdicts = verdict_counts(summary.verdict for summary in chosen.left_out)
    why = "; ".join(filter(None, [verdicts, ", ".join(name for name, _ in names.most_common(3))]))
    if not left_out:
        return None if taken else "no launch succeeded yet; the verdicts of `scaling show` say why"
    if not taken:
        return f"no usable point among {count(left_out, 'point')} ({why}); run more launches on a quieter host"
    return f"fits leave out {left_out} of {count(taken + left_out, 'point')} ({why})"


def difference_reasons(difference: Difference) -> list[str]:
    """The doubts about either side of a comparison."""
    return [f"{one.side}: {doubt_words(one.doubt)}" for one in difference.doubts]


def too_few_sentence(comparison: Comparison) -> str | None:
    """The number of launches that could show a difference; None if every point has enough."""
    few = [difference for difference in comparison.differences if difference.launches_needed is not None]
    if not few:
        return None
    needed = max(difference.launches_needed or 0 for difference in few)
    made = "per side, in turns" if few[0].pairs is not None else "per side"
    return f"too few launches to rule out chance at {count(len(few), 'point')}; run at least {needed} launches {made}"


def comparison_table(comparison: Comparison) -> Table:
    """Both step times of every shared point, their ratio and the verdict."""
    figures = (">first", ">second", ">second/first", "95 %", ">p, adjusted", ">launches", "verdict")
    return table_by_point(((one.point, _difference(one)) for one in comparison.differences), figures)


def comparison_answer(comparison: Comparison) -> str:
    """The answer in one line."""
    compared = [difference for difference in comparison.differences if difference.comparable]
    left = len(comparison.differences) - len(compared)
    parts = _failed_words(comparison)
    if compared:
        parts.append(_shown_words(compared))
    if left:
        number = f"{left} not comparable" if compared else f"none of {count(left, 'point')} can be compared"
        parts.append(f"{number}: each is disturbed, adjusted or not valid on one side")
    return "; ".join(parts)


def _failed_words(comparison: Comparison) -> list[str]:
    if not comparison.failed:
        return []
    one = comparison.failed[0]
    example = f"{point_words(one.point)}, because {one.failures[0]}"
    return [f"{count(len(comparison.failed), 'point')} failed in the second only, such as {example}"]


def _shown_words(compared: Sequence[Difference]) -> str:
    differing, total = [one for one in compared if one.differs], count(len(compared), "point")
    if not differing:
        few = all(difference.verdict is Change.TOO_FEW for difference in compared)
        return f"too few launches to show a difference in {total}" if few else f"no difference shown in {total}"
    largest = max(differing, key=lambda difference: abs(difference.ratio.value - 1))
    change = f"{abs(largest.ratio.value - 1):.1%} {CHANGE_WORDS[largest.verdict]}"
    in_turns = largest.pairs is not None or not all(launch.witnessed for launch in largest.first.used)
    host = "" if in_turns else "; the host may have changed in between: to rule that out, measure both with `--between`"
    verb = "differs" if len(differing) == 1 else "differ"
    return f"{len(differing)} of {total} {verb}; the largest change: {point_words(largest.point)}, {change}{host}"


def gate_sentence(comparison: Comparison) -> str | None:
    """The outcome of the gate, and by how much the second could be slower; None without a gate."""
    if comparison.gate is None:
        return None
    margin, beyond = f"more than {100 * (comparison.margin or 0.0):g} %", comparison.beyond_margin
    if comparison.gate is Gate.NO_ANSWER:
        return f"gate: no answer: no point could be tested for a slowdown of {margin}"
    if comparison.gate is Gate.FAILED:
        parts = _failed_words(comparison)
        if beyond:
            worst = max(beyond, key=lambda one: one.ratio.value)
            slower = with_interval(worst.ratio, lambda ratio: f"{100 * (ratio - 1):.1f} %")
            points, change = count(len(beyond), "point"), f"{point_words(worst.point)}, {slower}"
            parts += [f"slower by {margin} at {points}; the largest change: {change}"]
        return f"gate: failed: {'; '.join(parts)}"
    reach = max((one.ratio.high or one.ratio.value) - 1 for one in comparison.differences if one.tested)
    return f"gate: passed: no point is shown to be slower by {margin}; intervals reach up to {100 * reach:+.1f} %"


def unusual_settings(points: Sequence[Point]) -> list[str]:
    """The settings that need a column in a table of these points."""
    return [
        name
        for name, setting in SETTINGS.items()
        if {getattr(point, name) for point in points} - {setting.usual, *WITHOUT_COLUMN}
    ]


def setting_cells(point: Point, unusual: Sequence[str]) -> tuple[str, ...]:
    """The cells that name a point: its workload, its unusual settings, and its cores."""
    values = (getattr(point, name) for name in unusual)
    return (point.workload, *("-" if value is None else str(value) for value in values), str(point.cores))


def _difference(difference: Difference) -> list[str]:
    ratio = _ratio(difference)
    return [
        *(step_cell(summary) for summary in (difference.first, difference.second)),
        "-" if ratio is None else f"{ratio.value:.4f}",
        between(ratio, "{:.3f}"),
        "-" if difference.adjusted is None else f"{difference.adjusted:.2g}",
        f"{len(difference.first.used)}/{len(difference.second.used)}"
        if difference.pairs is None
        else count(difference.pairs, "pair"),
        CHANGE_WORDS[difference.verdict],
    ]


def _ratio(difference: Difference) -> Estimate | None:
    """The ratio of a difference; None if the times of a side are bounds only."""
    return difference.ratio if difference.comparable else None


def point_facts(point: ScalingPoint) -> dict[str, object]:
    """A point with its quantities, unrounded."""
    facts = point_settings(point.summary.point)
    for quantity in quantities():
        facts |= quantity.facts(point)
    return facts


def comparison_facts(comparison: Comparison) -> dict[str, object]:
    """A comparison for JSON, unrounded."""
    return {
        "differs": comparison.differs,
        "answer": comparison_answer(comparison),
        "fail_above": comparison.margin,
        "gate": None if comparison.gate is None else comparison.gate.value,
        "points": [
            {**_difference_facts(one), "beyond_margin": one in comparison.beyond_margin}
            for one in comparison.differences
        ],
        "only_first": [point_settings(point) for point in comparison.only_first],
        "only_second": [point_settings(point) for point in comparison.only_second],
        "failed": [{**point_settings(one.point), "failures": list(one.failures)} for one in comparison.failed],
    }


def _difference_facts(difference: Difference) -> dict[str, object]:
    return {
        **point_settings(difference.point),
        "second_point": point_settings(difference.second.point),
        **ends("first_seconds", difference.first.step),
        **ends("second_seconds", difference.second.step),
        **ends("ratio", _ratio(difference)),
        "probability": difference.probability,
        "adjusted_probability": difference.adjusted,
        "margin_probability": difference.beyond_margin,
        "launches": [len(difference.first.used), len(difference.second.used)],
        "pairs": difference.pairs,
        "launches_needed": difference.launches_needed,
        "verdict": CHANGE_WORDS[difference.verdict],
        "verdict_code": difference.verdict.value,
        "reasons": difference_reasons(difference),
        "reason_codes": [one.doubt.rule.code for one in difference.doubts],
        "point_verdict_codes": [difference.first.verdict.value, difference.second.verdict.value],
    }


def point_settings(point: Point) -> dict[str, object]:
    """The settings of a point for JSON; null for settings that another tool's file lacks."""
    values = ((name, getattr(point, name)) for name in point.__dataclass_fields__)
    return {name: None if value == "" else value for name, value in values}


BARS = "▁▂▃▄▅▆▇█"
# A point that was not measured, and one that is disturbed or not valid.
MISSING, DOUBTFUL = " ", "·"


def sparklines_table(points: Sequence[ScalingPoint]) -> Table:
    """A bar per core count for every series of two or more counts; a full bar is an efficiency of 100 % or more."""
    rows = []
    named = varied_backend(points)
    for series, members in groupby(points, key=lambda point: replace(point.summary.point, cores=1)):
        counted = list(members)
        if len(counted) < 2:
            continue
        counts = f"{counted[0].summary.point.cores}–{counted[-1].summary.point.cores} cores"
        name = series_words(series, named)
        rows.append((name, "".join(map(_bar, counted)), counts, _last(counted[-1])))
    return Table(("", "efficiency", "", ""), rows)


def varied_backend(points: Sequence[ScalingPoint]) -> frozenset[str]:
    """Framework and device if they differ among points, so that their default is named too."""
    values = {name: {getattr(point.summary.point, name) for point in points} for name in BACKEND}
    return frozenset(name for name, of_points in values.items() if len(of_points) > 1)


def series_words(point: Point, named: Collection[str] = ()) -> str:
    """A series in words, without the usual placement if it is last, and without the usual backend unless `named`."""
    backend = [value for name in BACKEND if (value := getattr(point, name)) != SETTINGS[name].usual or name in named]
    others = [name for name in SETTINGS if name not in ("mode", "placement", *BACKEND)]
    settings = settings_words(point, others)
    placement = [] if point.placement == SETTINGS["placement"].usual and not settings else [point.placement]
    return " ".join(filter(None, [point.subject, *backend, *placement, *settings]))


def names_among(settings: Collection[Point]) -> dict[Point, str]:
    """The settings of series in words: the workload, and the settings in which the series differ.

    A series without a setting counts as one with its usual value.
    """
    values = {
        name: {setting.usual if (value := getattr(one, name)) is None else value for one in settings}
        for name, setting in SETTINGS.items()
        if name != "mode"
    }
    varied = [name for name, different in values.items() if len(different) > 1]
    return {
        one: " ".join(filter(None, [one.subject, *(SETTINGS[name].words(getattr(one, name)) for name in varied)]))
        for one in settings
    }


def _bar(point: ScalingPoint) -> str:
    if point.efficiency is None:
        return MISSING
    if not point.valid:
        return DOUBTFUL
    return BARS[max(0, min(len(BARS) - 1, int(point.efficiency.value * len(BARS))))]


def _last(point: ScalingPoint) -> str:
    if point.efficiency is None:
        return "not measured"
    return share(point.efficiency.value) + ("" if point.valid else f", {VERDICT_WORDS[point.verdict]}")


def sections_table(sections: SectionsOfRuns) -> Table:
    """The sections of every point over the wall time on the most cores, as medians with their range."""
    named = (f">{name.upper()}" for name in NORMALISED)
    rows = ((one.point, _cells(one)) for one in sections.points)
    return table_by_point(rows, (*named, ">wall", ">start and imports", ">steps", ">launches"))


def _cells(one: PointSections) -> list[str]:
    shares = [_relative(one.normalised[name]) for name in NORMALISED]
    seconds = [duration(one.seconds[name].median) for name in ("wall", "start")]
    return [*shares, *seconds, str(one.steps), str(one.launches)]


def _relative(spread: Spread) -> str:
    if spread.least == spread.most:
        return f"{spread.median:.4f}"
    return f"{spread.median:.4f} ({spread.least:.3f}–{spread.most:.3f})"


def sections_notes(sections: SectionsOfRuns) -> list[str]:
    """The unit of the sections, and the runs without sections."""
    forked = f"left out: {count(sections.forked, 'forked run')}, as a server did their imports, which no section has"
    turns = f"left out: {count(sections.in_turns, 'run')} in turns, as the wall time includes the turns of other runs"
    return [
        "INIT, SETUP, RUN, MAIN and WALL are relative to the wall time of the same workload on the most cores, without "
        "the GPU if that was measured; values are medians over launches with their range",
        *([forked] if sections.forked else []),
        *([turns] if sections.in_turns else []),
    ]


def sections_facts(sections: SectionsOfRuns) -> dict[str, object]:
    """The sections of every point, unrounded, and the number of runs without sections."""
    points = [
        {**_which(one), "seconds": _facts(one.seconds), "normalised": _facts(one.normalised)} for one in sections.points
    ]
    return {"sections": points, "forked": sections.forked, "in_turns": sections.in_turns}


def flat_sections(one: PointSections) -> dict[str, object]:
    """The sections of a point as columns: `init_seconds`, `init_normalised`, and so on."""
    seconds = {f"{name}_seconds": spread.median for name, spread in one.seconds.items()}
    return {**_which(one), **seconds, **{f"{name}_normalised": part.median for name, part in one.normalised.items()}}


def _which(one: PointSections) -> dict[str, object]:
    return {**point_settings(one.point), "launches": one.launches, "steps": one.steps}


def _facts(spreads: Mapping[str, Spread]) -> dict[str, dict[str, float]]:
    return {name: asdict(spread) for name, spread in spreads.items()}
