"""A figure that a notebook shows without pyplot."""

from io import BytesIO

from matplotlib import figure

from scaling.reporting.plots.style import style

# Sharp on screens with two pixels per point.
DOTS_PER_INCH, PIXELS_PER_INCH = 144, 96


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
