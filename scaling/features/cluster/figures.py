"""Figures with a cluster's node types as series: a panel per program, a colour and a marker per node type."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from scaling.features.cluster.node_types import NodeTypeEvaluation
from scaling.reporting.plots.capacity import reach_target, target_level
from scaling.reporting.plots.compile import compile_figure
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.over_cores import (
    EFFICIENCY,
    MARKS,
    ONE_CORE_ONLY,
    SPEEDUP,
    THROUGHPUT,
    Quantity,
    core_counts,
    measured_lines,
    specify,
)
from scaling.reporting.plots.specification import (
    CoresFigure,
    LawLine,
    Panel,
    Series,
    distinct_names,
    logarithmic,
    y_limits,
)
from scaling.reporting.plots.style import colour, marker
from scaling.study.planning import Point


def efficiency(node_types: Sequence[NodeTypeEvaluation]) -> Drawing | NotDrawn:
    """Draw the parallel efficiency of every node type relative to its own one core."""
    caption = (
        "Speedup divided by cores; every node type is relative to its own speed on one core. "
        f"{MARKS}; lines are fitted curves."
    )
    return _over_one_core(node_types, EFFICIENCY, caption, ideal=100.0)


def speedup(node_types: Sequence[NodeTypeEvaluation]) -> Drawing | NotDrawn:
    """Draw the speedup of every node type relative to its own one core."""
    caption = (
        "Speedup relative to one core of the same node type. On the dotted line, every core adds as much as the first. "
        f"{MARKS}; lines are fitted curves."
    )
    return _over_one_core(node_types, SPEEDUP, caption, ideal="linear", log_y=True)


def _over_one_core(
    node_types: Sequence[NodeTypeEvaluation],
    quantity: Quantity,
    caption: str,
    *,
    ideal: float | Literal["linear"],
    log_y: bool = False,
) -> Drawing | NotDrawn:
    groups = _groups(node_types, quantity)
    if not _several_cores(groups):
        return NotDrawn(ONE_CORE_ONLY)
    log = log_y and logarithmic([mark.cores for series in _series(groups) for mark in series.marks])
    limits = y_limits(_series(groups), quantity.least, log=log)
    panels = [_panel(*group, limits) for group in groups.items()]
    return Drawing(caption, compile_figure(CoresFigure(panels, quantity.y_label, ideal=ideal, log_y=log_y)))


def capacity(node_types: Sequence[NodeTypeEvaluation], target: float | None = None) -> Drawing | NotDrawn:
    """Draw the throughput of every node type, and the target if there is one."""
    groups = _groups(node_types, THROUGHPUT)
    if not _several_cores(groups):
        return NotDrawn(ONE_CORE_ONLY)
    panels = [
        replace(_panel(name, group, reach_target(y_limits(group, 0.0), target)), target=target_level(target))
        for name, group in groups.items()
    ]
    caption = (
        "Work per second: a node type may scale worse than another and still be faster. "
        f"{MARKS}; lines are fitted curves."
    )
    return Drawing(caption, compile_figure(CoresFigure(panels, THROUGHPUT.y_label, share_y=False, linear=True)))


def _groups(node_types: Sequence[NodeTypeEvaluation], quantity: Quantity) -> dict[str, list[Series]]:
    """The series of every program by its name: its other settings are fixed, cores and node type differ."""
    lines = [
        (index, node_type.name, line)
        for index, node_type in enumerate(node_types)
        for line in measured_lines(node_type.evaluation, quantity)
    ]
    counts = core_counts([line for _, _, line in lines], quantity)
    groups: dict[Point, list[Series]] = {}
    for index, name, line in lines:
        groups.setdefault(line.point, []).append(_restyle(specify(line, quantity, counts), name, index))
    return dict(zip(distinct_names(list(groups)), groups.values(), strict=True))


def _restyle(series: Series, name: str, index: int) -> Series:
    laws: list[LawLine] = [replace(law, colour=colour(index)) for law in series.laws]
    return replace(series, label=name, laws=laws, in_legend=True, colour=colour(index), marker=marker(index))


def _panel(title: str, group: Sequence[Series], limits: tuple[float, float]) -> Panel:
    """A program on every node type; a remark names its node type."""
    remark = "; ".join(f"{series.label}: {series.remark}" for series in group if series.remark)
    return Panel([replace(series, remark="") for series in group], limits, title, remark)


def _series(groups: dict[str, list[Series]]) -> list[Series]:
    return [series for group in groups.values() for series in group]


def _several_cores(groups: dict[str, list[Series]]) -> bool:
    return max((mark.cores for series in _series(groups) for mark in series.marks), default=1) > 1
