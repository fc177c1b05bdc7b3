"""A figure that a notebook shows without pyplot: the curves of a few series, and the ratios of a comparison."""

from collections.abc import Sequence
from io import BytesIO
from statistics import fmean

from matplotlib import figure

from scaling.analysis.comparison import Difference
from scaling.analysis.curves.fit import SeriesFit
from scaling.reporting.plots.style import INK, REFERENCE, colour, marker, style, wrap
from scaling.reporting.words import point_words

# Sharp on screens with two pixels per point.
DOTS_PER_INCH, PIXELS_PER_INCH = 144, 96
INCHES = 4.8, 3.0
# At most this many series, and three times as many points.
MOST = 8


class Figure(figure.Figure):
    """A matplotlib figure with a picture for notebooks."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        with style():
            self.savefig(file := BytesIO(), format="png", dpi=DOTS_PER_INCH)
        width, height = (round(PIXELS_PER_INCH * inches) for inches in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}

    def to_svg(self) -> bytes:
        """The figure as SVG."""
        with style():
            self.savefig(file := BytesIO(), format="svg")
        return file.getvalue()


def curves(fits: Sequence[SeriesFit]) -> Figure | None:
    """Speedup over cores: the curve of each series with its band, and the measured points."""
    if not 0 < len(fits) <= MOST:
        return None
    with style():
        figure = Figure(figsize=INCHES, layout="constrained")
        axes = figure.add_subplot()
        most = max(fit.most_cores for fit in fits)
        axes.plot([1, most], [1, most], color=INK, **REFERENCE)
        for index, fit in enumerate(fits):
            curve = [point for point in fit.curve if point.cores <= fit.most_cores]
            cores = [point.cores for point in curve]
            axes.plot(cores, [point.speedup.value for point in curve], color=colour(index))
            low, high = ([getattr(one.speedup, end) or one.speedup.value for one in curve] for end in ("low", "high"))
            axes.fill_between(cores, low, high, color=colour(index), alpha=0.2, linewidth=0)
            rates = [fit.series.work / fmean(one.launch_seconds) for one in fit.series.observations]
            measured = [rate / fit.rate_at_1.value for rate in rates]
            name = wrap(fit.series.label, 30.0, 2)
            axes.plot(fit.series.cores, measured, marker(index), color=colour(index), label=name, markersize=4)
        axes.set(xlabel="cores", ylabel="speedup", xlim=(1, None), ylim=(0, None))
        axes.legend(loc="upper left", frameon=False)
        return figure


def ratios(differences: Sequence[Difference]) -> Figure | None:
    """The ratio of step times, second over first, at every point with its interval."""
    compared = [one for one in differences if one.comparable]
    if not 0 < len(compared) <= 3 * MOST:
        return None
    with style():
        figure = Figure(figsize=(INCHES[0] + 1.2, 0.9 + 0.22 * len(compared)), layout="constrained")
        axes = figure.add_subplot()
        axes.axvline(1.0, color=INK, **REFERENCE)
        for index, one in enumerate(compared):
            ends = [one.ratio.low or one.ratio.value, one.ratio.high or one.ratio.value]
            axes.plot(ends, [index, index], color=colour(int(one.differs)))
            axes.plot([one.ratio.value], [index], "o", color=colour(int(one.differs)), markersize=4)
        axes.set_yticks(range(len(compared)), [wrap(point_words(one.point), 34.0, 1) for one in compared])
        axes.invert_yaxis()
        axes.set_xlabel("second / first, seconds per step")
        return figure
