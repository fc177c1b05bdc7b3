"""Devices: workloads that were measured on the CPU alone and on a GPU, side by side."""

from scaling.features import Feature, FigureKind

FEATURE = Feature(
    figures=(
        FigureKind(
            "devices",
            "CPU and GPU",
            "step times of training and inference on both devices, relative to training on the CPU",
            "rows",
            f"{__name__}.figure:devices",
            per_series=False,
        ),
    ),
    answers=(f"{__name__}.report:study_answers",),
    sections=(f"{__name__}.report:section",),
)
