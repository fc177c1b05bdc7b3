"""The specification of a figure over cores, in numbers. Pure; `compile.py` draws it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from math import isfinite
from typing import Any, Literal

from scaling.analysis.curves.fit import Curve, SeriesFit
from scaling.analysis.estimates import Estimate
from scaling.analysis.series import SeriesKey, series_key
from scaling.analysis.speedup import ScalingPoint
from scaling.errors import count
from scaling.reporting.plots.style import colour, marker, on_one_line
from scaling.results.evaluation import Evaluation
from scaling.study.planning import SETTINGS, Point

Stroke = Literal["-", "--", "-.", ":"]

# The most series of different workloads in one panel.
MOST_TOGETHER = 4
# The most series of one workload in one panel, which differ in colour.
MOST_IN_PANEL = 6
# The most series with names beside one panel.
MOST_LABELLED = 20
# The most panels that repeat the other series in grey, since the figure grows with the square of its series.
MOST_WITH_BACKGROUND = 24


@dataclass(frozen=True, slots=True)
class Mark:
    """An estimate at a core count; hollow if it is not valid."""

    cores: float
    estimate: Estimate
    valid: bool = True


@dataclass(frozen=True, slots=True)
class LawLine:
    """A curve or a law, dashed beyond `measured_to`; `band` names its band in the legend."""

    label: str
    curve: Curve
    measured_to: float
    colour: str
    stroke: Stroke = "-"
    band: str = "95 % band"
    width: float = 1.5

    @property
    def has_band(self) -> bool:
        """Whether it has a band."""
        return self.curve.low is not None

    @property
    def extrapolates(self) -> bool:
        """Whether the curve goes beyond the cores measured."""
        return float(self.curve.cores[-1]) > self.measured_to * (1.0 + 1e-9)


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line across a panel, with the interval of the estimate as its band."""

    estimate: Estimate
    colour: str
    label: str = ""
    stroke: Stroke = "-"
    width: float = 1.4
    band: str = "95 % interval"

    @property
    def has_band(self) -> bool:
        """Whether it has a band."""
        return self.estimate.low is not None


@dataclass(frozen=True, slots=True)
class Series:
    """Marks of one colour and marker with their laws and levels; `size` is the recommended core count."""

    label: str
    marks: Sequence[Mark]
    colour: str
    marker: str
    laws: Sequence[LawLine] = ()
    levels: Sequence[Level] = ()
    remark: str = ""
    in_legend: bool = False
    joined_by: Stroke = "-"
    size: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Series on common axes; `limits` belong to the y axis.

    With `labelled`, series have names at the right of the panel and joined marks, so that many can be distinguished.
    """

    series: Sequence[Series]
    limits: tuple[float, float]
    title: str = ""
    remark: str = ""
    background: Sequence[Mark] = ()
    target: Level | None = None
    extrapolated: tuple[float, float] | None = None
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class CoresFigure:
    """Panels over cores.

    `ideal` is a value, or "linear" for the line on which every core adds as much as the first. With `log_y`, y is
    logarithmic if cores are. With `linear`, cores are never logarithmic, so that saturation looks like saturation.
    """

    panels: Sequence[Panel]
    y_label: str
    ideal: float | Literal["linear"] | None = None
    share_y: bool = True
    log_y: bool = False
    linear: bool = False

    @property
    def series(self) -> list[Series]:
        """The series of all panels."""
        return [series for panel in self.panels for series in panel.series]

    @property
    def laws(self) -> list[LawLine]:
        """The laws of all panels."""
        return [law for series in self.series for law in series.laws]

    @property
    def counts(self) -> list[float]:
        """The measured core counts, or else the first ones of the laws."""
        return [mark.cores for mark in _marks(self.series)] or [float(law.curve.cores[0]) for law in self.laws]

    @property
    def last_count(self) -> float:
        """The end of the axis of cores."""
        ends = [float(law.curve.cores[-1]) for law in self.laws]
        ends += [panel.extrapolated[1] for panel in self.panels if panel.extrapolated]
        return max([*self.counts, *ends])


def logarithmic(counts: Iterable[float]) -> bool:
    """Whether cores belong on a logarithmic axis: many cores, with gaps that grow."""
    distinct = set(counts)
    most = max(distinct, default=1)
    return most >= 16 and len(distinct) < most / 2


def finite_marks(marks: Iterable[Mark]) -> list[Mark]:
    """The marks with finite values."""
    return [mark for mark in marks if isfinite(mark.estimate.value)]


def panels(lines: Sequence["Line"], series: Sequence[Series], limits: tuple[float, float]) -> list[Panel]:
    """One panel for up to four series, or else one per workload, with its settings as lines.

    If every workload has one series, each panel has the others in grey unless they are many.
    """
    if len(series) <= MOST_TOGETHER and not any(line.common for line in lines):
        return [Panel([replace(one, in_legend=True) for one in series], limits)]
    if len({line.point.workload for line in lines}) < len(lines):
        return panels_by_workload(lines, series, limits)
    repeated = series if len(series) <= MOST_WITH_BACKGROUND else ()
    return [
        Panel([one], limits, one.label, one.remark, _marks(other for other in repeated if other is not one))
        for one in series
    ]


def spread_labels(heights: Sequence[float], gap: float) -> list[float]:
    """Heights between 0 and 1 in the same order, moved as little as possible, with at least this gap between two."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    groups: list[list[int]] = []
    for index in order:
        groups.append([index])
        while len(groups) > 1 and (
            _bottom(groups[-2], heights, gap) + len(groups[-2]) * gap > _bottom(groups[-1], heights, gap)
        ):
            last = groups.pop()
            groups[-1] += last
    placed = [0.0] * len(heights)
    for group in groups:
        for number, index in enumerate(group):
            placed[index] = _bottom(group, heights, gap) + number * gap
    return placed


