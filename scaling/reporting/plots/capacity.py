"""How many cores: throughput with what a new launch is sure to reach, the target, and the size to give."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib import figure as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from scaling.analysis.capacity import answer
from scaling.analysis.estimates import Estimate
from scaling.analysis.sizing.question import ASSURANCE, Outlook, Question
from scaling.analysis.speedup import Scaled
from scaling.reporting.plots.curves import Curve, launch_curve, most_fitted
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.frame import MOST_PANELS, Key, cores_axis, frame, number_axis, upper_limit
from scaling.reporting.plots.law_lines import draw_curve, left_out_words
from scaling.reporting.plots.lines import Line, lines_of
from scaling.reporting.plots.marks import Mark, band_key, draw_marks, finite, hollow_key, line_key
from scaling.reporting.plots.style import COLOURS, FAINT, colour, marker
from scaling.reporting.words import count
from scaling.reporting.words import figure as number_words
from scaling.results.evaluation import Evaluation

DRAWS = 400
GIVEN, TARGET = COLOURS[1], COLOURS[3]
# A target farther above all that is drawn would only flatten the picture.
IN_SIGHT = 2.0


@dataclass(frozen=True, slots=True)
class _Panel:
    """What one series has to show; no curve where there is no answer."""

    outlook: Outlook
    place: int
    name: str
    marks: Sequence[Mark]
    curve: Curve | None
    given: int | None
    remark: str

    @property
    def measured(self) -> float:
        """The most cores measured."""
        return most_fitted(self.outlook.fit)

    @property
    def extrapolates(self) -> bool:
        """Whether its curve goes beyond them."""
        return self.curve is not None and self.outlook.farthest > self.measured


def capacity(result: Evaluation, target: float | None = None) -> Drawing | NotDrawn:
    """A panel for every series that a size is asked of; with a target, the size that reaches it, else the knee's."""
    if not result.outlooks:
        return NotDrawn("no series could be fitted, so nothing is known of sizes that were not measured")
    lines = lines_of(result)
    panels = [_panel(each, lines, result, target) for each in result.outlooks[:MOST_PANELS]]
    given = (
        f"the smallest size that reaches {number_words(target)} a second so surely"
        if target is not None
        else "the size where more cores stop paying"
    )
    caption = (
        "Throughput over cores: the line is what the laws say, the band what a single new launch makes, above its "
        f"lower edge {100 * ASSURANCE:.0f} times in a hundred; the upright line is {given}. Beyond the cores measured "
        "it is extrapolated, beyond twice as many nothing is said. Bars are 95 % intervals over launches, hollow marks "
        f"have a verdict against them.{left_out_words(len(result.outlooks))}"
    )
    return Drawing(caption, _figure(panels, target))


def _panel(outlook: Outlook, lines: Sequence[Line], result: Evaluation, target: float | None) -> _Panel:
    fit = outlook.fit
    own = [line for line in lines if line.key in (fit.series.key, *fit.series.key.parts)]
    line = min(own, key=lambda each: each.point.smt, default=None)
    refused = fit.verdict.word in ("no law fits", "superlinear") or all(law.fitted.problem.df <= 0 for law in fit.laws)
    curve = None if refused else launch_curve(fit, fit.draws(DRAWS), outlook.farthest, ASSURANCE)
    given, remark = _given(outlook, result, target)
    return _Panel(
        outlook,
        line.place if line else 0,
        line.name if line else fit.series.label,
        rate_marks(line) if line else [],
        curve,
        given,
        remark,
    )


def rate_marks(line: Line) -> list[Mark]:
    """Throughput, which needs no baseline: a point is as valid as its own launches are."""
    return finite(
        Mark(point.summary.point.cores, rate, point.summary.valid) for point in line.points if (rate := _rate(point))
    )


def _rate(point: Scaled) -> Estimate | None:
    """Items a second; steps a second where nobody counted items."""
    summary = point.summary
    return summary.rate or (summary.step.map(lambda seconds: 1.0 / seconds) if summary.step else None)


def _given(outlook: Outlook, result: Evaluation, target: float | None) -> tuple[int | None, str]:
    """The size to give, and what to say of it."""
    if target is None:
        given = outlook.recommended
        return given, f"no size: {outlook.fit.verdict.word}" if given is None else f"give {count(given, 'core')}"
    found = answer(outlook.fit, Question("throughput", target), result.sizes)
    if found.offer is None:
        return None, f"no size: {found.status}"
    threads = f" × {found.offer.threads} threads" if found.offer.threads > 1 else ""
    return found.offer.cores, f"give {count(found.offer.cores, 'core')}{threads}"


def _figure(panels: Sequence[_Panel], target: float | None) -> mpl.Figure:
    counts = [cores for panel in panels for cores in panel.outlook.fit.series.cores]
    counts += [mark.cores for panel in panels for mark in panel.marks]
    farthest = max([*counts, *(panel.outlook.farthest for panel in panels)])
    shown = frame(len(panels), share_y=False)
    for place, panel in enumerate(panels):
        axes, top = shown.axes[place], _top(panel, target)
        _draw(axes, panel, top, target)
        axes.set_ylim(0.0, top)
        number_axis(axes)
        shown.title(place, panel.name, panel.remark)
    cores_axis(shown, counts, farthest)
    units = {panel.outlook.fit.series.unit for panel in panels}
    shown.labels("cores", f"throughput, {units.pop() if len(units) == 1 else 'units'}/s")
    shown.legend(_keys(panels, target))
    return shown.figure


def _top(panel: _Panel, target: float | None) -> float:
    values = [mark.figure.value for mark in panel.marks]
    values += [] if panel.curve is None else [float(panel.curve.middle.max())]
    highs = [mark.figure.high for mark in panel.marks]
    highs += [] if panel.curve is None or panel.curve.high is None else [float(panel.curve.high.max())]
    top = upper_limit(values, highs, 0.0) or 1.0
    return max(top, 1.08 * target) if target is not None and target <= IN_SIGHT * top else top


def _draw(axes: Axes, panel: _Panel, top: float, target: float | None) -> None:
    if panel.extrapolates:
        axes.axvspan(panel.measured, panel.outlook.farthest, color=FAINT, alpha=0.12, linewidth=0.0, zorder=0.5)
    if panel.curve is not None:
        draw_curve(axes, panel.curve, panel.measured, colour(panel.place))
    if target is not None and target <= top:
        axes.axhline(target, color=TARGET, linewidth=1.1, linestyle="-.", zorder=2)
    if panel.given is not None:
        axes.axvline(panel.given, color=GIVEN, linewidth=1.3, zorder=2)
    draw_marks(axes, panel.marks, colour(panel.place), marker(panel.place), (0.0, top))


def _keys(panels: Sequence[_Panel], target: float | None) -> list[Key]:
    keys: list[Key] = []
    if any(panel.curve is not None for panel in panels):
        keys.append(band_key(f"the laws, and new launches ({100 * (1 - ASSURANCE):.0f} to {100 * ASSURANCE:.0f} %)"))
    if any(panel.given is not None for panel in panels):
        keys.append(line_key("size to give", GIVEN))
    if target is not None:
        keys.append(line_key(f"target, {number_words(target)}/s", TARGET, "-."))
    if any(panel.extrapolates for panel in panels):
        keys.append(Patch(facecolor=FAINT, alpha=0.2, label="extrapolated"))
    if not all(mark.valid for panel in panels for mark in panel.marks):
        keys.append(hollow_key())
    return keys
