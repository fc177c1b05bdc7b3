"""Step times of training and inference on both devices, relative to training on the CPU alone (Fathom's Fig. 5)."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from scaling.features.devices.report import RelativeExecution, device_pairs, relative_executions
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import draw_mark, hollow_key, make_grid, mark_key, number_axis, reference
from scaling.reporting.plots.specification import distinct_names
from scaling.reporting.plots.style import colour, marker
from scaling.results.evaluation import Evaluation
from scaling.study.planning import Point

# Distance between the marks of a network, as a share of the distance between networks.
SIDEWAYS = 0.2
# The axis ends beyond the marks by this factor.
MARGIN = 1.4


def devices(result: Evaluation) -> Drawing | NotDrawn:
    """Draw a panel per framework, with every network on both devices."""
    executions = relative_executions(result.subject(device_pairs))
    if not executions:
        return NotDrawn("no workload was measured on both the CPU alone and a GPU; list both under device in the study")
    caption = (
        "Step time relative to training on the CPU alone in the same framework, with 95 % intervals across launches, "
        "on a logarithmic axis. CPU times are on the largest number of cores measured, GPU times with the fastest "
        "number of host cores."
    )
    return Drawing(caption, _figure(executions))


def _figure(executions: Sequence[RelativeExecution]) -> Figure:
    frameworks = sorted({one.summary.point.framework for one in executions})
    networks = list(dict.fromkeys(sorted((_network(one) for one in executions), key=lambda one: one.workload)))
    kinds = list(dict.fromkeys(sorted(map(_kind, executions), key=lambda kind: (kind[0], kind[1] != "train"))))
    names = distinct_names(networks)
    grid = make_grid(len(frameworks), share_x=False, height=2.8)
    for index, framework in enumerate(frameworks):
        axes = grid.axes[index]
        for one in executions:
            if one.summary.point.framework == framework:
                style = kinds.index(_kind(one))
                x = networks.index(_network(one)) + SIDEWAYS * (style - (len(kinds) - 1) / 2)
                draw_mark(axes, x, one.ratio, style, hollow=not one.summary.valid)
        axes.set_xlim(-0.6, len(networks) - 0.4)
        axes.set_xticks(range(len(networks)), names, rotation=45, ha="right")
        grid.title(index, framework)
    _log_axis(grid.axes, executions)
    grid.labels("", "step time relative to CPU training")
    keys = [mark_key(f"{device.upper()}, {mode}", colour(at), marker(at)) for at, (device, mode) in enumerate(kinds)]
    grid.legend([*keys, *([] if all(one.summary.valid for one in executions) else [hollow_key()])])
    return grid.figure


def _log_axis(panels: Sequence[Axes], executions: Sequence[RelativeExecution]) -> None:
    ends = [end for one in executions for end in (one.ratio.value, one.ratio.low, one.ratio.high) if end]
    low, high = max(min(ends), min(one.ratio.value for one in executions) / 2), max(ends)
    for axes in panels:
        axes.set_yscale("log")
        axes.set_ylim(low / MARGIN, high * MARGIN)
        reference(axes, 1.0)
    number_axis(panels[0])
    panels[0].yaxis.set_major_locator(LogLocator(10.0, (1.0, 2.0, 5.0), numticks=20))


def _network(one: RelativeExecution) -> Point:
    """The network of a time, whatever the mode, framework and device."""
    return replace(one.summary.point, mode="", framework="", device="", cores=1, placement="")


def _kind(one: RelativeExecution) -> tuple[str, str]:
    return one.summary.point.device, one.summary.point.mode
