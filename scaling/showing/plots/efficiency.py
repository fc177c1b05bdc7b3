"""Parallel efficiency against cores, with intervals and the chosen law: how much of its cores each series uses."""

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes

from scaling.analysis.figures import Figure
from scaling.analysis.speedup import Scaled
from scaling.showing.plots.curves import Curve, reach, speedup_curve
from scaling.showing.plots.frame import (
    MOST_PANELS,
    Frame,
    cores_axis,
    frame,
    logarithmic,
    number_axis,
    reference,
    upper_limit,
)
from scaling.showing.plots.law_lines import draw_curve, law_remark, left_out_words, marks_of
from scaling.showing.plots.lines import Line, lines_of
from scaling.showing.plots.marks import (
    Mark,
    band_key,
    behind_key,
    draw_behind,
    draw_marks,
    hollow_key,
    line_key,
    mark_key,
)
from scaling.showing.plots.picture import Nothing, Picture
from scaling.showing.plots.style import colour, marker
from scaling.showing.result import Result

KIND, TITLE = "efficiency", "Parallel efficiency"
# More series than this in one panel are not told apart.
TOGETHER = 4


def efficiency(result: Result) -> Picture | Nothing:
    """Every series in one panel while they are few, else a panel each with the others in grey behind."""
    drawn = [(line, marks_of(line, efficiency_percent)) for line in lines_of(result)]
    drawn = [(line, marks) for line, marks in drawn if marks]
    if not any(mark.cores > 1 for _, marks in drawn for mark in marks):
        return Nothing(KIND, TITLE, "no point on more than one core was measured beside its one-core point")
    caption = (
        "Speedup over cores: 100 % is every core put to full use. Bars are 95 % intervals over launches, hollow marks "
        "have a verdict against them; the line is the law the launches speak for, held against the same one core."
        f"{left_out_words(len(drawn))}"
    )
    return Picture(KIND, TITLE, caption, _figure(drawn[:MOST_PANELS], len(drawn)).figure)


def efficiency_percent(point: Scaled) -> Figure | None:
    """A point's efficiency in percent."""
    return point.efficiency.mapped(lambda ratio: 100.0 * ratio) if point.efficiency else None


def _figure(drawn: Sequence[tuple[Line, list[Mark]]], total: int) -> Frame:
    together = total <= TOGETHER
    shown = frame(1 if together else len(drawn))
    marks = [mark for _, each in drawn for mark in each]
    counts = [mark.cores for mark in marks]
    top = upper_limit([mark.figure.value for mark in marks], [mark.figure.high for mark in marks], 100.0)
    curves = [_law(line, counts) for line, _ in drawn]
    farthest = max([max(counts), *(float(curve.cores[-1]) for curve in curves if curve)])
    for place, ((line, own), curve) in enumerate(zip(drawn, curves, strict=True)):
        axes = shown.axes[0 if together else place]
        if not together:
            draw_behind(axes, [mark for other, each in drawn if other is not line for mark in each])
            shown.title(place, line.name, law_remark(line))
        _draw_law(axes, line, curve, max(mark.cores for mark in own))
        draw_marks(axes, own, colour(line.place), marker(line.place), (0.0, top))
    for axes in shown.axes:
        axes.set_ylim(0.0, top)
        reference(axes, 100.0)
    number_axis(shown.axes[0])
    cores_axis(shown, counts, farthest)
    shown.labels("cores", "parallel efficiency, %")
    shown.legend(_keys(drawn, curves, together))
    return shown


def _law(line: Line, counts: Sequence[float]) -> Curve | None:
    """The chosen law's efficiency in percent; none where no law fits, no band where it is not sure enough."""
    if line.fit is None or line.fit.verdict.word in ("no law fits", "superlinear"):
        return None
    far = reach(line.fit, logarithmic=logarithmic(counts))
    curve = speedup_curve(line, line.fit.chosen, far, band=line.fit.verdict.word == "ok")
    return curve.over_cores().times(100.0) if curve else None


def _draw_law(axes: Axes, line: Line, curve: Curve | None, most: float) -> None:
    if curve:
        draw_curve(axes, curve, most, colour(line.place))


def _keys(drawn: Sequence[tuple[Line, list[Mark]]], curves: Sequence[Curve | None], together: bool) -> list[Artist]:
    keys: list[Artist] = []
    if together:
        for line, _ in drawn:
            remark = law_remark(line)
            keys.append(
                mark_key(f"{line.name} ({remark})" if remark else line.name, colour(line.place), marker(line.place))
            )
    else:
        keys.append(behind_key("the other series"))
    if any(curves):
        keys.append(line_key("law (dashed: beyond the cores measured)"))
    if any(curve and curve.low is not None for curve in curves):
        keys.append(band_key("95 % of the laws that fit"))
    if not all(mark.valid for _, marks in drawn for mark in marks):
        keys.append(hollow_key())
    return keys
