"""Fits in sentences and tables: the answer first, then the figures, then what to be careful about."""

from collections.abc import Callable, Sequence

from scaling.analysis.fits.karp_flatt import KarpFlatt
from scaling.analysis.fits.law_figures import LawFigures
from scaling.analysis.fits.profile_likelihood import Interval
from scaling.analysis.fitting import SeriesFit
from scaling.reporting.tables import Table
from scaling.reporting.words import count

LAW_NAMES = {"amdahl": "Amdahl's law", "usl": "universal scalability law"}
# The usual placement and one thread a core go without saying.
USUAL_ENDING = " compact smt1"
# A peak beyond so many times the cores measured is out of reach.
REACH = 4.0


def label(name: str) -> str:
    """A series' name as a sentence has it."""
    return name.removesuffix(USUAL_ENDING)


def fit_sentence(fit: SeriesFit, figures: tuple[LawFigures, ...]) -> str:
    """What a series turned out to be, in one sentence."""
    name, verdict = label(fit.series.name), fit.verdict
    chosen = next((each for each in figures if each.law == fit.choice.law), figures[0])
    if verdict.word == "ok":
        return f"{name}: {_law_sentence(chosen, max(fit.series.cores))}"
    reasons = "; ".join(verdict.reasons)
    known = f"; {_best_known(fit, chosen)}" if verdict.word == "not identifiable" else ""
    return f"{name}: {verdict.word}: {reasons}{known}"


def _law_sentence(figures: LawFigures, measured: float) -> str:
    fraction = with_interval(figures.contention, percent)
    if figures.law == "amdahl":
        assert figures.speedup_limit is not None
        limit = with_interval(figures.speedup_limit, figure)
        return f"{LAW_NAMES['amdahl']}, serial fraction {fraction}: at most {limit} times one core"
    assert figures.peak_cores is not None
    return f"{LAW_NAMES['usl']}, contention {fraction}: {peak_words(figures.peak_cores, measured)}"


def peak_words(peak: Interval, measured: float) -> str:
    """Where throughput peaks, or that no peak is within reach."""
    if peak.value is None or peak.high is None or peak.high > REACH * measured:
        least = "" if peak.low is None else f" (not before {figure(peak.low)} cores)"
        return f"no peak within reach{least}"
    return f"fastest on {with_interval(peak, figure)} cores"


def _best_known(fit: SeriesFit, chosen: LawFigures) -> str:
    """What can be said although the law cannot: the last Karp-Flatt value, or the best-known share."""
    thin = len(set(fit.series.cores)) < 4
    if thin and fit.trace.values:
        last = fit.trace.values[-1]
        return (
            f"taken by itself, {count(int(last.cores), 'core')} mean(s) a serial fraction of {karp_flatt_words(last)}"
        )
    parallel = _complement(chosen.contention)
    if _relative_width(parallel) < _relative_width(chosen.contention):
        return f"the parallel part is {with_interval(parallel, percent)}"
    return f"the serial fraction is {with_interval(chosen.contention, percent)}"


def _complement(fraction: Interval) -> Interval:
    value, low, high = (None if each is None else 1.0 - each for each in (fraction.value, fraction.high, fraction.low))
    return Interval(value, low, high, fraction.stderr, fraction.on_bound)


def _relative_width(interval: Interval) -> float:
    if interval.low is None or interval.high is None or not interval.value:
        return float("inf")
    return (interval.high - interval.low) / interval.value


def karp_flatt_words(value: KarpFlatt) -> str:
    """A Karp-Flatt value with its interval."""
    return with_interval(Interval(value.value, value.low, value.high, None), lambda number: f"{number:.3f}")


