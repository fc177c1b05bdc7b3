"""Executes runs on this machine, one after another."""

import os
import random
import sys
import uuid
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import count, islice
from pathlib import Path
from platform import python_version

from scaling.analysis.energy import MeterEnergy, launch_energy
from scaling.analysis.turns import FIRST_ROUND, Turn
from scaling.analysis.witness import DISCARDED
from scaling.errors import MachineError
from scaling.machine.gpus import find_gpu
from scaling.machine.placement import sharing
from scaling.machine.power import find_meters, package_cpus
from scaling.machine.sysfs import HERE
from scaling.machine.topology import CpuSet, Machine, Topology, format_list
from scaling.results.rows import Row
from scaling.results.store import public_row, storable, storable_trace, without_values
from scaling.results.traces import PowerTrace, TracedRow
from scaling.running import processes, system_calls
from scaling.running.cohort import MemberSpec, ProcessSizes, Surroundings, take_turns, wait_for_caps
from scaling.running.control_groups import ControlGroups
from scaling.running.controls import HeldControls
from scaling.running.environment import PADDING, SCRATCH, environment, row_variables, server_variables
from scaling.running.launcher import ChildSpec, LaunchResult, StartChild, launch, not_started, spawn
from scaling.running.marks import marks_within
from scaling.running.messages import RunRequest, WorkloadSpec
from scaling.running.pack import PackSpec
from scaling.running.power_meter import MeteredRun, PowerMeter
from scaling.running.reaper import Reaper, Scratch, remove_scratch
from scaling.running.servers import Preparation, Servers, modules_for
from scaling.running.starting import StartError
from scaling.study.axes import CONTROLS, GPU, PROGRAM_MODE, Controls, thread_variables
from scaling.study.catalogue import read_catalogue
from scaling.study.planning import Point, Run
from scaling.study.programs import THREAD_VARIABLES, Program, fill_in
from scaling.study.spec import Study, controlled_values, programs_of, short_program, turns_of, workload_names
from scaling.study.workload import Named, OwnFile, workload

# Keys of a program that its workload takes unchanged.
GIVEN_TO_PROGRAM = ("cwd", "stdin", "ignore_failure", "warmup", "items", "throughput", "seconds")


