"""Curves as sentences, tables and JSON facts."""

from collections.abc import Callable, Sequence
from math import isinf
from typing import Any

from rich.cells import cell_len

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
from scaling.analysis.curves.laws import Law, TruthCheck
from scaling.analysis.estimates import Estimate
from scaling.reporting.json_types import ARRAY, ESTIMATE, NUMBER, ONLY, TEXTS, Facts, record
from scaling.reporting.words import Table, estimate_facts, figure, percent, small, text_lines, with_interval

DESCRIPTION_WORDS = {
    Description.EXACTLY: "exactly",
    Description.CLOSELY: "closely",
    Description.ROUGHLY: "roughly",
    Description.NOT_AT_ALL: "not at all",
    Description.UNKNOWN: "too few core counts",
}
NO_LIMIT = "no limit"
UNKNOWN_FRACTION = "its serial fraction is not known to within a factor of 3; run more launches"


def fit_sentence(fit: SeriesFit) -> str:
    """The speedup, the law and the limit of a series in one sentence."""
    parts = [_speedup_words(fit), _law_words(fit), _limit_words(fit), _superlinear_words(fit.superlinear)]
    return f"{fit.series.label}: {'; '.join(filter(None, parts))}"


def serial_sentence(fit: SeriesFit) -> str | None:
    """'vgg train: 5.9 % serial (4.8 % to 7 %), at most 17 times one core (14 to 21)', with what is known of it.

    None if no law describes the series.
    """
    if fit.description is Description.NOT_AT_ALL:
        return None
    serial, limit, parts = fit.serial_fraction, fit.speedup_limit, list[str]()
    if serial is not None and serial.is_answer:
        parts.append(f"{with_interval(serial, percent)} serial")
    if fit.series.scale != "weak" and limit.is_answer:
        parts.append(f"at most {with_interval(limit, figure, beyond=NO_LIMIT)} times one core")
    return f"{fit.series.label}: {', '.join(parts) or UNKNOWN_FRACTION}"


def _speedup_words(fit: SeriesFit) -> str:
    most = fit.most_cores
    scaled = " (scaled speedup, items grow with cores)" if fit.series.scale == "weak" else ""
    return (
        f"on the curve {figure(most)} cores do {with_interval(fit.speedup(most), figure)} times the work of one "
        f"core{scaled}"
    )


def _law_words(fit: SeriesFit) -> str:
    serial = fit.serial_fraction
    if fit.is_short:
        source = "Gustafson's law" if fit.series.scale == "weak" else "Karp-Flatt"
        return f"a serial fraction of {with_interval(serial, percent)} by {source}"
    return law_words(fit, f"a serial fraction of {with_interval(serial, percent)}")


def law_words(fit: SeriesFit, parameters: str) -> str:
    """'Amdahl's law with … describes it closely, to within 3 %'; 'Amdahl's law does not describe it, 30 % off'."""
    if fit.description is Description.NOT_AT_ALL:
        return f"{fit.law.words} does not describe it, {_within_words(fit)} off"
    return f"{fit.law.words} with {parameters} describes it {description_words(fit)}"


def description_words(fit: SeriesFit) -> str:
    """'closely, to within 3 %'; 'not at all, 30 % off'."""
    if fit.described_within is None:
        return DESCRIPTION_WORDS[Description.UNKNOWN]
    if fit.description is Description.NOT_AT_ALL:
        return f"{DESCRIPTION_WORDS[fit.description]}, {_within_words(fit)} off"
    return f"{DESCRIPTION_WORDS[fit.description]}, to within {_within_words(fit)}"


def _within_words(fit: SeriesFit) -> str:
    within = fit.described_within or 0.0
    return f"{100 * within:.1f} %" if within < 0.01 else f"{100 * within:.0f} %"


def _limit_words(fit: SeriesFit) -> str:
    if fit.series.scale == "weak":
        return ""
    limit = fit.speedup_limit
    if isinf(limit.value):
        return f"no limit in sight (at least {figure(limit.low or 0.0)})"
    return f"speedup limit about {with_interval(limit, figure, beyond=NO_LIMIT)}"


def _superlinear_words(point: CurvePoint | None) -> str:
    if point is None:
        return ""
    excess = percent(point.efficiency.value - 1.0)
    cores = figure(point.cores)
    return (
        f"{cores} cores do {excess} more than {cores} times the work of one core: caches help, or the time measured on "
        "one core is too long"
    )


def caution_sentence(caution: Caution) -> str:
    """A caution about a curve."""
    match caution:
        case CoresShared(counts):
            return f"the curve leaves out points on {', '.join(map(figure, counts))} cores: threads share cores there"
        case ClockUnknown():
            return "no clock was recorded; a clock that falls as cores are added would look like a serial fraction"
        case OneCoreNotMeasured(fewest):
            return (
                "no point on one core belongs to the curve; speedup is relative to the curve's time on one core, "
                f"extrapolated from {fewest:g} cores"
            )
        case OneLaunchPerCount():
            return "one launch per core count does not show the noise; intervals assume noise of 0.8 to 12 %"


def fits_table(fits: Sequence[SeriesFit], width: int | None = None) -> Table:
    """The figures of every curve, with the intervals that fit into the width."""
    for bare in range(5):
        table = _fits_table(fits, bare)
        if width is None or max(map(cell_len, text_lines(table))) <= width:
            break
    return table


