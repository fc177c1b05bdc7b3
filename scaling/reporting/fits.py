"""Fits as tables, sentences and JSON facts: the answer first, then the figures, then the cautions."""

from collections.abc import Sequence
from math import isinf

from scaling.analysis.estimates import Estimate, finite
from scaling.analysis.fits.karp_flatt import KarpFlatt
from scaling.analysis.fits.lack_of_fit import Misfit
from scaling.analysis.fits.verdict import (
    LEAST_CORES,
    LEAST_COUNTS,
    Caution,
    ClockUnknown,
    CorrelatedParameters,
    LackOfFit,
    MoreThanItsShare,
    NegativeCoherency,
    OneCoreDiffers,
    OneCoreNotMeasured,
    OneLaunchPerCount,
    SmtYieldUnknown,
    TooFewCores,
    TooFewCounts,
    UncertainPeak,
    VagueGain,
    VagueLimits,
    Verdict,
    VerdictReason,
)
from scaling.analysis.fitting import LawFigures, SeriesFit
from scaling.analysis.laws import Scale, scaled_speedup, speedup
from scaling.analysis.sizing.reached import at_least, speedup_reached
from scaling.reporting.words import Table, estimate_facts, figure, percent, small, with_interval

# A peak beyond so many times the cores measured is out of reach.
REACH = 4.0
VERDICT_WORDS = {
    Verdict.OK: "ok",
    Verdict.NOT_IDENTIFIABLE: "not identifiable",
    Verdict.NO_LAW_FITS: "no law fits",
    Verdict.SUPERLINEAR: "superlinear",
}
NO_INTERVAL = "nothing is left to judge noise by, so no interval can be given"


def fit_sentence(fit: SeriesFit) -> str:
    """What a series turned out to be, in one sentence."""
    name, verdict = fit.series.label, fit.verdict
    if verdict is Verdict.OK:
        return f"{name}: {_law_sentence(fit)}"
    known = f"; {_best_known(fit)}" if verdict is Verdict.NOT_IDENTIFIABLE else ""
    return f"{name}: {VERDICT_WORDS[verdict]}: {reasons_sentence(fit.reasons)}{known}"


def fit_sentences(fits: Sequence[SeriesFit]) -> list[str]:
    """What every series turned out to be; why there is no law is said once for all that have too few core counts."""
    long = [fit_sentence(fit) for fit in fits if not fit.is_short]
    return [*long, *short_series_sentences([fit for fit in fits if fit.is_short])]


def short_series_sentences(fits: Sequence[SeriesFit]) -> list[str]:
    """Why series with too few core counts have no law, once for each set of counts, and what each shows without."""
    by_counts: dict[tuple[float, ...], list[SeriesFit]] = {}
    for fit in fits:
        by_counts.setdefault(tuple(sorted(set(fit.series.cores))), []).append(fit)
    return [
        sentence
        for counts, members in by_counts.items()
        for sentence in (
            _too_short(counts, len(members)),
            *(f"  {fit.series.label}: {_best_known(fit)}{_truth_words(fit)}" for fit in members),
        )
    ]


def _too_short(counts: Sequence[float], series: int) -> str:
    *fewer, most = map(figure, counts)
    return (
        f"no law can be told of {series} series with points that can be used on {', '.join(fewer)} and {most} cores: "
        f"a law needs at least {LEAST_COUNTS} core counts, up to {LEAST_CORES:g} cores or more; without a law:"
    )


def reasons_sentence(reasons: Sequence[VerdictReason]) -> str:
    """Why a fit has its verdict."""
    return "; ".join(map(reason_sentence, reasons))


def reason_sentence(reason: VerdictReason) -> str:
    """One reason for a verdict."""
    match reason:
        case TooFewCounts(counts, least):
            return f"only {counts} core counts have points that can be used; {least} are needed to distinguish laws"
        case TooFewCores(most, least_cores):
            return f"no point that can be used has more than {most:g} cores; a law needs {least_cores:g} or more"
        case MoreThanItsShare():
            return _superlinear_words(reason)
        case LackOfFit(misfit):
            return _misfit_words(misfit)
        case VagueLimits(contention, peak):
            limits = [_limit_words(contention, reason.factor)]
            return ", and ".join(limits if peak is None else [*limits, _peak_limit_words(peak, reason.factor)])
        case VagueGain(contention):
            return _gain_words(contention, reason.factor)
        case CorrelatedParameters(correlation):
            return f"T(1) and the serial fraction cannot be distinguished (correlation {correlation:.3f})"
        case UncertainPeak(amdahl_weight):
            return (
                "the law with a peak fits best, but the one without is not excluded "
                f"(Akaike weight {percent(amdahl_weight)})"
            )


