"""Fits as JSON facts: the numbers every other form of showing must agree with."""

from scaling.analysis.fits.law_figures import LawFigures
from scaling.analysis.fits.profile_likelihood import Interval
from scaling.analysis.fitting import SeriesFit


def fit_facts(fit: SeriesFit, figures: tuple[LawFigures, ...], method: str) -> dict[str, object]:
    """A series with its laws, unrounded; rates are in `unit` a second."""
    choice, misfit = fit.choice, fit.misfit
    return {
        "name": fit.series.name,
        "method": method,
        "unit": fit.series.unit,
        "cores": [_count(each.cores + each.siblings) for each in fit.series.observations],
        "launches": list(fit.series.launches),
        "laws": {each.law: _law(each) for each in figures},
        "chosen": choice.law,
        "verdict": fit.verdict.word,
        "reasons": list(fit.verdict.reasons),
        "cautions": list(fit.cautions),
        "akaike_weights": {each.law: choice.weight(each.law) for each in fit.laws},
        "coherency_p": choice.coherency_p,
        "misfit": {"excess": misfit.excess, "p": misfit.p, "pure_error": misfit.pure},
        "noise_slope": fit.chosen.fitted.problem.slope.value,
        "clock_governs": fit.clock.governs,
        "karp_flatt": [
            {"cores": _count(each.cores), "value": each.value, "low": each.low, "high": each.high}
            for each in fit.trace.values
        ],
        "karp_flatt_trend": {"course": fit.trace.course, "p": fit.trace.p},
        "held_out": _held_out(fit),
    }


def _law(figures: LawFigures) -> dict[str, object]:
    extra: dict[str, object] = {}
    if figures.smt_yield is not None:
        extra["smt_yield"] = _interval(figures.smt_yield)
    if figures.bootstrap is not None:
        low, high = figures.bootstrap
        extra["bootstrap"] = {"low": low, "high": high}
    if figures.law == "amdahl":
        assert figures.speedup_limit is not None
        return {
            "serial_fraction": _interval(figures.contention),
            "rate_at_1": _interval(figures.rate_at_1),
            "speedup_limit": _interval(figures.speedup_limit),
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


def _interval(interval: Interval) -> dict[str, object]:
    return {
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "stderr": interval.stderr,
        "on_bound": interval.on_bound,
    }


def _held_out(fit: SeriesFit) -> dict[str, object] | None:
    held = fit.held_out
    if held is None:
        return None
    work, predicted = fit.series.work, held.predicted
    return {
        "cores": _count(predicted.cores),
        "predicted": work / predicted.seconds,
        "low": work / predicted.high,
        "high": work / predicted.low,
        "measured": work / held.measured_seconds,
        "inside": held.inside,
    }


def _count(cores: float) -> int | float:
    return int(cores) if cores == int(cores) else cores
