"""The facts in which the planner of the page looks up answers: quantiles per series and available size."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import accumulate

from scaling.analysis.capacity import end_reason, too_few
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.sizing.levels import level_curves, level_sizes, levels_of
from scaling.analysis.sizing.quantile_tables import (
    ASSURANCE_PROBITS,
    ASSURANCES,
    PROBITS,
    SizeTable,
    StepTable,
    fastest_table,
    size_tables,
)
from scaling.analysis.sizing.question import Goal, MachineTooSmall, ScalingLimits, Status
from scaling.analysis.sizing.sizes import Sizes
from scaling.reporting.capacity import STATUS_WORDS, basis_words, size_levels, sizing_reason_sentence
from scaling.reporting.fits import DESCRIPTION_WORDS
from scaling.reporting.words import estimate_facts
from scaling.results.processes import map_by_processes

# At most this many sizes have quantiles: each takes 30 ms to compute and 2 KB of the page.
MOST_SIZES = 512
# From this number of sizes on, several processes compute them.
MANY_SIZES = 64
# Decimals of log seconds and efficiencies, which are interpolated or rounded to a percent.
DIGITS = 7
_BELOW_ALL = -1e9


def planner_facts(series_limits: Sequence[ScalingLimits], sizes: Sizes | None) -> dict[str, object]:
    """The levels of the quantiles, and every series, with quantiles for the first `MOST_SIZES` sizes."""
    counts = [sum(len(level_sizes(one, sizes)) for one in levels_of(limits.fit)) for limits in series_limits]
    in_full = [total <= MOST_SIZES for total in accumulate(counts)]

    def facts(index: int) -> dict[str, object]:
        limits = series_limits[index]
        if in_full[index]:
            return series_facts(limits, sizes)
        return _identity(limits.fit) | {"refusal": "left out of this page to keep it small; use `scaling capacity`"}

    least = 2 if sum(counts) >= MANY_SIZES else len(counts) + 1
    return {
        "assurances": ASSURANCES,
        "probits": PROBITS.tolist(),
        "assurance_probits": ASSURANCE_PROBITS,
        "series": [*map_by_processes(facts, range(len(counts)), least=least)],
    }


def series_facts(limits: ScalingLimits, sizes: Sizes | None) -> dict[str, object]:
    """The facts of a series that answer every question."""
    fit, curves = limits.fit, level_curves(limits.fit)
    tables = [table for curve in curves for table in size_tables(curve, level_sizes(curve.fit, sizes))]
    tables.sort(key=lambda table: table.size.order)
    # The reason if no available size is enough, by assurance.
    reasons = [too_few(fit, sizes, assurance) for assurance in ASSURANCES]
    status = Status.NOT_REACHABLE if isinstance(reasons[0], MachineTooSmall) else Status.REFUSED
    return _identity(fit) | {
        "refusal": None,
        "work": fit.series.work,
        "recommended": limits.recommended,
        "recommended_threads": limits.threads,
        "most_measured": fit.most_cores,
        "too_few": {"status": STATUS_WORDS[status], "reasons": [sizing_reason_sentence(reason) for reason in reasons]},
        "all_keep": sizing_reason_sentence(end_reason(fit, sizes, tables[-1].size.cores)),
        "sizes": [_size(fit, table) for table in tables],
        "fastest": [_steps(fastest_table(curve)) for curve in curves],
    }


def _identity(fit: SeriesFit) -> dict[str, object]:
    series = fit.series
    return {
        "name": series.name,
        "label": series.sizing_label,
        "unit": series.unit,
        "words": _words(series.unit),
        "described": DESCRIPTION_WORDS[fit.description],
    }


def _words(unit: str) -> dict[str, dict[Goal, str]]:
    """The words for the target of a question (`{}` is its value), its field, and the axis of the curve."""
    step = "step" if unit == "items" else "run"
    rate, seconds = f"{unit}/s", f"seconds per {step}"
    return {
        "target": {
            Goal.THROUGHPUT: f"{{}} {rate}",
            Goal.LATENCY: f"a {step} within {{}}",
            Goal.EFFICIENCY: "an efficiency of {} or more",
            Goal.HOURLY_BUDGET: "{} an hour",
            Goal.CHEAPEST: "the cheapest size",
        },
        "field": {
            Goal.THROUGHPUT: f"{unit} per second",
            Goal.LATENCY: seconds,
            Goal.EFFICIENCY: "efficiency, 0 to 1",
            Goal.HOURLY_BUDGET: "cost per hour",
            Goal.CHEAPEST: "",
        },
        "axis": dict.fromkeys(Goal, rate) | {Goal.LATENCY: seconds, Goal.EFFICIENCY: "efficiency"},
    }


def _size(fit: SeriesFit, table: SizeTable) -> dict[str, object]:
    host, basis = table.size.slowdown(), table.size.basis()
    return {
        "cores": table.size.cores,
        "threads": table.size.threads,
        "basis": basis.grounds.value,
        "own_point_left_out": basis.own_left_out,
        "mark": basis_words(basis),
        "rate": estimate_facts(table.rate),
        "efficiency": estimate_facts(table.efficiency),
        "log_seconds": [
            value if index in ASSURANCE_PROBITS else round(value, DIGITS)
            for index, value in enumerate(table.log_seconds)
        ],
        "replicas": [[round(value, DIGITS) for value in row] for row in table.replicas],
        "crowding": table.crowding,
        "efficiencies": _steps(table.efficiencies),
        "host": None if host is None else asdict(host),
        "levels": size_levels(fit, *table.size.order, table.efficiency),
    }


def _steps(table: StepTable) -> dict[str, object]:
    return {
        "percents": [round(max(value, _BELOW_ALL), DIGITS) for value in table.percents],
        "assurances": [max(value, _BELOW_ALL) for value in table.assurances],
    }
