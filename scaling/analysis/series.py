"""Launches as series, each of which has a curve: everything of a point held fixed but its cores. Pure.

Speed is throughput, items per second: under weak scaling, where the items of a step grow with cores, the time that
counts is that of the items one core was given, and the speedup it gives is the scaled one of Gustafson's law.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain
from math import fsum
from statistics import fmean

from scaling.analysis.curves.laws import Scale
from scaling.analysis.estimates import NO_REACH, Reach
from scaling.analysis.interference import Crowding, packed_series
from scaling.analysis.rules import Verdict
from scaling.analysis.step_times import StepTimes
from scaling.analysis.summary import HostSlowdown, Launch, PointSelection, Summary, reach_of
from scaling.analysis.truth import StatedTruth, combine, expected_serial_fraction
from scaling.errors import FitError
from scaling.study.planning import PROGRAM_MODE, SETTINGS, Point

# In the name of a series whatever the folder holds; further settings only where they vary.
ALWAYS_NAMED = ("workload", "mode", "placement")
NEVER_NAMED = (*ALWAYS_NAMED, "cores", "smt")
# Settings whose values say by themselves what they are.
SELF_EVIDENT = ("framework", "device", "data")
# Why counts of threads beyond the physical cores are in no series.
SHARED_CORES = "threads share cores"
# Seconds in another tool's file that may be a time.
SHORTEST, LONGEST = 1e-15, 1e15


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """Which series: the settings of its points without cores, its threads per core, and its node type in a cluster.

    `settings` is a point on one core with one thread.
    """

    settings: Point | None = None
    smt: int = 1
    node_type: str | None = None

    @property
    def on_any_node_type(self) -> "SeriesKey":
        """The key that the same series has on every node type of a cluster."""
        return replace(self, node_type=None)


@dataclass(frozen=True, slots=True)
class Observation:
    """The launches at one count: seconds for the series' work, each launch once.

    `cores` are physical cores; a plain table of other people's making may have fractional counts. `mhz` is the clock
    they ran at, where it was recorded, and `truth` what the workload states of itself. `blocks` names the block of each
    launch: those of one block, at whatever count, were made together and share what the machine did then; empty where
    launches cannot be matched. `reach` is by how much all of them may be off for reasons that they cannot know.
    """

    cores: float
    launch_seconds: tuple[float, ...]
    mhz: float | None = None
    truth: StatedTruth | None = None
    blocks: tuple[str, ...] = ()
    reach: Reach = NO_REACH


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A point that was measured and left out of its series as not valid, with the names of the rules it broke."""

    cores: float
    rules: tuple[str, ...]

    @property
    def shares_cores(self) -> bool:
        """Whether it was left out because its threads share cores."""
        return SHARED_CORES in self.rules


@dataclass(frozen=True, slots=True)
class HostTurns:
    """All turns of a point, quiet or not: the cores it used, and launch by launch their mean steps over the step time.

    `steps` are all counted steps of these launches, which were watched for `watched_seconds` in all.
    """

    cores: float
    ratios: tuple[tuple[float, ...], ...]
    slowdown: HostSlowdown
    steps: tuple[StepTimes, ...] = ()
    watched_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One program with everything but its cores held fixed.

    `own_name` tells it from the other series of its folder, and `short_name`, where there is one, is the same without
    what is usual. `work` is how many `unit`s (items, say) the seconds of an observation are for. `left_out` are the
    points of the same settings that are not valid. `host` is what its points took on this host, by CPUs in use; empty
    for a plain table. `joint_name` is its name without the threads per core, where there are several of these.
    `crowding` is how replicas of it disturb each other on one machine, None where no packs were measured.
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
        """Its name as a sentence has it: without the usual placement and number of threads."""
        return self._of_its_type(self.own_label)

    @property
    def sizing_label(self) -> str:
        """Its label where sizes are asked for, which name their threads themselves."""
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
        """Whether its items are the same for any number of cores, or grow with them."""
        settings = self.key.settings
        return "weak" if settings is not None and settings.scale == "weak" else "strong"

    @property
    def launches(self) -> tuple[int, ...]:
        """How many launches each count has."""
        return tuple(len(one.launch_seconds) for one in self.observations)

    @property
    def expected_serial_fraction(self) -> float | None:
        """The serial fraction that its workload states; None where it states none, or as for threads that share cores.

        Threads of a core that are only ever used together are no cores, so that series has another serial fraction.
        """
        if self.key.smt != 1 or combine([observation.truth for observation in self.observations]) is None:
            return None
        one, most = self.observations[0], self.observations[-1]
        if one.cores != 1.0 or most.cores == 1.0 or one.truth is None or most.truth is None:
            return None
        return expected_serial_fraction(fmean(one.launch_seconds), one.truth, most.cores, most.truth, self.scale)

    def on_node_type(self, node_type: str) -> "Series":
        """The same series as one of a node type of a cluster."""
        return replace(self, key=replace(self.key, node_type=node_type))

    def _of_its_type(self, name: str) -> str:
        return name if self.key.node_type is None else f"{self.key.node_type}: {name}"


