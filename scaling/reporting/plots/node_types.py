"""Kinds of node as the series of one figure: a panel a program, and in all of them a colour and a marker a kind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib import figure as mpl
from matplotlib.axes import Axes

from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import Scaled
from scaling.reporting.plots.capacity import IN_SIGHT, TARGET, rate_marks
from scaling.reporting.plots.curves import Curve, most_fitted
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.efficiency import efficiency_law, efficiency_percent
from scaling.reporting.plots.frame import (
    MOST_PANELS,
    Key,
    cores_axis,
    frame,
    logarithmic,
    number_axis,
    reference,
    upper_limit,
)
from scaling.reporting.plots.law_lines import chosen_law, draw_curve, law_keys, law_remark, left_out_words, marks_of
from scaling.reporting.plots.lines import Line, lines_of, names_of
from scaling.reporting.plots.marks import Mark, beside, draw_marks, hollow_key, line_key, mark_key
from scaling.reporting.plots.style import INK, colour, marker
from scaling.reporting.words import figure as number_words
from scaling.results.node_types import NodeTypeEvaluation
from scaling.study.planning import Point


@dataclass(frozen=True, slots=True)
class _Member:
    """A kind in a panel: its marks, and the law beneath them as far as there is one."""

    place: int
    kind: str
    marks: Sequence[Mark]
    curve: Curve | None
    fitted: float
    remark: str


@dataclass(frozen=True, slots=True)
class _Panel:
    """A program and the kinds it was measured on."""

    name: str
    members: tuple[_Member, ...]

    @property
    def marks(self) -> list[Mark]:
        """The marks of all kinds."""
        return [mark for member in self.members for mark in member.marks]

    @property
    def curves(self) -> list[Curve]:
        """The laws of all kinds."""
        return [member.curve for member in self.members if member.curve is not None]

    @property
    def remark(self) -> str:
        """What stands against the laws of which kind."""
        return "; ".join(f"{member.kind}: {member.remark}" for member in self.members if member.remark)


@dataclass(frozen=True, slots=True)
class _View:
    """What differs between the figures.

    `least` is what an axis reaches at the least, `ideal` draws what would be had if no core were wasted; panels that
    are `alike` share an axis, and on a `square` one it is logarithmic where that of cores is.
    """

    y: str
    caption: str
    marks: Callable[[Line], list[Mark]]
    law: Callable[[Line, Sequence[float]], Curve | None]
    least: float
    ideal: Callable[[Axes, float], None] | None = None
    alike: bool = True
    square: bool = False


def _speedup(point: Scaled) -> Estimate | None:
    return point.speedup


def _rate_law(line: Line, counts: Sequence[float]) -> Curve | None:
    """The chosen law's items a second: its speedup, times what the measured one core does."""
    curve, one_core = chosen_law(line, counts), line.one_core
    return None if curve is None or one_core is None else curve.times(_rate_of(one_core))


def _rate_of(point: Scaled) -> float:
    summary = point.summary
    assert summary.step is not None
    return summary.rate.value if summary.rate else 1.0 / summary.step.value


def _diagonal(axes: Axes, farthest: float) -> None:
    axes.plot([1.0, farthest], [1.0, farthest], color=INK, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)


_MARKS = "Bars are 95 % intervals over launches, hollow marks have a verdict against them; lines are laws."
_EFFICIENCY = _View(
    "parallel efficiency, %",
    f"Speedup over cores, of every node type against its own one core: 100 % is every core put to full use. {_MARKS}",
    lambda line: marks_of(line, efficiency_percent),
    efficiency_law,
    100.0,
    lambda axes, _: reference(axes, 100.0),
)
_SPEEDUP = _View(
    "speedup, times one core",
    f"Times as fast as one core of the same type; the dotted line is one core's worth for every core. {_MARKS}",
    lambda line: marks_of(line, _speedup),
    chosen_law,
    2.0,
    _diagonal,
    square=True,
)
_THROUGHPUT = _View(
    "throughput, items/s",
    f"Work done per second: a node type may scale worse and still be the faster one. {_MARKS}",
    rate_marks,
    _rate_law,
    0.0,
    alike=False,
)


def efficiency(node_types: Sequence[NodeTypeEvaluation]) -> Drawing | NotDrawn:
    """Draw the parallel efficiency of every node type against its own one core."""
    return _picture(node_types, _EFFICIENCY, None)