class LocalEngine(Surroundings):
    """Runs pinned processes; they and their descendants are gone when the engine is closed or killed.

    As the surroundings of a cohort it keeps the sweep and its meter off measured CPUs, sets controls, and meters turns.
    """

    def __init__(
        self,
        study: Study,
        topology: Topology,
        machine: Machine,
        held_open: tuple[int, ...] = (),
        notify: Callable[[str], None] = lambda sentence: None,
        full: bool = False,
        keep_power: Callable[[PowerTrace], None] = lambda trace: None,
        root: Path = HERE,
    ) -> None:
        """`full` keeps the user's variables and folders in rows; `keep_power` gets a run's power before its row."""
        self.study = study
        self.workloads = workload_names(study)
        self.programs = programs_of(study)
        self.full = full
        self.topology = topology
        self.machine = machine
        self.mark = uuid.uuid4().hex
        self.own_cpus = os.sched_getaffinity(0)

        self.version = version("cpu-scaling")
        self.notify = notify
        quotas = [quota for quota in study.quota if isinstance(quota, float)]
        self.keep_power = keep_power
        self.root = root
        self.meter: PowerMeter | None = None
        wanted = controlled_values(study)
        self.controls = HeldControls(wanted, root) if wanted else None
        with ExitStack() as undo:
            if self.controls:
                undo.callback(self.controls.close)
            self.scratch = Scratch()
            undo.callback(remove_scratch, self.scratch.folder)
            self.groups = ControlGroups(quotas, marks_within(self.mark))
            held = (*held_open, self.controls.lock_fd) if self.controls else held_open
            self.reaper = Reaper(self.mark, held, self.scratch.folder, self.controls.before if self.controls else None)
            undo.pop_all()
        self.groups.make_guard()  # after the reaper has started, which removes it
        self.servers = Servers(self.groups.guard)
        self.sizes: defaultdict[Hashable, ProcessSizes] = defaultdict(ProcessSizes)
        self.discarded: set[str] = set()  # programs whose output has no figures, and slows them down if it is read
        self.adopted_before = processes.adopt_orphans()  # last, since only an engine that was made is closed

    def __enter__(self) -> "LocalEngine":
        return self

    def __exit__(self, *_: object) -> None:
        _move_to(self.own_cpus)
        self.servers.close()
        self.groups.remove()
        if self.meter:
            self.meter.close()
        for problem in self.controls.close() if self.controls else ():
            self.notify(problem)
        self.reaper.close()
        processes.adopt_orphans(self.adopted_before)

    def execute(self, runs: Iterable[Run]) -> Iterator[Row]:
        """Execute each run and yield its row."""
        source = iter(runs)
        for run in source:
            if run.cohort is None:
                yield self._execute(run).row
            else:
                yield from self._execute_cohort([run, *islice(source, run.cohort.members - 1)])

    def trace(self, runs: Iterable[Run]) -> Iterator[TracedRow]:
        """Execute each run and yield its row with its traced steps."""
        return map(self._execute, runs)

    def _execute(self, run: Run) -> TracedRow:
        self.leave(frozenset(run.flat_cpus))
        started_at = _now()
        self.groups.remove()
        spec = self._spec(run)
        try:
            self._clear_up()
            start = self._starter(run, spec)
            self._open_meter([run])
            if isinstance(spec, PackSpec):  # takes turns alone
                turns, order = turns_of(self.study, self._program(run)), random.Random(run.seed)
                member = MemberSpec(spec, start, (run.point.controls,), run.metered)
                launched = take_turns([member], turns, order, self)[0]
            else:
                if self.set_caps(run.point.controls):
                    wait_for_caps()
                self.begin_turn(run.metered)
                launched = launch(spec, start)
                self.end_turn()
        except StartError as error:
            launched = not_started(error)
        if self.meter:
            self.meter.finish()
        return storable_trace(TracedRow(self._row(run, spec, launched, started_at), launched.traced))

    def _execute_cohort(self, runs: Sequence[Run]) -> Iterator[Row]:
        """Execute runs that take turns, and yield their rows when all have ended."""
        started_at = _now()
        self.groups.remove()
        order = random.Random(f"{self.study.seed} {runs[0].cohort}")
        by_process = _by_process(runs)
        firsts = [sharing[0] for sharing in by_process]
        specs = [self._spec(run) for run in firsts]
        try:
            self._clear_up()
            # Servers are ready before the cohort begins: at its end, all processes that it started are ended.
            self._begin_servers(firsts, specs)
            starters = [self._starter_or_error(run, spec) for run, spec in zip(firsts, specs, strict=True)]
            self.servers.wait_for_spares()
            self._open_meter(runs)
            controls = [tuple(run.point.controls for run in sharing) for sharing in by_process]
            members = [
                MemberSpec(spec, start, own, run.metered, self._gets_ready_in_company(run.point))
                for spec, start, own, run in zip(specs, starters, controls, firsts, strict=True)
            ]
            # The settings that determine the memory of a process, as far as cohorts differ in them.
            one = runs[0].point
            sizes = self.sizes[one.workload, one.framework, one.mode, one.size, one.items, one.jit, one.data]
            turns = turns_of(self.study, self._program(runs[0]))
            launched = take_turns(members, turns, order, self, sizes)
        except StartError as error:
            launched = [not_started(error)] * len(runs)
        if self.meter:
            self.meter.finish()
        made = [(run, spec) for sharing, spec in zip(by_process, specs, strict=True) for run in sharing]
        # In the order of the runs; runs of two variants may be equal.
        results = {id(run): (spec, result) for (run, spec), result in zip(made, launched, strict=True)}
        for run in runs:
            spec, result = results[id(run)]
            yield storable(self._row(run, spec, result, started_at))

    def _open_meter(self, runs: Sequence[Run]) -> None:
        """Open the meters if a run is to be metered, which measures idle power; drop earlier samples."""
        if self.meter is None and any(run.metered for run in runs):
            on_gpu = GPU in self.study.device or any(CONTROLS[name].on_gpu for name in controlled_values(self.study))
            self.meter = open_meter(on_gpu, self.root)
            for problem in self.meter.problems:
                self.notify(problem)
        if self.meter:
            self.meter.forget()

    def _metered(self, run: Run, launched: LaunchResult, started_at: str) -> tuple[MeterEnergy, ...]:
        if self.meter is None or not run.metered or launched.outcome.status != "ok":
            return ()
        metered = _metered_run(run, launched)
        if metered is None:
            return ()
        traces = self.meter.traces(metered)
        if traces:
            self.keep_power(PowerTrace(run, started_at, traces))
        return self.meter.energies(metered)

    def _gets_ready_in_company(self, point: Point) -> bool:
        """Whether a process may get ready while others do, which needs a network of ours on CPUs.

        Others may measure meanwhile: users' own workloads, and compilers for a GPU.
        """
        if point.mode == PROGRAM_MODE or point.device == GPU or point.replicas > 1:
            return False
        parsed = workload(self.workloads.get(point.workload, point.workload))
        return isinstance(parsed, Named) and read_catalogue()[parsed.name].layers is not None

    def _row(self, run: Run, spec: ChildSpec | PackSpec, launched: LaunchResult, started_at: str) -> Row:
        process = spec.replicas[0] if isinstance(spec, PackSpec) else spec
        if launched.witness.output == DISCARDED:
            self.discarded.add(run.point.workload)
        energy = self._metered(run, launched, started_at)
        total = launch_energy(energy)
        program = self._program(run)
        from_shell = program.shell_variables if program else ()
        joules = None if total is None else total.watts * energy[0].seconds
        # A child in another interpreter replies with its own versions.
        interpreter = {"interpreter": run.python} if run.python else {"python": python_version()}
        versions = {"scaling": self.version, **interpreter, **launched.versions}
        row = Row(
            run=run,
            outcome=without_values(launched.outcome, map(os.environ.get, from_shell)),
            witness=replace(launched.witness, energy_joules=joules),
            energy=energy,
            machine=self.machine,
            versions=tuple(versions.items()),
            started_at=started_at,
            environment=row_variables({**process.environment, **(process.program_variables or {})}, from_shell),
            left_out=from_shell,
        )
        return row if self.full else public_row(row)

    def leave(self, cpus: CpuSet) -> None:
        """Move this process and the thread of its meter away from measured CPUs, if there are others."""
        others = self.own_cpus - cpus
        _move_to(others or self.own_cpus)
        if self.meter:
            self.meter.move_to(others or self.own_cpus, measured=not others)

    def set_caps(self, caps: Controls) -> bool:
        """Put the machine under these controls; returns whether any changed."""
        return self.controls is not None and self.controls.apply(caps)

    def begin_turn(self, metered: bool) -> None:
        """Start sampling meters."""
        if self.meter and metered:
            self.meter.begin()

    def end_turn(self) -> None:
        """Stop sampling meters."""
        if self.meter:
            self.meter.end()

    def _clear_up(self) -> None:
        ended = self.reaper.restart_if_ended()
        if ended:
            self.notify(f"the process that would clean up after this sweep was {ended}; a new one has replaced it")
        self.scratch.empty()

    def _begin_servers(self, runs: Sequence[Run], specs: Sequence[ChildSpec | PackSpec]) -> None:
        """Let the servers of all forked runs, and of later generations, import at once on all available CPUs."""
        self.leave(frozenset())
        forked = [pair for pair in zip(runs, specs, strict=True) if pair[0].start == "fork"]
        children = [child for run, spec in forked for child in _processes(run, spec)]
        importing = [(run, spec) for run, spec in children if not spec.is_program]
        following = (
            preparation
            for generation in count(self.servers.generation + 1)
            for preparation in dict.fromkeys(
                _preparation(run, replace(spec, environment=self._environment(run, generation)))
                for run, spec in importing
            )
        )
        self.servers.begin(dict.fromkeys(_preparation(run, spec) for run, spec in children), following)

    def _starter(self, run: Run, spec: ChildSpec | PackSpec) -> StartChild:
        """The function that starts the process of a run: as a fresh interpreter, or by a server that can fork."""
        if run.start == "spawn":
            return spawn
        if isinstance(spec, PackSpec):
            # Replicas may differ in their memory policy and in what they import, and a server has one of each.
            starters = {replica.request.cpus: self._starter(own, replica) for own, replica in _processes(run, spec)}
            return lambda replica, ends: starters[replica.request.cpus](replica, ends)
        preparation = _preparation(run, spec)
        if spec.request.waits_again:
            return self.servers.start_or_reuse(preparation)
        return self.servers.ready(preparation).fork

    def _starter_or_error(self, run: Run, spec: ChildSpec | PackSpec) -> StartChild | StartError:
        try:
            return self._starter(run, spec)
        except StartError as error:
            return error

    def _spec(self, run: Run) -> ChildSpec | PackSpec:
        # A program is loaded anew whenever it is executed, so its server may stay.
        imports = run.start == "fork" and not self._program(run)
        generation = self.servers.generation_for(run.point, run.python) if imports else None
        variables = self._environment(run, generation)
        if run.point.replicas == 1:
            return self._child_spec(run, variables)
        cpus, replicas = frozenset(run.flat_cpus), run.replica_runs
        children = [self._child_spec(own, variables, cpus.difference(own.flat_cpus)) for own in replicas]
        shares = sharing(self.topology, [own.cpus for own in replicas])
        return PackSpec(tuple(children), shares, run.point.measured_replicas)

    def _environment(self, run: Run, generation: int | None) -> dict[str, str]:
        marks, scratch = marks_within(self.mark), str(self.scratch.runs)
        return environment(run, os.environ, marks, self.machine.arch, scratch, generation)

    def _child_spec(self, run: Run, variables: dict[str, str], beside: CpuSet | None = None) -> ChildSpec:
        """The specification of a process; `beside` are the CPUs of the other replicas of its pack."""
        cpus = frozenset(run.flat_cpus)
        program = self._program(run)
        return ChildSpec(
            request=self._request(run, cpus, beside, variables),
            policy=system_calls.policy(run.point.memory, cpus, self.topology.nodes),
            # The study's limit is for one execution.
            timeout_seconds=self.study.timeout_seconds * (program.warmup + program.steps if program else 1),
            environment=variables,
            python=run.python or sys.executable,
            program_variables=_program_variables(program, run.point, cpus) if program else None,
            guard=self.groups.guard,
        )

    def _request(self, run: Run, cpus: CpuSet, beside: CpuSet | None, variables: Mapping[str, str]) -> RunRequest:
        point = run.point
        program = self._program(run)
        # Any load on idle CPUs of the same cores slows the run down.
        siblings = frozenset().union(*(core for core in self.topology.cores if cpus.intersection(core))) - cpus
        free = frozenset(self.own_cpus) - cpus - (beside or frozenset())
        others = free - siblings if program and program.needs_others else frozenset[int]()
        reading = {"reader_cpus": sorted(free - siblings or free), "discards": point.workload in self.discarded}
        return RunRequest(
            workload=_program_spec(program, point, cpus, others or frozenset(self.own_cpus), reading)
            if program
            else _workload_spec(self.workloads.get(point.workload, point.workload)),
            setting={
                # Beside a program, a network uses the study's first mode.
                "mode": self.study.modes[0] if point.mode == PROGRAM_MODE and not program else point.mode,
                "size": point.size,
                "items": None if point.items == "default" else point.items,
                "times": point.cores if point.scale == "weak" else 1,
                "cores": point.cores,
                "smt": point.smt,
                **{name: threads or 0 for name, threads in point.thread_counts.items()},
                "seed": run.seed,
                "data": point.data,
            },
            cpus=format_list(cpus),
            siblings=format_list(siblings - (beside or frozenset())),
            framework=point.framework,
            device=point.device,
            jit=point.jit,
            memory=point.memory,
            precision=self.study.precision,
            max_seconds=self.study.max_seconds,
            steps=run.steps,
            warmup=run.warmup,
            traced=run.traced,
            takes_turns=run.cohort is not None or beside is not None,
            group=None if point.quota is None else self.groups.make(point.quota),
            beside=format_list(beside or others),
            variables={
                **thread_variables(point),
                SCRATCH: str(self.scratch.next_folder()),
                PADDING: variables[PADDING],
            },
            # A process stays in its control group, and the replicas of a pack start at once.
            waits_again=bool(program) and point.quota is None and beside is None,
        )

    def _program(self, run: Run) -> Program | None:
        """The program of a run, which may be missing from the study."""
        return self.programs.get(run.point.workload) or short_program(run.point.workload)


