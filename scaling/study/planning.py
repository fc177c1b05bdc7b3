"""Study and machine in, runs out, in the order they will be made; for a profile, the runs to trace.

Rows of one study may be joined by those of another only where that one asks for more runs.

Pure: the only randomness in it is the study's seed.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from itertools import chain, product
from math import prod
from typing import Annotated, Any, NamedTuple, get_type_hints

from msgspec import Meta

from scaling.errors import PlacementError, StudyError, count
from scaling.machine.placement import POLICIES, Request, divide, place, usable_cores
from scaling.machine.topology import Cpus, Topology
from scaling.study.frameworks import FRAMEWORKS, TENSORFLOW, Framework
from scaling.study.privacy import without_secrets
from scaling.study.programs import Program
from scaling.study.spec import AXES, CAPS, CPU, LOADS, Data, Items, Start, Study, Threads
from scaling.study.workload import Command, workload

# A guess for a run nobody has made yet: interpreter, imports, building and the first step.
START_UP_SECONDS = 2.0

# A guess for a step nobody has taken yet, where a study fixes their number.
USUAL_STEP_SECONDS = 0.1

# The first part of a turn does not count: a process that was just continued finds cold caches and, on a virtual
# machine, often a slower CPU.
SETTLE_SECONDS = 0.3
# Where processes had no quiet turn, a launch has up to so many times its rounds.
ROUNDS_FACTOR = 2

# Equivalent cores are chosen in at most so many ways, since choosing takes longer than all else about a planned run.
MOST_VARIANTS = 1000

# A traced run takes as many traced steps as it was asked for, however long they are; the plain steps after them end at
# `max_seconds`.
PROFILE_DEFAULTS = """
name = "profile"
question = "Which operations do the steps of these networks spend their time in?"
launches = 1
max_seconds = 20
timeout_seconds = 3600
"""

# The plain steps a trace is held against. TensorFlow takes some ninety runs to learn which ops are too cheap to be
# worth another thread, so these end in the state that long runs are in.
PLAIN_STEPS = 100

# What can be held in memory: runs, and the CPUs that they list.
MOST_RUNS = 1_000_000
MOST_LISTED_CPUS = 100_000_000

# Held where a run is read back from a file; planning itself makes no other.
PositiveCount = Annotated[int, Meta(ge=1)]
StepCount = Annotated[int, Meta(ge=0)]
PositiveNumber = Annotated[float, Meta(gt=0)]
RunCpus = Annotated[tuple[Annotated[Cpus, Meta(min_length=1)], ...], Meta(min_length=1)]
# The mode of a program, which neither trains nor infers.
PROGRAM_MODE = "run"

NO_THREADS_OF_JAX = (
    "jax has one pool of threads and no setting for it: their number follows its CPUs, so that its points with another "
    "intra than 'auto' or 'cpus', or another inter than 'auto' or 1, are left out"
)

# Keys that are only words, and the one that only adds launches.
FREE = ("name", "question", "machine_name", "launches")


class Caps(NamedTuple):
    """Caps of the power of every processor package and of the clocks of its cores, and of those of a GPU; None is as
    the machine was found."""

    cpu_power_watts: float | None = None
    cpu_max_mhz: float | None = None
    gpu_power_watts: float | None = None
    gpu_max_mhz: float | None = None

    @property
    def on_gpu(self) -> bool:
        """Whether any is of a GPU."""
        return self.gpu_power_watts is not None or self.gpu_max_mhz is not None


NO_CAPS: dict[str, Any] = Caps()._asdict()


@dataclass(frozen=True, slots=True)
class Setting:
    """How a setting of a point is put into words, and the value that goes without saying."""

    usual: object = None
    form: str | Mapping[object, str] = "{}"

    def words(self, value: object) -> str:
        """A value in words; nothing where a point has none."""
        if value is None or value == "":
            return ""
        return self.form.format(value) if isinstance(self.form, str) else self.form.get(value, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One combination of the axes, as the study asked for it; only one with a pipeline has threads of it.

    With several `replicas` it is a pack: as many processes at once, each on so many cores of its own. One `beside`
    another workload is a pack of both, of which the first is measured. Whether TensorFlow has the kernels of oneDNN is
    its own choice, or the shell's, where `onednn` does not say. Points that differ in their caps alone are
    measured by the same processes.

    A field with a `Setting` is named wherever a point is, in this order, and has a column where it is not usual.
    """

    workload: str
    mode: Annotated[str, Setting("train")]
    size: str
    cores: PositiveCount
    placement: Annotated[str, Setting("compact")]
    replicas: Annotated[PositiveCount, Setting(1, "replicas {}")] = 1
    beside: Annotated[str | None, Setting(None, "beside {}")] = None
    framework: Annotated[str, Setting(TENSORFLOW)]
    device: Annotated[str, Setting(CPU)]
    scale: Annotated[str, Setting("strong", "{} scaling")]
    smt: Annotated[PositiveCount, Setting(1, "smt {}")]
    quota: Annotated[PositiveNumber | None, Setting(None, "quota {:g}")] = None
    clients: Annotated[PositiveCount | None, Setting(None, "clients {}")] = None
    rate: Annotated[PositiveNumber | None, Setting(None, "rate {:g}")] = None
    items: Annotated[Items, Setting("default", "items {}")]
    data: Annotated[Data, Setting("fixed", "data {}")] = "fixed"
    pipeline_threads: Annotated[Threads | None, Setting("auto", "pipeline threads {}")] = None
    intra: Annotated[Threads, Setting("auto", "intra {}")]
    inter: Annotated[Threads, Setting("auto", "inter {}")]
    jit: Annotated[bool, Setting(False, {True: "jit"})]
    onednn: Annotated[bool | None, Setting(None, {True: "oneDNN on", False: "oneDNN off"})] = None
    cpu_power_watts: Annotated[PositiveNumber | None, Setting(None, "CPU ≤ {:g} W")] = None
    cpu_max_mhz: Annotated[PositiveNumber | None, Setting(None, "CPU ≤ {:g} MHz")] = None
    gpu_power_watts: Annotated[PositiveNumber | None, Setting(None, "GPU ≤ {:g} W")] = None
    gpu_max_mhz: Annotated[PositiveNumber | None, Setting(None, "GPU ≤ {:g} MHz")] = None
    memory: str

    @property
    def subject(self) -> str:
        """What is measured: the workload and, where it has one, its mode."""
        return self.workload if self.mode == PROGRAM_MODE else f"{self.workload} {self.mode}"

    @property
    def baseline(self) -> "Point":
        """The point this one's speedup is against: one replica on one core without a quota, all else the same."""
        return self if self.is_baseline else _baseline(self)

    @property
    def is_baseline(self) -> bool:
        """Whether it is the point that others' speedup is against."""
        return self.cores == 1 and self.in_series

    @property
    def in_series(self) -> bool:
        """Whether it is in a series over cores: one replica, without a quota."""
        return self.replicas == 1 and self.quota is None

    @property
    def lone(self) -> "Point":
        """The same point with a single replica."""
        return self if self.replicas == 1 else replace(self, replicas=1, beside=None)

    @property
    def measured_replicas(self) -> int:
        """How many of its replicas are measured: all of them, or only itself beside another workload."""
        return self.replicas if self.beside is None else 1

    @property
    def without_quota(self) -> "Point":
        """The same point without a CPU quota."""
        return replace(self, quota=None)

    @property
    def caps(self) -> Caps:
        """The caps of power and clocks that it is measured under."""
        return Caps(self.cpu_power_watts, self.cpu_max_mhz, self.gpu_power_watts, self.gpu_max_mhz)

    @property
    def without_caps(self) -> "Point":
        """The same point without caps: what one process measures under one cap after another."""
        return replace(self, **NO_CAPS) if any(self.caps) else self

    @property
    def usable_cores(self) -> float:
        """How many cores' worth of time it may use: all cores of its replicas, or as much as their quota gives."""
        return self.measured_replicas * (self.cores if self.quota is None else min(float(self.cores), self.quota))

    @property
    def pipeline_pool(self) -> int | None:
        """How many threads its pipeline has, 0 where they follow from the mask; None where it has no pipeline."""
        return None if self.pipeline_threads is None else self.threads(self.pipeline_threads)

    def threads(self, setting: Threads) -> int:
        """How many threads a setting means here; 0 leaves it to the framework."""
        if isinstance(setting, int):
            return setting
        return {"auto": 0, "cores": self.cores, "cpus": self.cores * self.smt}[setting]


