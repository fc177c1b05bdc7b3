"""Launches as series, each of which has a curve: all settings of a point fixed but its cores. Pure.

Speed is throughput in items per second. Under weak scaling the items of a step grow with the cores, so the time per
items of one core counts, and its speedup is the scaled speedup in Gustafson's law.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain
from math import fsum
from statistics import fmean
from typing import Any

from scaling.analysis.estimates import NO_REACH, Reach
from scaling.analysis.interference import Crowding, packed_series
from scaling.analysis.rules import Verdict
from scaling.analysis.serial_fraction import Scale, StatedTruth, combine, expected_serial_fraction
from scaling.analysis.step_times import StepTimes
from scaling.analysis.summary import HostSlowdown, Launch, PointSelection, Summary, reach_of
from scaling.errors import FitError
from scaling.study.axes import AXES, PROGRAM_MODE, REQUIRED
from scaling.study.planning import SETTINGS, Point

# Settings that the name of a series always contains; it contains further settings only if they vary.
ALWAYS_NAMED = ("workload", "mode", "placement")
NEVER_NAMED = (*ALWAYS_NAMED, "cores", "smt")
# Settings whose values need no name.
SELF_EVIDENT = tuple(name for name, axis in AXES.items() if axis.self_evident)
# The reason to leave out counts of threads beyond the physical cores.
SHARED_CORES = "threads share cores"


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """The identity of a series: settings, threads per core and, in a cluster, node type.

    `settings` is a point on one core with one thread.
    """

    settings: Point | None = None
    smt: int = 1
    node_type: str | None = None

    @property
    def on_any_node_type(self) -> "SeriesKey":
        """The key of the same series on every node type of a cluster."""
        return replace(self, node_type=None)


@dataclass(frozen=True, slots=True)
class Observation:
    """The launches at one count: seconds for the series' work, each launch once.

    `cores` are physical cores; a plain table may have fractional counts. `mhz` is the recorded clock, `truth` the
    workload's statement about itself. `blocks` names the block of each launch: launches of one block, at any count,
    were made together and share the machine's state; it is empty if launches cannot be matched. `reach` is the error
    common to all launches, which they do not show.
    """

    cores: float
    launch_seconds: tuple[float, ...]
    mhz: float | None = None
    truth: StatedTruth | None = None
    blocks: tuple[str, ...] = ()
    reach: Reach = NO_REACH


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A measured point left out of its series as not valid, with the names of the rules it broke."""

    cores: float
    rules: tuple[str, ...]

    @property
    def shares_cores(self) -> bool:
        """Whether it was left out because its threads share cores."""
        return SHARED_CORES in self.rules


