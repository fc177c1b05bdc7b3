"""A step of torch as one CUDA graph: captured after a few calls, then replayed without its Python.

A step can be captured if it has fixed shapes, keeps its state in place and never waits for the device or copies from
the host. Numbers that Python sends to the device become constants, made once. Other obstacles are detected while the
step still runs op by op, since a failed capture can leave the device unusable. Such a step stays op by op, and its row
names them.
"""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# Calls before the watched call and the capture, after which memory, slots and the choice of kernels have settled.
WARMUP_CALLS = 2

# Operations whose result, or its shape, the host waits for. In inference mode torch reports `item` and `to` instead of
# `_local_scalar_dense` and `_to_copy`.
WAITING_OPS = frozenset(
    (
        *("item", "_local_scalar_dense", "is_nonzero", "equal"),
        *("nonzero", "masked_select", "bincount", "repeat_interleave"),
        *("_unique2", "unique_dim", "unique_consecutive", "_ctc_loss", "_use_cudnn_ctc_loss", "_cudnn_ctc_loss"),
    )
)
# Operations that may copy between host and device, and operations that must count the elements of a mask.
COPIES = frozenset(("to", "_to_copy", "copy_"))
INDEXING = frozenset(("index", "index_put", "index_put_", "_index_put_impl_"))


class GraphedFunction:
    """A function of nested tensors on the device that becomes a graph if it can; `how` says how it is executed.

    The first call warms up on its batch and captures, as the first call of a compiled function compiles; later calls
    replay.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.how = ""
        self._function = function
        self._constants = Constants()
        self._stream = torch.cuda.Stream()
        self._graph: Any = None
        self._inputs: list[Any] = []
        self._result: Any = None

    def __call__(self, *batch: Any) -> Any:
        """The function's result, which a graph writes to the same memory in every call."""
        if not self.how:
            return self._begin(batch)
        if self._graph is None:
            return self._function(*batch)
        for target, source in zip(self._inputs, leaves(batch), strict=True):
            if target is not source:
                target.copy_(source)
        self._graph.replay()
        return self._result

    def _begin(self, batch: Any) -> Any:
        # Loops of Keras are reference cycles that keep the autograd graph of the call that built the network. Its nodes
        # that accumulate gradients belong to that call's stream, and a capture on another stream would fail on them.
        gc.collect()
        result = self._warm_up(batch)
        for _ in range(WARMUP_CALLS - 1):
            self._warm_up(batch)
        obstacles = Obstacles()
        with obstacles:
            self._warm_up(batch)
        if obstacles.seen or self._constants.changed:
            what = ", ".join(obstacles.seen) or "a constant that it changes"
            self.how = f"op by op: a CUDA graph cannot hold {what}"
        else:
            self._capture(batch)
        return result

    def _warm_up(self, batch: Any) -> Any:
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream), self._constants:
            result = self._function(*batch)
        torch.cuda.current_stream().wait_stream(self._stream)
        return result

    def _capture(self, batch: Any) -> None:
        graph = torch.cuda.CUDAGraph()
        try:
            with self._constants, torch.cuda.graph(graph, stream=self._stream):
                self._result = self._function(*batch)
        except Exception as error:
            self.how = f"op by op: {' '.join(str(_root_cause(error)).split())[:200]}"
            _reset_generator()
            return
        self.how = "one CUDA graph"
        self._graph, self._inputs = graph, list(leaves(batch))


class Constants(TorchFunctionMode):  # type: ignore[misc]
    """Makes each tensor of host numbers only once, since a graph cannot copy such numbers to the device."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[Any, Any] = {}

    @property
    def changed(self) -> bool:
        """Whether a tensor has been modified and so is not constant."""
        return any(tensor._version for tensor in self._made.values() if not tensor.is_inference())

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return the earlier tensor when a function makes the same one again."""
        kwargs = kwargs or {}
        if function not in (torch.tensor, torch.as_tensor) or not args or isinstance(args[0], torch.Tensor):
            return function(*args, **kwargs)
        key = (function, _value_key(args[0]), repr(args[1:]), repr(kwargs))
        if key not in self._made:
            self._made[key] = function(*args, **kwargs)
        return self._made[key]


class Obstacles(TorchDispatchMode):  # type: ignore[misc]
    """Records operations that wait for the device or copy between it and the host."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, None] = {}

    @property
    def seen(self) -> tuple[str, ...]:
        """The names of these operations, in the order of their first use."""
        return tuple(self._names)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Execute an operation, and record it if it is an obstacle."""
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__
        devices = {tensor.device.type for tensor in leaves((args, kwargs))}
        devices |= {value.type for value in (*args, kwargs.get("device")) if isinstance(value, torch.device)}
        copies = name in COPIES and len(devices) > 1
        selects = name in INDEXING and any(tensor.dtype == torch.bool for tensor in leaves(args[1]))
        if copies or (devices != {"cpu"} and (selects or name in WAITING_OPS)):
            self._names[name] = None
        return function(*args, **kwargs)


def leaves(nest: Any) -> Iterator[Any]:
    """The tensors in nested lists, tuples and dictionaries."""
    if isinstance(nest, torch.Tensor):
        yield nest
    elif isinstance(nest, dict):
        for part in nest.values():
            yield from leaves(part)
    elif isinstance(nest, list | tuple):
        for part in nest:
            yield from leaves(part)


def _root_cause(error: BaseException) -> BaseException:
    """The first error of a chain; the last error, from the end of a capture, says only that it failed."""
    while error.__context__ is not None:
        error = error.__context__
    return error


def _reset_generator() -> None:
    """Give the device's random generator a new state, since after a failed capture it still draws for the graph."""
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    fresh = torch.Generator(generator.device)
    fresh.manual_seed(generator.initial_seed())
    generator.graphsafe_set_state(fresh.graphsafe_get_state())


def _value_key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    return (type(value).__name__, repr(value))
