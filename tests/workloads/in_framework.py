"""In a process of its own, since Keras has one framework per process: what every network does under a framework.

`python -m tests.workloads.in_framework FRAMEWORK` prints a line of JSON.
"""

import json
import sys
from importlib import import_module

import numpy as np

from scaling.workloads.base import Setting

# Items of a step, and steps after which the loss must have fallen.
STEPS = {
    "alexnet": (4, 8),
    "vgg": (2, 6),
    "residual": (4, 6),
    "autoenc": (32, 20),
    "deepq": (16, 20),
    "memnet": (32, 30),
    "seq2seq": (4, 15),
    "speech": (2, 15),
    "fcn": (64, 8),
}


def main() -> None:
    """Build, train and infer with every network."""
    framework = import_module(f"scaling.running.frameworks.{sys.argv[1]}").FRAMEWORK(0, 0, seed=1)
    print(json.dumps({name: facts(framework, name, *STEPS[name]) for name in STEPS}))


def facts(framework, name: str, items: int, steps: int) -> dict:
    setting = Setting("train", "small", items=items, times=1, cores=1, smt=1, intra=0, inter=0, seed=1)
    options = {"game": "built-in"} if name == "deepq" else {}
    build = import_module(f"scaling.workloads.{name}").build
    made = build(setting, **options)
    inferring = build(setting._replace(mode="infer"), **options)
    set_weights(inferring.model)
    outputs = framework.compile_step(inferring, "infer", jit=False)
    outputs.prepare()
    results = [as_arrays(outputs._take(next(outputs._feed.batches))) for _ in range(2)]
    training = framework.compile_step(made, "train", jit=False)
    training.prepare()
    losses = []
    for _ in range(steps):
        training.step()
        losses.append(training.losses[-1])
    return {
        "parameters": sum(int(np.prod(variable.shape)) for variable in made.model.trainable_variables),
        "losses": losses,
        "outputs": results[0][:50].tolist(),
        "finite": bool(np.isfinite(np.concatenate(results)).all()),
        "host_reads": [reads_of(step) for step in (training, outputs)] if sys.argv[1] == "torch" else [],
    }


def reads_of(step) -> list[str]:
    """The functions of torch by which a step has the host read tensors; its loops count on the host in any case."""
    import torch
    from torch.overrides import TorchFunctionMode

    names = ("tolist", "numpy", "cpu", "item", "__int__", "__float__", "__array__", "nonzero")
    reading = {getattr(torch.Tensor, name): name for name in names}
    seen = set()

    class Reads(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.update({reading[function]} if function in reading else ())
            return function(*args, **(kwargs or {}))

    batch = next(step._feed.batches)
    with Reads():
        step._take(batch)
    return sorted(seen)


def set_weights(model) -> None:
    """The same weights under every framework, which have random numbers of their own."""
    random = np.random.default_rng(1)
    for variable in model.trainable_variables:
        fan_in = int(np.prod(variable.shape[:-1])) if len(variable.shape) > 1 else 100
        variable.assign((random.standard_normal(variable.shape) / fan_in**0.5).astype("float32"))


def as_arrays(outputs) -> np.ndarray:
    parts = outputs if isinstance(outputs, list | tuple) else [outputs]
    return np.concatenate([np.asarray(part, "float64").ravel() for part in parts])


if __name__ == "__main__":
    main()
