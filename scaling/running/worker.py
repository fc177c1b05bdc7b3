"""The child: checks its affinity mask, builds a workload, times its steps, and replies on its own pipe.

The launcher starts it as `python -c "…; main(started_ns)" REPLY_FD CONTROL_FD`, or a server forks it and calls
`run_and_exit`. Its run comes through its control pipe, since every user can read a command line. It imports little,
because every start pays for it, and nothing that starts threads before it has checked its mask.
"""

import importlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Any, BinaryIO, NoReturn

from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.traces import TracedStep
from scaling.analysis.witness import Witness
from scaling.errors import escape_text, to_install
from scaling.machine.topology import CpuSet, format_list, parse_list
from scaling.running import control_groups, witness
from scaling.running.marks import wear_mark
from scaling.running.messages import (
    TURNS_OVER,
    RunFailure,
    RunRequest,
    RunResult,
    RunSections,
    TurnRequest,
    WorkloadSpec,
    decode_request,
    send,
)
from scaling.running.starting import ShortageError, start_program
from scaling.running.steps import (
    Measured,
    Observer,
    take_executions,
    take_fixed_steps,
    take_steps,
    take_turns,
    time_step,
)
from scaling.running.system import SYSTEM, System
from scaling.running.system_calls import hardware_counters
from scaling.study.frameworks import FRAMEWORKS, TENSORFLOW

# The limit up to which a float represents every integer.
MOST_ITEMS = 2**53

# The limit for the characters of an error message.
LONGEST_REASON = 1000

# Packages whose version explains a result if a workload has imported them.
NAMED_VERSIONS = ("numpy", "keras", *(package for facts in FRAMEWORKS.values() for package in facts.packages))

KERAS = "keras"  # comes with the extra of every framework


class Pipes:
    """The child's ends of its pipes to the parent: it writes messages, and reads its run and turns, one per line."""

    def __init__(self, reply_fd: int, control_fd: int) -> None:
        self._reply_fd = reply_fd
        self._control: BinaryIO = os.fdopen(control_fd, "rb")

    def send(self, message: object) -> None:
        """Write a message as a line."""
        send(self._reply_fd, message)

    def run(self) -> RunRequest:
        """Sleep until the run is requested; the process ends if its parent has ended."""
        line = self._control.readline()
        if not line.endswith(b"\n"):
            os._exit(1)  # the sweep was killed while this process started
        request = decode_request(line, RunRequest)
        return replace(request, workload=WorkloadSpec(**request.workload))  # type: ignore[arg-type]

    def next_turn(self) -> TurnRequest | None:
        """Sleep until a turn is requested; None if no more turns follow."""
        line = self._control.readline()
        return decode_request(line, TurnRequest) if line and not line.startswith(TURNS_OVER) else None


def main(started_ns: int) -> None:
    """Execute the run that is requested through the pipes on the command line."""
    wear_mark()
    reply_fd, control_fd = map(int, sys.argv[1:])
    for fd in (reply_fd, control_fd):
        os.set_inheritable(fd, False)
    pipes = Pipes(reply_fd, control_fd)
    run_and_exit(pipes, started_ns)


def run_and_exit(
    pipes: Pipes, started_ns: int, prepare: Callable[[RunRequest], None] = lambda request: None
) -> NoReturn:
    """Execute a run, and others while all go well, and exit at once: shutting a framework down can take a second."""
    request = pipes.run()
    while _execute(request, pipes, started_ns, prepare) and request.waits_again:
        request = pipes.run()
        started_ns = time.monotonic_ns()
    os._exit(0)


def _execute(request: RunRequest, pipes: Pipes, started_ns: int, prepare: Callable[[RunRequest], None]) -> bool:
    """Prepare this process for a run, execute it, and send the reply; returns whether it went well."""
    try:
        prepare(request)
        pipes.send(measure(request, started_ns, pipes))
        return True
    except BaseException as error:
        pipes.send(RunFailure(reason(error), isinstance(error, ShortageError)))
        if not getattr(error, "explains_itself", False):
            traceback.print_exc()
        return False
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class _BuiltRun:
    """A workload that is ready to be measured, with the steps that it has taken, and the times of its start."""

    workload: Any
    framework: Any
    imported: float
    built: float
    ready: float
    first_step: float | None = None
    steps: tuple[float, ...] = ()
    traced: tuple[TracedStep, ...] = ()

    @property
    def is_program(self) -> bool:
        """Whether its steps are executions of a program."""
        return hasattr(self.workload, "executions")

    @property
    def pipeline_threads(self) -> frozenset[int]:
        """The threads of its input pipeline."""
        return self.framework.pipeline_threads() if self.framework else frozenset()

    @property
    def pool_sizes(self) -> Mapping[str, int | None]:
        """The sizes of its framework's pools of threads."""
        return self.framework.pool_sizes() if self.framework else {}


