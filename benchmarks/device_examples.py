"""What docs/frameworks.md shows of a machine with a GPU, measured anew as far as a time allows.

    python -m benchmarks.device_examples FOLDER [--seconds 3000] [--launches 1] [--only PART]… [--list]

Every part is a command of `scaling` with a share of the time, in the order of what they are worth. One that its share
ends is interrupted, which keeps its rows, and goes on when it is given again; what a part leaves, the later ones have.
Then `python -m benchmarks.devices FOLDER/*_*` prints the tables, and with `FOLDER/pair/*` that of the pair.
"""

import argparse
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SCALING = str(Path(sys.executable).with_name("scaling"))

# How long a command that was interrupted has for what it does then.
GRACE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Part:
    """A command of `scaling`, its results folder, and its share of the time."""

    name: str
    words: str
    folder: str
    share: float

    def command(self, folder: Path) -> list[str]:
        """The words of the process."""
        return [SCALING, *shlex.split(self.words), "-o", str(folder / self.folder)]


DEVICES = "sweep devices --no-report --set max_seconds=2"
CORES = "sweep minsky --no-report --set cores=[1,2,4,8,16] --set turn_seconds=0.3"
LIGHT = '--set \'workloads=["autoenc","deepq","memnet","seq2seq"]\' --set rounds=3'
# On one core a step of these takes up to half a minute.
HEAVY = '--set \'workloads=["alexnet","residual","speech","vgg"]\' --set rounds=2'
PAIR = "compare devices --between framework=jax framework=torch --set device=gpu --set modes=train --set max_seconds=3"


def parts(launches: int) -> tuple[Part, ...]:
    """All parts, with so many launches of every point."""
    of = f"--set launches={launches} --set framework"
    return (
        Part("torch-gpu", f"{DEVICES} {of}=torch --set device=gpu", "torch_gpu", 0.08),
        Part("jax-gpu-train", f"{DEVICES} {of}=jax --set device=gpu --set modes=train", "jax_gpu", 0.1),
        Part("jax-gpu", f"{DEVICES} {of}=jax --set device=gpu", "jax_gpu", 0.08),
        Part("torch-light", f"{CORES} {of}=torch {LIGHT}", "torch_light", 0.05),
        Part("torch-heavy", f"{CORES} {of}=torch {HEAVY}", "torch_heavy", 0.25),
        Part("torch-cpu", f"{DEVICES} {of}=torch --set device=cpu", "torch_cpu", 0.08),
        Part("jax-light", f"{CORES} {of}=jax {LIGHT}", "jax_light", 0.1),
        Part("jax-cpu-train", f"{DEVICES} {of}=jax --set device=cpu --set modes=train", "jax_cpu", 0.1),
        Part("jax-cpu", f"{DEVICES} {of}=jax --set device=cpu", "jax_cpu", 0.08),
        Part("jax-heavy", f"{CORES} {of}=jax {HEAVY}", "jax_heavy", 0.4),
        Part(
            "gpu-cores",
            f"sweep gpu_cores --no-report --set workloads=alexnet --set max_seconds=2 {of}=torch",
            "gpu_cores",
            0.06,
        ),
        Part("tensorflow-light", f"{CORES} {of}=tensorflow {LIGHT}", "tensorflow_light", 0.05),
        Part("tensorflow-heavy", f"{CORES} {of}=tensorflow {HEAVY}", "tensorflow_heavy", 0.2),
        Part("pair", f"{PAIR} --set workloads=residual --set launches=6", "pair", 0.09),
    )


def carry_out(command: Sequence[str], seconds: float) -> int | None:
    """The status of a command, interrupted where it takes longer."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        return process.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def main() -> None:
    """Carry out the parts, or list their commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=3000.0)
    parser.add_argument("--launches", type=int, default=1)
    parser.add_argument("--only", action="append", choices=[part.name for part in parts(1)], metavar="PART")
    parser.add_argument("--list", action="store_true", help="print the commands and measure nothing")
    given = parser.parse_args()
    chosen = [part for part in parts(given.launches) if given.only is None or part.name in given.only]
    end = time.monotonic() + given.seconds
    for number, part in enumerate(chosen):
        began = time.monotonic()
        left_over = chosen if given.list else chosen[number:]
        seconds = (end - began) * part.share / sum(one.share for one in left_over)
        print(f"{part.name}, {seconds:.0f} s: scaling {part.words} -o {given.folder / part.folder}", flush=True)
        if not given.list and seconds > 0:
            status = carry_out(part.command(given.folder), seconds)
            print(f"{part.name} took {time.monotonic() - began:.0f} s, status {status}", flush=True)


if __name__ == "__main__":
    main()
