"""Energy: what a step takes, which size is the most economical, and what caps of power and clocks do."""

from scaling.features import Feature, FigureKind

_HERE = __name__

FEATURE = Feature(
    figures=(
        FigureKind("power", "Power over time", "power over time under every cap", "rows", f"{_HERE}.figures:power"),
        FigureKind(
            "caps",
            "What caps of power and clock do",
            "time and energy under caps, over those without",
            "rows",
            f"{_HERE}.figures:caps",
        ),
        FigureKind(
            "cap-kinds",
            "Power caps against clock caps",
            "energy against time under caps of power and of the clock",
            "rows",
            f"{_HERE}.figures:cap_kinds",
        ),
        FigureKind(
            "frontier",
            "Time against energy",
            "energy against time per item for every size and cap",
            "rows",
            f"{_HERE}.figures:frontier",
        ),
    ),
    quantities=(f"{_HERE}.report:quantities",),
    sentences=(f"{_HERE}.report:energy_sentences",),
    sections=(f"{_HERE}.report:section",),
    objectives={"energy": f"{_HERE}.report:objective"},
    schemas={"capacity": f"{_HERE}.report:printed"},
)