def _superlinear_words(reason: MoreThanItsShare) -> str:
    free = reason.parameter
    baseline = "1 core" if reason.baseline == 1 else f"{reason.baseline:g} cores"
    left_free = f", and the {free.name}, left free, is {free.value:.3g} ± {free.stderr:.1g}" if free else ""
    return (
        f"{reason.cores:g} cores did {100 * reason.excess:.1f} % more than their share{left_free}: superlinear "
        f"(caches?) or the measurement on {baseline} is too slow"
    )


def _misfit_words(misfit: Misfit) -> str:
    share = f"{100 * misfit.excess:.1f} %"
    if misfit.pure:
        return f"the best law misses the measured means by {share} beyond their noise (p = {misfit.p:.1g})"
    pattern = "" if misfit.p is None or misfit.p >= 0.01 else f", in a pattern (p = {misfit.p:.1g})"
    return (
        f"the best law misses the measured values by {share}{pattern}; with one value per count this rests on the "
        "residuals alone"
    )


def _limit_words(contention: Estimate, factor: float) -> str:
    if contention.low is None or contention.high is None:
        return NO_INTERVAL
    most = "without limit" if contention.low <= 0.0 else f"{1 / contention.low:.4g}"
    least = f"{1 / contention.high:.4g}" if contention.high > 0.0 else "any"
    return f"the limit 1/s lies anywhere from {least} to {most}, more than a factor of {factor:g}"


def _gain_words(contention: Estimate, factor: float) -> str:
    if contention.low is None or contention.high is None:
        return NO_INTERVAL
    least, most = percent(1.0 - contention.high), percent(1.0 - contention.low)
    return f"a further core adds anything from {least} to {most} of one core, more than a factor of {factor:g}"


def _peak_limit_words(peak: Estimate, factor: float) -> str:
    if peak.low is None:
        return NO_INTERVAL
    most = "without limit" if finite(peak.high) is None else f"{peak.high:.3g}"
    return f"the peak lies anywhere from {peak.low:.3g} to {most}, more than a factor of {factor:g}"


def caution_sentence(caution: Caution) -> str:
    """What to be careful about with a fit."""
    match caution:
        case SmtYieldUnknown():
            return "φ not identifiable: fewer than two counts share a core between threads, so those were left out"
        case ClockUnknown():
            return "no clock was recorded; one that falls with cores would look like a serial fraction"
        case OneCoreNotMeasured(fewest):
            return f"no point on one core can be used; speedup is against the T(1) the law gives, from {fewest:g} up"
        case OneCoreDiffers(difference):
            return f"the fitted time on one core is {100 * difference:+.1f} % off the measured one"
        case NegativeCoherency(value, stderr):
            return f"left free, the coherency is {value:.3g} ± {stderr:.1g}: less is lost than any law says"
        case OneLaunchPerCount():
            return "with one value per count, noise and misfit cannot be distinguished; intervals rest on residuals"


def _law_sentence(fit: SeriesFit) -> str:
    """The chosen law, with the figures averaged over the laws."""
    law, averaged = fit.chosen.law, fit.averaged
    fraction = with_interval(averaged.serial_fraction, percent)
    if law.scale == "weak":
        gain = with_interval(_complement(averaged.serial_fraction), percent)
        return f"{law.title} (weak scaling), serial fraction {fraction}: a further core adds {gain} of one core"
    peak = fit.chosen.figures.peak_cores
    if peak is None:
        limit = with_interval(known_limit(fit, averaged.speedup_limit), figure)
        return f"{law.title}, serial fraction {fraction}: at most {limit} times one core"
    return f"{law.title}, contention {fraction}: {peak_words(peak, fit)}"


def known_limit(fit: SeriesFit, limit: Estimate) -> Estimate:
    """A limit of its speedup, which is not below what was measured."""
    return at_least(limit, speedup_reached(fit.series, over=fit.series))


def peak_words(peak: Estimate, fit: SeriesFit) -> str:
    """Where throughput peaks, or that no peak is within reach."""
    if peak.value > REACH * max(fit.series.cores):
        least = "" if peak.low is None else f" (not before {figure(peak.low)} {_law_cores(fit)})"
        return f"no peak within reach{least}"
    return f"fastest on {with_interval(peak, figure)} {_law_cores(fit)}"


def _law_cores(fit: SeriesFit) -> str:
    """What a law counts: further threads of a core are parts of one."""
    return "cores with one thread each" if fit.chosen.figures.smt_yields else "cores"


def _best_known(fit: SeriesFit) -> str:
    """What can be said although the law cannot: what the most cores show, or the best-known share."""
    if fit.largest_alone is not None:
        return _alone_words(fit.largest_alone, fit.series.scale)
    serial = fit.averaged.serial_fraction
    parallel = _complement(serial)
    if _relative_width(parallel) < _relative_width(serial):
        return f"the parallel part is {with_interval(parallel, percent)}"
    return f"the serial fraction is {with_interval(serial, percent)}"


