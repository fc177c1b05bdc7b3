"""A figure that a notebook shows by itself, whether or not pyplot has been imported there."""

from io import BytesIO

from matplotlib import figure

from scaling.reporting.plots.style import style

# Sharp on screens with two pixels to a point of the page.
DOTS_PER_INCH, PIXELS_PER_INCH = 144, 96


class Figure(figure.Figure):
    """A figure of matplotlib with a picture for notebooks."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        with style():
            self.savefig(file := BytesIO(), format="png", dpi=DOTS_PER_INCH)
        width, height = (round(PIXELS_PER_INCH * inches) for inches in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}

    def to_svg(self) -> bytes:
        """The figure as a picture that is small in bytes."""
        with style():
            self.savefig(file := BytesIO(), format="svg")
        return file.getvalue()
