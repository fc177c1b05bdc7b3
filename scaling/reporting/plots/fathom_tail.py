"""Figure 2 of the Fathom paper: how few op types make up most of the time."""

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scaling.analysis.operations import MOST, cumulative_shares, types_for
from scaling.analysis.ops.profile import Profile
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import make_grid, number_axis, reference
from scaling.reporting.plots.style import colour, marker
from scaling.reporting.words import count
from scaling.results.op_evaluation import OpEvaluation

FARTHEST = 25


def op_tail(result: OpEvaluation) -> Drawing | NotDrawn:
    """A curve a workload, all of one mode, size and number of threads."""
    if not result.alike:
        return NotDrawn("no run was traced")
    first = result.alike[0]
    caption = (
        f"The share of op time that the heaviest op types make up together ({first.point.mode}, {first.point.size} "
        f"size, {count(first.threads, 'thread')}); behind a name, how many types make {100 * MOST:.0f} %."
    )
    return Drawing(caption, _figure(result.alike))


def _figure(profiles: Sequence[Profile]) -> Figure:
    shown = make_grid(1)
    axes = shown.axes[0]
    most = max(min(FARTHEST, len(each.ops)) for each in profiles)
    for place, each in enumerate(profiles):
        percents = [100.0 * reached for reached in cumulative_shares(each)][:most]
        label = f"{each.point.workload} ({types_for(each)})"
        axes.plot(
            range(1, len(percents) + 1),
            percents,
            marker=marker(place),
            markersize=4.0,
            linewidth=0.9,
            color=colour(place),
            label=label,
        )
    reference(axes, 100.0 * MOST)
    axes.set_xlim(0.5, most + 0.5)
    axes.set_ylim(0.0, 102.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    number_axis(axes)
    shown.labels("op types, the heaviest first", "share of op time, %")
    shown.legend(axes.lines[: len(profiles)])
    return shown.figure
