"""What figures of speedup and its kin share: a series' marks, its law as a line, and what stands against the law."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import Scaled
from scaling.reporting.plots.curves import Curve, reach, speedup_curve
from scaling.reporting.plots.frame import MOST_PANELS, Key, logarithmic
from scaling.reporting.plots.lines import Line
from scaling.reporting.plots.marks import Mark, band_key, finite, line_key
from scaling.reporting.plots.style import BAND_ALPHA, Stroke


def marks_of(line: Line, what: Callable[[Scaled], Estimate | None]) -> list[Mark]:
    """The marks of a line, for some figure of its points."""
    return finite(
        Mark(point.summary.point.cores, figure, point.valid) for point in line.points if (figure := what(point))
    )


def chosen_law(line: Line, counts: Sequence[float]) -> Curve | None:
    """The chosen law's speedup; none where no law fits, no band where it is not sure enough."""
    if line.fit is None or line.fit.verdict.word in ("no law fits", "superlinear"):
        return None
    far = reach(line.fit, counts, logarithmic=logarithmic(counts))
    return speedup_curve(line, line.fit.chosen, far, band=line.fit.verdict.word == "ok")


def law_keys(curves: Sequence[Curve]) -> list[Key]:
    """What the lines and bands of chosen laws mean."""
    if any(curve.low is not None for curve in curves):
        return [band_key("law with its 95 % band (dashed: extrapolated)")]
    return [line_key("law")] if curves else []


def draw_curve(axes: Axes, curve: Curve, most: float, tint: str, linestyle: Stroke = "-") -> None:
    """A law as a line, dashed beyond the most cores measured, with its band."""
    measured, beyond = curve.parted(most)
    axes.plot(measured.cores, measured.middle, color=tint, linestyle=linestyle, zorder=2)
    if len(beyond.cores) > 1:
        axes.plot(beyond.cores, beyond.middle, color=tint, linestyle="--", zorder=2)
    if curve.low is not None and curve.high is not None:
        axes.fill_between(curve.cores, curve.low, curve.high, color=tint, alpha=BAND_ALPHA, linewidth=0.0, zorder=1)


def law_remark(line: Line) -> str:
    """Why a panel has no law, or what stands against it."""
    if line.fit is None:
        return "no law fitted"
    return "" if line.fit.verdict.word == "ok" else line.fit.verdict.word


def left_out_words(total: int) -> str:
    """A sentence where there are more series than panels."""
    return f" The first {MOST_PANELS} of {total} series are drawn." if total > MOST_PANELS else ""