def measure(request: RunRequest, started_ns: int, pipes: Pipes, system: System = SYSTEM) -> RunResult:
    """Measure one run."""
    if request.group is not None:
        control_groups.join(request.group)
    cpus = _check_cpus(request, system)
    policy = witness.memory_policy() if request.memory != "none" else None
    hardware = hardware_counters()  # counts the threads that are started from here on
    run = _build_run(request, system)
    siblings, beside = parse_list(request.siblings), parse_list(request.beside)
    observer = Observer(cpus, siblings, hardware, run.pipeline_threads, beside, system)
    measured = _take_requested_steps(run, request, observer, pipes)
    if run.is_program:
        start_program(run.workload.close)
    for counter in hardware.values():
        counter.close()
    witnessed = Witness(
        cpus_at_start=format_list(cpus),
        cpus_at_end=format_list(system.affinity()),
        memory_policy=policy,
        **{**witness.memory_bytes(system), **run.pool_sizes, **measured.counters},
    )
    return _result(request, started_ns, run, measured, witnessed)


def _check_cpus(request: RunRequest, system: System) -> CpuSet:
    """The CPUs of this process, which must be the requested ones."""
    cpus = system.affinity()
    if cpus != parse_list(request.cpus):
        raise RuntimeError(f"CPUs {request.cpus} were requested, but the kernel gave {format_list(cpus)}")
    return cpus


def _build_run(request: RunRequest, system: System) -> _BuiltRun:
    """Import and build the workload, and take its first step; a program is not executed yet."""
    # `workloads` is imported only now: threads inherit the CPUs they are started on.
    factory = _load_factory(request.workload)
    from scaling.workloads.base import Setting

    setting: Any = Setting(**request.setting)  # type: ignore[arg-type]
    framework = _framework(request.framework, setting, request.device)
    imported = system.now()
    workload = _build(factory, setting, framework, request)
    run = _BuiltRun(workload, framework, imported, built=system.now(), ready=imported)
    if run.is_program:
        start_program(workload.prepare)
        return replace(run, ready=system.now())
    workload.prepare()
    first, steps, traced = _take_first_step(workload, framework, request.traced)
    return replace(run, ready=system.now(), first_step=first, steps=tuple(steps), traced=traced)


def _take_requested_steps(run: _BuiltRun, request: RunRequest, observer: Observer, pipes: Pipes) -> Measured:
    """Take the steps of a run, beginning with those that it has taken."""
    steps = list(run.steps)
    if request.takes_turns:
        return take_turns(run.workload, steps, observer, pipes)
    if run.is_program:
        return take_executions(run.workload, observer)
    if request.warmup is not None and request.steps is not None:
        return take_fixed_steps(run.workload, steps, request.warmup, request.steps, observer)
    return take_steps(run.workload, steps, request, observer)


def _result(request: RunRequest, started_ns: int, run: _BuiltRun, measured: Measured, witnessed: Witness) -> RunResult:
    workload, framework = run.workload, run.framework
    profiled = framework.profile_device(workload) if framework and request.device != "cpu" else None
    first_loss, last_loss = _ends(getattr(workload, "losses", None))
    truth = getattr(workload, "truth", None)
    return RunResult(
        started_ns=started_ns,
        step_seconds=tuple(measured.steps),
        turns=tuple(measured.turns),
        spans=tuple(measured.spans),
        traced=run.traced,
        ended_by=measured.ended_by,
        items_per_step=_item_count(workload.items_per_step),
        first_loss=first_loss,
        last_loss=last_loss,
        cautions=tuple(framework.cautions()) if framework else (),
        truth=None if truth is None else StatedTruth(**truth),
        sections=RunSections(
            imports=run.imported - started_ns / 1e9,
            init=run.built - run.imported,
            setup=run.ready - run.built,
            first_step=run.first_step,
            run=measured.seconds,
            main=run.ready - run.imported + measured.active_seconds,
        ),
        witness=witnessed,
        versions={**_versions(), **(framework.versions() if framework else {})},
        device_profile=profiled,
        figures=getattr(workload, "figures", {}),
    )


