"""Energy: the energy of a step, the most economical size, and the effect of power and clock caps."""

from scaling.features import Feature, FigureKind

FEATURE = Feature(
    figures=(
        FigureKind("power", "Power over time", "power over time under every cap", "rows", f"{__name__}.figures:power"),
        FigureKind(
            "caps",
            "Energy against time",
            "energy against time, relative to the loosest cap, for every size and cap",
            "rows",
            f"{__name__}.figures:caps",
        ),
    ),
    quantities=(f"{__name__}.report:quantities",),
    sentences=(f"{__name__}.report:energy_sentences",),
    answers=(f"{__name__}.report:study_answers",),
    sections=(f"{__name__}.report:section",),
    objectives={"energy": f"{__name__}.report:objective"},
    schemas={"capacity": f"{__name__}.report:printed"},
)