def _alone_words(largest: KarpFlatt, scale: Scale) -> str:
    """The speedup on the most cores, and the serial fraction that would explain it."""
    fraction, weak = largest.fraction, scale == "weak"
    times = fraction.map(lambda serial: float((scaled_speedup if weak else speedup)(largest.cores, serial)))
    scaled = " (scaled speedup, items grow with cores)" if weak else ""
    fast = f"{figure(largest.cores)} cores are {with_interval(times, figure)} times as fast as one{scaled}"
    if fraction.high is not None and fraction.high < 0.0:
        return f"{fast}: more than their share (caches?), or the measurement on one core is too slow"
    source = "Gustafson's law" if weak else "Karp-Flatt"
    return f"{fast}, by {source} a serial fraction of {with_interval(fraction, percent)}"


def _complement(fraction: Estimate) -> Estimate:
    low, high = (None if end is None else 1.0 - end for end in (fraction.high, fraction.low))
    return Estimate(1.0 - fraction.value, low, high, fraction.stderr, fraction.on_bound)


def _relative_width(interval: Estimate) -> float:
    if interval.low is None or interval.high is None or not interval.value:
        return float("inf")
    return (interval.high - interval.low) / interval.value


def karp_flatt_words(value: KarpFlatt) -> str:
    """A Karp-Flatt value with its interval."""
    return with_interval(value.fraction, lambda number: f"{number:.3f}")


def fits_table(fits: Sequence[SeriesFit]) -> Table:
    """Every law of every series, the chosen one marked."""
    rows = []
    for fit in fits:
        for law in fit.figures:
            chosen = law.law == fit.choice.law
            rows.append(
                (
                    *(fit.series.label if law is fit.figures[0] else "", "*" if chosen else ""),
                    *(law.law.name, with_interval(law.contention, percent)),
                    with_interval(law.coherency, small),
                    *(with_interval(law.rate_at_1, figure), _end(law, fit)),
                    *(
                        _yield(law),
                        _held_out_words(fit) if chosen else "",
                        VERDICT_WORDS[fit.verdict] if chosen else "",
                    ),
                )
            )
    headers = ("series", "", "law", "serial fraction", "coherency", "one core, per s", "limit or peak", "φ")
    table = Table((*headers, "largest held out", "verdict"), rows)
    return table if any(row[7] for row in rows) else _without_column(table, 7)


def _without_column(table: Table, index: int) -> Table:
    headers = table.headers[:index] + table.headers[index + 1 :]
    return Table(headers, [row[:index] + row[index + 1 :] for row in table.rows])


def _end(figures: LawFigures, fit: SeriesFit) -> str:
    if figures.law.scale == "weak":
        return "no limit"
    if figures.speedup_limit is not None:
        return f"× {with_interval(known_limit(fit, figures.speedup_limit), figure)}"
    assert figures.peak_cores is not None
    if isinf(figures.peak_cores.value):
        return "no peak" if figures.peak_cores.low is None else f"no peak below {figure(figures.peak_cores.low)}"
    return f"{with_interval(figures.peak_cores, figure)} {_law_cores(fit)}"


def _yield(figures: LawFigures) -> str:
    """What further threads yield: at each SMT level the core with all of them, where they are uneven a thread."""
    return ", ".join(
        f"{'' if one.of_core is None else f'φ{one.threads} '}"
        f"{with_interval(one.of_core or one.per_thread, lambda number: f'{number:.2f}')}"
        for one in figures.smt_yields
    )


def _held_out_words(fit: SeriesFit) -> str:
    if fit.held_out is None:
        return "-"
    predicted = fit.held_out.predicted
    off = predicted.seconds.value / fit.held_out.measured_seconds - 1.0
    return f"{figure(predicted.cores)}: {100 * off:+.1f} %, {'inside' if fit.held_out.inside else 'outside'}"


def trace_lines(fit: SeriesFit) -> list[str]:
    """The serial fraction of every count of a series by itself (Karp-Flatt or, scaled, Gustafson), and its trend."""
    if not fit.karp_flatt.values:
        return []
    trend = {"unknown": "", "flat": "; flat", "rising": "; rising", "falling": "; falling"}[fit.karp_flatt.trend]
    p = "" if fit.karp_flatt.p is None else f" (p = {fit.karp_flatt.p:.2g})"
    values = ", ".join(f"{figure(value.cores)}: {karp_flatt_words(value)}" for value in fit.karp_flatt.values)
    title = "Gustafson, count by count," if fit.series.scale == "weak" else "Karp-Flatt"
    return [f"{fit.series.label}: {title} {values}{trend}{p if trend else ''}"]