def _fits_table(fits: Sequence[SeriesFit], bare: int) -> Table:
    """The table without the first `bare` of: intervals of rate, limit and serial fraction; the rate itself."""
    rate, limit, serial = (_value if bare > kept else with_interval for kept in range(3))
    rows = [
        (
            fit.series.label,
            *(figure(fit.most_cores), with_interval(fit.speedup(fit.most_cores), figure)),
            serial(fit.serial_fraction, percent),
            NO_LIMIT if fit.series.scale == "weak" else limit(fit.speedup_limit, figure, beyond=NO_LIMIT),
            *([rate(fit.rate_at_1, figure)] if bare < 4 else []),
            _law_cell(fit),
        )
        for fit in fits
    ]
    rates = [">per s, 1 core"] if bare < 4 else []
    return Table(("curve of", ">cores", ">speedup", ">serial", ">limit", *rates, "law"), rows)


def _value(estimate: Estimate | None, words: Callable[[float], str], beyond: str = "-") -> str:
    return beyond if estimate is None or isinf(estimate.value) else words(estimate.value)


def _law_cell(fit: SeriesFit) -> str:
    """'amdahl ± 8 %': the law, and the largest distance of the curve from it."""
    within = "" if fit.described_within is None else f" ± {_within_words(fit)}"
    coherency = "" if fit.coherency is None else f", coherency {small(fit.coherency.value)}"
    return f"{fit.law.value}{within}{coherency}"


def karp_flatt_line(fit: SeriesFit) -> str:
    """The serial fraction by core count: Karp-Flatt's, or Gustafson's under weak scaling."""
    values = ", ".join(
        f"{figure(cores)}: {with_interval(fit.karp_flatt(cores), lambda number: f'{number:.3f}')}"
        for cores in fit.counts
        if cores > 1.0
    )
    title = "Gustafson" if fit.series.scale == "weak" else "Karp-Flatt"
    return f"{fit.series.label}: {title} {values}"


def truth_lines(fit: SeriesFit) -> list[str]:
    """Whether the fit recovered the serial fraction that a workload states, if it states one."""
    check = fit.truth
    if check is None:
        return []
    side, stated = "inside" if check.inside else "outside", percent(check.serial_fraction)
    fitted = with_interval(check.found, percent)
    return [f"{fit.series.label}: the stated serial fraction, {stated}, is {side} the fitted range, {fitted}"]


def caution_lines(fits: Sequence[SeriesFit]) -> list[str]:
    """Every caution once, with its series unless it is about all of them."""
    about: dict[str, list[str]] = {}
    for fit in fits:
        for caution in fit.cautions:
            about.setdefault(caution_sentence(caution), []).append(fit.series.label)
    return [
        caution if len(names) == len(fits) else f"{', '.join(names)}: {caution}" for caution, names in about.items()
    ]


def _whole(cores: float) -> int | float:
    return int(cores) if cores == int(cores) else cores


CURVE_POINT = Facts[CurvePoint](
    "CurvePoint",
    {
        "cores": (float, lambda point: _whole(point.cores)),
        "speedup": (ESTIMATE, "speedup"),
        "efficiency": (ESTIMATE, "efficiency"),
    },
)
TRUTH = Facts[TruthCheck]("Truth", {"serial_fraction": (float, "serial_fraction"), "inside": (bool | None, "inside")})
_WITH_CURVE: dict[str, tuple[Any, str | Callable[[SeriesFit], object]]] = {
    "name": (str, "series.name"),
    "unit": (str, "series.unit"),
    "scale": (ONLY["strong", "weak"], "series.scale"),
    "measured": (ARRAY[float], lambda fit: [_whole(cores) for cores in fit.counts]),
    "launches": (ARRAY[int], lambda fit: list(fit.series.launches)),
    "curve": (ARRAY[CURVE_POINT.record], lambda fit: [*map(CURVE_POINT.of, fit.curve)]),
    "law": (Law, "law"),
    "serial_fraction": (ESTIMATE | None, "serial_fraction"),
    "coherency": (ESTIMATE | None, "coherency"),
    "described_within": (NUMBER, "described_within"),
    "description": (Description, "description"),
    "limit": (ESTIMATE, "speedup_limit"),
    "rate_at_1": (ESTIMATE, "rate_at_1"),
    "karp_flatt": (
        ARRAY[record("KarpFlatt", cores=float, value=NUMBER, low=NUMBER, high=NUMBER)],
        lambda fit: [{"cores": _whole(n), **estimate_facts(fit.karp_flatt(n))} for n in fit.counts if n > 1.0],
    ),
    "cautions": (TEXTS, lambda fit: [caution_sentence(caution) for caution in fit.cautions]),
    "caution_codes": (TEXTS, lambda fit: [caution.code for caution in fit.cautions]),
    "truth": (TRUTH.record | None, lambda fit: fit.truth and TRUTH.of(fit.truth)),
    "sentence": (str, fit_sentence),
}
# A series, unrounded; rates are in `unit` per second. The page leaves out the curve to stay small.
SERIES = Facts("SeriesFit", _WITH_CURVE)
SERIES_ON_PAGE = Facts("SeriesFit", {key: value for key, value in _WITH_CURVE.items() if key != "curve"})
fit_facts = SERIES.of
