"""Figure 1 of the Fathom paper: is every step like the last? Op time a step over the steps of a launch."""

from collections.abc import Sequence
from statistics import median

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scaling.analysis.operations import Stationarity
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import make_grid, number_axis, reference
from scaling.reporting.plots.style import colour, marker
from scaling.reporting.words import count, share
from scaling.results.op_evaluation import OpEvaluation

# Steps that took longer than this, in percent of the median, are drawn at the edge.
MOST_PERCENT = 200.0


def op_steps(result: OpEvaluation) -> Drawing | NotDrawn:
    """A panel a launch: the first of every training subject on its fewest threads, or of what there is."""
    chosen = _chosen(result)
    if not chosen:
        return NotDrawn("no trace has the three steps a trend needs")
    caption = (
        "Time in ops of every traced step, in percent of the median step of its launch; a program can be profiled from "
        "a few steps where they scatter around one level. Spread is the standard deviation over the mean; a drift is "
        "named where Mann and Kendall's test finds one."
    )
    return Drawing(caption, _figure(chosen))


def _chosen(result: OpEvaluation) -> list[Stationarity]:
    """One launch a workload: that of the most steps, in training where there is any, on the fewest threads."""
    best: dict[str, Stationarity] = {}

    def rank(each: Stationarity) -> tuple[bool, int, int]:
        return each.trace.point.mode != "train", -len(each.step_seconds), each.trace.threads

    for each in sorted(result.steadiness, key=rank):
        if len(each.step_seconds) >= 3:
            best.setdefault(each.trace.point.workload, each)
    return list(best.values())


def _figure(chosen: Sequence[Stationarity]) -> Figure:
    shown = make_grid(len(chosen))
    for place, each in enumerate(chosen):
        axes, middle = shown.axes[place], median(each.step_seconds)
        percents = [min(100.0 * seconds / middle, MOST_PERCENT) for seconds in each.step_seconds]
        axes.plot(
            range(1, len(percents) + 1), percents, linestyle="none", marker=marker(0), markersize=3.0, color=colour(0)
        )
        reference(axes, 100.0)
        shown.title(place, _name(each), _remark(each))
    shown.axes[0].set_ylim(0.0, MOST_PERCENT * 1.04)
    number_axis(shown.axes[0])
    for axes in shown.axes:
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    shown.labels("step", "op time of a step, % of the median")
    return shown.figure


def _name(each: Stationarity) -> str:
    return f"{each.trace.point.workload} {each.trace.point.mode}, {count(each.trace.threads, 'thread')}"


def _remark(each: Stationarity) -> str:
    drift = "" if each.steady or each.drift is None else f", drift {100 * each.drift:+.0f} %"
    return f"spread {share(each.coefficient_of_variation)}{drift}"
