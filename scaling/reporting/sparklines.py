"""Efficiency over cores as a line of small bars: a glance before the table."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from scaling.analysis.speedup import Scaled
from scaling.reporting.tables import Table
from scaling.reporting.words import share
from scaling.study.planning import Point

BARS = "▁▂▃▄▅▆▇█"
# Where a point was not measured, or may not be relied on.
MISSING, DOUBTFUL = " ", "·"


def sparklines_table(points: Sequence[Scaled]) -> Table:
    """A bar a core count for every series of two or more counts; a full bar is an efficiency of 100 % or more."""
    rows = []
    for series, members in groupby(points, key=lambda each: _series(each.summary.point)):
        counted = list(members)
        if len(counted) < 2:
            continue
        counts = f"{counted[0].summary.point.cores}–{counted[-1].summary.point.cores} cores"
        rows.append((_name(series), "".join(map(_bar, counted)), counts, _last(counted[-1])))
    return Table(("", "efficiency", "", ""), rows)


def _series(point: Point) -> Point:
    return replace(point, cores=1)


def _name(point: Point) -> str:
    settings = [point.workload, point.mode, point.placement, *([f"smt {point.smt}"] if point.smt > 1 else [])]
    settings += [
        f"{name} {value}"
        for name in ("items", "intra", "inter")
        if (value := getattr(point, name)) not in ("auto", "default")
    ]
    return " ".join(settings).removesuffix(" compact")


def _bar(point: Scaled) -> str:
    if point.efficiency is None:
        return MISSING
    if not point.valid:
        return DOUBTFUL
    return BARS[max(0, min(len(BARS) - 1, int(point.efficiency.value * len(BARS))))]


def _last(point: Scaled) -> str:
    """The efficiency on the most cores."""
    if point.efficiency is None:
        return "not measured"
    return share(point.efficiency.value) + ("" if point.valid else ", not valid")
