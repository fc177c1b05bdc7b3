"""Energy: what a step takes, which size is the most economical, and what caps of power and clocks do."""

from scaling.features import Feature, FigureKind

_HERE = __name__

FEATURE = Feature(
    figures=(
        FigureKind("power", "Power over time", "power over time under every cap", "rows", f"{_HERE}.figures:power"),
        FigureKind(
            "caps",
            "Energy against time",
            "energy against time of every size and cap, over those without a cap",
            "rows",
            f"{_HERE}.figures:caps",
        ),
    ),
    quantities=(f"{_HERE}.report:quantities",),
    sentences=(f"{_HERE}.report:energy_sentences",),
    answers=(f"{_HERE}.report:study_answers",),
    sections=(f"{_HERE}.report:section",),
    objectives={"energy": f"{_HERE}.report:objective"},
    schemas={"capacity": f"{_HERE}.report:printed"},
)
