"""Energy: power over time under caps, time and energy under caps against those without, and the frontier of both."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from scaling.analysis.energy import EnergyFigures
from scaling.analysis.estimates import Estimate
from scaling.errors import count
from scaling.features.energy.economy import CapEffect, CapKinds, Economy, cap_effects, economies
from scaling.features.energy.economy import cap_kinds as kinds_of_caps
from scaling.features.energy.report import size_parts
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import line_key, make_grid, mark_key, name_at_right, number_axis
from scaling.reporting.plots.specification import Stroke, distinct_names, upper_limit
from scaling.reporting.plots.style import COLOURS, FAINT, REFERENCE, colour, marker
from scaling.reporting.words import caps_words
from scaling.results.evaluation import Evaluation
from scaling.results.power import MeterTrace, PowerTrace
from scaling.study.planning import Point

NOT_METERED = "no run was metered: the machine has no meter that could be read, or the study said energy = 'none'"

# The caps of a figure are told apart by colour, the loosest first.
SIDEWAYS = 0.09

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
            for cap in (trace.run.point.cpu_power_watts, trace.run.point.gpu_power_watts):
                if cap is not None:
                    axes.axhline(cap, color=colour(style), **REFERENCE)
        axes.set_ylim(bottom=0.0)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        number_axis(axes)
        grid.title(index, names[index])
    grid.labels("seconds of its turns", "power, W")
    grid.legend([line_key(name, colour(style), _stroke(style)) for style, name in enumerate(caps)])
    return grid.figure


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
    """Draw time and energy of every workload under every cap, over those without it."""
    effects = cap_effects(point.summary for point in result.points)
    if not effects:
        return NotDrawn("no workload was metered under two caps; set cpu_power_watts, cpu_max_mhz or those of a GPU")
    caption = (
        "Time, energy and energy-delay product of a step under a cap, over those of the same point without caps or "
        "under the loosest, with 95 % intervals over launches, cut where they reach further than half the value. A "
        "workload whose time stays at 1 is not slowed by the cap; one whose energy stays below 1 gets its result for "
        "less."
    )
    return Drawing(caption, _caps_figure(effects))


def _caps_figure(effects: Sequence[CapEffect]) -> Figure:
    points = list(dict.fromkeys(one.summary.point.without_caps for one in effects))
    names = _names(points)
    caps = _cap_names(one.summary.point for one in effects)
    titles = ("time", "energy", "energy-delay product")
    grid = make_grid(len(titles), share_x=True, share_y=False, height=2.8)
    for panel, title in enumerate(titles):
        axes = grid.axes[panel]
        axes.axhline(1.0, color=FAINT, **REFERENCE)
        for one in effects:
            ratio = (one.time_ratio, one.energy_ratio, one.energy_delay_ratio)[panel]
            style = caps.index(_cap_name(one.summary.point))
            at = points.index(one.summary.point.without_caps) + SIDEWAYS * (style - (len(caps) - 1) / 2)
            _mark(axes, at, ratio, style, valid=one.summary.valid)
        axes.set_xlim(-0.6, len(points) - 0.4)
        axes.xaxis.set_major_locator(FixedLocator(list(range(len(points)))))
        axes.set_xticks(range(len(points)), names, rotation=45, ha="right")
        grid.title(panel, title)
        number_axis(axes)
    grid.labels("", "over that without the cap")
    grid.legend([mark_key(name, colour(style), marker(style)) for style, name in enumerate(caps)])
    return grid.figure


def cap_kinds(result: Evaluation) -> Drawing | NotDrawn:
    """Draw energy against time of every workload that was capped both in power and in its clock."""
    kinds = kinds_of_caps(cap_effects(point.summary for point in result.points))
    if not kinds:
        return NotDrawn("no workload was metered under caps of power and under caps of its clock; set both in a study")
    caption = (
        "Energy against time of a step under caps of power, and under caps of the clock, over those without either or "
        "under the loosest, with 95 % intervals of the energy. Of two lines the lower one takes less energy for the "
        "same time; caps of both at once are left out."
    )
    return Drawing(caption, _kinds_figure(kinds))


def _kinds_figure(kinds: Sequence[CapKinds]) -> Figure:
    grid = make_grid(len(kinds), share_x=True, share_y=True, height=2.6)
    names = _names([one.power[0].reference.point.without_caps for one in kinds])
    for index, one in enumerate(kinds):
        axes = grid.axes[index]
        axes.axhline(1.0, color=FAINT, **REFERENCE)
        axes.axvline(1.0, color=FAINT, **REFERENCE)
        for style, effects in enumerate((one.power, one.clock)):
            places = [(1.0, 1.0), *((effect.time_ratio.value, effect.energy_ratio.value) for effect in effects)]
            axes.plot([at for at, _ in places], [value for _, value in places], color=colour(style), linewidth=1.0)
            for effect in effects:
                _mark(axes, effect.time_ratio.value, effect.energy_ratio, style, valid=effect.summary.valid)
        number_axis(axes)
        grid.title(index, names[index])
    grid.labels("time over that without the cap", "energy over that without the cap")
    grid.legend([mark_key(name, colour(style), marker(style)) for style, name in enumerate(("power", "clock"))])
    return grid.figure


def frontier(result: Evaluation) -> Drawing | NotDrawn:
    """Draw energy against time per item for every size and cap of a workload."""
    known = economies(point.summary for point in result.points)
    if not known:
        return NotDrawn("no workload was metered at two points; more cores or caps make a frontier")
    caption = (
        "Energy of an item against the time it takes, for every number of cores and every cap, with 95 % intervals of "
        "the energy. The line joins the points that no other beats in both; its lower end is the most economical."
    )
    return Drawing(caption, _frontier_figure(known))


def _frontier_figure(known: Sequence[Economy]) -> Figure:
    grid = make_grid(len(known), share_x=False, share_y=False, height=2.6)
    names = distinct_names([one.subject for one in known])
    for index, one in enumerate(known):
        _draw_frontier(grid.axes[index], one)
        grid.title(index, names[index])
    grid.labels("time per item, ms", "energy per item, J")
    keys = [mark_key("on the frontier", colour(0), marker(0)), mark_key("not on it", colour(0), marker(0), hollow=True)]
    grid.legend(keys)
    return grid.figure


def _draw_frontier(axes: Axes, economy: Economy) -> None:
    metered = [(member, member.energy) for member in economy.members if member.energy]
    on_line = {member.point for member in economy.frontier}
    for member, energy in metered:
        _mark(axes, _milliseconds(energy), energy.joules_per_item, 0, valid=member.point in on_line)
    places = {member.point: (_milliseconds(energy), energy.joules_per_item.value) for member, energy in metered}
    line = [places[member.point] for member in economy.frontier]
    axes.plot([at for at, _ in line], [joules for _, joules in line], color=colour(0), linewidth=1.0, zorder=2)
    highs = [energy.joules_per_item.high for _, energy in metered]
    top = upper_limit([joules for _, joules in places.values()], highs, 0.0)
    axes.set_ylim(0.0, top)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    number_axis(axes)
    end = upper_limit([at for at, _ in places.values()], [], 0.0)
    few = len(places) <= MOST_NAMES
    named = [one for one in zip(_what_differs([*places]), places.items(), strict=True) if few or one[1][0] in on_line]
    name_at_right(axes, [name for name, _ in named], [place for _, (_, place) in named], end, top)


def _what_differs(points: Sequence[Point]) -> list[str]:
    """What points are given, without what all of them are given."""
    parts = [size_parts(point) for point in points]
    common = set.intersection(*map(set, parts))
    return [", ".join(part for part in own if part not in common) or own[0] for own in parts]


def _milliseconds(energy: EnergyFigures) -> float:
    """The time of an item, from its energy and the power meanwhile."""
    return 1e3 * energy.joules_per_item.value / energy.watts.value


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