def threads_on(series: Series, physical: int) -> Series:
    """The counts of threads that have a physical core each, of so many there are; the others are left out."""
    shared = tuple(LeftOut(one, (SHARED_CORES,)) for one in series.cores if one > physical)
    alone = tuple(one for one in series.observations if one.cores <= physical)
    return replace(series, observations=alone, left_out=(*series.left_out, *shared))


def table_point(name: str, cores: int = 1) -> Point:
    """A point of another tool's file: its name and cores; the settings that no such file has are empty."""
    return Point(
        workload=name,
        mode=PROGRAM_MODE,
        size="",
        items="default",
        scale="strong",
        framework="",
        device="",
        jit=False,
        cores=cores,
        smt=1,
        placement="",
        memory="",
        intra="auto",
        inter="auto",
    )


def table_key(name: str) -> SeriesKey:
    """The key of a series of another tool's file."""
    return series_key(table_point(name))


def table_launches(series: Iterable[Series]) -> Iterator[Launch]:
    """The launches of series from another tool's file, of which nothing is known but their times."""
    for one in series:
        for observation in one.observations:
            if not observation.cores.is_integer():
                raise FitError(
                    f"series '{one.name}' has {observation.cores:g} cores, and points have whole numbers of them; "
                    "round them, or ask for laws with `scaling fit`"
                )
            _refuse_no_time(one.name, observation)
            point = table_point(one.own_name, int(observation.cores))
            for number, seconds in enumerate(observation.launch_seconds, 1):
                yield Launch(point, number, seconds, items=1, steps=1, witnessed=False)


def _refuse_no_time(name: str, observation: Observation) -> None:
    """Refuse figures that no clock shows: ratios of them would leave the range of a number."""
    for seconds in observation.launch_seconds:
        if not SHORTEST < seconds < LONGEST:
            where = f"series '{name}', cores {observation.cores:g}"
            raise FitError(f"{where}: {seconds:g} s is no time that a clock measures; put it right")


def series_key(point: Point) -> SeriesKey:
    """The series with one number of threads per core that a point is in."""
    return SeriesKey(_settings(point), point.smt)


@lru_cache(2**16)
def _settings(point: Point) -> Point:
    return replace(point, cores=1, smt=1)


def series_labels(points: Iterable[Point]) -> dict[Point, str]:
    """The series of every point by the name that tells it apart, without its cores and the threads of each.

    A pack has the name of a single replica, a point under a quota that of the same without.
    """
    settings = {point: _settings(point.baseline) for point in points}
    varied = _varying_settings(set(settings.values()))
    return {point: _short_name(one, varied) or _settings_name(one, varied) for point, one in settings.items()}


