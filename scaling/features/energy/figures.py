"""Figures of energy: power over time under caps, and the energy and time of every size and cap."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scaling.analysis.estimates import Estimate
from scaling.errors import count
from scaling.features.energy.economy import CapKind, TradeOff, trade_offs
from scaling.features.energy.report import size_parts
from scaling.machine.controls import CAPS
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import draw_mark, line_key, make_grid, mark_key, name_at_right, number_axis
from scaling.reporting.plots.specification import Stroke, distinct_names
from scaling.reporting.plots.style import COLOURS, FAINT, INK, REFERENCE, colour, marker
from scaling.reporting.words import caps_words
from scaling.results.evaluation import Evaluation
from scaling.results.traces import PowerTrace
from scaling.study.planning import Point

NOT_METERED = "no run was metered: no power meter could be read, or the study has energy = 'none'"

KINDS: dict[CapKind, str] = {
    "none": "the loosest cap, or none",
    "power": "power cap",
    "clock": "clock cap",
    "both": "both caps",
}

# Panels with more points name only the points on the frontier.
MOST_NAMES = 10

STROKES: tuple[Stroke, ...] = ("-", "--", "-.")


def power(result: Evaluation) -> Drawing | NotDrawn:
    """Draw a panel per workload with the power of its first metered launch over time, under every cap."""
    by_work: dict[Point, list[PowerTrace]] = {}
    for trace in result.folder.power:
        by_work.setdefault(trace.run.point.without_caps, []).append(trace)
    first = {
        point: [trace for trace in traces if trace.run.launch == min(one.run.launch for one in traces)]
        for point, traces in by_work.items()
    }
    panels = {point: traces for point, traces in first.items() if any(_moments(trace) for trace in traces)}
    if not panels:
        return NotDrawn(NOT_METERED)
    caption = (
        "Total power of the hardware that a run uses, during the turns of that run, for one launch of every workload "
        "and cap. Turns under different caps alternated in random order; the first steps of each turn do not count. "
        "Dotted lines are power caps."
    )
    return Drawing(caption, _traces_figure(panels))


def _traces_figure(panels: dict[Point, list[PowerTrace]]) -> Figure:
    grid = make_grid(len(panels), share_x=False, share_y=False, height=2.4)
    names = _names(list(panels))
    caps = _cap_names(trace.run.point for traces in panels.values() for trace in traces)
    for index, traces in enumerate(panels.values()):
        axes = grid.axes[index]
        for trace in traces:
            style = caps.index(_cap_name(trace.run.point))
            moments = _moments(trace)
            seconds, powers = [at for at, _ in moments], [watts for _, watts in moments]
            axes.plot(seconds, powers, color=colour(style), linestyle=_stroke(style), linewidth=1.0)
            for cap in _power_caps(trace.run.point):
                axes.axhline(cap, color=INK, **REFERENCE)
        axes.set_ylim(bottom=0.0)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        number_axis(axes)
        grid.title(index, names[index])
    grid.labels("seconds of its turns", "power, W")
    keys = [line_key(f"power under {name}", colour(style), _stroke(style)) for style, name in enumerate(caps)]
    capped = any(_power_caps(trace.run.point) for traces in panels.values() for trace in traces)
    grid.legend([*keys, *([line_key("a power cap", INK, ":")] if capped else [])])
    return grid.figure


def _power_caps(point: Point) -> list[float]:
    return [value for name, value in point.caps if CAPS[name].caps == "power"]


def _stroke(style: int) -> Stroke:
    """The stroke of a line; it changes each time the colours are used up."""
    return STROKES[style // len(COLOURS) % len(STROKES)]


def _moments(trace: PowerTrace) -> list[tuple[float, float]]:
    """The total power of a run's parts over time, without the time between its turns."""
    parts = [meter for meter in trace.meters if meter.domain != "board"] or list(trace.meters)
    if not all(meter.seconds for meter in parts):
        return []
    times = max((meter.seconds for meter in parts), key=len)
    steps = [0.0, *(after - before for before, after in pairwise(times))]
    elapsed = accumulate(step if step < 1.0 else 0.0 for step in steps)
    # Meters are not sampled equally often: each counts with its latest power.
    powers = (sum(meter.watts[max(0, bisect_right(meter.seconds, at) - 1)] for meter in parts) for at in times)
    return list(zip(elapsed, powers, strict=True))


def caps(result: Evaluation) -> Drawing | NotDrawn:
    """Draw the energy and time of every size and cap of a workload, relative to its fastest point without a cap."""
    trades = result.subject(trade_offs)
    if not trades:
        return NotDrawn("no workload was metered at two points; measure more core counts, power caps or clock caps")
    caption = (
        "Energy against time per item, relative to the fastest point without a cap. If all are capped, relative to "
        "the fastest under the loosest cap. Bars are 95 % intervals of the energy, drawn to at most half the value on "
        "either side. For each size, a line joins its caps from the loosest to the tightest; another line joins the "
        "sizes without a cap. A mark is hollow if another point takes both less energy and less time."
    )
    return Drawing(caption, _caps_figure(trades))


