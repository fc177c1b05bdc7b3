"""Plans the runs of a study on a machine, in the order they are made. Pure: the only randomness is the study's seed."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product
from math import prod
from statistics import fmean
from typing import Any

from scaling.errors import PlacementError, StudyError, count
from scaling.machine.placement import POLICIES, Request, divide, place, usable_cores
from scaling.machine.topology import Cpus, Topology
from scaling.study.axes import AXES, CONTROLS, PositiveCount, RunCpus, StepCount
from scaling.study.axes import SETTINGS as SETTINGS
from scaling.study.axes import Point as Point
from scaling.study.axes import settings_words as settings_words
from scaling.study.frameworks import FRAMEWORKS, NO_THREADS_OF_JAX, TENSORFLOW, WITHOUT_FRAMEWORK
from scaling.study.privacy import without_secrets
from scaling.study.spec import (
    Start,
    Study,
    inputs_of,
    programs_of,
    subjects_of,
    turns_of,
    values_of,
)

# Estimate for a run before any was made: interpreter, imports, building and the first step.
START_UP_SECONDS = 2.0
# Estimate for a step before any was taken, if the study fixes their number.
USUAL_STEP_SECONDS = 0.1
# The first part of a turn does not count: a process that was just continued has cold caches and, on a virtual machine,
# often a slower CPU.
SETTLE_SECONDS = 0.3
# Launches choose among this number of sets of equivalent cores, since choosing is the slowest part of planning.
MOST_VARIANTS = 1000
# The plain steps that a trace is compared with. TensorFlow needs some ninety runs to learn which operations are too
# cheap for another thread, so these end in the state of long runs.
PLAIN_STEPS = 100
# Limits of memory: runs, and the CPUs that they list.
MOST_RUNS = 1_000_000
MOST_LISTED_CPUS = 100_000_000


@dataclass(frozen=True, slots=True)
class Cohort:
    """Processes that live at the same time and take turns."""

    name: str
    members: PositiveCount


@dataclass(frozen=True, slots=True)
class Run:
    """One process that measures a point on its CPUs: a fresh interpreter, or forked from a server, as for a program.

    It takes turns with its cohort, or runs alone. It takes exactly `warmup` and then `steps` steps if the study fixes
    both; otherwise the warm-up is detected, and `steps`, if any, is a number derived from earlier launches. The first
    `traced` steps are traced by operation. `python` is the interpreter, if it is not the sweep's own. `metered` is not
    part of its row.
    """

    point: Point
    cpus: RunCpus
    launch: PositiveCount
    seed: int
    start: Start = "spawn"
    steps: PositiveCount | None = None
    warmup: StepCount | None = None
    traced: PositiveCount | None = None
    cohort: Cohort | None = None
    python: str | None = None
    metered: bool = True

    @property
    def key(self) -> tuple[Point, int]:
        """The identity of a run: no two rows of a folder share it."""
        return self.point, self.launch

    @property
    def flat_cpus(self) -> Cpus:
        """All CPUs, core by core."""
        return tuple(chain.from_iterable(self.cpus))

    @property
    def replica_runs(self) -> tuple["Run", ...]:
        """The run of each replica of a pack, on its own cores."""
        cores, lone = self.point.cores, self.point.lone
        other = lone if self.point.beside is None else replace(lone, workload=self.point.beside)
        return tuple(
            replace(self, point=other if first else lone, cpus=self.cpus[first : first + cores])
            for first in range(0, len(self.cpus), cores)
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of a study on a machine in order, and notes on what was left out."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...]

    def drops(self, earlier: "Plan") -> int:
        """The number of runs of an earlier plan that it lacks."""
        return len({run.key for run in earlier.runs} - {run.key for run in self.runs})


def plan(study: Study, topology: Topology) -> Plan:
    """The runs of a study in randomised complete blocks: every point once per block, in a new order.

    With `design = "apart"`, every one-core point is measured again after the last block, so that drift shows in the
    baseline. With turns, the runs of a block come series by series, one core first.
    """
    notes: dict[str, None] = {}
    try:
        _refuse_too_large(study, topology)
        points = _on_distinct_cpus(study, topology, list(dict.fromkeys(_points(study, topology, notes))), notes)
        if not points:
            raise PlacementError(f"{NO_THREADS_OF_JAX}, and no point remains; leave intra and inter out")
        blocks = [block(study, topology, points, launch) for launch in range(1, study.launches + 1)]
        if study.design == "apart":
            blocks.append(block(study, topology, [one for one in points if one.is_baseline], study.launches + 1))
    except PlacementError as error:
        raise StudyError(f"study '{study.name}': {error}") from error
    return Plan(tuple(run for runs in blocks for run in runs), tuple(notes))


def _refuse_too_large(study: Study, topology: Topology) -> None:
    """Refuse a plan that would not fit in memory, before it is made."""
    counts = [
        (smt, _core_counts(study, topology, placement, smt, {}))
        for placement, smt in product(study.placements, _smt_widths(study, topology, {}))
    ]
    multiplying = [name for name, axis in AXES.items() if axis.planned != "in part"]
    combinations = prod(max(1, len(getattr(study, name))) for name in multiplying) * (1 + len(study.beside))
    combinations *= (len(study.workloads) * len(study.modes) + len(study.programs)) * len(inputs_of(study))
    packs = 2 if study.replicas == "fill" else len(study.replicas)
    runs = combinations * packs * study.launches * sum(len(cores) for _, cores in counts)
    # Runs of the same cores share their list of CPUs, with turns only within a launch; more cores are refused later.
    lists, most = study.launches if study.design == "turns" else 1, len(topology.cores)
    cpus = lists * packs * sum(smt * min(number, most) for smt, cores in counts for number in cores)
    if runs > MOST_RUNS or cpus > MOST_LISTED_CPUS:
        raise StudyError(
            f"study '{study.name}' has {runs:,} runs with {cpus:,} CPUs in their lists, but the limits are "
            f"{MOST_RUNS:,} runs and {MOST_LISTED_CPUS:,} listed CPUs; use fewer cores, launches or workloads"
        )


def block(study: Study, topology: Topology, points: Sequence[Point], launch: int) -> list[Run]:
    """One launch of each point in a random order; with turns, on newly chosen equivalent cores."""
    order = random.Random(f"{study.seed} {launch}")
    programs = programs_of(study).keys()
    if study.design == "apart":
        chosen, variant = order.sample(points, len(points)), 0
    else:
        by_series = series_of_points(points)
        chosen = [point for series in order.sample(by_series, len(by_series)) for point in series]
        variant = 1 + order.randrange(MOST_VARIANTS)
    return [
        Run(
            point=point,
            cpus=_choose_cpus(study, topology, point, variant),
            launch=launch,
            seed=study.seed,
            # A program is executed afresh by any process.
            start="fork" if programs >= point.workloads else study.start,
            steps=study.steps,
            warmup=None if study.steps is None else study.warmup,
            python=study.python,
            metered=study.energy == "auto",
        )
        for point in chosen
    ]


def series_of_points(points: Iterable[Point]) -> list[list[Point]]:
    """Points grouped by all but cores, replicas, quota and controls.

    The baseline comes first, then by number of cores, and a single replica before its pack.
    """
    by_baseline: dict[Point, list[Point]] = {}
    for point in points:
        by_baseline.setdefault(point.baseline.without_controls, []).append(point)

    def order(point: Point) -> tuple[Any, ...]:
        set_here = dict(point.controls)
        controls = (set_here.get(name, -1.0) for name in CONTROLS)
        return (point.cores, point.quota or 0.0, point.replicas, point.beside or "", *controls)

    return [sorted(series, key=order) for series in by_baseline.values()]


def traced_plan(study: Study, topology: Topology, steps: int) -> Plan:
    """The runs of a study, each with traced steps and then plain ones; one core is neither added nor repeated."""
    planned = plan(study, topology)
    runs = (
        replace(run, traced=steps, steps=study.steps or PLAIN_STEPS)
        for run in planned.runs
        if run.launch <= study.launches and run.point.replicas == 1
        if not isinstance(study.cores, tuple) or run.point.cores in study.cores
    )
    return replace(planned, runs=tuple(runs))


def estimated_seconds(runs: Sequence[Run], study: Study, walls: Mapping[Point, float]) -> float:
    """The expected seconds of runs: the time of their point or workload so far, else the study's limit."""
    by_workload: dict[str, list[float]] = {}
    for point, wall in walls.items():
        by_workload.setdefault(point.workload, []).append(wall)
    turns, limit = turns_of(study), START_UP_SECONDS + study.max_seconds
    if study.design == "turns":
        limit = START_UP_SECONDS + (turns.rounds + 1) * (turns.seconds + SETTLE_SECONDS)
    if study.steps is not None:
        limit = min(START_UP_SECONDS + (study.warmup + study.steps) * USUAL_STEP_SECONDS, study.timeout_seconds)
    guesses = dict.fromkeys(programs_of(study), START_UP_SECONDS)
    guesses |= {name: fmean(seconds) for name, seconds in by_workload.items()}
    return sum(walls.get(run.point, guesses.get(run.point.workload, limit)) for run in runs)