def selected_series(selection: PointSelection) -> list[Series]:
    """The series of the points taken, which remember those left out and what all of them took on this host."""
    excluded = _left_out_by_key(selection.left_out)
    named = {_settings(summary.point) for summary in selection.taken if summary.point.in_series}
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

    Launches under a CPU quota and packs are in none: the laws are about cores. Names tell the settings
    `named` apart, without any those of the launches.
    """
    by_settings: dict[Point, list[Launch]] = defaultdict(list)
    for launch in launches:
        if launch.seconds is not None and launch.point.in_series:
            by_settings[_settings(launch.point)].append(launch)
    varied = _varying_settings(by_settings if named is None else named)
    return [series for settings, measured in by_settings.items() for series in _by_level(settings, varied, measured)]


def _left_out_by_key(summaries: Iterable[Summary]) -> dict[SeriesKey, list[LeftOut]]:
    by_key: dict[SeriesKey, list[LeftOut]] = defaultdict(list)
    for summary in summaries:
        broken = tuple(doubt.rule.name for doubt in summary.doubts if doubt.rule.spoils)
        by_key[series_key(summary.point)].append(LeftOut(summary.point.cores, broken))
    return by_key


def _host_turns(points: Iterable[Summary]) -> tuple[HostTurns, ...]:
    """The turns of the points of a series by cores in use."""
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
    """'alexnet train compact', and whatever else tells it from its neighbours."""
    settings = {name: getattr(point, name) for name in varied}
    given = (f"{name}={value}" for name, value in settings.items() if value is not None)
    return " ".join([point.subject, point.placement, *given])


def _by_level(settings: Point, varied: list[str], launches: list[Launch]) -> list[Series]:
    """One series for each number of threads per core."""
    levels = sorted({launch.point.smt for launch in launches})
    return [
        _series(
            SeriesKey(settings, level), varied, [one for one in launches if one.point.smt == level], len(levels) > 1
        )
        for level in levels
    ]


def _series(key: SeriesKey, varied: list[str], launches: list[Launch], several_levels: bool) -> Series:
    """Launches count by count."""
    settings = key.settings
    assert settings is not None
    work = float(min(launches, key=lambda launch: launch.point.cores).items or 1)
    by_count: dict[int, list[Launch]] = {}
    for launch in launches:
        by_count.setdefault(launch.point.cores, []).append(launch)
    # What was seen goes before what was adjusted.
    by_count = {cores: [one for one in timed if not one.adjusted] or timed for cores, timed in by_count.items()}
    observations = tuple(
        Observation(
            cores=float(cores),
            launch_seconds=tuple((launch.seconds or 0.0) / (launch.items or 1) * work for launch in timed),
            mhz=_mean_mhz(timed),
            truth=combine([launch.truth for launch in timed]),
            blocks=tuple(launch.cohort or str(launch.number) for launch in timed),
            reach=reach_of(timed),
        )
        for cores, timed in sorted(by_count.items())
    )
    settings_name, short = _settings_name(settings, varied), _short_name(settings, varied)
    return Series(
        f"{settings_name} smt{key.smt}",
        observations,
        "items",
        work,
        key,
        short_name=short if key.smt == 1 else None,
        joint_name=short or settings_name if several_levels else None,
    )


def _short_name(settings: Point, varied: list[str]) -> str | None:
    """'alexnet train jax gpu': without the usual placement, where all else that tells it apart speaks for itself."""
    values = {name: getattr(settings, name) for name in varied}
    unnamed = {("pipeline_threads", SETTINGS["pipeline_threads"].usual)}
    telling = {name: value for name, value in values.items() if value is not None and (name, value) not in unnamed}
    if settings.placement != SETTINGS["placement"].usual or not telling.keys() <= {*SELF_EVIDENT}:
        return None
    return " ".join([settings.subject, *map(str, telling.values())])


def _mean_mhz(timed: list[Launch]) -> float | None:
    clocks = [launch.mhz for launch in timed if launch.mhz]
    return fsum(clocks) / len(clocks) if len(clocks) == len(timed) else None