def _bottom(group: Sequence[int], heights: Sequence[float], gap: float) -> float:
    """The height of the lowest label of a group that is centred on the mean of its heights."""
    extent = (len(group) - 1) * gap
    centred = sum(heights[index] for index in group) / len(group) - extent / 2.0
    return max(0.0, min(centred, 1.0 - extent))


def _marks(series: Iterable[Series]) -> list[Mark]:
    return [mark for one in series for mark in one.marks]


def y_limits(
    series: Sequence[Series], least: float, *, bottom: float = 0.0, bands: bool = False, log: bool = False
) -> tuple[float, float]:
    """Limits around marks and laws, and bands if asked for; `least` is the smallest upper limit."""
    marks = _marks(series)
    curves = [law.curve for one in series for law in one.laws]
    values = [mark.estimate.value for mark in marks]
    highs: list[float | None] = [mark.estimate.high for mark in marks]
    highs += [float(curve.high.max()) for curve in curves if bands and curve.high is not None]
    top = upper_limit([*values, *(float(curve.middle.max()) for curve in curves)], highs, least) or 1.0
    return 0.8 * min([1.0, *values]) if log else bottom, top


def upper_limit(values: Iterable[float], highs: Iterable[float | None], least: float) -> float:
    """The end of an axis: above every value, and above every interval that is not very wide."""
    most = max(values, default=least)
    widest = max((high for high in highs if high is not None), default=most)
    return float(max(least, 1.08 * most, min(1.05 * widest, 2.0 * max(most, least))))


@dataclass(frozen=True, slots=True)
class Line:
    """Points that differ in cores only, ascending; `index` gives colour and marker, the same in every figure.

    If the settings have several SMT levels, `common` is the point on one core with one thread, and `common_fit` the
    curve of one thread per core.
    """

    name: str
    index: int
    point: Point
    points: tuple[ScalingPoint, ...]
    key: SeriesKey
    fit: SeriesFit | None
    common: ScalingPoint | None = None
    common_fit: SeriesFit | None = None

    @property
    def settings(self) -> Point:
        """Its settings without the SMT level."""
        return replace(self.point, smt=1)

    @property
    def measured(self) -> tuple[ScalingPoint, ...]:
        """The points with a step time."""
        return tuple(point for point in self.points if point.summary.step)


