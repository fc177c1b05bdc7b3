"""The child: checks where it is pinned, builds a workload, times its steps, answers on a pipe of its own.

Started by the launcher as `python -c "…; main(born)" ORDER`, or forked from a server, which calls `answer`. Never
prints: networks and libraries do, so stdout means nothing. It imports little, because every start pays for it.
"""

import importlib.util
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from scaling.machine.cpulist import format_list, parse_list
from scaling.running import stopping, witness

# Packages whose version explains a result, where a workload has imported them.
NAMED_VERSIONS = ("numpy", "tensorflow", "keras", "torch", "jax")


def main(born: int) -> None:
    """Carry out the order on the command line."""
    order = json.loads(sys.argv[1])
    if os.getppid() != order["parent"]:
        os._exit(1)  # the sweep was killed while we were being born
    os.set_inheritable(order["answer_fd"], False)
    answer(order, born)


def answer(order: dict[str, Any], born: int) -> NoReturn:
    """Carry out an order, say what came of it, and leave at once: tearing a framework down can take a second."""
    try:
        said = carry_out(order, born)
    except BaseException as error:
        traceback.print_exc()
        said = {"status": "failed", "reason": reason(error)}
    text = json.dumps(said, allow_nan=False).encode()
    while text:
        text = text[os.write(order["answer_fd"], text) :]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def carry_out(order: dict[str, Any], born: int) -> dict[str, Any]:
    """Measure one run: everything its row should say that only the child can know."""
    at_start = os.sched_getaffinity(0)
    if at_start != parse_list(order["cpus"]):
        raise RuntimeError(f"asked for CPUs {order['cpus']}, but the kernel gave {format_list(at_start)}")
    policy = witness.memory_policy() if order["memory"] != "none" else None

    # Only here is anything of `workloads` imported: threads inherit the CPUs they are born with.
    factory, setting = _factory(order["workload"]), _setting(order["setting"])
    framework = _framework(setting)
    imported = time.monotonic_ns()
    workload = factory(setting, **order["workload"]["options"])
    if _is_network(workload):
        workload = framework.compiled(workload, setting.mode, order["jit"])
    elif order["traced"]:
        raise TypeError("only a network has ops to trace, and this workload takes its steps by itself")
    built = time.monotonic_ns()
    workload.prepare()
    traced: list[dict[str, Any]] = []
    if order["traced"]:
        first, traced = framework.traced(workload, order["traced"])
        steps: list[float] = []
    else:
        first, *steps = _timed(workload.step)
    ready = time.monotonic_ns()
    limits = stopping.Limits(order["precision"], order["max_seconds"], order["steps"])
    steps, ended, seen = _steps(workload, steps, limits, at_start, parse_list(order["siblings"]))
    end = time.monotonic_ns()
    losses = getattr(workload, "losses", [])
    return {
        "status": "ok",
        "reason": None,
        "born": born,
        "first_step_seconds": first,
        "step_seconds": steps,
        "traced": traced,
        "ended_by": ended,
        "items_per_step": workload.items_per_step,
        "first_loss": losses[0] if losses else None,
        "last_loss": losses[-1] if losses else None,
        "cautions": framework.cautions() if framework else [],
        "sections": {
            "import": (imported - born) / 1e9,
            "init": (built - imported) / 1e9,
            "setup": (ready - built) / 1e9,
            "first_step": first,
            "run": (end - ready) / 1e9,
            "main": (end - imported) / 1e9,
        },
        "witness": {
            "cpus_at_start": format_list(at_start),
            "cpus_at_end": format_list(os.sched_getaffinity(0)),
            "memory_policy": policy,
            **witness.memory_bytes(),
            **(framework.pool_sizes() if framework else {}),
            **seen,
        },
        "versions": {**_versions(), **(framework.versions() if framework else {})},
    }


def _steps(
    workload: Any,
    steps: list[float],
    limits: stopping.Limits,
    cpus: frozenset[int] | set[int],
    siblings: frozenset[int],
) -> tuple[list[float], str, dict[str, object]]:
    """Take steps until there are enough; what they took, why they ended, and what was seen meanwhile."""
    visits = witness.Visits()
    before = witness.read(frozenset(cpus), siblings)
    start = time.perf_counter()
    look_at, ended = 1, None
    while ended is None:
        steps += _timed(workload.step)
        visits.look()
        elapsed = time.perf_counter() - start
        if len(steps) >= look_at or elapsed >= limits.max_seconds:
            ended = stopping.ended_by(steps, elapsed, limits)
            look_at = stopping.next_look(len(steps))
    after = witness.read(frozenset(cpus), siblings)
    seen = witness.witness(before, after, visits, frozenset(cpus))
    return steps, ended, {**seen, **_of_a_program(workload)}


def _timed(step: Callable[[], Any]) -> list[float]:
    """One call of a step: the seconds it took, or those it says its own steps took."""
    start = time.perf_counter()
    told = step()
    seconds = time.perf_counter() - start
    taken = [seconds] if told is None else list(told)
    if not all(0 < each < float("inf") for each in taken):
        raise ValueError(f"a step cannot take {min(taken)} s; the times a workload tells must be above 0")
    return taken


def _of_a_program(workload: Any) -> dict[str, object]:
    """A program of the user's has threads of its own, which are gone by now: only its last CPU is known."""
    last_cpu = getattr(workload, "last_cpu", None)
    if last_cpu is None:
        return {}
    return {"threads": None, "busy_threads": None, "run_queue_wait_seconds": None, "cpus_visited": str(last_cpu)}


def _factory(named: dict[str, Any]) -> Callable[..., Any]:
    if named["file"] is None:
        module = importlib.import_module(f"scaling.workloads.{named['name']}")
        return module.build  # type: ignore[no-any-return]
    factory = getattr(_module_from(named["file"]), named["name"], None)
    if factory is None:
        raise AttributeError(f"{named['file']} has no function '{named['name']}'")
    return factory  # type: ignore[no-any-return]


def _module_from(path: str) -> ModuleType:
    """A user's own file as a module, with its neighbours importable, as if Python had been started on it."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.basename(path).removesuffix(".py"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _setting(values: dict[str, Any]) -> Any:
    from scaling.workloads.base import Setting

    return Setting(**values)


def _is_network(made: Any) -> bool:
    from scaling.workloads.base import Network

    return isinstance(made, Network)


def _framework(setting: Any) -> Any:
    """The framework a workload has imported, told its threads and its seed; None where it has imported none."""
    if "keras" not in sys.modules and "tensorflow" not in sys.modules:
        return None
    from scaling.running.frameworks.tensorflow import TensorFlow

    return TensorFlow(setting.intra, setting.inter, setting.seed)


def _versions() -> dict[str, str]:
    return {
        name: str(getattr(sys.modules[name], "__version__", "unknown"))
        for name in NAMED_VERSIONS
        if name in sys.modules
    }


def reason(error: BaseException) -> str:
    """An error in one line, with where in the user's code it came from."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    told = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {told} ({os.path.basename(frame.filename)} line {frame.lineno})"