def fits_table(fits: Sequence[tuple[SeriesFit, tuple[LawFigures, ...]]]) -> Table:
    """Every law of every series, the chosen one marked."""
    rows = []
    for fit, figures in fits:
        for each in figures:
            chosen = each.law == fit.choice.law
            rows.append(
                (
                    *(label(fit.series.name) if each is figures[0] else "", "*" if chosen else ""),
                    *(each.law, with_interval(each.contention, percent)),
                    "-" if each.coherency is None else with_interval(each.coherency, small),
                    *(with_interval(each.rate_at_1, figure), _end(each)),
                    *(_yield(each), _held_out(fit) if chosen else "", fit.verdict.word if chosen else ""),
                )
            )
    headers = ("series", "", "law", "serial fraction", "coherency", "one core, per s", "limit or peak", "φ")
    table = Table((*headers, "largest held out", "verdict"), rows)
    return table if any(row[7] for row in rows) else _without_column(table, 7)


def _without_column(table: Table, place: int) -> Table:
    headers = table.headers[:place] + table.headers[place + 1 :]
    return Table(headers, [row[:place] + row[place + 1 :] for row in table.rows])


def _end(figures: LawFigures) -> str:
    if figures.speedup_limit is not None:
        return f"× {with_interval(figures.speedup_limit, figure)}"
    assert figures.peak_cores is not None
    if figures.peak_cores.value is None:
        return "no peak" if figures.peak_cores.low is None else f"no peak below {figure(figures.peak_cores.low)}"
    return f"{with_interval(figures.peak_cores, figure)} cores"


def _yield(figures: LawFigures) -> str:
    return "" if figures.smt_yield is None else with_interval(figures.smt_yield, lambda number: f"{number:.2f}")


def _held_out(fit: SeriesFit) -> str:
    if fit.held_out is None:
        return "-"
    predicted = fit.held_out.predicted
    off = predicted.seconds / fit.held_out.measured_seconds - 1.0
    return f"{figure(predicted.cores)}: {100 * off:+.1f} %, {'inside' if fit.held_out.inside else 'outside'}"


def trace_lines(fit: SeriesFit) -> list[str]:
    """The Karp-Flatt trace of a series, and its course."""
    if not fit.trace.values:
        return []
    course = {"not told": "", "flat": "; flat", "rising": "; rising", "falling": "; falling"}[fit.trace.course]
    p = "" if fit.trace.p is None else f" (p = {fit.trace.p:.2g})"
    values = ", ".join(f"{figure(each.cores)}: {karp_flatt_words(each)}" for each in fit.trace.values)
    return [f"{label(fit.series.name)}: Karp-Flatt {values}{course}{p if course else ''}"]


def caution_lines(fits: Sequence[SeriesFit]) -> list[str]:
    """What to be careful about, each caution once, with the series it is about unless it is about all."""
    about: dict[str, list[str]] = {}
    for fit in fits:
        for caution in fit.cautions:
            about.setdefault(caution, []).append(label(fit.series.name))
    return [
        caution if len(names) == len(fits) else f"{', '.join(names)}: {caution}" for caution, names in about.items()
    ]


def with_interval(interval: Interval, words: Callable[[float], str]) -> str:
    """'2.9 % (2.1 % to 3.8 %)'; a one-sided limit on a bound, a bare value where no interval is known."""
    if interval.value is None:
        return "without limit" if interval.low is None else f"above {words(interval.low)}"
    if interval.on_bound and interval.high is not None and interval.value <= (interval.low or 0.0):
        return f"{words(interval.value)} (up to {words(interval.high)})"
    if interval.low is None and interval.high is None:
        return words(interval.value)
    low = "any" if interval.low is None else words(interval.low)
    high = "any" if interval.high is None else words(interval.high)
    return f"{words(interval.value)} ({low} to {high})"


def percent(ratio: float) -> str:
    """A share with the digits a fit deserves."""
    return f"{100 * ratio:.3g} %"


def figure(number: float) -> str:
    """A number to three digits, or to the last whole one, without an exponent where people would not write one."""
    return f"{number:.0f}" if 1e3 <= number < 1e9 else f"{number:.3g}"


def small(number: float) -> str:
    """A coefficient that is nearly always below a thousandth."""
    return "0" if number == 0 else f"{number:.2e}"