def series_lines(evaluation: Evaluation) -> tuple[Line, ...]:
    """The lines of an evaluation in the order of its points, without packs, which have their own figure."""
    single = [scaled for scaled in evaluation.points if scaled.summary.point.replicas == 1]
    groups = [
        (point, tuple(members))
        for point, members in groupby(single, key=lambda scaled: replace(scaled.summary.point, cores=1))
    ]
    fits = {fit.series.key: fit for fit in evaluation.fits}
    names = distinct_names([point for point, _ in groups])
    common = _common_baselines(groups)
    return tuple(
        Line(
            name,
            index,
            point,
            members,
            series_key(point),
            fits.get(series_key(point)),
            common.get(replace(point, smt=1)),
            fits.get(series_key(replace(point, smt=1))) if replace(point, smt=1) in common else None,
        )
        for index, (name, (point, members)) in enumerate(zip(names, groups, strict=True))
    )


def _common_baselines(groups: Sequence[tuple[Point, tuple[ScalingPoint, ...]]]) -> dict[Point, ScalingPoint]:
    """The points on one core with one thread, for settings with several SMT levels."""
    levels = Counter(replace(point, smt=1) for point, _ in groups)
    return {
        point: members[0]
        for point, members in groups
        if point.smt == 1 and levels[point] > 1 and members[0].summary.point.cores == 1 and members[0].summary.step
    }


def panels_by_workload(lines: Sequence[Line], series: Sequence[Series], limits: tuple[float, float]) -> list[Panel]:
    """A panel for every workload with its settings as lines, each setting of one colour and marker in all panels.

    Workloads with too many settings have several panels.
    """
    names = [field.name for field in fields(Point) if field.name != "cores"]
    varied = [name for name in names if name != "workload" and len({getattr(one.point, name) for one in lines}) > 1]
    apart = next(
        apart
        for apart in (varied[:number] for number in range(len(varied) + 1))
        if max(Counter(_group(line.point, apart) for line in lines).values()) <= MOST_IN_PANEL
    )
    by_colour = [name for name in varied if name not in apart]
    settings = [{name: getattr(line.point, name) for name in by_colour} for line in lines]
    variants = list(dict.fromkeys(tuple(own.values()) for own in settings))
    same: dict[str, Any] = settings[0]
    by_panel: dict[Point, list[Series]] = {}
    titled: dict[tuple[object, ...], Point] = {}
    for line, one, own in zip(lines, series, settings, strict=True):
        point = titled.setdefault(_group(line.point, apart), replace(line.point, **same))
        by_panel.setdefault(point, []).append(_as_variant(one, own, variants))
    titles = distinct_names(list(by_panel))
    return [Panel(own, limits, title, _remark(own)) for title, own in zip(titles, by_panel.values(), strict=True)]


def _group(point: Point, apart: Sequence[str]) -> tuple[object, ...]:
    return point.workload, *(getattr(point, name) for name in apart)


def _as_variant(series: Series, settings: Mapping[str, object], variants: Sequence[tuple[object, ...]]) -> Series:
    index = variants.index(tuple(settings.values()))
    words = (
        f"{count(int(str(value)), 'thread')} per core" if name == "smt" else _setting(name, value)
        for name, value in settings.items()
    )
    return replace(
        series,
        label=" ".join(filter(None, words)) or "as measured",
        colour=colour(index),
        marker=marker(index),
        laws=[replace(law, colour=colour(index)) for law in series.laws],
        levels=[replace(level, colour=colour(index)) for level in series.levels],
        remark="",
        in_legend=True,
    )


def _remark(series: Sequence[Series]) -> str:
    without = [one.label for one in series if not one.laws]
    return f"no curve: {', '.join(without)}" if without else ""


def distinct_names(points: Sequence[Point]) -> list[str]:
    """A name for every point: its workload, and the settings in which the points differ."""
    varied = [
        field.name
        for field in fields(Point)
        if field.name not in ("workload", "cores") and len(_values(points, field.name)) > 1
    ]
    settings = [[_setting(name, getattr(point, name)) for name in varied] for point in points]
    names = [[point.workload, *own] for point, own in zip(points, settings, strict=True)]
    return [on_one_line(" ".join(filter(None, name))) for name in names]


def _values(points: Iterable[Point], name: str) -> set[object]:
    """The values of a setting; a point without a pipeline counts as one with the usual threads."""
    values = {getattr(point, name) for point in points}
    return {value or "auto" for value in values} if name == "pipeline_threads" else values


def _setting(name: str, value: object) -> str:
    """A setting in words, empty for a default such as no quota."""
    return SETTINGS[name].words(value) if name in SETTINGS else str(value)
