"""Energy: power over time under caps, and time and energy of every size and cap over those without a cap."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scaling.analysis.estimates import Estimate
from scaling.errors import count
from scaling.features.energy.economy import CapKind, TradeOff, trade_offs
from scaling.features.energy.report import size_parts
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import line_key, make_grid, mark_key, name_at_right, number_axis
from scaling.reporting.plots.specification import Stroke, distinct_names
from scaling.reporting.plots.style import COLOURS, FAINT, INK, REFERENCE, colour, marker
from scaling.reporting.words import caps_words
from scaling.results.evaluation import Evaluation
from scaling.results.power import MeterTrace, PowerTrace
from scaling.study.planning import Point

NOT_METERED = "no run was metered: the machine has no meter that could be read, or the study said energy = 'none'"

# Kinds of caps as a legend names them.
KINDS: dict[CapKind, str] = {
    "none": "no cap, or the loosest",
    "power": "power cap",
    "clock": "clock cap",
    "both": "both caps",
}

# Of more points than this in a panel, only those on the frontier are named.
MOST_NAMES = 10

STROKES: tuple[Stroke, ...] = ("-", "--", "-.")


def power(result: Evaluation) -> Drawing | NotDrawn:
    """Draw a panel per workload: the power of its first metered launch over time, under every cap."""
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
        "Power of the parts that a run uses, summed, against the seconds that its own turns took, of one launch of "
        "every workload and cap; turns under different caps followed each other in random order, and each begins with "
        "steps that do not count. Dotted lines are caps of power."
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
    grid.legend([*keys, *([line_key("a cap of power", INK, ":")] if capped else [])])
    return grid.figure


def _power_caps(point: Point) -> list[float]:
    return [cap for cap in (point.cpu_power_watts, point.gpu_power_watts) if cap is not None]


def _stroke(style: int) -> Stroke:
    """A stroke for lines beyond the first colours, which come again."""
    return STROKES[style // len(COLOURS) % len(STROKES)]


def _moments(trace: PowerTrace) -> list[tuple[float, float]]:
    """The power of all parts of a run together, with the time between its turns taken out."""
    parts = [meter for meter in trace.meters if meter.domain != "board"] or list(trace.meters)
    if not all(meter.seconds for meter in parts):
        return []
    moments, elapsed, before = [], 0.0, None
    for at in max((meter.seconds for meter in parts), key=len):
        step = 0.0 if before is None else at - before
        elapsed += step if step < 1.0 else 0.0
        moments.append((elapsed, sum(_latest(meter, at) for meter in parts)))
        before = at
    return moments


def _latest(meter: MeterTrace, at: float) -> float:
    """What a meter showed last; meters are not sampled equally often."""
    return meter.watts[max(0, bisect_right(meter.seconds, at) - 1)]


def caps(result: Evaluation) -> Drawing | NotDrawn:
    """Draw energy against time of every size and cap of a workload, over those of its fastest point without a cap."""
    known = result.subject(trade_offs)
    if not known:
        return NotDrawn("no workload was metered at two points; measure more cores, or caps of power or clock")
    caption = (
        "Energy of an item against the time it takes, over those of the fastest point without a cap or under the "
        "loosest, with 95 % intervals of the energy, cut where they reach further than half the value. Lines join the "
        "caps of a size from the loosest to the tightest, and the sizes without a cap. Of a hollow mark another point "
        "takes less of both."
    )
    return Drawing(caption, _caps_figure(known))


def _caps_figure(known: Sequence[TradeOff]) -> Figure:
    grid = make_grid(len(known), share_x=False, share_y=False, height=2.6)
    names = distinct_names([one.subject for one in known])
    for index, one in enumerate(known):
        _draw_trade_off(grid.axes[index], one)
        grid.title(index, names[index])
    grid.labels("time over that without a cap", "energy over that without a cap")
    shown = [kind for kind in KINDS if any(effect.kind == kind for one in known for effect in one.members)]
    keys = [mark_key(KINDS[kind], colour(_style(kind)), marker(_style(kind))) for kind in shown]
    grid.legend([*keys, mark_key("another takes less of both", hollow=True)])
    return grid.figure


def _draw_trade_off(axes: Axes, one: TradeOff) -> None:
    best = {member.point for member in one.frontier}
    places = {effect.summary.point: (effect.time_ratio.value, effect.energy_ratio.value) for effect in one.members}
    axes.axhline(1.0, color=FAINT, **REFERENCE)
    axes.axvline(1.0, color=FAINT, **REFERENCE)
    for kind, points in _lines(one):
        line = [places[point] for point in points]
        axes.plot([x for x, _ in line], [y for _, y in line], color=colour(_style(kind)), linewidth=1.0, zorder=2)
    for effect in one.members:
        point = effect.summary.point
        _mark(axes, places[point][0], effect.energy_ratio, _style(effect.kind), valid=point in best)
    few = len(places) <= MOST_NAMES
    named = [one for one in zip(_what_differs([*places]), places.items(), strict=True) if few or one[1][0] in best]
    begins, ends = zip(*(_span([place[axis] for place in places.values()]) for axis in (0, 1)), strict=True)
    name_at_right(axes, [name for name, _ in named], [place for _, (_, place) in named], ends, begins)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    number_axis(axes)


def _span(values: Sequence[float]) -> tuple[float, float]:
    """From where to where an axis of ratios goes: all of them and 1, and a tenth at least."""
    low, high = min(1.0, *values), max(1.0, *values)
    room = max(0.1 * (high - low), 0.05)
    return low - room, high + room


def _lines(one: TradeOff) -> Iterator[tuple[CapKind, list[Point]]]:
    """What lines join: the sizes without a cap, and for every size its caps of a kind, the loosest first."""
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
    return [-(value or float("inf")) for value in point.caps]


def _style(kind: CapKind) -> int:
    return [*KINDS].index(kind)


def _what_differs(points: Sequence[Point]) -> list[str]:
    """What points are given, without what all of them are given."""
    parts = [size_parts(point) for point in points]
    common = set.intersection(*map(set, parts))
    return [", ".join(part for part in own if part not in common) or "no cap" for own in parts]


def _mark(axes: Axes, at: float, estimate: Estimate, style: int, *, valid: bool) -> None:
    value = estimate.value
    low, high = (value if end is None else end for end in (estimate.low, estimate.high))
    # With two launches an interval may be many times its value, and would hide all others.
    below, above = min(value - low, 0.5 * value), min(high - value, 0.5 * value)
    axes.errorbar(
        [at],
        [value],
        yerr=[[below], [above]],
        linestyle="none",
        marker=marker(style),
        color=colour(style),
        markerfacecolor=colour(style) if valid else "none",
        elinewidth=1.0,
        zorder=3,
    )


def _names(points: Sequence[Point]) -> list[str]:
    """Names of points, with their cores where these differ."""
    names = distinct_names(points)
    if len({point.cores for point in points}) == 1:
        return names
    return [f"{name}, {count(point.cores, 'core')}" for name, point in zip(names, points, strict=True)]


def _cap_name(point: Point) -> str:
    return ", ".join(caps_words(point)) or "no cap"


def _cap_names(points: Iterable[Point]) -> list[str]:
    """The names of caps, the loosest first."""
    distinct = {_cap_name(point): point.caps for point in points}
    return sorted(distinct, key=lambda name: [-(value or float("inf")) for value in distinct[name]])
