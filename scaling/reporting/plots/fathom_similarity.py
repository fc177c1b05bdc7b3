"""Figure 4 of the Fathom paper: which workloads are alike, as the tree in which they join."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from scaling.analysis.ops.similarity import Merge
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import SINGLE_WIDTH_INCHES
from scaling.reporting.plots.style import SMALL_POINTS, colour
from scaling.reporting.plots.text import wrapped
from scaling.reporting.words import count
from scaling.results.op_evaluation import OpEvaluation

LEAF_INCHES = 0.33


def op_similarity(result: OpEvaluation) -> Drawing | NotDrawn:
    """A tree of the workloads by centroid linkage of the cosine distance between their shares of op types."""
    found = result.merges("centroid")
    if not found:
        return NotDrawn("it takes two workloads, traced alike, to be compared")
    first = result.alike[0]
    caption = (
        "Cosine distance between the shares of op types, centroid linkage: workloads that join far to the left spend "
        "their time in the same ops in the same proportions; at 1 they share none. "
        f"({first.point.mode}, {first.point.size} size, {count(first.threads, 'thread')}.)"
    )
    return Drawing(caption, _figure(found))


def _figure(found: Sequence[Merge]) -> Figure:
    order = leaves(found)
    figure = Figure(figsize=(SINGLE_WIDTH_INCHES, 0.9 + LEAF_INCHES * len(order)), layout="constrained")
    axes = figure.add_subplot()
    places: dict[tuple[str, ...], tuple[float, float]] = {
        (name,): (0.0, float(place)) for place, name in enumerate(order)
    }
    widest = max(max(merge.distance for merge in found), 1e-3)
    lower = {merge.right for merge in found}
    for merge in found:
        (left_x, left_y), (right_x, right_y) = places[merge.left], places[merge.right]
        axes.plot(
            [left_x, merge.distance, merge.distance, right_x],
            [left_y, left_y, right_y, right_y],
            color=colour(0),
            linewidth=1.4,
            solid_joinstyle="miter",
        )
        joined, middle = merge.left + merge.right, (left_y + right_y) / 2.0
        # The next join may be nearer than a label is wide: its branch goes up from a lower group and down from an
        # upper one, and the label is on the other side.
        axes.annotate(
            f"{merge.distance:.3f}",
            (merge.distance, middle),
            xytext=(3, -2.5 if joined in lower else 1),
            textcoords="offset points",
            va="top" if joined in lower else "bottom",
            ha="left",
            fontsize=SMALL_POINTS - 0.5,
        )
        places[joined] = (merge.distance, middle)
    axes.set_yticks(range(len(order)), [wrapped(name, 22.0, 2) for name in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.14 * widest)
    axes.grid(False)
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0.0)
    axes.set_xlabel("cosine distance at which they join")
    return figure


def leaves(found: Sequence[Merge]) -> tuple[str, ...]:
    """The workloads in an order in which no two branches cross."""
    last = found[-1]
    return last.left + last.right