def _processes(run: Run, spec: ChildSpec | PackSpec) -> list[tuple[Run, ChildSpec]]:
    return list(zip(run.replica_runs, spec.replicas, strict=True)) if isinstance(spec, PackSpec) else [(run, spec)]


def _preparation(run: Run, spec: ChildSpec) -> Preparation:
    entry = spec.request.workload
    modules = (entry.module,) if spec.is_program else modules_for(run.point.workload, run.point.framework)
    variables = server_variables(spec.environment, run.point, spec.is_program)
    return Preparation(tuple(sorted(variables.items())), spec.policy, modules, spec.python)


def open_meter(with_gpu: bool, root: Path = HERE) -> PowerMeter:
    """The meters of this machine, and of its GPU if a run uses it."""
    gpu, problems = None, []
    if with_gpu:
        try:
            gpu = find_gpu()
        except MachineError as error:
            problems.append(str(error))
    meters = find_meters(root, gpu)
    shared = gpu is not None and bool(gpu.processes())
    return PowerMeter(replace(meters, problems=(*meters.problems, *problems)), package_cpus(root), shared)


def _by_process(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of a cohort grouped by process: runs that differ only in their controls share a process, except packs."""
    processes: list[list[Run]] = []
    for run in runs:
        sharing = next((others for others in processes if _may_share(run, others)), None)
        if sharing is None:
            processes.append([run])
        else:
            sharing.append(run)
    return processes


def _may_share(run: Run, others: Sequence[Run]) -> bool:
    """Whether the process of other runs can make a run too, under its own controls."""
    point, first = run.point, others[0]
    if point.replicas > 1 or any(point.controls == other.point.controls for other in others):
        return False
    return replace(run, point=point.without_controls) == replace(first, point=first.point.without_controls)


def _metered_run(run: Run, launched: LaunchResult) -> MeteredRun | None:
    """A run as the meter needs it; a run without turns counts as one turn. None if its times are unknown."""
    outcome, witness, spans = launched.outcome, launched.witness, launched.spans
    turns = outcome.turns
    if not turns and spans:
        counted = sum(outcome.step_seconds[outcome.warmup_steps :])
        spans = (spans[0].last(counted),)
        steps = len(outcome.step_seconds)
        own = (witness.cpu_seconds or 0.0) + (witness.parent_cpu_seconds or 0.0)
        seen = (own, witness.busy_seconds, witness.steal_seconds, None)
        elsewhere = (witness.sibling_busy_seconds, witness.elsewhere_busy_seconds)
        seconds = outcome.sections.run or counted
        turns = (Turn(FIRST_ROUND, steps, outcome.warmup_steps, seconds, *seen, *elsewhere),)
    if not turns or len(turns) != len(spans):
        return None
    point = run.point
    # A user's program does not declare its device.
    on_gpu = point.device == GPU or any(CONTROLS[name].on_gpu for name, _ in point.controls)
    return MeteredRun(frozenset(run.flat_cpus), turns, spans, on_gpu, point.beside is not None)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _move_to(cpus: set[int]) -> None:
    """Run on these CPUs; if they have disappeared, the kernel has already moved this process."""
    with suppress(OSError):
        os.sched_setaffinity(0, cpus)


def _workload_spec(text: str) -> WorkloadSpec:
    parsed = workload(text)
    if isinstance(parsed, OwnFile):
        return WorkloadSpec(parsed.path, parsed.factory, dict(parsed.options))
    assert isinstance(parsed, Named)
    return WorkloadSpec(None, parsed.name, dict(parsed.options))


def _placeholder_values(program: Program, point: Point, cpus: CpuSet) -> dict[str, object]:
    threads = point.cores * point.smt
    times = point.cores if point.scale == "weak" else 1
    return {
        "threads": point.threads(point.intra) or threads,
        "cores": point.cores,
        "smt": point.smt,
        "cpus": format_list(cpus),
        "items": times * (program.usual_items if point.items == "default" else point.items),
        "intra": point.threads(point.intra) or threads,
        "inter": point.threads(point.inter) or threads,
        "clients": point.clients,
        "rate": None if point.rate is None else f"{point.rate:.12g}",
    }


def _program_spec(
    program: Program, point: Point, cpus: CpuSet, others: CpuSet, reading: Mapping[str, object]
) -> WorkloadSpec:
    """A program with its placeholders filled in, except those that only its process knows."""
    values = _placeholder_values(program, point, cpus)
    options = {
        **program.filled(values),
        "env": _program_variables(program, point, cpus),
        **{name: getattr(program, name) for name in GIVEN_TO_PROGRAM},
        "executions": program.steps,
        **program.options,
        **({"others": format_list(others), "values": values} if program.needs_others else reading),
    }
    return WorkloadSpec(None, program.workload, options)


def _program_variables(program: Program, point: Point, cpus: CpuSet) -> dict[str, str]:
    """The additional variables of a program: its own, and its number of threads unless it sets that itself."""
    values = _placeholder_values(program, point, cpus)
    own = {name: fill_in(value, values) for name, value in program.variables(os.environ).items()}
    return {**dict.fromkeys(THREAD_VARIABLES, str(values["threads"])), **own}