SETTINGS = {
    name: part
    for name, hint in get_type_hints(Point, include_extras=True).items()
    for part in getattr(hint, "__metadata__", ())
    if isinstance(part, Setting)
}


@lru_cache(2**16)
def _baseline(point: Point) -> Point:
    return replace(point, cores=1, quota=None, replicas=1, beside=None)


def settings_words(point: Point, names: Iterable[str] = SETTINGS) -> list[str]:
    """Those of some settings of a point that are not usual, in words."""
    values = ((SETTINGS[name], getattr(point, name)) for name in names)
    return [words for setting, value in values if value != setting.usual and (words := setting.words(value))]


@dataclass(frozen=True, slots=True)
class Turns:
    """How many rounds a cohort makes, how long a turn counts, and how many rounds it makes at most.

    Rounds are added while a process has not had a quiet turn: whether one was quiet does not depend on its steps.
    """

    rounds: int
    seconds: float
    most_rounds: int


@dataclass(frozen=True, slots=True)
class Cohort:
    """Processes that are alive together and take turns: what they share is its name, and how many they are."""

    name: str
    members: PositiveCount


@dataclass(frozen=True, slots=True)
class Run:
    """One process that will measure a point, on these CPUs: a fresh interpreter, or forked from a server.

    It takes turns with the others of its cohort, or has none and runs by itself. `steps` is how many steps it takes
    after its warm-up: exactly so many after exactly `warmup` others where the study fixes both; where earlier launches
    tell, as many as are worth taking, after a warm-up that is detected. `traced` is how many of its first steps are to
    be traced op by op, if any. `python` is the interpreter that runs it, where it is not the one of the sweep. Whether
    its energy is `metered` is not part of its row: that has the energy.
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
        """What makes this run this run: no two rows of a folder share it."""
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
    """Every run of a study on a machine, in order, and what was left out."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...]


