"""The sections of whole processes as a table, sentences and JSON facts."""

from collections.abc import Mapping
from dataclasses import asdict

from scaling.reporting.points import point_settings, table_by_point
from scaling.reporting.words import Table, count, duration
from scaling.results.sections import PointSections, SectionsOfRuns, Spread

NORMALISED = ("init", "setup", "run", "main", "wall")
NONE_WHOLE = (
    "INIT and WALL are not known: no run was a process of its own from start to end; measure with "
    'start = "spawn" and design = "apart"'
)


def sections_table(sections: SectionsOfRuns) -> Table:
    """The sections of every point over the wall time on the most cores, as medians with their range."""
    named = (f">{name.upper()}" for name in NORMALISED)
    rows = ((one.point, _cells(one)) for one in sections.points)
    return table_by_point(rows, (*named, ">wall", ">start and imports", ">steps", ">launches"))


def _cells(one: PointSections) -> list[str]:
    shares = [_relative(one.normalised[name]) for name in NORMALISED]
    seconds = [duration(one.seconds[name].median) for name in ("wall", "start")]
    return [*shares, *seconds, str(one.steps), str(one.launches)]


def _relative(spread: Spread) -> str:
    if spread.least == spread.most:
        return f"{spread.median:.4f}"
    return f"{spread.median:.4f} ({spread.least:.3f}–{spread.most:.3f})"


def sections_notes(sections: SectionsOfRuns) -> list[str]:
    """The unit of the sections, and the runs without sections."""
    forked = f"left out: {count(sections.forked, 'forked run')}, as a server did their imports, which no section has"
    turns = f"left out: {count(sections.in_turns, 'run')} in turns, as the wall time includes the turns of other runs"
    return [
        "INIT, SETUP, RUN, MAIN and WALL are relative to the wall time of the same workload on the most cores, without "
        "the GPU if that was measured; values are medians over launches with their range",
        *([forked] if sections.forked else []),
        *([turns] if sections.in_turns else []),
    ]


def sections_facts(sections: SectionsOfRuns) -> dict[str, object]:
    """The sections of every point, unrounded, and the number of runs without sections."""
    points = [
        {**_which(one), "seconds": _facts(one.seconds), "normalised": _facts(one.normalised)} for one in sections.points
    ]
    return {"sections": points, "forked": sections.forked, "in_turns": sections.in_turns}


def flat_sections(one: PointSections) -> dict[str, object]:
    """The sections of a point as columns: `init_seconds`, `init_normalised`, and so on."""
    seconds = {f"{name}_seconds": spread.median for name, spread in one.seconds.items()}
    return {**_which(one), **seconds, **{f"{name}_normalised": part.median for name, part in one.normalised.items()}}


def _which(one: PointSections) -> dict[str, object]:
    return {**point_settings(one.point), "launches": one.launches, "steps": one.steps}


def _facts(spreads: Mapping[str, Spread]) -> dict[str, dict[str, float]]:
    return {name: asdict(spread) for name, spread in spreads.items()}