def speedup(node_types: Sequence[NodeTypeEvaluation]) -> Drawing | NotDrawn:
    """Draw the speedup of every node type against its own one core."""
    return _picture(node_types, _SPEEDUP, None)


def capacity(node_types: Sequence[NodeTypeEvaluation], target: float | None = None) -> Drawing | NotDrawn:
    """Draw the throughput of every node type, and a target if there is one."""
    return _picture(node_types, _THROUGHPUT, target)


def _picture(kinds: Sequence[NodeTypeEvaluation], view: _View, target: float | None) -> Drawing | NotDrawn:
    panels = _panels(kinds, view)
    counts = [mark.cores for panel in panels for mark in panel.marks]
    if max(counts, default=1) == 1:
        why = "no point on more than one core was measured beside its one-core point"
        return NotDrawn(why)
    caption = f"{view.caption}{left_out_words(len(panels))}"
    return Drawing(caption, _figure(panels[:MOST_PANELS], view, counts, target))


def _panels(kinds: Sequence[NodeTypeEvaluation], view: _View) -> list[_Panel]:
    """A panel for everything held fixed but cores and kind, in the order of the kinds' points."""
    lines = [(place, kind.name, line) for place, kind in enumerate(kinds) for line in lines_of(kind.evaluation)]
    marked = [(place, name, line, marks) for place, name, line in lines if (marks := view.marks(line))]
    counts = [mark.cores for _, _, _, marks in marked for mark in marks]
    found: dict[Point, list[_Member]] = {}
    for place, name, line, marks in marked:
        fitted = most_fitted(line.fit) if line.fit else 1.0
        member = _Member(place, name, marks, view.law(line, counts), fitted, law_remark(line))
        found.setdefault(line.point, []).append(member)
    return [_Panel(name, tuple(found[point])) for name, point in zip(names_of(list(found)), found, strict=True)]


def _figure(panels: Sequence[_Panel], view: _View, counts: Sequence[float], target: float | None) -> mpl.Figure:
    shown, wide = frame(len(panels), share_y=view.alike), view.square and logarithmic(counts)
    farthest = max([*counts, *(float(curve.cores[-1]) for panel in panels for curve in panel.curves)])
    kinds = max(member.place for panel in panels for member in panel.members) + 1
    for place, panel in enumerate(panels):
        axes, ends = shown.axes[place], _ends(panels if view.alike else [panel], view, target, wide=wide)
        if view.ideal is not None:
            view.ideal(axes, farthest)
        if target is not None and target <= ends[1]:
            axes.axhline(target, color=TARGET, linewidth=1.1, linestyle="-.", zorder=2)
        for each in panel.members:
            if each.curve is not None:
                draw_curve(axes, each.curve, each.fitted, colour(each.place))
            draw_marks(axes, each.marks, colour(each.place), marker(each.place), ends, beside(each.place, kinds))
        shown.title(place, panel.name, panel.remark)
    cores_axis(shown, counts, farthest, square=view.square)
    for place, panel in enumerate(panels):
        axes = shown.axes[place]
        axes.set_ylim(*_ends(panels if view.alike else [panel], view, target, wide=wide))
        if not wide and (place == 0 or not view.alike):
            number_axis(axes)
    shown.labels("cores", view.y)
    shown.legend(_keys(panels, view, target))
    return shown.figure


def _ends(panels: Sequence[_Panel], view: _View, target: float | None, *, wide: bool) -> tuple[float, float]:
    """Where the axis of these panels begins and ends."""
    figures = [mark.figure for panel in panels for mark in panel.marks]
    curved = [float(curve.middle.max()) for panel in panels for curve in panel.curves]
    top = upper_limit([*curved, *(each.value for each in figures)], [each.high for each in figures], view.least) or 1.0
    bottom = min([1.0, *(each.value for each in figures)]) * 0.8 if wide else 0.0
    return bottom, max(top, 1.08 * target) if target is not None and target <= IN_SIGHT * top else top


def _keys(panels: Sequence[_Panel], view: _View, target: float | None) -> list[Key]:
    kinds = {member.place: member.kind for panel in panels for member in panel.members}
    keys: list[Key] = [mark_key(name, colour(place), marker(place)) for place, name in sorted(kinds.items())]
    keys += [line_key("ideal", INK, ":")] if view.square else []
    keys += law_keys([curve for panel in panels for curve in panel.curves])
    if target is not None:
        keys.append(line_key(f"target, {number_words(target)}/s", TARGET, "-."))
    return keys if all(mark.valid for panel in panels for mark in panel.marks) else [*keys, hollow_key()]