def truth_lines(fit: SeriesFit) -> list[str]:
    """Whether the serial fraction that a workload states of itself was recovered; nothing where it states none."""
    check = fit.truth
    if check is None:
        return []
    stated = f"{fit.series.label}: stated serial fraction {percent(check.serial_fraction)}"
    if check.inside is None:
        return [f"{stated}; no interval to compare it with"]
    interval = with_interval(fit.serial_fraction, percent)
    return [f"{stated}, {'inside' if check.inside else 'outside'} the interval of {interval}"]


def _truth_words(fit: SeriesFit) -> str:
    """The end of a sentence about a serial fraction that the workload states."""
    check = fit.truth
    if check is None or check.inside is None:
        return ""
    return f"; {percent(check.serial_fraction)} is stated, which is {'inside' if check.inside else 'outside'}"


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
    """A series with its laws, unrounded; rates are in `unit` a second."""
    choice, misfit = fit.choice, fit.misfit
    return {
        "name": fit.series.name,
        "unit": fit.series.unit,
        "scale": fit.series.scale,
        "cores": [_whole(point.cores + point.siblings) for point in fit.series.observations],
        "launches": list(fit.series.launches),
        "laws": {law.law.name: _law(law, fit) for law in fit.figures},
        "averaged": _averaged(fit),
        "chosen": choice.law.name,
        "verdict": VERDICT_WORDS[fit.verdict],
        "verdict_code": fit.verdict.value,
        "reasons": [reason_sentence(reason) for reason in fit.reasons],
        "reason_codes": [reason.code for reason in fit.reasons],
        "cautions": [caution_sentence(caution) for caution in fit.cautions],
        "caution_codes": [caution.code for caution in fit.cautions],
        "akaike_weights": {law.law.name: choice.weight(law.law) for law in fit.laws},
        "coherency_p": choice.coherency_p,
        "lack_of_fit": {"excess": misfit.excess, "p": misfit.p, "pure_error": misfit.pure},
        "noise_slope": fit.chosen.fitted.problem.slope.value,
        "clock_governs": fit.clock.governs,
        "karp_flatt": [
            {"cores": _whole(value.cores), **estimate_facts(value.fraction)} for value in fit.karp_flatt.values
        ],
        "karp_flatt_trend": {"trend": fit.karp_flatt.trend, "p": fit.karp_flatt.p},
        "held_out": _held_out(fit),
        "truth": _truth(fit),
    }


def _averaged(fit: SeriesFit) -> dict[str, object]:
    """The figures of a series whichever law holds."""
    figures = fit.averaged
    return {
        "serial_fraction": _interval(figures.serial_fraction),
        "rate_at_1": _interval(figures.rate_at_1),
        "speedup_limit": _interval(known_limit(fit, figures.speedup_limit)),
        "peak_cores": None if figures.peak_cores is None else _interval(figures.peak_cores),
    }


def _law(figures: LawFigures, fit: SeriesFit) -> dict[str, object]:
    extra: dict[str, object] = {}
    if len(figures.smt_yields) == 1:
        extra["smt_yield"] = _interval(figures.smt_yields[0].per_thread)
    if any(one.of_core for one in figures.smt_yields):
        extra["smt_yields"] = {str(one.threads): estimate_facts(one.of_core) for one in figures.smt_yields}
    if not figures.law.has_peak:
        assert figures.speedup_limit is not None
        return {
            "serial_fraction": _interval(figures.contention),
            "rate_at_1": _interval(figures.rate_at_1),
            "speedup_limit": _interval(known_limit(fit, figures.speedup_limit)),
            **extra,
        }
    assert figures.coherency is not None
    assert figures.peak_cores is not None
    return {
        "contention": _interval(figures.contention),
        "coherency": _interval(figures.coherency),
        "rate_at_1": _interval(figures.rate_at_1),
        "peak_cores": _interval(figures.peak_cores),
        **extra,
    }


def _interval(interval: Estimate) -> dict[str, object]:
    return {**estimate_facts(interval), "stderr": interval.stderr, "on_bound": interval.on_bound}


def _truth(fit: SeriesFit) -> dict[str, object] | None:
    check = fit.truth
    return None if check is None else {"serial_fraction": check.serial_fraction, "inside": check.inside}


def _held_out(fit: SeriesFit) -> dict[str, object] | None:
    held = fit.held_out
    if held is None:
        return None
    work = fit.series.work
    predicted = held.predicted.seconds.map(lambda seconds: work / seconds)
    return {
        "cores": _whole(held.predicted.cores),
        "predicted": predicted.value,
        "low": predicted.low,
        "high": predicted.high,
        "measured": work / held.measured_seconds,
        "inside": held.inside,
    }


def _whole(cores: float) -> int | float:
    return int(cores) if cores == int(cores) else cores
