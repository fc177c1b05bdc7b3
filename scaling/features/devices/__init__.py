"""CPU and GPU: what was measured on both, side by side."""

from scaling.features import Feature, FigureKind

_HERE = __name__

FEATURE = Feature(
    figures=(
        FigureKind(
            "devices",
            "CPU and GPU",
            "steps of training and inference on both devices, over training on the CPU",
            "rows",
            f"{_HERE}.figure:devices",
            per_series=False,
        ),
    ),
    answers=(f"{_HERE}.report:study_answers",),
    sections=(f"{_HERE}.report:section",),
)
