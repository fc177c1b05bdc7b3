"""Packs: the cores of a machine divided among replicas in every way, and which division is best."""

from scaling.features import Command, Feature, FigureKind

_HERE = __name__

FEATURE = Feature(
    commands=(
        Command(
            "Measure",
            "pack",
            "Divide cores among replicas in every way, measure each with all replicas at once, and say which is best.",
            f"{_HERE}.command:pack",
        ),
    ),
    figures=(
        FigureKind(
            "packs",
            "Replicas and cores",
            "throughput against latency for every division of the cores among replicas",
            "rows",
            f"{_HERE}.figure:packs",
        ),
    ),
    answers=(f"{_HERE}.report:study_answers",),
    sections=(f"{_HERE}.report:section",),
    schemas={"pack": f"{_HERE}.report:printed"},
    library={"pack": f"{_HERE}.library:pack"},
)