def _points(study: Study, topology: Topology, notes: dict[str, None]) -> Iterator[Point]:
    free = [name for name, axis in AXES.items() if axis.planned == "freely"]
    for placement, smt in product(study.placements, _smt_widths(study, topology, notes)):
        counts = _core_counts(study, topology, placement, smt, notes)
        most, usable = max(counts), len(usable_cores(topology, _request(study, 1, smt, placement)))
        for cores, quota in _limits(study, counts, smt, notes):
            here: dict[str, Any] = {"cores": cores, "smt": smt, "placement": placement, "quota": quota}
            here |= {key: getattr(study, key) for key in ("size", "scale", "memory")}
            for parts in product(
                [{"replicas": number} for number in _replica_counts(study, cores, most, usable, notes)],
                subjects_of(study),
                inputs_of(study),
                _threads(study, cores, smt, notes),
                values_of(study, *free),
            ):
                settings: dict[str, Any] = {key: value for part in parts for key, value in part.items()}
                if settings["framework"] != TENSORFLOW:
                    settings["onednn"] = None
                name = settings["workload"].partition(" ")[0]
                if name in WITHOUT_FRAMEWORK and len(study.inter) > 1:
                    settings["inter"] = first = study.inter[0]
                    notes[f"{name} has no inter-op threads, so only its points with inter {first} are kept"] = None
                alone = Point(**here, **settings)
                yield alone
                if study.beside and alone.replicas == 1 and cores == most:
                    yield from _pairs(study, alone, usable, notes)


