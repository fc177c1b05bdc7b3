"""Packs: every division of a machine's cores among replicas, and the best of them."""

from scaling.features import Command, Feature, FigureKind

FEATURE = Feature(
    commands=(
        Command(
            "Measure",
            "pack",
            "Divide cores among replicas in every way, measure each with all replicas at once, and say which is best.",
            f"{__name__}.command:pack",
        ),
    ),
    figures=(
        FigureKind(
            "packs",
            "Replicas and cores",
            "throughput against latency for every division of the cores among replicas",
            "rows",
            f"{__name__}.figure:packs",
        ),
    ),
    answers=(f"{__name__}.report:study_answers",),
    sections=(f"{__name__}.report:section",),
    schemas={"pack": f"{__name__}.report:printed"},
    library={"pack": f"{__name__}.library:pack"},
)
