"""Parallel efficiency against cores, with intervals and the chosen law: how much of its cores each series uses."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import Scaled
from scaling.reporting.plots.curves import Curve, most_fitted
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.frame import upper_limit
from scaling.reporting.plots.law_lines import (
    chosen_law,
    draw_curve,
    law_keys,
    law_remark,
    left_out_words,
    marks_of,
)
from scaling.reporting.plots.lines import Line, lines_of
from scaling.reporting.plots.series_figure import Drawn, Look, series_figure
from scaling.reporting.plots.style import colour
from scaling.results.evaluation import Evaluation


def efficiency(result: Evaluation) -> Drawing | NotDrawn:
    """Every series with its law."""
    drawn = [Drawn(line, marks) for line in lines_of(result) if (marks := marks_of(line, efficiency_percent))]
    marks = [mark for each in drawn for mark in each.marks]
    counts = [mark.cores for mark in marks]
    if max(counts, default=1) == 1:
        return NotDrawn("no point on more than one core was measured beside its one-core point")
    curves = {each.line.place: curve for each in drawn if (curve := efficiency_law(each.line, counts))}

    def under(axes: Axes, each: Drawn) -> None:
        curve = curves.get(each.line.place)
        if curve and each.line.fit:
            draw_curve(axes, curve, most_fitted(each.line.fit), colour(each.line.place))

    look = Look(
        y="parallel efficiency, %",
        ends=(0.0, upper_limit([each.figure.value for each in marks], [each.figure.high for each in marks], 100.0)),
        farthest=max([*counts, *(float(curve.cores[-1]) for curve in curves.values())]),
        keys=law_keys(list(curves.values())),
        ideal=100.0,
        under=under,
        remark=law_remark,
    )
    caption = (
        "Speedup over cores: 100 % is every core put to full use. Bars are 95 % intervals over launches, hollow marks "
        "have a verdict against them; the line is the law the launches speak for, held against the same one core."
        f"{left_out_words(len(drawn))}"
    )
    return Drawing(caption, series_figure(drawn, look))


def efficiency_percent(point: Scaled) -> Estimate | None:
    """A point's efficiency in percent."""
    return point.efficiency.map(lambda ratio: 100.0 * ratio) if point.efficiency else None


def efficiency_law(line: Line, counts: Sequence[float]) -> Curve | None:
    """The chosen law's efficiency in percent."""
    curve = chosen_law(line, counts)
    return curve.over_cores().times(100.0) if curve else None