def _build(factory: Any, setting: Any, framework: Any, request: RunRequest) -> Any:
    """The workload; a network's framework compiles its step."""
    from scaling.workloads.base import Network

    spec = request.workload
    if spec.file is None:
        workload = factory(setting, **spec.options)
    else:
        from scaling.running.own_workloads import own_workload

        workload = own_workload(f"{os.path.basename(spec.file)}:{spec.name}", factory, setting, spec.options)
    if isinstance(workload, Network):
        # Only torch executes a torch module that is not from Keras.
        is_keras = KERAS in sys.modules and isinstance(workload.model, sys.modules[KERAS].Model)
        is_torch = "torch" in sys.modules and isinstance(workload.model, sys.modules["torch"].nn.Module)
        if framework is None or (is_torch and not is_keras and request.framework != "torch"):
            raise TypeError(
                f"this network was not built with framework = {request.framework!r}; name its framework in the study"
            )
        return framework.compile_step(workload, setting.mode, request.jit, setting.data, setting.pipeline_threads)
    if setting.data != "fixed":
        raise TypeError(f"data = {setting.data!r} is for networks, but this workload is not a network")
    if request.traced:
        raise TypeError("only a network has ops to trace, but this workload is not a network")
    return workload


def _take_first_step(
    workload: Any, framework: Any, traced: int | None
) -> tuple[float, list[float], tuple[TracedStep, ...]]:
    """Seconds of the first step and of further steps that it has timed itself, and the traced steps."""
    if traced:
        first, steps = framework.trace_step(workload, traced)
        return first, [], steps
    first, *more = time_step(workload.step)
    return first, more, ()


def _item_count(items: Any) -> int:
    try:
        count = int(items)
    except (TypeError, ValueError, OverflowError):
        count = 0
    if count != items or not 1 <= count <= MOST_ITEMS:
        raise ValueError(
            f"the items_per_step of a workload must be a whole number of at least 1, not {str(items)[:60]}"
        )
    return count


def _ends(losses: Any) -> tuple[float | None, float | None]:
    if losses is None:
        return None, None
    try:
        ends = [losses[0], losses[-1]] if len(losses) else []
    except (TypeError, LookupError) as error:
        raise ValueError(f"the losses of a workload must be a list, not {losses!r}") from error
    return (_loss(ends[0]), _loss(ends[1])) if ends else (None, None)


def _loss(value: Any) -> float:
    try:
        loss = float(value)
    except (TypeError, ValueError):
        loss = nan
    if not isfinite(loss):
        raise ValueError(f"the losses of a workload must be finite numbers, not {value!r}")
    return loss


def _load_factory(spec: WorkloadSpec) -> Callable[..., Any]:
    if spec.file is None:
        return importlib.import_module(spec.module).build  # type: ignore[no-any-return]
    # Imported here because only a user's file needs it.
    from scaling.running.own_workloads import load_module

    factory = getattr(load_module(spec.file), spec.name, None)
    if factory is None:
        raise AttributeError(f"{spec.file} has no function '{spec.name}'")
    return factory  # type: ignore[no-any-return]


def _framework(name: str, setting: Any, device: str) -> Any:
    """The framework of a run with its threads, seed and device set; None if its workload has not imported it."""
    if KERAS not in sys.modules and name not in sys.modules:
        if device != "cpu":
            raise TypeError(f"device = {device!r} is for workloads of a framework, but this one has not imported any")
        return None
    module = importlib.import_module(f"scaling.running.frameworks.{name}")
    return module.FRAMEWORK(setting.intra, setting.inter, setting.seed, device)


def _versions() -> dict[str, str]:
    named = [name for name in NAMED_VERSIONS if name in sys.modules]
    packages = {name: str(getattr(sys.modules[name], "__version__", "unknown")) for name in named}
    return {"python": ".".join(map(str, sys.version_info[:3])), **packages}


def reason(error: BaseException) -> str:
    """An error in one line, with its place in the user's code or, for a missing extra, how to install it."""
    missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if missing in (*FRAMEWORKS, KERAS):
        extra = os.environ.get("KERAS_BACKEND", TENSORFLOW) if missing == KERAS else missing
        return f"it needs {missing}, which is not installed; {to_install(extra)}"
    words = escape_text(" ".join(str(error).split())[:LONGEST_REASON]) or "no message"
    if getattr(error, "explains_itself", False):
        return words
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {words} ({os.path.basename(frame.filename)} line {frame.lineno})"