def _caps_figure(trades: Sequence[TradeOff]) -> Figure:
    grid = make_grid(len(trades), share_x=False, share_y=False, height=2.6)
    names = distinct_names([one.subject for one in trades])
    for index, one in enumerate(trades):
        _draw_trade_off(grid.axes[index], one)
        grid.title(index, names[index])
    grid.labels("time relative to the loosest cap", "energy relative to the loosest cap")
    shown = [kind for kind in KINDS if any(effect.kind == kind for one in trades for effect in one.members)]
    keys = [mark_key(KINDS[kind], colour(_style(kind)), marker(_style(kind))) for kind in shown]
    grid.legend([*keys, mark_key("another takes less of both", hollow=True)])
    return grid.figure


def _draw_trade_off(axes: Axes, one: TradeOff) -> None:
    best = {member.point for member in one.frontier}
    positions = {effect.summary.point: (effect.time_ratio.value, effect.energy_ratio.value) for effect in one.members}
    axes.axhline(1.0, color=FAINT, **REFERENCE)
    axes.axvline(1.0, color=FAINT, **REFERENCE)
    for kind, points in _lines(one):
        line = [positions[point] for point in points]
        axes.plot([x for x, _ in line], [y for _, y in line], color=colour(_style(kind)), linewidth=1.0, zorder=2)
    for effect in one.members:
        point = effect.summary.point
        energy = _shorten_bar(effect.energy_ratio)
        draw_mark(axes, effect.time_ratio.value, energy, _style(effect.kind), hollow=point not in best)
    few = len(positions) <= MOST_NAMES
    named = [
        one for one in zip(_what_differs([*positions]), positions.items(), strict=True) if few or one[1][0] in best
    ]
    begins, ends = zip(*(_span([position[axis] for position in positions.values()]) for axis in (0, 1)), strict=True)
    name_at_right(axes, [name for name, _ in named], [position for _, (_, position) in named], ends, begins)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    number_axis(axes)


def _shorten_bar(ratio: Estimate) -> Estimate:
    """The ratio with at most half its value on either side: two launches may have an interval that hides all others."""
    low, high = (ratio.value if end is None else end for end in (ratio.low, ratio.high))
    return Estimate(ratio.value, max(low, 0.5 * ratio.value), min(high, 1.5 * ratio.value))


def _span(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis that shows all ratios and 1, and spans at least a tenth."""
    low, high = min(1.0, *values), max(1.0, *values)
    room = max(0.1 * (high - low), 0.05)
    return low - room, high + room


def _lines(one: TradeOff) -> Iterator[tuple[CapKind, list[Point]]]:
    """The points that lines join: the sizes without a cap, and for every size its caps of a kind, loosest first."""
    sizes: dict[Point, dict[CapKind, list[Point]]] = {}
    for effect in one.members:
        point = effect.summary.point
        sizes.setdefault(point.without_caps, {}).setdefault(effect.kind, []).append(point)
    free = [point for kinds in sizes.values() for point in kinds.get("none", [])]
    yield "none", sorted(free, key=lambda point: (point.cores, point.replicas))
    for kinds in sizes.values():
        for kind in ("power", "clock"):
            under = sorted(kinds.get(kind, []), key=_tightness)
            yield kind, [*kinds.get("none", []), *under] if under else []


def _tightness(point: Point) -> list[float]:
    caps = dict(point.caps)
    return [-caps.get(name, float("inf")) for name in CAPS]


def _style(kind: CapKind) -> int:
    return [*KINDS].index(kind)


def _what_differs(points: Sequence[Point]) -> list[str]:
    """The sizes and caps of points, without the parts that all of them share."""
    parts = [size_parts(point, placed=True) for point in points]
    common = set.intersection(*map(set, parts))
    return [", ".join(part for part in own if part not in common) or "no cap" for own in parts]


def _names(points: Sequence[Point]) -> list[str]:
    names = distinct_names(points)
    if len({point.cores for point in points}) == 1:
        return names
    return [f"{name}, {count(point.cores, 'core')}" for name, point in zip(names, points, strict=True)]


def _cap_name(point: Point) -> str:
    return ", ".join(caps_words(point)) or "no cap"


def _cap_names(points: Iterable[Point]) -> list[str]:
    """The names of caps, the loosest first."""
    distinct = {_cap_name(point): point for point in points}
    return sorted(distinct, key=lambda name: _tightness(distinct[name]))
