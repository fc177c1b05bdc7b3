"""What a user's file may offer as a workload, made into one the worker can measure.

That is a `Network`, a model with a batch, a function or any other callable whose call is a step, an object with a
method `step`, or a function that returns one of these. Frameworks are recognised by what is imported already.
"""

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from scaling.workloads.base import Network, Setting

# Stands in an option for how many threads the run has.
THREADS = "{threads}"

WHAT_TO_RETURN = (
    "return a function to be timed, an object with a method `step`, a model with a batch as "
    "`model, (inputs, targets)`, or a Network"
)


class OwnWorkloadError(TypeError):
    """Something that cannot be measured, and what to return instead, in a sentence."""

    explains_itself = True


class TimedFunction:
    """A function whose call is a step; what it returns is dropped."""

    items_per_step = 1

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function

    def prepare(self) -> None:
        """Nothing: the function has what it needs."""

    def step(self) -> None:
        """Call it."""
        self._function()


class Stepper:
    """An object with a method `step` that need not have anything else."""

    def __init__(self, workload: Any) -> None:
        self._workload = workload
        self.step = workload.step

    def prepare(self) -> None:
        """Let it prepare itself, if it can."""
        getattr(self._workload, "prepare", lambda: None)()

    @property
    def items_per_step(self) -> Any:
        """As many as it says, or one."""
        return getattr(self._workload, "items_per_step", 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workload, name)


def own_workload(name: str, offered: Any, setting: Setting, options: Mapping[str, Any]) -> Any:
    """The workload that a name of a file stands for; OwnWorkloadError where it is none."""
    if (known := _workload(name, offered, setting)) is not None:
        return known
    if not callable(offered):
        raise OwnWorkloadError(f"{name} is {_kind(offered)}, which cannot be measured; {WHAT_TO_RETURN}")
    given = {option: _threads(setting) if value == THREADS else value for option, value in options.items()}
    takes_setting = _takes_setting(offered, given)
    made = offered(setting, **given) if takes_setting else offered(**given)
    if (known := _workload(name, made, setting)) is not None:
        return known
    if callable(made):
        return TimedFunction(made)
    if takes_setting:
        raise OwnWorkloadError(f"{name} returned {_kind(made)}, which cannot be measured; {WHAT_TO_RETURN}")
    return TimedFunction(lambda: offered(**given))


def _workload(name: str, offered: Any, setting: Setting) -> Any:
    """What can be measured as it is; None for what may be a function."""
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
    """A model with a batch: a compiled one of Keras has its loss and its optimizer."""
    if rest or not isinstance(batch, tuple | list) or len(batch) != 2:
        raise OwnWorkloadError(f"{name}: a model comes with one batch, as `model, (inputs, targets)`")
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
    """The items of a batch, which may be nested."""
    while isinstance(inputs, dict | list | tuple):
        inputs = next(iter(inputs.values() if isinstance(inputs, dict) else inputs))
    return len(inputs)


def _framework(model: Any) -> str | None:
    """Which framework's model it is; None for anything else."""
    for module, name in (("keras", "Model"), ("torch.nn", "Module")):
        if module in sys.modules and isinstance(model, getattr(sys.modules[module], name)):
            return module.partition(".")[0]
    return None


def _takes_setting(function: Callable[..., object], given: Mapping[str, Any]) -> bool:
    """Whether a function wants the setting of its run: it has a parameter for it, or one without a value."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some of those written in C
        return False
    empty = inspect.Parameter.empty
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanting = [one for one in parameters if one.kind in named and one.default is empty and one.name not in given]
    return bool(wanting) or any(one.name == "setting" for one in parameters)


def _threads(setting: Setting) -> int:
    return setting.intra or len(os.sched_getaffinity(0))


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