def plan(study: Study, topology: Topology) -> Plan:
    """The runs of a study in randomised complete blocks: every point once per block, in a new order.

    Where processes run apart, every one-core point is measured once more after the last block, so that drift shows in
    the baseline. Where they take turns, the runs of a block come series by series, one core first.
    """
    notes: dict[str, None] = {}
    try:
        _refuse_too_large(study, topology)
        points = _on_distinct_cpus(study, topology, list(_points(study, topology, notes)), notes)
        if not points:
            raise StudyError(
                f"study '{study.name}': {NO_THREADS_OF_JAX}, and no point remains; leave intra and inter out"
            )
        blocks = [block(study, topology, points, launch) for launch in range(1, study.launches + 1)]
        if study.design == "apart":
            one_core = [point for point in points if point.is_baseline]
            blocks.append(block(study, topology, one_core, study.launches + 1))
    except PlacementError as error:
        raise StudyError(f"study '{study.name}': {error}") from error
    return Plan(tuple(run for runs in blocks for run in runs), tuple(notes))


def _refuse_too_large(study: Study, topology: Topology) -> None:
    """Refuse a plan that cannot be held, by its size, before it is made."""
    counts = [
        (smt, _core_counts(study, topology, placement, smt, {}))
        for placement, smt in product(study.placements, _smt_widths(study, topology, {}))
    ]
    axes = ("items", "quota", "intra", "inter", "framework", "device", "jit", "onednn", *CAPS)
    combinations = prod(len(getattr(study, axis)) for axis in axes)
    combinations *= 1 + len(study.beside)
    combinations *= (len(study.workloads) * len(study.modes) + len(study.programs)) * len(_inputs(study))
    combinations *= prod(max(1, len(getattr(study, load))) for load in LOADS)
    packs = 2 if study.replicas == "fill" else len(study.replicas)
    runs = combinations * packs * study.launches * sum(len(cores) for _, cores in counts)
    # Runs of the same cores share their list of CPUs, within a launch where processes take turns.
    lists = study.launches if study.design == "turns" else 1
    most = len(topology.cores)  # what needs more is refused by its placement
    cpus = lists * sum(smt * min(packs * number, packs * most) for smt, cores in counts for number in cores)
    if runs > MOST_RUNS or cpus > MOST_LISTED_CPUS:
        raise StudyError(
            f"study '{study.name}' comes to {runs:,} runs that list {cpus:,} CPUs, and at most {MOST_RUNS:,} runs "
            f"and {MOST_LISTED_CPUS:,} CPUs can be held; name fewer cores, launches or workloads"
        )