def _on_distinct_cpus(study: Study, topology: Topology, points: Sequence[Point], notes: dict[str, None]) -> list[Point]:
    """The points without policies that choose the same CPUs for every size as an earlier policy."""

    def cpu_sets(cores: int, smt: int, replicas: int) -> tuple[frozenset[int], ...]:
        cpus = _place(topology, _request(study, cores, smt, policy), replicas)
        return tuple(frozenset(chain(*cpus[first : first + cores])) for first in range(0, len(cpus), cores))

    kept: dict[tuple[object, ...], str] = {}
    for policy in (name for name in study.placements if name in POLICIES):
        sizes = sorted({(point.cores, point.smt, point.replicas) for point in points if point.placement == policy})
        first = kept.setdefault(tuple((size, cpu_sets(*size)) for size in sizes), policy)
        if first != policy:
            notes[f"{policy} chooses the same CPUs as {first} here, so it is left out"] = None
    return [point for point in points if point.placement not in POLICIES or point.placement in kept.values()]


def _pairs(study: Study, alone: Point, usable: int, notes: dict[str, None]) -> Iterator[Point]:
    """A pack of a point and each workload of `beside`, on the same number of cores."""
    if 2 * alone.cores > usable:
        notes[f"beside needs {2 * alone.cores} cores, but only {usable} can be used, so it is left out"] = None
        return
    itself = 2 in _replica_counts(study, alone.cores, alone.cores, usable, {})
    for other in map(without_secrets, study.beside):
        if other != alone.workload or not itself:
            yield replace(alone, replicas=2, beside=None if other == alone.workload else other)


