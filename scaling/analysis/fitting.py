"""Laws to launches: a series in, everything that can be said of it out. Pure.

T(1) is fitted with the rest, never divided out; errors are relative, with a noise that may grow with cores; intervals
of a law are profiles; both laws of strong scaling are tried and the launches choose, weak scaling has Gustafson's; and
where the data cannot carry a law, the verdict says so. The interval of a law's figure takes the law for given. The
figures of the series itself do not: they are averages over the laws by Akaike weight (Buckland, Burnham & Augustin,
Biometrics 53, 1997), with intervals over both.

The pieces are `least_squares` and `profile_likelihood` (one law), `selection` (which law), `lack_of_fit` and `verdict`
(whether any, and what else to know), `karp_flatt` (needs no law), `bootstrap` (a second interval, draws and
predictions).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.bootstrap import (
    DRAWS,
    EXTRAPOLATION_LIMIT,
    Draws,
    HeldOut,
    around_means,
    draws,
    mix,
    predict,
    quantiles,
)
from scaling.analysis.fits.host_level import host_level
from scaling.analysis.fits.karp_flatt import KarpFlatt, KarpFlattSeries, Noise, karp_flatt_series
from scaling.analysis.fits.lack_of_fit import Misfit, misfit
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.least_squares import LEAST_PURE_DF, FittedLaw, fit_law, fit_problem, has_replicates
from scaling.analysis.fits.model_averaging import AveragedFigures, average
from scaling.analysis.fits.observations import Counts, counts
from scaling.analysis.fits.profile_likelihood import (
    coherency_interval,
    contention_interval,
    peak_interval,
    seconds_interval,
    smt_yield_interval,
)
from scaling.analysis.fits.selection import Choice, Clock, choose, only, select_clock
from scaling.analysis.fits.verdict import (
    Caution,
    SmtYieldUnknown,
    TooFewCounts,
    Verdict,
    VerdictReason,
    cautions,
    verdict,
)
from scaling.analysis.laws import AMDAHL, LAWS, SIMPLEST, USL, Law
from scaling.analysis.series import UNEVEN, Series, SeriesKey, smt_levels
from scaling.analysis.sizing.inverses import speedup_limit
from scaling.analysis.truth import TruthCheck
from scaling.errors import FitError, SeriesFitError


@dataclass(frozen=True, slots=True)
class SmtYield:
    """What each further thread of a core is worth, in cores, where cores have so many threads; `UNEVEN` is any."""

    threads: int
    per_thread: Estimate

    @property
    def of_core(self) -> Estimate | None:
        """What a core with all these threads does over one with a single thread; None where numbers differ."""
        further = self.threads - 1
        return None if self.threads == UNEVEN else self.per_thread.map(lambda each: 1.0 + further * each)


@dataclass(frozen=True, slots=True)
class LawFigures:
    """One law on one series, every figure with its interval; rates are of the series' unit a second.

    `contention` is the serial fraction of Amdahl's law or Gustafson's; coherency and peak belong to the universal
    scalability law, the speedup limit to the others, infinite under Gustafson's.
    """

    law: Law
    contention: Estimate
    rate_at_1: Estimate
    coherency: Estimate | None = None
    peak_cores: Estimate | None = None
    speedup_limit: Estimate | None = None
    smt_yields: tuple[SmtYield, ...] = ()


def rate(log_seconds: Estimate, work: float) -> Estimate:
    """Work a second, from the log of the time it takes."""
    value = work * exp(-log_seconds.value)
    return Estimate(
        value=value,
        low=None if log_seconds.high is None else work * exp(-log_seconds.high),
        high=None if log_seconds.low is None else work * exp(-log_seconds.low),
        stderr=None if log_seconds.stderr is None else value * log_seconds.stderr,
    )


def limit(contention: Estimate, law: Law = AMDAHL) -> Estimate:
    """The largest speedup, 1/s; infinite where no limit is in sight, as that of a scaled speedup always is."""
    if law.scale == "weak":
        return Estimate(inf, inf, inf)
    value, error = contention.value, contention.stderr
    return Estimate(
        value=1.0 / value if value else inf,
        low=1.0 / contention.high if contention.high else None,
        high=None if contention.low is None else 1.0 / contention.low if contention.low > 0.0 else inf,
        stderr=error / value**2 if value and error is not None else None,
        on_bound=contention.on_bound,
    )


@dataclass(frozen=True, slots=True)
class LawFit:
    """One law on one series: the estimate, and its figures with their intervals."""

    fitted: FittedLaw
    figures: LawFigures

    @property
    def law(self) -> Law:
        """Which law it is."""
        return self.figures.law


@dataclass(frozen=True, slots=True)
class SeriesFit:
    """All that can be said of a series.

    Of a series with several numbers of threads per core together, `levels` are the fits of each of them by itself.
    """

    series: Series
    laws: tuple[LawFit, ...]
    averaged: AveragedFigures
    choice: Choice
    clock: Clock
    misfit: Misfit
    verdict: Verdict
    reasons: tuple[VerdictReason, ...]
    karp_flatt: KarpFlattSeries
    held_out: HeldOut | None
    cautions: tuple[Caution, ...]
    levels: tuple["SeriesFit", ...] = ()

    @property
    def chosen(self) -> LawFit:
        """The law the launches support, or the one asked for."""
        return self.law(self.choice.law)

    @property
    def figures(self) -> tuple[LawFigures, ...]:
        """The figures of every law fitted."""
        return tuple(law.figures for law in self.laws)

    @property
    def is_short(self) -> bool:
        """Whether it has too few core counts for any law."""
        return any(isinstance(reason, TooFewCounts) for reason in self.reasons)

    @property
    def largest_alone(self) -> KarpFlatt | None:
        """What the most cores show without a law, where there are too few counts for one."""
        return self.karp_flatt.values[-1] if self.is_short and self.karp_flatt.values else None

    @property
    def serial_fraction(self) -> Estimate:
        """The serial fraction averaged over the laws; with too few counts for a law, that of the most cores alone."""
        alone = self.largest_alone
        return alone.fraction if alone else self.averaged.serial_fraction

    @property
    def truth(self) -> TruthCheck | None:
        """Whether the serial fraction that the workload states is inside its interval; None where it states none."""
        stated = self.series.expected_serial_fraction
        return None if stated is None else TruthCheck(stated, self.serial_fraction.contains(stated))

    @property
    def most_cores(self) -> float:
        """The most physical cores the series was measured on."""
        return max(self.series.without_siblings().cores)

    def law(self, law: Law) -> LawFit:
        """One of the laws fitted."""
        return next(fitted for fitted in self.laws if fitted.law == law)

    @property
    def counts_answer(self) -> bool:
        """Whether no law describes it, but its counts can answer for themselves: their launches tell the noise."""
        seen = self.chosen.fitted.problem.counts
        known = has_replicates(seen) and seen.pure_df >= LEAST_PURE_DF
        return known and not self.verdict.has_law and not seen.levels and min(self.series.cores) == 1.0

    def draws(self, size: int = DRAWS) -> Draws:
        """The laws as they might have been, mixed by how far each is believed, and what the host adds to them.

        Where the counts answer for themselves, their means as they might have been.
        """
        mixed = _mix_laws(tuple(law.fitted for law in self.laws), self.choice, self.clock, size)
        if self.counts_answer:
            mixed = around_means(mixed, self.chosen.fitted.problem.counts)
        return replace(mixed, host=host_level(self.series.host))


def fit(series: Series, laws: Sequence[Law] = LAWS) -> SeriesFit:
    """A series with its laws, intervals, verdict and diagnostics."""
    laws = _laws_of(series, laws)
    series, left_out = _usable(series)
    seen, clock = select_clock(series, SIMPLEST[series.scale])
    fitted_laws = _fit_laws(seen, laws)
    choice = choose(*fitted_laws) if len(fitted_laws) == 2 else only(fitted_laws[0].problem.law)
    fits = tuple(_law_fit(fitted, series) for fitted in fitted_laws)
    chosen = next(one for one in fits if one.law == choice.law)
    lack_of_fit = misfit(chosen.fitted)
    free = tuple(fit_law(fitted.problem, bounded=False) for fitted in fitted_laws)
    averaged = _averaged(fits, choice, clock, series.work)
    peak = averaged.peak_cores if chosen.law.has_peak else None
    doubt = choice.amdahl_weight
    judged, reasons = verdict(chosen.fitted, averaged.serial_fraction, peak, lack_of_fit, free, doubt)
    return SeriesFit(
        series=series,
        laws=fits,
        averaged=averaged,
        choice=choice,
        clock=clock,
        misfit=lack_of_fit,
        verdict=judged,
        reasons=reasons,
        karp_flatt=karp_flatt_series(series, counts(series), _noise(chosen.fitted)),
        held_out=held_out(series, laws),
        cautions=(*left_out, *cautions(series, chosen.fitted, free, lack_of_fit.pure)),
    )


def fit_all(series: Iterable[Series], laws: Sequence[Law] = LAWS) -> tuple[list[SeriesFit], list[FitError]]:
    """Every series that can be fitted, those of several SMT levels with the levels, and why others cannot be."""
    fits, complaints = [], []
    for one in series:
        try:
            fits.append(fit(one, laws))
        except FitError as error:
            complaints.append(error)
    by_key = {one.series.key: one for one in fits}
    return [_with_levels(one, by_key) for one in fits], complaints


def _with_levels(fitted: SeriesFit, by_key: Mapping[SeriesKey, SeriesFit]) -> SeriesFit:
    parts = tuple(by_key[part] for part in fitted.series.key.parts if part in by_key)
    return replace(fitted, levels=parts) if parts else fitted


def without_levels(fits: Sequence[SeriesFit]) -> list[SeriesFit]:
    """The fits without those of single SMT levels that are also fitted together."""
    parts = {part for one in fits for part in one.series.key.parts}
    return [one for one in fits if one.series.key not in parts]


def _usable(series: Series) -> tuple[Series, tuple[Caution, ...]]:
    """The observations that can be fitted, those of SMT levels with two counts among them, and what was left out."""
    levels = smt_levels(series.observations)
    counted = Counter(levels)
    usable = tuple(
        one for one, level in zip(series.observations, levels, strict=True) if level == 1 or counted[level] > 1
    )
    if len(set(series.without_siblings().cores)) < 2:
        raise SeriesFitError(series.name, _too_few_counts(series))
    left_out = (SmtYieldUnknown(),) if len(usable) < len(series.observations) else ()
    return replace(series, observations=usable), left_out


def _too_few_counts(series: Series) -> str:
    """Why a series has no law: it was measured at one count, or all but one are disturbed or not valid."""
    only_count = ", ".join(f"{cores:g}" for cores in sorted(set(series.cores))) or "none"
    needs = "a law needs at least two, and four to distinguish it from another"
    if not series.left_out:
        return f"was measured at one core count only ({only_count}); {needs}"
    broken = ", ".join(dict.fromkeys(rule for out in series.left_out for rule in out.rules))
    cores = ", ".join(map(str, sorted({out.cores for out in series.left_out})))
    points = "1 point was" if len(series.left_out) == 1 else f"{len(series.left_out)} points were"
    return (
        f"is usable at one core count only ({only_count}); {points} left out as disturbed or not valid "
        f"({cores} cores: {broken}); {needs}"
    )


def _laws_of(series: Series, laws: Sequence[Law]) -> tuple[Law, ...]:
    """Those of the laws asked for that describe how a series scales."""
    of_scale = tuple(law for law in laws if law.scale == series.scale)
    if not of_scale:
        possible = " or ".join(law.name for law in LAWS if law.scale == series.scale)
        raise SeriesFitError(
            series.name,
            f"was measured with {series.scale} scaling, and {laws[0].title} is of {laws[0].scale} scaling; ask for "
            f"{possible}",
        )
    return of_scale


def _fit_laws(seen: Counts, laws: Sequence[Law]) -> tuple[FittedLaw, ...]:
    """Those of the laws asked for that there are enough counts for."""
    possible = [law for law in laws if np.unique(seen.cores).size >= law.least_counts]
    if not possible:
        raise FitError(f"the {USL.title} has three parameters and needs three core counts; ask for {AMDAHL.name}")
    return tuple(fit_law(fit_problem(law, seen)) for law in possible)


def _law_fit(fitted: FittedLaw, series: Series) -> LawFit:
    contention = contention_interval(fitted)
    usl = fitted.problem.law.has_peak
    figures = LawFigures(
        law=fitted.problem.law,
        contention=contention,
        rate_at_1=rate(seconds_interval(fitted), series.work),
        coherency=coherency_interval(fitted) if usl else None,
        peak_cores=peak_interval(fitted) if usl else None,
        speedup_limit=None if usl else limit(contention, fitted.problem.law),
        smt_yields=tuple(SmtYield(level, smt_yield_interval(fitted, level)) for level in fitted.problem.counts.levels),
    )
    return LawFit(fitted, figures)


def _averaged(fits: tuple[LawFit, ...], choice: Choice, clock: Clock, work: float) -> AveragedFigures:
    """The figures averaged over the laws that have noise to judge them by; those of the only law where there is one."""
    judged = [law.fitted for law in fits if law.fitted.problem.df > 0]
    if len(judged) > 1:
        return average(judged, choice, clock, work)
    figures = next((law for law in fits if law.fitted in judged), fits[0]).figures
    if figures.coherency is None:
        return AveragedFigures(figures.contention, figures.rate_at_1, limit(figures.contention, figures.law))
    most = Estimate(float(speedup_limit(figures.contention.value, figures.coherency.value)))
    return AveragedFigures(figures.contention, figures.rate_at_1, most, figures.peak_cores)


def quantile_estimate(values: Floats, drawn: Draws) -> Estimate:
    """The median of draws with their 95 % interval."""
    low, middle, high = quantiles(values, drawn.share, (0.025, 0.5, 0.975))
    return Estimate(middle, low, high)


def _noise(chosen: FittedLaw) -> Noise | None:
    """The noise of a launch: from launches that repeat a count, or else from what the law leaves over."""
    problem = chosen.problem
    if problem.counts.pure_df > 0:
        return Noise(problem.pure / problem.counts.pure_df, problem.counts.pure_df, problem.slope.value)
    return Noise(chosen.variance, problem.df, problem.slope.value) if problem.df > 0 else None


def _mix_laws(
    fitted_laws: tuple[FittedLaw, ...], choice: Choice, clock: Clock, size: int, *, new_launches: bool = True
) -> Draws:
    """Draws of the laws with something left to judge noise by."""
    parts = [
        (draws(law, clock, size, new_launches=new_launches), choice.weight(law.problem.law))
        for law in fitted_laws
        if law.problem.df > 0
    ]
    if not parts:
        raise FitError("there are as many parameters as launches, so nothing can be predicted; measure more launches")
    total = sum(weight for _, weight in parts)
    return mix([(part, weight / total if total else 1.0 / len(parts)) for part, weight in parts])


def held_out(series: Series, laws: Sequence[Law]) -> HeldOut | None:
    """The largest count predicted from the others; None where too little is left, or it is more than twice as far."""
    physical = series.without_siblings()
    rest, largest = physical.below(max(physical.cores)), physical.observations[-1]
    if len(set(rest.cores)) < 2 or largest.cores > EXTRAPOLATION_LIMIT * max(rest.cores):
        return None
    simplest = SIMPLEST[series.scale]
    seen, _ = select_clock(rest, simplest)
    possible = (simplest,) if len(set(rest.cores)) < USL.least_counts else laws
    fitted_laws = tuple(law for law in _fit_laws(seen, possible) if law.problem.df > 0)
    if not fitted_laws:
        return None
    choice = choose(*fitted_laws) if len(fitted_laws) == 2 else only(fitted_laws[0].problem.law)
    _, clock = select_clock(physical, simplest)
    # In blocks its launches shared what those that predict them did.
    drawn = _mix_laws(fitted_laws, choice, clock, DRAWS, new_launches=seen.effects is None)
    predicted = predict(drawn, largest.cores, len(largest.launch_seconds))
    return HeldOut(predicted, float(np.exp(np.log(largest.launch_seconds).mean())))
