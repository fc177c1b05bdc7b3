"""The serial fraction each count by itself would mean: flat under Amdahl's law, rising where overhead grows."""

from matplotlib.axes import Axes

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.law_figures import LawFigures
from scaling.analysis.laws import AMDAHL
from scaling.analysis.speedup import Scaled
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.frame import upper_limit
from scaling.reporting.plots.law_lines import law_remark, left_out_words, marks_of
from scaling.reporting.plots.lines import Line, lines_of
from scaling.reporting.plots.marks import band_key
from scaling.reporting.plots.series_figure import Drawn, Look, series_figure
from scaling.reporting.plots.style import BAND_ALPHA, colour
from scaling.results.evaluation import Evaluation


def karp_flatt(result: Evaluation) -> Drawing | NotDrawn:
    """The trace of every series, and Amdahl's serial fraction as fitted."""
    drawn = [Drawn(line, marks) for line in lines_of(result) if (marks := marks_of(line, _percent))]
    if not drawn:
        return NotDrawn("no point of fixed work on more than one core was measured beside its one-core point")
    fitted = {each.line.place: found for each in drawn if (found := _serial(each.line))}

    def under(axes: Axes, each: Drawn) -> None:
        found = fitted.get(each.line.place)
        if found:
            _draw_fitted(axes, found, colour(each.line.place))

    look = Look(
        y="Karp–Flatt serial fraction, %",
        ends=_ends([mark.figure for each in drawn for mark in each.marks]),
        farthest=max(mark.cores for each in drawn for mark in each.marks),
        keys=[band_key("fitted serial fraction (Amdahl) with its 95 % interval")] if fitted else [],
        ideal=0.0,
        under=under,
        remark=law_remark,
    )
    caption = (
        "The serial fraction that would explain each count's speedup by itself: flat is Amdahl's law, rising is "
        "overhead that grows with cores, below zero is more than a core's worth for a core. Bars are 95 % intervals "
        f"over launches, hollow marks have a verdict against them.{left_out_words(len(drawn))}"
    )
    return Drawing(caption, series_figure(drawn, look))


def _percent(point: Scaled) -> Estimate | None:
    return point.karp_flatt.map(lambda ratio: 100.0 * ratio) if point.karp_flatt else None


def _serial(line: Line) -> LawFigures | None:
    """Amdahl's law on this series, where it may be spoken of."""
    if line.fit is None or line.fit.verdict.word in ("no law fits", "superlinear"):
        return None
    return next((law.figures for law in line.fit.laws if law.law == AMDAHL.name), None)


def _draw_fitted(axes: Axes, found: LawFigures, tint: str) -> None:
    serial = found.contention
    if serial.value is not None:
        axes.axhline(100.0 * serial.value, color=tint, zorder=2)
    if serial.low is not None and serial.high is not None:
        axes.axhspan(100.0 * serial.low, 100.0 * serial.high, color=tint, alpha=BAND_ALPHA, linewidth=0.0, zorder=1)


def _ends(figures: list[Estimate]) -> tuple[float, float]:
    """From zero, or lower where values are negative, to above all values; intervals that go on for ever are cut."""
    values = [each.value for each in figures]
    top = upper_limit(values, [each.high for each in figures], max(0.1, *(abs(value) for value in values)))
    lowest = min((each.low for each in figures if each.low is not None), default=0.0)
    return min(0.0, 1.1 * min(values), max(1.05 * lowest, -top / 3.0)), top
