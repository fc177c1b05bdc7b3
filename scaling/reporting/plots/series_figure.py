"""A figure over cores for every series: together while they are few, else a panel each with the others behind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scaling.reporting.plots.frame import MOST_PANELS, Key, cores_axis, frame, number_axis, reference
from scaling.reporting.plots.lines import Line
from scaling.reporting.plots.marks import Mark, behind_key, beside, draw_behind, draw_marks, hollow_key, mark_key
from scaling.reporting.plots.style import colour, marker

# More series than this in one panel are not told apart.
TOGETHER = 4


@dataclass(frozen=True, slots=True)
class Drawn:
    """A series and its marks."""

    line: Line
    marks: Sequence[Mark]


@dataclass(frozen=True, slots=True)
class Look:
    """What differs between figures of this form.

    `under` draws what belongs below the marks of a series, such as its law; `remark` is said beside its name; `keys`
    explain what was drawn under the marks; `ideal` is where a thin line crosses every panel.
    """

    y: str
    ends: tuple[float, float]
    farthest: float
    keys: Sequence[Key] = ()
    ideal: float | None = None
    under: Callable[[Axes, Drawn], None] = lambda axes, drawn: None
    remark: Callable[[Line], str] = lambda line: ""


def series_figure(drawn: Sequence[Drawn], look: Look) -> Figure:
    """Marks over cores for as many of the series as there are panels."""
    together, shown = len(drawn) <= TOGETHER, drawn[:MOST_PANELS]
    panels = frame(1 if together else len(shown))
    for place, each in enumerate(shown):
        axes = panels.axes[0 if together else place]
        if not together:
            draw_behind(axes, [mark for other in shown if other is not each for mark in other.marks])
            panels.title(place, each.line.name, look.remark(each.line))
        look.under(axes, each)
        shift = beside(place, len(shown)) if together else 0.0
        draw_marks(axes, each.marks, colour(each.line.place), marker(each.line.place), look.ends, shift)
    for axes in panels.axes:
        axes.set_ylim(*look.ends)
        if look.ideal is not None:
            reference(axes, look.ideal)
    number_axis(panels.axes[0])
    cores_axis(panels, [mark.cores for each in shown for mark in each.marks], look.farthest)
    panels.labels("cores", look.y)
    panels.legend([*_series_keys(shown, look, together), *look.keys, *_hollow(shown)])
    return panels.figure


def _series_keys(drawn: Sequence[Drawn], look: Look, together: bool) -> list[Artist]:
    if not together:
        return [behind_key("the other series")]
    return [
        mark_key(" · ".join(filter(None, (line.name, look.remark(line)))), colour(line.place), marker(line.place))
        for line in (each.line for each in drawn)
    ]


def _hollow(drawn: Sequence[Drawn]) -> list[Artist]:
    return [] if all(mark.valid for each in drawn for mark in each.marks) else [hollow_key()]
