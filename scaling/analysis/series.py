"""Launches as series a law can be fitted to: everything of a point held fixed but its cores. Pure.

Speed is throughput, items a second, so that weak scaling, where the items of a step grow with cores, is treated alike:
the time that counts is that of the items one core was given.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from math import fsum

from scaling.analysis.fits.observations import Observation, Series
from scaling.analysis.summary import Launch
from scaling.study.planning import Point

# In the name of a series whatever the folder holds; further settings only where they vary.
ALWAYS_NAMED = ("workload", "mode", "placement")
JOINT = " smt1-"
NEVER_NAMED = (*ALWAYS_NAMED, "cores", "smt")


def series_of(launches: Iterable[Launch]) -> list[Series]:
    """A series for every workload, placement and other setting; where threads share cores, one more with both."""
    by_settings: dict[tuple[tuple[str, object], ...], list[Launch]] = defaultdict(list)
    for launch in launches:
        if launch.seconds is not None:
            by_settings[_settings(launch.point)].append(launch)
    varied = _varied(by_settings)
    found: list[Series] = []
    for settings, gathered in by_settings.items():
        found.extend(_with_smt(_name(dict(settings), varied), gathered))
    return found


def series_names(points: Iterable[Point]) -> dict[Point, str]:
    """The series each of these points is in, by name, as `series_of` names those of their launches."""
    settings = {point: _settings(point) for point in points}
    varied = _varied(settings.values())
    return {point: f"{_name(dict(each), varied)} smt{point.smt}" for point, each in settings.items()}


def without_parts(found: list[Series]) -> list[Series]:
    """The series without those that are part of one with all numbers of threads a core."""
    joint = {each.name.rpartition(JOINT)[0] for each in found if any(one.siblings for one in each.observations)}
    return [each for each in found if each.name.rpartition(" smt")[0] not in joint or JOINT in each.name]


def _settings(point: Point) -> tuple[tuple[str, object], ...]:
    return tuple((name, value) for name, value in asdict(point).items() if name not in ("cores", "smt"))


def _varied(by_settings: Iterable[tuple[tuple[str, object], ...]]) -> list[str]:
    values: dict[str, set[object]] = defaultdict(set)
    for settings in by_settings:
        for name, value in settings:
            values[name].add(value)
    return [name for name, seen in values.items() if len(seen) > 1 and name not in NEVER_NAMED]


def _name(settings: dict[str, object], varied: list[str]) -> str:
    """'alexnet train compact', and whatever else tells it from its neighbours."""
    return " ".join([*(str(settings[name]) for name in ALWAYS_NAMED), *(f"{name}={settings[name]}" for name in varied)])


def _with_smt(name: str, launches: list[Launch]) -> list[Series]:
    """One series for each number of threads a core, and one of all together, in which a second thread has a yield."""
    widths = sorted({each.point.smt for each in launches})
    found = [
        _series(f"{name} smt{smt}", [each for each in launches if each.point.smt == smt], lone=True) for smt in widths
    ]
    if len(widths) > 1 and widths[0] == 1:
        found.append(_series(f"{name}{JOINT}{widths[-1]}", launches, lone=False))
    return found


def _series(name: str, launches: list[Launch], *, lone: bool) -> Series:
    """Launches count by count; alone, threads that share cores are simply how those cores are used."""
    work = float(min(launches, key=lambda each: each.point.cores).items or 1)
    by_count: dict[tuple[int, int], list[Launch]] = defaultdict(list)
    for each in launches:
        by_count[each.point.cores, 0 if lone else each.point.cores * (each.point.smt - 1)].append(each)
    observations = tuple(
        Observation(
            cores=float(cores),
            launch_seconds=tuple((each.seconds or 0.0) / (each.items or 1) * work for each in timed),
            siblings=float(siblings),
            mhz=_mean_mhz(timed),
        )
        for (cores, siblings), timed in sorted(by_count.items(), key=lambda item: (item[0][1] > 0, item[0]))
    )
    return Series(name, observations, "items", work)


def _mean_mhz(timed: list[Launch]) -> float | None:
    clocks = [each.mhz for each in timed if each.mhz]
    return fsum(clocks) / len(clocks) if len(clocks) == len(timed) else None
