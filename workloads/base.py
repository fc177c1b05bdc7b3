"""The interface between workloads and the engine.

A factory, `build(setting, **options)` in a module of this package or any function of a user's file, returns a
`Network`, whose step the engine compiles, or a `Workload`, which takes steps itself. The engine owns the loop, the
clock, the seed, the threads and the CPUs.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol


class Setting(NamedTuple):
    """How a workload is run; threads of 0 mean one for each CPU that this process may use."""

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
        """The items of a step, given the workload's default; weak scaling multiplies them."""
        return (self.items or default) * self.times


class Network(NamedTuple):
    """A Keras model and its training data; both modes use the same weights.

    `data` returns a batch of inputs and targets as NumPy arrays (or nests of them) with an entry per item. It is called
    before the clock starts, without an argument for `data = "fixed"`, otherwise with a seed per batch. If the inputs
    are `photographs`, a pipeline decodes, crops and mirrors them. Training minimises `loss(model(inputs,
    training=True), targets)` with the optimizer; inference is `infer(inputs)`, by default the model's forward pass.

    If making a batch is part of a training step, `loop` yields batches forever, each in the step that learns from it.
    Its argument compiles the forward pass of a model to a function of arrays.
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
    """An object that takes steps itself."""

    items_per_step: int

    def prepare(self) -> None:
        """Prepare data and threads before the clock starts."""

    def step(self) -> Sequence[float] | None:
        """Take one step and wait for its result; return seconds only if the workload times itself."""
