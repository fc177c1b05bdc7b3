"""Curves as sentences, tables and JSON facts: the answer first, then the figures, then the cautions."""

from collections.abc import Sequence
from math import isinf

from scaling.analysis.curves.fit import (
    Caution,
    ClockUnknown,
    CoresShared,
    CurvePoint,
    Description,
    OneCoreNotMeasured,
    OneLaunchPerCount,
    SeriesFit,
)
from scaling.analysis.curves.laws import Law
from scaling.analysis.estimates import Estimate
from scaling.reporting.words import Table, count, estimate_facts, figure, percent, small, with_interval

DESCRIPTION_WORDS = {
    Description.EXACTLY: "exactly",
    Description.CLOSELY: "closely",
    Description.ROUGHLY: "roughly",
    Description.NOT_AT_ALL: "not at all",
    Description.UNKNOWN: "too few core counts to tell",
}
NO_LIMIT = "no limit"


def fit_sentence(fit: SeriesFit) -> str:
    """What a series turned out to be, in one sentence."""
    parts = [_speedup_words(fit), _law_words(fit), _limit_words(fit), _superlinear_words(fit.superlinear)]
    return f"{fit.series.label}: {'; '.join(filter(None, parts))}"


def _speedup_words(fit: SeriesFit) -> str:
    most = fit.most_cores
    scaled = " (scaled speedup, items grow with cores)" if fit.series.scale == "weak" else ""
    return f"{figure(most)} cores are {with_interval(fit.speedup(most), figure)} times one core{scaled}"


def _law_words(fit: SeriesFit) -> str:
    """The law with its serial fraction, and how well it describes the series."""
    serial = fit.serial_fraction
    if fit.is_short:
        source = "Gustafson's law" if fit.series.scale == "weak" else "Karp-Flatt"
        return f"by {source} a serial fraction of {with_interval(serial, percent)}"
    if serial is None:
        return f"{fit.law.words} describes it {description_words(fit)}"
    return f"{fit.law.words} with {with_interval(serial, percent)} serial describes it {description_words(fit)}"


def description_words(fit: SeriesFit) -> str:
    """'closely, to within 3 %'; 'not at all, 30 % off'."""
    within = fit.described_within
    if within is None:
        return DESCRIPTION_WORDS[Description.UNKNOWN]
    share = f"{100 * within:.1f} %" if within < 0.01 else f"{100 * within:.0f} %"
    if fit.description is Description.NOT_AT_ALL:
        return f"{DESCRIPTION_WORDS[fit.description]}, {share} off"
    return f"{DESCRIPTION_WORDS[fit.description]}, to within {share}"


def _limit_words(fit: SeriesFit) -> str:
    if fit.series.scale == "weak":
        return ""
    limit = fit.speedup_limit
    if isinf(limit.value):
        return f"no limit in sight (at least {figure(limit.low or 0.0)})"
    return f"limit about {with_interval(limit, figure, beyond=NO_LIMIT)}"


def _superlinear_words(point: CurvePoint | None) -> str:
    if point is None:
        return ""
    excess = percent(point.efficiency.value - 1.0)
    cores = figure(point.cores)
    return f"{cores} cores do {excess} more than {cores} times one: caches, or one core was measured too slow"


def caution_sentence(caution: Caution) -> str:
    """What to be careful about with a curve."""
    match caution:
        case CoresShared(counts):
            return f"threads share cores at {', '.join(map(figure, counts))}, which are left out of the curve"
        case ClockUnknown():
            return "no clock was recorded; one that falls with cores would look like a serial fraction"
        case OneCoreNotMeasured(fewest):
            return f"no point on one core can be used; speedup is against the T(1) of the curve, from {fewest:g} up"
        case OneLaunchPerCount():
            return "with one launch per count nothing is known of their noise; intervals rest on 0.8 to 12 %"