def block(study: Study, topology: Topology, points: Sequence[Point], launch: int) -> list[Run]:
    """One launch of each of these points, in an order of its own; with turns, on equivalent cores chosen anew."""
    order = random.Random(f"{study.seed} {launch}")
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
            start=study.start,
            steps=study.steps,
            warmup=None if study.steps is None else study.warmup,
            python=study.python,
            metered=study.energy == "auto",
        )
        for point in chosen
    ]


def series_of_points(points: Iterable[Point]) -> list[list[Point]]:
    """Points with everything but their cores, replicas, quota and caps in common, their baseline before all.

    Fewest cores come first, and a single replica before the pack that is held against it.
    """
    by_baseline: dict[Point, list[Point]] = {}
    for point in points:
        by_baseline.setdefault(point.baseline.without_caps, []).append(point)
    return [sorted(series, key=_order_in_series) for series in by_baseline.values()]


def _order_in_series(point: Point) -> tuple[Any, ...]:
    caps = (value or 0.0 for value in point.caps)
    return (point.cores, point.quota or 0.0, point.replicas, point.beside or "", *caps)


def traced_plan(study: Study, topology: Topology, steps: int) -> Plan:
    """The runs of a study on the thread counts it names, each with so many traced steps, then plain ones.

    One core is neither added nor measured again at the end.
    """
    planned = plan(study, topology)
    plain = study.steps or PLAIN_STEPS
    runs = (replace(run, traced=steps, steps=plain) for run in planned.runs if _is_named(study, run))
    return replace(planned, runs=tuple(runs))


def _is_named(study: Study, run: Run) -> bool:
    named = not isinstance(study.cores, tuple) or run.point.cores in study.cores
    named &= run.point.replicas == 1
    return named and run.launch <= study.launches


def turns_of(study: Study, program: Program | None = None) -> Turns:
    """The turns of a launch: as many rounds as the study has, unless its `max_seconds` are over before.

    A program that is executed anew for every launch has one turn.
    """
    seconds = min(study.turn_seconds, study.max_seconds)
    if program and not program.takes_rounds:
        return Turns(1, seconds, 1)
    longest = max(1, int(study.max_seconds / seconds + 1e-9))
    return Turns(min(study.rounds, longest), seconds, min(ROUNDS_FACTOR * study.rounds, longest))


def estimated_seconds(runs: Sequence[Run], study: Study, walls: Mapping[Point, float]) -> float:
    """How long these runs should take: as long as their point took before, or its workload, else at most its limit.

    A fixed number of steps has no limit but that of the process; until a run was made, a usual step is assumed.
    """
    by_workload: dict[str, list[float]] = {}
    for point, wall in walls.items():
        by_workload.setdefault(point.workload, []).append(wall)
    known = {name: sum(seconds) / len(seconds) for name, seconds in by_workload.items()}
    turns = turns_of(study)
    in_turns = (turns.rounds + 1) * (turns.seconds + SETTLE_SECONDS)
    limit = START_UP_SECONDS + (in_turns if study.design == "turns" else study.max_seconds)
    if study.steps is not None:
        fixed = START_UP_SECONDS + (study.warmup + study.steps) * USUAL_STEP_SECONDS
        limit = min(fixed, study.timeout_seconds)
    guesses = dict.fromkeys(programs_of(study), START_UP_SECONDS) | known
    return sum(walls.get(run.point, guesses.get(run.point.workload, limit)) for run in runs)


