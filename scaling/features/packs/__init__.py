"""Packs: every division of a machine's cores among replicas, and the best of them."""

from scaling.features import Command, Feature, FigureKind

FEATURE = Feature(
    commands=(
        Command(
            "Measure",
            "pack",
            "Measure every way to divide cores among replicas, with all replicas running at once, and name the best.",
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
