"""The one interface between a workload and the engine.

A workload is made by a factory, `build(setting, **parameters)` in a module of this package or any function of a
user's own file. It makes either a `Network`, of which the engine compiles the step itself, or an object that can
take steps. The engine owns the loop, the clock, the seed, the threads and the CPUs.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol


class Setting(NamedTuple):
    """How a workload is to be run. Threads of 0 mean: as many as the CPUs this process may use."""

    mode: str
    size: str
    items: int | None
    times: int
    cores: int
    smt: int
    intra: int
    inter: int
    seed: int
    data: str = "fixed"
    pipeline_threads: int = 0

    def item_count(self, default: int) -> int:
        """Items a step should handle, from the workload's own default; weak scaling multiplies them."""
        return (self.items or default) * self.times


class Network(NamedTuple):
    """A Keras model and what it learns from; both modes use the same weights.

    `data` makes a batch of NumPy arrays (or nests of them), an entry per item: what the model is called on, and what
    its loss is held against. It is called before the clock starts, without an argument for the one batch of `data =
    "fixed"`, and with one seed after another where steps have different batches. The inputs may be `photographs`, which
    a pipeline decodes, crops and mirrors. Training minimises `loss(model(inputs, training=True), targets)`
    with the optimizer; inference is `infer(inputs)`, or the model's forward pass where that is None.

    Where making a batch is part of a training step, `loop` makes batches without end, each in the step that learns from
    it. It is called with a function that compiles the forward pass of a model, from arrays to arrays.
    """

    model: Any
    data: Callable[..., tuple[Any, Any]]
    loss: Callable[[Any, Any], Any]
    optimizer: Any
    items_per_step: int
    infer: Callable[[Any], Any] | None = None
    photographs: bool = False
    loop: Callable[[Callable[[Any], Callable[[Any], Any]]], Iterator[tuple[Any, Any]]] | None = None


class Workload(Protocol):
    """What else a factory may make: something that can take one step after another."""

    items_per_step: int

    def prepare(self) -> None:
        """Make data and threads ready, before the clock starts."""

    def step(self) -> Sequence[float] | None:
        """Take one step and wait for its result; return seconds only where the workload must time itself."""