def fits_table(fits: Sequence[SeriesFit]) -> Table:
    """Every series with the figures of its curve."""
    rows = [
        (
            fit.series.label,
            *(figure(fit.most_cores), with_interval(fit.speedup(fit.most_cores), figure)),
            with_interval(fit.rate_at_1, figure),
            fit.law.value,
            with_interval(fit.serial_fraction, percent),
            with_interval(fit.coherency, small),
            DESCRIPTION_WORDS[fit.description],
            "" if fit.described_within is None else percent(fit.described_within),
            NO_LIMIT if fit.series.scale == "weak" else with_interval(fit.speedup_limit, figure, beyond=NO_LIMIT),
        )
        for fit in fits
    ]
    headers = ("series", ">cores", ">speedup", ">one core, per s", "law", ">serial fraction", ">coherency")
    table = Table((*headers, "described", ">within", ">limit"), rows)
    return table if any(fit.law is Law.USL for fit in fits) else _without_column(table, 6)


def _without_column(table: Table, index: int) -> Table:
    headers = table.headers[:index] + table.headers[index + 1 :]
    return Table(headers, [row[:index] + row[index + 1 :] for row in table.rows])


def karp_flatt_line(fit: SeriesFit) -> str:
    """The serial fraction that every count of a series means by itself: Karp-Flatt's or, scaled, Gustafson's."""
    values = ", ".join(
        f"{figure(cores)}: {with_interval(fit.karp_flatt(cores), lambda number: f'{number:.3f}')}"
        for cores in fit.counts
        if cores > 1.0
    )
    title = "Gustafson, count by count," if fit.series.scale == "weak" else "Karp-Flatt"
    return f"{fit.series.label}: {title} {values}"


def truth_lines(fit: SeriesFit) -> list[str]:
    """Whether the serial fraction that a workload states of itself was recovered; nothing where it states none."""
    check = fit.truth
    if check is None:
        return []
    where, stated = "inside" if check.inside else "outside", percent(check.serial_fraction)
    found = with_interval(check.found, percent)
    return [f"{fit.series.label}: stated serial fraction {stated}, {where} what deviations from a law allow, {found}"]


def caution_lines(fits: Sequence[SeriesFit]) -> list[str]:
    """What to be careful about, each caution once, with the series it is about unless it is about all."""
    about: dict[str, list[str]] = {}
    for fit in fits:
        for caution in fit.cautions:
            about.setdefault(caution_sentence(caution), []).append(fit.series.label)
    return [
        caution if len(names) == len(fits) else f"{', '.join(names)}: {caution}" for caution, names in about.items()
    ]


def fit_facts(fit: SeriesFit) -> dict[str, object]:
    """A series with its curve, unrounded; rates are in `unit` a second."""
    truth = fit.truth
    return {
        "name": fit.series.name,
        "unit": fit.series.unit,
        "scale": fit.series.scale,
        "measured": [_whole(cores) for cores in fit.counts],
        "launches": list(fit.series.launches),
        "curve": [curve_facts(point) for point in fit.curve],
        "law": fit.law.value,
        "serial_fraction": _optional(fit.serial_fraction),
        "coherency": _optional(fit.coherency),
        "described_within": fit.described_within,
        "description": fit.description.value,
        "limit": estimate_facts(fit.speedup_limit),
        "rate_at_1": estimate_facts(fit.rate_at_1),
        "karp_flatt": [
            {"cores": _whole(cores), **estimate_facts(fit.karp_flatt(cores))} for cores in fit.counts if cores > 1.0
        ],
        "cautions": [caution_sentence(caution) for caution in fit.cautions],
        "caution_codes": [caution.code for caution in fit.cautions],
        "truth": None if truth is None else {"serial_fraction": truth.serial_fraction, "inside": truth.inside},
        "sentence": fit_sentence(fit),
    }


def curve_facts(point: CurvePoint) -> dict[str, object]:
    """A point of a curve."""
    return {
        "cores": _whole(point.cores),
        "speedup": estimate_facts(point.speedup),
        "efficiency": estimate_facts(point.efficiency),
    }


def counts_words(fit: SeriesFit) -> str:
    """Over how many core counts a curve was measured."""
    return count(len(fit.counts), "core count")


def _optional(estimate: Estimate | None) -> dict[str, float | None] | None:
    return None if estimate is None else estimate_facts(estimate)


def _whole(cores: float) -> int | float:
    return int(cores) if cores == int(cores) else cores