@dataclass(frozen=True, slots=True)
class HostTurns:
    """All turns of a point, quiet or not: its cores and, by launch, their mean steps over the step time.

    `steps` are all counted steps of these launches, which were watched for `watched_seconds` in all.
    """

    cores: float
    ratios: tuple[tuple[float, ...], ...]
    slowdown: HostSlowdown
    steps: tuple[StepTimes, ...] = ()
    watched_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One program with all settings fixed but its cores.

    `own_name` distinguishes it from the other series of its folder; `short_name`, if any, omits the usual settings, and
    `joint_name` the threads per core, if there are several levels of them. The seconds of an observation are for `work`
    `unit`s, such as items. `left_out` are the points of the same settings that are not valid, `host` the turns of its
    points by CPUs in use, and `crowding` describes how its replicas disturb each other, if packs were measured.
    """

    own_name: str
    observations: tuple[Observation, ...]
    unit: str = "items"
    work: float = 1.0
    key: SeriesKey = SeriesKey()
    short_name: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    host: tuple[HostTurns, ...] = ()
    joint_name: str | None = None
    crowding: Crowding | None = None

    @property
    def name(self) -> str:
        """Its full name, with the node type in a cluster."""
        return self._of_its_type(self.own_name)

    @property
    def label(self) -> str:
        """Its name in sentences: without the usual placement and number of threads."""
        return self._of_its_type(self.own_label)

    @property
    def sizing_label(self) -> str:
        """Its label in answers about sizes, which name their threads themselves."""
        return self._of_its_type(self.joint_name or self.own_label)

    @property
    def own_label(self) -> str:
        """Its label on every node type."""
        return self.short_name or self.own_name

    @property
    def cores(self) -> tuple[float, ...]:
        """The counts, ascending, one for each observation."""
        return tuple(observation.cores for observation in self.observations)

    @property
    def has_several_counts(self) -> bool:
        """Whether it was measured at several core counts, usable or not."""
        return len({*self.cores, *(out.cores for out in self.left_out)}) > 1

    @property
    def scale(self) -> Scale:
        """Whether its items are the same for any number of cores or grow with them."""
        settings = self.key.settings
        return "weak" if settings is not None and settings.scale == "weak" else "strong"

    @property
    def launches(self) -> tuple[int, ...]:
        """The number of launches at each count."""
        return tuple(len(one.launch_seconds) for one in self.observations)

    @property
    def expected_serial_fraction(self) -> float | None:
        """The serial fraction that its workload states; None without a statement or with several threads per core.

        Threads that are only ever used together with their core are not cores, so their series has another serial
        fraction.
        """
        if self.key.smt != 1 or combine([observation.truth for observation in self.observations]) is None:
            return None
        one, most = self.observations[0], self.observations[-1]
        if one.cores != 1.0 or most.cores == 1.0 or one.truth is None or most.truth is None:
            return None
        return expected_serial_fraction(fmean(one.launch_seconds), one.truth, most.cores, most.truth, self.scale)

    def on_node_type(self, node_type: str) -> "Series":
        """The same series on a node type of a cluster."""
        return replace(self, key=replace(self.key, node_type=node_type))

    def _of_its_type(self, name: str) -> str:
        return name if self.key.node_type is None else f"{self.key.node_type}: {name}"


def threads_on(series: Series, physical: int) -> Series:
    """The series up to the number of physical cores; beyond it threads share cores, so those counts are left out."""
    shared = tuple(LeftOut(one, (SHARED_CORES,)) for one in series.cores if one > physical)
    alone = tuple(one for one in series.observations if one.cores <= physical)
    return replace(series, observations=alone, left_out=(*series.left_out, *shared))


def table_point(name: str, cores: int = 1) -> Point:
    """A point of another tool's file: its name and cores; the other settings are usual or empty."""
    usual: dict[str, Any] = {key: setting.usual for key, setting in SETTINGS.items() if key in REQUIRED}
    empty: dict[str, Any] = dict.fromkeys(("size", "framework", "device", "placement", "memory"), "")
    return Point(**usual | empty | {"workload": name, "mode": PROGRAM_MODE, "cores": cores})


def table_key(name: str) -> SeriesKey:
    """The key of a series of another tool's file."""
    return series_key(table_point(name))


def table_launches(series: Iterable[Series]) -> Iterator[Launch]:
    """The launches of series from another tool's file, of which only the times are known."""
    for one in series:
        for observation in one.observations:
            if not observation.cores.is_integer():
                raise FitError(
                    f"series '{one.name}' has {observation.cores:g} cores, but points need whole numbers; "
                    "round them, or fit laws with `scaling fit`"
                )
            point = table_point(one.own_name, int(observation.cores))
            for number, seconds in enumerate(observation.launch_seconds, 1):
                yield Launch(point, number, seconds, items=1, steps=1, witnessed=False)


def series_key(point: Point) -> SeriesKey:
    """The series of a point, with its number of threads per core."""
    return SeriesKey(series_settings(point), point.smt)


@lru_cache(2**16)
def series_settings(point: Point) -> Point:
    """The point on one core with one thread."""
    return replace(point, cores=1, smt=1)


def series_labels(points: Iterable[Point]) -> dict[Point, str]:
    """The label of every point's series; packs and points under a quota have the label of their baseline."""
    settings = {point: series_settings(point.baseline) for point in points}
    varied = _varying_settings(set(settings.values()))
    return {point: _short_name(one, varied) or _settings_name(one, varied) for point, one in settings.items()}


def selected_series(selection: PointSelection) -> list[Series]:
    """The series of the points taken, with the points left out and all turns on this host."""
    excluded: dict[SeriesKey, list[LeftOut]] = defaultdict(list)
    for out in selection.left_out:
        broken = tuple(doubt.rule.name for doubt in out.doubts if doubt.rule.spoils)
        excluded[series_key(out.point)].append(LeftOut(out.point.cores, broken))
    named = {series_settings(summary.point) for summary in selection.taken if summary.point.in_series}
    disturbed = (out for out in selection.left_out if out.verdict is Verdict.DISTURBED)
    measured: dict[SeriesKey, list[Summary]] = defaultdict(list)
    for summary in (*selection.taken, *disturbed):
        measured[series_key(summary.point)].append(summary)
    crowding = {packs.settings: packs.crowding for packs in packed_series(chain(*measured.values()))}
    return [
        replace(
            series,
            left_out=tuple(excluded.get(series.key, ())),
            host=_host_turns(measured.get(series.key, ())),
            crowding=crowding.get(series.key.settings) if series.key.settings else None,
        )
        for series in series_of(selection.launches, named)
    ]


