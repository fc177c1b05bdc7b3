"""Whether the loss of every network falls at published size: each way of feeding it, each batch and each option.

    python -m benchmarks.losses [NETWORK…] [--data fixed,fresh,pipeline] [--least 8]

A setting is a process of its own. With one batch the first loss stands beside the last of so many steps; with several,
the mean over the first pass through them beside that over the last; in a loop, whose batches never come again, that of
the first quarter of steps and of the last. Networks whose steps are short take more steps.
"""

import argparse
import multiprocessing
import os
from dataclasses import dataclass
from importlib import import_module
from statistics import fmean
from time import monotonic

from benchmarks.fathom import markdown


@dataclass(frozen=True, slots=True)
class Case:
    """A network with its options, its items per step (None: its own) and how its steps are fed."""

    network: str
    options: dict[str, object]
    items: int | None
    data: str


@dataclass(frozen=True, slots=True)
class Losses:
    """What the steps of a case made of the loss."""

    items: int
    steps: int
    first: float
    last: float
    seconds: float


# How many times as many steps as the least.
STEPS = {"autoenc": 10, "deepq": 10, "memnet": 20}
# Options and batches beside a network's own, which are fed with one batch.
VARIANTS: list[tuple[str, dict[str, object], int | None]] = [
    ("alexnet", {}, 64),
    ("alexnet", {}, 128),
    ("deepq", {"step": "loop"}, None),
    ("seq2seq", {"unroll": True}, None),
    ("speech", {"shape": "fathom"}, None),
]
NETWORKS = ("alexnet", "autoenc", "deepq", "memnet", "residual", "seq2seq", "speech", "vgg")


def cases(networks: list[str], data: list[str]) -> list[Case]:
    """All cases of some networks and ways of feeding them."""
    own = [Case(network, {}, None, one) for one in data for network in networks]
    others = [Case(network, options, items, "fixed") for network, options, items in VARIANTS if network in networks]
    return [*own, *(others if "fixed" in data else [])]


def train(case: Case, least: int) -> Losses:
    """Take the steps of a case in this process."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from scaling.running.frameworks.feeding import BATCHES
    from scaling.running.frameworks.tensorflow import TensorFlow
    from scaling.workloads.base import Setting

    cores = len(os.sched_getaffinity(0))
    setting = Setting("train", "published", case.items, times=1, cores=cores, smt=1, intra=0, inter=0, seed=1)
    framework = TensorFlow(0, 0, seed=1)
    network = import_module(f"scaling.workloads.{case.network}").build(setting, **case.options)
    step = framework.compile_step(network, "train", jit=False, data=case.data, pipeline_threads=cores)
    begin = monotonic()
    step.prepare()
    losses = []
    for _ in range(least * STEPS.get(case.network, 1)):
        step.step()
        losses.append(step.losses[-1])
    seconds = (monotonic() - begin) / len(losses)
    several = len(losses) // 4 if network.loop else BATCHES if case.data != "fixed" else 1
    return Losses(network.items_per_step, len(losses), fmean(losses[:several]), fmean(losses[-several:]), seconds)


def row(case: Case, found: Losses) -> tuple[str, ...]:
    """A case and its losses as table cells."""
    options = " ".join(f"{name}={value}" for name, value in case.options.items())
    falls = f"{100 * (found.last / found.first - 1):+.0f} %"
    return (
        *(case.network, options, str(found.items), case.data, str(found.steps)),
        *(f"{found.first:.4g}", f"{found.last:.4g}", falls, f"{found.seconds:.3g} s"),
    )


def main() -> None:
    """Print a row for every case as soon as it is known."""
    parser = argparse.ArgumentParser()
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--data", default="fixed,fresh,pipeline")
    parser.add_argument("--least", type=int, default=8)
    given = parser.parse_args()
    headers = ("network", "options", "items", "data", "steps", "first loss", "last loss", "change", "a step")
    print(*markdown(headers, []), sep="\n", flush=True)
    spawn = multiprocessing.get_context("spawn")
    for case in cases(list(given.networks), given.data.split(",")):
        with spawn.Pool(1) as process:
            found = process.apply(train, (case, given.least))
        print(*markdown(headers, [row(case, found)])[2:], sep="\n", flush=True)


if __name__ == "__main__":
    main()