def _points(study: Study, topology: Topology, notes: dict[str, None]) -> Iterator[Point]:
    all_caps = [caps._asdict() for caps in caps_of(study)]
    for placement, smt in product(study.placements, _smt_widths(study, topology, notes)):
        counts = _core_counts(study, topology, placement, smt, notes)
        most, usable = max(counts), len(usable_cores(topology, _request(study, 1, smt, placement)))
        for cores, quota in _limits(study, counts, smt, notes):
            for replicas, subject, items, (data, pipeline_threads), (
                framework,
                intra,
                inter,
            ), device, (jit, onednn) in product(
                _replica_counts(study, cores, most, usable, notes),
                _subjects(study),
                study.items,
                _inputs(study),
                _threads(study, cores, smt, notes),
                study.device,
                product(study.jit, study.onednn),
            ):
                if framework != TENSORFLOW and onednn != study.onednn[0]:
                    continue  # it is TensorFlow's alone
                uncapped = Point(
                    **subject,
                    size=study.size,
                    items=items,
                    scale=study.scale,
                    framework=framework,
                    device=device,
                    jit=jit,
                    cores=cores,
                    smt=smt,
                    placement=placement,
                    memory=study.memory,
                    intra=intra,
                    inter=inter,
                    quota=quota,
                    data=data,
                    pipeline_threads=pipeline_threads,
                    replicas=replicas,
                    onednn=None if onednn == "auto" or framework != TENSORFLOW else onednn,
                )
                for alone in (replace(uncapped, **caps) for caps in all_caps):
                    yield alone
                    if study.beside and replicas == 1 and cores == most:
                        yield from _pairs(study, alone, usable)


def _on_distinct_cpus(study: Study, topology: Topology, points: Sequence[Point], notes: dict[str, None]) -> list[Point]:
    """The points without those of policies that choose the same CPUs for every size as one before them."""
    standing: dict[tuple[object, ...], str] = {}
    for policy in (one for one in study.placements if one in POLICIES):
        sizes = sorted({(one.cores, one.smt, one.replicas) for one in points if one.placement == policy})
        first = standing.setdefault(tuple((size, _cpu_sets(study, topology, policy, *size)) for size in sizes), policy)
        if first != policy:
            notes[f"{policy} chooses the same CPUs as {first} here, so it is left out"] = None
    return [one for one in points if one.placement not in POLICIES or one.placement in standing.values()]


def _cpu_sets(
    study: Study, topology: Topology, placement: str, cores: int, smt: int, replicas: int
) -> tuple[frozenset[int], ...]:
    """The CPUs of every replica, in whatever order."""
    cpus = _place(topology, _request(study, cores, smt, placement), replicas)
    return tuple(frozenset(chain(*cpus[first : first + cores])) for first in range(0, len(cpus), cores))


def caps_of(study: Study) -> list[Caps]:
    """Every combination of the caps of a study."""
    axes = ([None if value == "none" else value for value in getattr(study, axis)] for axis in CAPS)
    return [Caps(*values) for values in product(*axes)]


def _pairs(study: Study, alone: Point, usable: int) -> Iterator[Point]:
    """A workload beside each that the study names, itself among them, on as many cores each."""
    if 2 * alone.cores <= usable:
        itself = 2 in _replica_counts(study, alone.cores, alone.cores, usable, {})
        for other in map(without_secrets, study.beside):
            if other != alone.workload:
                yield replace(alone, replicas=2, beside=other)
            elif not itself:
                yield replace(alone, replicas=2)


