"""Makes an object from a user's file into a workload that the worker can measure.

The object is a `Network`, a model with a batch, a callable whose call is a step, an object with a `step` method, or a
function that returns one of these.
"""

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

from scaling.workloads.base import Network, Setting

# The placeholder in an option for the run's number of threads.
THREADS = "{threads}"

WHAT_TO_RETURN = (
    "return a function to be timed, an object with a method `step`, a model with a batch as "
    "`model, (inputs, targets)`, or a Network"
)


class OwnWorkloadError(TypeError):
    """An object that cannot be measured, and what to return instead, in a sentence."""

    explains_itself = True


def load_module(path: str) -> ModuleType:
    """A user's file as a module, with its folder importable, as if Python had been started on it."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.basename(path).removesuffix(".py"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _timed(function: Callable[[], object]) -> "Stepper":
    def step() -> None:
        function()  # without its result, which would count as times

    return Stepper(SimpleNamespace(step=step))


class Stepper:
    """Wraps an object that has a `step` method but lacks other parts of a workload."""

    def __init__(self, workload: Any) -> None:
        self._workload = workload
        self.step = workload.step

    def prepare(self) -> None:
        """Call the object's own `prepare`, if it has one."""
        getattr(self._workload, "prepare", lambda: None)()

    @property
    def items_per_step(self) -> Any:
        """The object's own number of items per step, or 1."""
        return getattr(self._workload, "items_per_step", 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workload, name)


def own_workload(name: str, offered: Any, setting: Setting, options: Mapping[str, Any]) -> Any:
    """The workload for a name in a user's file; OwnWorkloadError if it cannot be measured."""
    if (known := _workload(name, offered, setting)) is not None:
        return known
    if not callable(offered):
        raise OwnWorkloadError(f"{name} is {_kind(offered)}, which cannot be measured; {WHAT_TO_RETURN}")
    threads = setting.intra or len(os.sched_getaffinity(0))
    given = {option: threads if value == THREADS else value for option, value in options.items()}
    takes_setting = _takes_setting(offered, given)
    made = offered(setting, **given) if takes_setting else offered(**given)
    if (known := _workload(name, made, setting)) is not None:
        return known
    if callable(made):
        return _timed(made)
    if takes_setting:
        raise OwnWorkloadError(f"{name} returned {_kind(made)}, which cannot be measured; {WHAT_TO_RETURN}")
    return _timed(lambda: offered(**given))


def _workload(name: str, offered: Any, setting: Setting) -> Any:
    """The workload for an object that is not a function to be called; None for other objects."""
    if isinstance(offered, Network):
        return offered
    if isinstance(offered, tuple) and offered and _framework(offered[0]):
        return _network(name, *offered, setting=setting)
    if _framework(offered):
        raise OwnWorkloadError(f"{name} is a model without a batch; return it with one, as `model, (inputs, targets)`")
    if not inspect.isclass(offered) and callable(getattr(offered, "step", None)):
        complete = hasattr(offered, "prepare") and hasattr(offered, "items_per_step")
        return offered if complete else Stepper(offered)
    return None


def _network(name: str, model: Any, batch: Any = None, *rest: Any, setting: Setting) -> Network:
    """A network from a model with a batch; a compiled Keras model has its own loss and optimizer."""
    if rest or not isinstance(batch, tuple | list) or len(batch) != 2:
        raise OwnWorkloadError(f"{name}: a model needs exactly one batch, as `model, (inputs, targets)`")
    inputs, targets = batch
    trains, compiled = setting.mode == "train", getattr(model, "compiled", False)
    if trains and not compiled:
        advice = "call its `compile`" if _framework(model) == "keras" else "return a Network with loss and optimizer"
        raise OwnWorkloadError(f"{name} is a model without loss and optimizer; {advice}, or set modes = 'infer'")
    return Network(
        model=model,
        data=lambda seed=0: (inputs, targets),
        loss=lambda outputs, wanted: model.compute_loss(y=wanted, y_pred=outputs),
        optimizer=getattr(model, "optimizer", None),
        items_per_step=_length(inputs),
    )


def _length(inputs: Any) -> int:
    while isinstance(inputs, dict | list | tuple):
        inputs = next(iter(inputs.values() if isinstance(inputs, dict) else inputs))
    return len(inputs)


def _framework(model: Any) -> str | None:
    for module, name in (("keras", "Model"), ("torch.nn", "Module")):
        if module in sys.modules and isinstance(model, getattr(sys.modules[module], name)):
            return module.partition(".")[0]
    return None


def _takes_setting(function: Callable[..., object], given: Mapping[str, Any]) -> bool:
    """Whether a function needs the run's setting: it has a parameter `setting`, or a parameter without a value."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C
        return False
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(
        parameter.name == "setting"
        or (parameter.kind in named and parameter.default is parameter.empty and parameter.name not in given)
        for parameter in parameters
    )


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
