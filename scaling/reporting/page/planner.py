"""The facts that the page's planner looks its answers up in: quantiles per series and available size."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from scaling.analysis.capacity import (
    DRAWS,
    available_sizes,
    end_reason,
    range_reasons,
    refusal,
    too_few,
)
from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.host_level import slowdown_at
from scaling.analysis.fitting import SeriesFit
from scaling.analysis.sizing.quantile_tables import (
    ASSURANCE_PROBITS,
    ASSURANCES,
    PROBITS,
    SizeTable,
    StepTable,
    all_threads_table,
    fastest_table,
    size_tables,
)
from scaling.analysis.sizing.question import Goal, MachineTooSmall, ScalingLimits, Status
from scaling.analysis.sizing.sizes import Sizes
from scaling.reporting.capacity import STATUS_WORDS, size_levels, sizing_reason_sentence, sizing_reasons_sentence
from scaling.reporting.fits import VERDICT_WORDS

# Quantiles beyond so many characters are left out: a page that opens matters more than a planner for every series.
MOST_CHARACTERS = 1_000_000
# A size takes at least so many of them, by which it is known beforehand that there is no room for a series.
LEAST_PER_SIZE = 1_500
# Digits after the point of log seconds and efficiencies that are interpolated or rounded to a percent.
DIGITS = 8
_BELOW_ALL = -1e9


def planner_facts(series_limits: Sequence[ScalingLimits], sizes: Sizes | None) -> dict[str, object]:
    """The levels of the quantiles, and every series, in full while the page stays small."""
    series, characters = [], 0
    for limits in series_limits:
        # Nothing is computed that there is no room for: a series of many sizes takes seconds.
        least = characters + LEAST_PER_SIZE * len(available_sizes(limits.fit, sizes))
        facts = series_facts(limits, sizes) if least <= MOST_CHARACTERS else _without_sizes(limits.fit)
        characters += len(json.dumps(facts))
        series.append(facts if characters <= MOST_CHARACTERS else _without_sizes(limits.fit))
    return {
        "assurances": ASSURANCES,
        "probits": PROBITS.tolist(),
        "assurance_probits": ASSURANCE_PROBITS,
        "series": series,
    }


def series_facts(limits: ScalingLimits, sizes: Sizes | None) -> dict[str, object]:
    """All that a question to a series needs; where none is answered, only why."""
    fit = limits.fit
    if refusal(fit):
        return _without_sizes(fit)
    draws, counts = fit.draws(DRAWS), available_sizes(fit, sizes)
    shared = _threads_of_all_cores(fit, sizes, counts)
    return _identity(fit) | {
        "refusal": None,
        "work": fit.series.work,
        "recommended": limits.recommended,
        "most_measured": fit.most_cores,
        "only_measured": sizing_reasons_sentence(range_reasons(fit)),
        "too_few": _too_few(fit, sizes),
        "all_keep": sizing_reasons_sentence((*range_reasons(fit), end_reason(fit, sizes, counts[-1]))),
        "sizes": [_size(fit, table) for table in size_tables(fit, draws, counts)],
        "all_threads": _size(fit, all_threads_table(fit, draws, counts[-1], shared)) if shared else None,
        "fastest": _steps(fastest_table(fit, draws)),
    }


def _without_sizes(fit: SeriesFit) -> dict[str, object]:
    """A series that the planner has no answers for: because there are none, or no room for them."""
    why_not = refusal(fit)
    no_room = "left out of this page to keep it small; use `scaling capacity`"
    return _identity(fit) | {"refusal": sizing_reason_sentence(why_not) if why_not else no_room}


def _identity(fit: SeriesFit) -> dict[str, object]:
    series = fit.series
    return {
        "name": series.name,
        "label": series.label,
        "unit": series.unit,
        "words": _words(series.unit),
        "verdict": VERDICT_WORDS[fit.verdict],
    }


def _too_few(fit: SeriesFit, sizes: Sizes | None) -> dict[str, object]:
    """What is said where no available size is enough, one sentence per assurance."""
    limits = [too_few(fit, sizes, assurance) for assurance in ASSURANCES]
    status = Status.NOT_REACHABLE if isinstance(limits[0], MachineTooSmall) else Status.REFUSED
    return {"status": STATUS_WORDS[status], "reasons": [sizing_reason_sentence(limit) for limit in limits]}


def _words(unit: str) -> dict[str, dict[Goal, str]]:
    """What a series calls the target of a question (`{}` is its value), the field for it, and the axis of the curve."""
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


def _threads_of_all_cores(fit: SeriesFit, sizes: Sizes | None, counts: Sequence[int]) -> int | None:
    """How many threads each core has, where the fit knows what they yield and the whole machine is available."""
    known = fit.chosen.figures.smt_yield is not None
    whole = sizes is not None and sizes.threads > 1 and counts[-1:] == sizes.counts[-1:]
    return sizes.threads if known and whole and sizes is not None else None


def _size(fit: SeriesFit, table: SizeTable) -> dict[str, object]:
    host = slowdown_at(fit.series.host, float(table.cores * table.threads))
    value, low, high = table.efficiency
    return {
        "cores": table.cores,
        "threads": table.threads,
        "rate": _interval(table.rate),
        "efficiency": _interval(table.efficiency),
        "log_seconds": [
            value if index in ASSURANCE_PROBITS else round(value, DIGITS)
            for index, value in enumerate(table.log_seconds)
        ],
        "replicas": [[round(value, DIGITS) for value in row] for row in table.replicas],
        "efficiencies": _steps(table.efficiencies),
        "host": None if host is None else asdict(host),
        "levels": size_levels(fit, table.cores, table.threads, Estimate(value, low, high)),
    }


def _interval(values: Sequence[float]) -> dict[str, float]:
    return dict(zip(("value", "low", "high"), values, strict=True))


def _steps(table: StepTable) -> dict[str, object]:
    return {
        "percents": [round(max(value, _BELOW_ALL), DIGITS) for value in table.percents],
        "assurances": [max(value, _BELOW_ALL) for value in table.assurances],
    }
