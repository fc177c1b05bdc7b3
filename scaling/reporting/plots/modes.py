"""Train against inference: the same workload at the same cores, in both modes."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.efficiency import efficiency_percent
from scaling.reporting.plots.frame import MOST_PANELS, cores_axis, frame, number_axis, reference, upper_limit
from scaling.reporting.plots.law_lines import left_out_words, marks_of
from scaling.reporting.plots.lines import lines_of, names_of
from scaling.reporting.plots.marks import beside, draw_marks, hollow_key, mark_key
from scaling.reporting.plots.series_figure import Drawn
from scaling.reporting.plots.style import colour, marker
from scaling.results.evaluation import Evaluation
from scaling.study.planning import Point


def modes(result: Evaluation) -> Drawing | NotDrawn:
    """A panel for everything that was measured in more than one mode."""
    pairs: dict[Point, list[Drawn]] = {}
    for line in lines_of(result):
        marks = marks_of(line, efficiency_percent)
        if any(mark.cores > 1 for mark in marks):
            pairs.setdefault(replace(line.point, mode=""), []).append(Drawn(line, marks))
    whole = {point: found for point, found in pairs.items() if len(found) > 1}
    if not whole:
        return NotDrawn("no workload was measured on several cores both in training and in inference")
    names = names_of(list(whole))[:MOST_PANELS]
    caption = (
        "Parallel efficiency of the same workload in each mode: where they part, a size that suits one does not suit "
        "the other. Bars are 95 % intervals over launches, hollow marks have a verdict against them."
        f"{left_out_words(len(whole))}"
    )
    return Drawing(caption, _figure(names, list(whole.values())[:MOST_PANELS]))


def _figure(names: Sequence[str], panels: Sequence[Sequence[Drawn]]) -> Figure:
    shown = frame(len(panels))
    order = sorted({each.line.point.mode for pair in panels for each in pair}, reverse=True)
    marks = [mark for pair in panels for each in pair for mark in each.marks]
    top = upper_limit([each.figure.value for each in marks], [each.figure.high for each in marks], 100.0)
    for place, pair in enumerate(panels):
        axes = shown.axes[place]
        for each in pair:
            style = order.index(each.line.point.mode)
            draw_marks(axes, each.marks, colour(style), marker(style), (0.0, top), beside(style, len(order)))
        axes.set_ylim(0.0, top)
        reference(axes, 100.0)
        shown.title(place, names[place])
    number_axis(shown.axes[0])
    cores_axis(shown, [mark.cores for mark in marks], 1.0)
    shown.labels("cores", "parallel efficiency, %")
    keys = [mark_key(mode, colour(style), marker(style)) for style, mode in enumerate(order)]
    shown.legend(keys + [hollow_key()] * (not all(mark.valid for mark in marks)))
    return shown.figure
