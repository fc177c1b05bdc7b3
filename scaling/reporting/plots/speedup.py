"""Speedup against cores: the ideal, both laws with their bands, and whether the largest count was foretold."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from scaling.analysis.laws import AMDAHL, LAW_NAMES, USL, LawName, law_named
from scaling.reporting.plots.curves import Curve, foretold_speedup, most_fitted, reach, speedup_curve
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.frame import (
    MOST_PANELS,
    Frame,
    Key,
    cores_axis,
    frame,
    logarithmic,
    number_axis,
    upper_limit,
)
from scaling.reporting.plots.law_lines import draw_curve, law_remark, left_out_words, marks_of
from scaling.reporting.plots.lines import Line, lines_of
from scaling.reporting.plots.marks import BESIDE_POINTS, Mark, band_key, draw_marks, hollow_key, line_key, mark_key
from scaling.reporting.plots.style import COLOURS, INK, Stroke, colour, marker
from scaling.results.evaluation import Evaluation

LAW_COLOURS: dict[LawName, str] = {AMDAHL.name: COLOURS[4], USL.name: COLOURS[2]}
LAW_STROKES: dict[LawName, Stroke] = {AMDAHL.name: "-", USL.name: "-."}


@dataclass(frozen=True, slots=True)
class _Panel:
    """What one series has to show."""

    line: Line
    marks: list[Mark]
    curves: dict[LawName, Curve]
    foretold: Mark | None


def speedup(result: Evaluation) -> Drawing | NotDrawn:
    """A panel a series."""
    drawn = [(line, marks_of(line, lambda point: point.speedup)) for line in lines_of(result)]
    drawn = [(line, marks) for line, marks in drawn if marks]
    counts = [mark.cores for _, marks in drawn for mark in marks]
    if not counts or max(counts) == 1:
        return NotDrawn("no point on more than one core was measured beside its one-core point")
    panels = [_panel(line, marks, counts) for line, marks in drawn[:MOST_PANELS]]
    caption = (
        "Times as fast as one core; the dotted line is one core's worth for every core. Bars are 95 % intervals over "
        "launches, hollow marks have a verdict against them; bands hold 95 % of the laws that fit, dashed lines are "
        f"extrapolated, and an open diamond is what fewer cores foretell for the most.{left_out_words(len(drawn))}"
    )
    return Drawing(caption, _figure(panels, counts).figure)


def _panel(line: Line, marks: list[Mark], counts: Sequence[float]) -> _Panel:
    curves: dict[LawName, Curve] = {}
    if line.fit is not None:
        far = reach(line.fit, counts, logarithmic=logarithmic(counts))
        sure = line.fit.verdict.word in ("ok", "not identifiable")
        for law in line.fit.laws:
            curve = speedup_curve(line, law, far, band=sure)
            curves |= {law.law: curve} if curve else {}
    return _Panel(line, marks, curves, _foretold(line))


def _foretold(line: Line) -> Mark | None:
    """The held-out count, hollow since it is no measurement."""
    found = foretold_speedup(line)
    if found is None or line.fit is None or line.fit.held_out is None:
        return None
    return Mark(line.fit.held_out.predicted.cores, found, valid=False)


def _figure(panels: Sequence[_Panel], counts: Sequence[float]) -> Frame:
    shown, wide = frame(len(panels)), logarithmic(counts)
    figures = [
        mark.figure for panel in panels for mark in [*panel.marks, *([panel.foretold] if panel.foretold else [])]
    ]
    curved = [float(curve.middle.max()) for panel in panels for curve in panel.curves.values()]
    top = upper_limit([*curved, *(each.value for each in figures)], [each.high for each in figures], 2.0)
    bottom = min(1.0, *(each.value for each in figures)) * 0.8 if wide else 0.0
    farthest = max([max(counts), *(float(curve.cores[-1]) for panel in panels for curve in panel.curves.values())])
    for place, panel in enumerate(panels):
        axes = shown.axes[place]
        axes.plot([min(counts), farthest], [min(counts), farthest], color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
        _draw(axes, panel, (bottom, top))
        if not shown.single or law_remark(panel.line):
            shown.title(place, panel.line.name, law_remark(panel.line))
    cores_axis(shown, counts, farthest, square=True)
    if not wide:
        number_axis(shown.axes[0])
    for axes in shown.axes:
        axes.set_ylim(bottom, top)
    shown.labels("cores", "speedup, times one core")
    shown.legend(_keys(panels))
    return shown


def _draw(axes: Axes, panel: _Panel, ends: tuple[float, float]) -> None:
    for name, curve in panel.curves.items():
        assert panel.line.fit is not None
        draw_curve(axes, curve, most_fitted(panel.line.fit), LAW_COLOURS[name], LAW_STROKES[name])
    draw_marks(axes, panel.marks, colour(panel.line.place), marker(panel.line.place), ends)
    if panel.foretold:
        draw_marks(axes, [panel.foretold], INK, "D", ends, BESIDE_POINTS)


def _keys(panels: Sequence[_Panel]) -> list[Key]:
    keys: list[Key] = [line_key("ideal", INK, ":")]
    for name in LAW_NAMES:
        curves = [panel.curves[name] for panel in panels if name in panel.curves]
        if any(curve.low is not None for curve in curves):
            keys.append(band_key(f"{law_named(name).title} with its 95 % band", LAW_COLOURS[name], LAW_STROKES[name]))
        elif curves:
            keys.append(line_key(law_named(name).title, LAW_COLOURS[name], LAW_STROKES[name]))
    if any(panel.foretold for panel in panels):
        diamond = mark_key("foretold from fewer cores", INK, "D")
        diamond.set_markerfacecolor("none")
        keys.append(diamond)
    if not all(mark.valid for panel in panels for mark in panel.marks):
        keys.append(hollow_key())
    return keys