def series_of(launches: Iterable[Launch], named: Collection[Point] | None = None) -> list[Series]:
    """A series for every workload, placement and other setting, and every number of threads per core.

    Launches under a CPU quota and packs are left out, since laws are about cores. Names distinguish the settings
    `named` or, by default, the settings of the launches.
    """
    by_settings: dict[Point, list[Launch]] = defaultdict(list)
    for launch in launches:
        if launch.seconds is not None and launch.point.in_series:
            by_settings[series_settings(launch.point)].append(launch)
    varied = _varying_settings(by_settings if named is None else named)
    return [series for settings, measured in by_settings.items() for series in _by_level(settings, varied, measured)]


def _host_turns(points: Iterable[Summary]) -> tuple[HostTurns, ...]:
    known = sorted((one for one in points if one.slowdown is not None), key=lambda one: one.point.cores)
    return tuple(
        HostTurns(float(one.point.cores), one.turn_ratios, one.slowdown, one.step_times, one.watched_seconds)
        for one in known
        if one.slowdown is not None
    )


def _varying_settings(points: Collection[Point]) -> list[str]:
    names = [field.name for field in fields(Point) if field.name not in NEVER_NAMED]
    return [name for name in names if len({getattr(point, name) for point in points}) > 1]


def _settings_name(point: Point, varied: list[str]) -> str:
    """'alexnet train compact', with the settings that distinguish it."""
    settings = {name: getattr(point, name) for name in varied}
    given = (f"{name}={value}" for name, value in settings.items() if value is not None)
    return " ".join(filter(None, [point.subject, point.placement, *given]))


def _by_level(settings: Point, varied: list[str], launches: list[Launch]) -> Iterator[Series]:
    # The same for all levels, whose times are compared.
    work = float(min(launches, key=lambda launch: launch.point.cores).items or 1)
    by_level: dict[int, list[Launch]] = defaultdict(list)
    for launch in launches:
        by_level[launch.point.smt].append(launch)
    for level, own in sorted(by_level.items()):
        yield _series(SeriesKey(settings, level), settings, varied, own, work, several_levels=len(by_level) > 1)


def _series(
    key: SeriesKey, settings: Point, varied: list[str], launches: list[Launch], work: float, several_levels: bool
) -> Series:
    by_count: dict[int, list[Launch]] = {}
    for launch in launches:
        by_count.setdefault(launch.point.cores, []).append(launch)
    # Adjusted launches count only without others.
    by_count = {cores: [one for one in timed if not one.adjusted] or timed for cores, timed in by_count.items()}
    observations = tuple(
        Observation(
            cores=float(cores),
            launch_seconds=tuple((launch.seconds or 0.0) / (launch.items or 1) * work for launch in timed),
            mhz=_mean_mhz(timed),
            truth=combine([launch.truth for launch in timed]),
            blocks=tuple(launch.group for launch in timed),
            reach=reach_of(timed),
        )
        for cores, timed in sorted(by_count.items())
    )
    settings_name, short = _settings_name(settings, varied), _short_name(settings, varied)
    return Series(
        f"{settings_name} smt{key.smt}",
        observations,
        work=work,
        key=key,
        short_name=short if key.smt == 1 else None,
        joint_name=short or settings_name if several_levels else None,
    )


def _short_name(settings: Point, varied: list[str]) -> str | None:
    """'alexnet train jax gpu intra=4': without the usual placement, None on another one."""
    if settings.placement != SETTINGS["placement"].usual:
        return None
    unnamed = {None, SETTINGS["pipeline_threads"].usual}
    values = {name: value for name in varied if (value := getattr(settings, name)) not in unnamed}
    given = (str(value) if name in SELF_EVIDENT else f"{name}={value}" for name, value in values.items())
    return " ".join([settings.subject, *given])


def _mean_mhz(timed: list[Launch]) -> float | None:
    clocks = [launch.mhz for launch in timed if launch.mhz]
    return fsum(clocks) / len(clocks) if len(clocks) == len(timed) else None