def _replica_counts(study: Study, cores: int, most: int, usable: int, notes: dict[str, None]) -> list[int]:
    """How many replicas of so many cores a study means, a single one always among them.

    To fill is as many as the study's largest number of cores has room for. Packs that the machine has no room for are
    left out with a note.
    """
    wanted = {1, most // cores} if study.replicas == "fill" else {1, *study.replicas}
    fitting = [replicas for replicas in sorted(wanted) if replicas == 1 or replicas * cores <= usable]
    for replicas in sorted(wanted.difference(fitting)):
        notes[
            f"{replicas} replicas of {count(cores, 'core')} need {replicas * cores} cores, and {usable} can be used, "
            "so that point is left out"
        ] = None
    return fitting


def _limits(
    study: Study, counts: Sequence[int], smt: int, notes: dict[str, None]
) -> Iterator[tuple[int, float | None]]:
    """Core counts with the quotas that limit them; one core without a quota is always among them."""
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


def _threads(study: Study, cores: int, smt: int, notes: dict[str, None]) -> list[tuple[Framework, Threads, Threads]]:
    """Frameworks with the threads they are given on so many CPUs; JAX has one pool, whose size follows its CPUs."""
    wanted = list(product(study.framework, study.intra, study.inter))
    all_cpus = {"auto", "cpus", cores * smt, *(("cores",) if smt == 1 else ())}
    fitting = [intra for intra in study.intra if intra in all_cpus]
    # A number that happens to be that of its CPUs would be the point that a word names already.
    of_jax = [intra for intra in fitting if isinstance(intra, str)] or fitting
    given = [
        (name, intra, inter)
        for name, intra, inter in wanted
        if FRAMEWORKS[name].sets_threads or (intra in of_jax and inter in {1, *all_cpus})
    ]
    if len(given) < len(wanted):
        notes[NO_THREADS_OF_JAX] = None
    return given


def _inputs(study: Study) -> list[tuple[Data, Threads | None]]:
    """What steps are fed with, each with the threads of its pipeline where it is one."""
    return [
        (data, threads)
        for data in study.data
        for threads in (study.pipeline_threads if data == "pipeline" else (None,))
    ]


def _subjects(study: Study) -> list[dict[str, Any]]:
    """What is measured, by its name and mode, and under which load where it is put under one."""
    workloads = [{"workload": name, "mode": mode} for name, mode in product(workload_names(study), study.modes)]
    return workloads + [
        {"workload": program.name, "mode": PROGRAM_MODE, **load}
        for program in study.programs
        for load in _loads(study, program)
    ]


def _loads(study: Study, program: Program) -> list[dict[str, float]]:
    """Every combination of the loads that a program uses."""
    used = [load for load in LOADS if load in program.names]
    return [dict(zip(used, values, strict=True)) for values in product(*(getattr(study, load) for load in used))]


def programs_of(study: Study) -> dict[str, Program]:
    """The programs of a study by the names that their points have."""
    short = {name: short_program(text) for name, text in workload_names(study).items()}
    named = {program.name: program for program in study.programs}
    return {**{name: program for name, program in short.items() if program}, **named}


def short_program(text: str) -> Program | None:
    """The program that an entry of `workloads` means; None where it means none."""
    parsed = workload(text)
    return Program(name="command", command=parsed.argv) if isinstance(parsed, Command) else None


def workload_names(study: Study) -> dict[str, str]:
    """The workloads of a study by the names that their points have, which leave secrets out."""
    names = {without_secrets(text): text for text in study.workloads}
    if len(names) < len(study.workloads):
        raise StudyError(
            f"study '{study.name}': two of its workloads differ only in what looks like a secret, which is left out of "
            "rows; have the program read it from a file"
        )
    return names


def _smt_widths(study: Study, topology: Topology, notes: dict[str, None]) -> tuple[int, ...]:
    """The numbers of threads per core that a study means on this machine."""
    if isinstance(study.smt, tuple):
        return study.smt
    widest = topology.widest_smt
    if widest == 1:
        notes["no core of this machine has a second hardware thread, so the study uses one thread per core"] = None
    return tuple(range(1, widest + 1)) if study.smt == "all" else tuple(_doublings(widest))


def _doublings(most: int) -> list[int]:
    """1, 2, 4, … and the most; 1 where that is none."""
    return sorted({1, *(2**power for power in range(most.bit_length())), most} - {0})


def _core_counts(study: Study, topology: Topology, placement: str, smt: int, notes: dict[str, None]) -> list[int]:
    """The core counts a study means on this machine, one core among them unless it means the most alone."""
    if isinstance(study.cores, tuple):
        return sorted({1, *study.cores})
    most = len(usable_cores(topology, _request(study, 1, smt, placement)))
    if topology.quota_cpus is not None and topology.quota_cpus < most * smt:
        most = max(1, int(topology.quota_cpus // smt))
        notes[
            f"the CPU quota gives {topology.quota_cpus:g} CPUs' worth of time, so the study goes up to "
            f"{count(most, 'core')} with {count(smt, 'thread')} each"
        ] = None
    if study.cores == "all":
        return list(range(1, most + 1)) or [1]
    if study.cores == "most":
        return [max(1, most)]
    return _doublings(most)


def _request(study: Study, cores: int, smt: int, placement: str, variant: int = 0) -> Request:
    return Request(cores, smt, placement, study.within, frozenset(study.reserve), study.core_type, variant)


def _choose_cpus(study: Study, topology: Topology, point: Point, variant: int) -> tuple[Cpus, ...]:
    request = _request(study, point.cores, point.smt, point.placement, variant)
    wanted = point.replicas * point.cores * point.smt
    if topology.quota_cpus is not None and topology.quota_cpus < wanted:
        raise PlacementError(
            f"{wanted} CPUs were asked for, but the CPU quota of this control group gives only "
            f"{topology.quota_cpus:g} CPUs' worth of time; raise the quota or ask for fewer cores"
        )
    return _place(topology, request, point.replicas)


@cache
def _place(topology: Topology, request: Request, replicas: int) -> tuple[Cpus, ...]:
    """The cores of a run, in a pack those of one replica after another."""
    return place(topology, request).cpus if replicas == 1 else tuple(chain(*divide(topology, request, replicas)))


def incompatibility(old: Study, new: Study, old_runs: Iterable[Run], new_runs: Iterable[Run]) -> str | None:
    """What stands in the way of going on with `new` where `old` was begun; None where nothing does."""
    changed = [field.name for field in fields(Study) if getattr(old, field.name) != getattr(new, field.name)]
    described = {program.name: program for program in new.programs}
    otherwise = [program.name for program in old.programs if described.get(program.name, program) != program]
    if otherwise:
        return f"program '{otherwise[0]}' was described otherwise"
    fixed = [key for key in changed if key not in AXES and key not in FREE]
    if fixed:
        return _differences(old, new, fixed)
    dropped = {run.key for run in old_runs} - {run.key for run in new_runs}
    if dropped:
        axes = [key for key in changed if key in AXES or key == "launches"]
        return f"{_differences(old, new, axes)}, which drops {len(dropped)} of its runs"
    return None


def measures_other_programs(old: Study, new: Study) -> bool:
    """Whether a study has programs that another has not, or describes otherwise."""
    return not set(old.programs) <= set(new.programs)


def incompatibility_anywhere(old: Study, new: Study) -> str | None:
    """What stands in the way on every machine; what words such as "doubling" come to is known only on one."""
    axes = [key for key in AXES if key != "pipeline_threads" or "pipeline" in old.data]
    dropped = [key for key in axes if _is_shorter(getattr(old, key), getattr(new, key), key)]
    dropped += ["launches"] if new.launches < old.launches else []
    return incompatibility(old, new, (), ()) or (
        f"{_differences(old, new, dropped)}, which drops some of its runs" if dropped else None
    )


def _is_shorter(old: object, new: object, key: str) -> bool:
    """Whether a list of values has lost one; one core is measured whether it is listed or not."""
    if not (isinstance(old, tuple) and isinstance(new, tuple)):
        return False
    return bool({*old} - {*new} - ({1} if key in ("cores", "replicas") else set()))


def _differences(old: Study, new: Study, keys: list[str]) -> str:
    return ", ".join(
        f"{key} was {_value_words(getattr(old, key))} and is now {_value_words(getattr(new, key))}" for key in keys
    )


def _value_words(value: object) -> str:
    if not isinstance(value, tuple):
        return repr(value)
    return str([one.name if isinstance(one, Program) else one for one in value])