def _replica_counts(study: Study, cores: int, most: int, usable: int, notes: dict[str, None]) -> list[int]:
    """The numbers of replicas on this number of cores each, always with 1; too large packs are left out with a note."""
    wanted = sorted({1, most // cores} if study.replicas == "fill" else {1, *study.replicas})
    fitting = [replicas for replicas in wanted if replicas == 1 or replicas * cores <= usable]
    for replicas in wanted[len(fitting) :]:
        notes[
            f"{replicas} replicas of {count(cores, 'core')} need {replicas * cores} cores, but only {usable} can be "
            "used, so that point is left out"
        ] = None
    return fitting


def _limits(study: Study, counts: list[int], smt: int, notes: dict[str, None]) -> Iterator[tuple[int, float | None]]:
    """Core counts with the quotas that limit them, always with one core without a quota."""
    quotas = [quota if isinstance(quota, float) else None for quota in study.quota]
    for cores in counts:
        if cores == 1 and None not in quotas:
            yield cores, None
        for quota in quotas:
            if quota is None or quota <= cores * smt:
                yield cores, quota
            else:
                notes[
                    f"a quota of {quota:g} CPUs does not limit {count(cores * smt, 'CPU')}, so that point is left out"
                ] = None


def _threads(study: Study, cores: int, smt: int, notes: dict[str, None]) -> list[dict[str, Any]]:
    """Frameworks and threads of points; JAX has one pool, whose size follows its CPUs."""
    wanted = list(product(study.framework, study.intra, study.inter))
    all_cpus = {"auto", "cpus", cores * smt, *(("cores",) if smt == 1 else ())}
    fitting = [intra for intra in study.intra if intra in all_cpus]
    # A number equal to the number of CPUs would repeat the point of a word.
    of_jax = [intra for intra in fitting if isinstance(intra, str)] or fitting
    given = [
        {"framework": name, "intra": intra, "inter": inter}
        for name, intra, inter in wanted
        if FRAMEWORKS[name].sets_threads or (intra in of_jax and inter in {1, *all_cpus})
    ]
    if len(given) < len(wanted):
        notes[NO_THREADS_OF_JAX] = None
    return given


def _smt_widths(study: Study, topology: Topology, notes: dict[str, None]) -> tuple[int, ...]:
    """The numbers of threads per core on this machine."""
    if isinstance(study.smt, tuple):
        return study.smt
    widest = topology.widest_smt
    if widest == 1:
        notes["no core of this machine has a second hardware thread, so the study uses one thread per core"] = None
    return tuple(range(1, widest + 1)) if study.smt == "all" else tuple(_doublings(widest))


def _doublings(most: int) -> list[int]:
    """1, 2, 4, … and `most`."""
    return sorted({*(2**power for power in range(most.bit_length())), most})


def _core_counts(study: Study, topology: Topology, placement: str, smt: int, notes: dict[str, None]) -> list[int]:
    """The core counts of a study on this machine, always with one core unless `cores = "most"`."""
    if isinstance(study.cores, tuple):
        return sorted({1, *study.cores})
    most = max(1, len(usable_cores(topology, _request(study, 1, smt, placement))))
    if topology.quota_cpus is not None and topology.quota_cpus < most * smt:
        most = max(1, int(topology.quota_cpus // smt))
        notes[
            f"the CPU quota is {topology.quota_cpus:g}, so the study ends at {count(most, 'core')} with "
            f"{count(smt, 'thread')} each"
        ] = None
    return {"all": [*range(1, most + 1)], "most": [most], "doubling": _doublings(most)}[study.cores]


def _request(study: Study, cores: int, smt: int, placement: str, variant: int = 0) -> Request:
    return Request(cores, smt, placement, study.within, frozenset(study.reserve), study.core_type, variant)


def _choose_cpus(study: Study, topology: Topology, point: Point, variant: int) -> tuple[Cpus, ...]:
    request = _request(study, point.cores, point.smt, point.placement, variant)
    wanted = point.replicas * point.cores * point.smt
    if topology.quota_cpus is not None and topology.quota_cpus < wanted:
        raise PlacementError(
            f"{wanted} CPUs were requested, but the CPU quota of this control group is {topology.quota_cpus:g}; raise "
            "the quota or request fewer cores"
        )
    return _place(topology, request, point.replicas)


@cache
def _place(topology: Topology, request: Request, replicas: int) -> tuple[Cpus, ...]:
    """The cores of a run, of a pack replica by replica."""
    return place(topology, request).cpus if replicas == 1 else tuple(chain(*divide(topology, request, replicas)))
