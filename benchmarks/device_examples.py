"""What docs/frameworks.md shows of a machine with a GPU, measured anew as far as a time allows.

    python -m benchmarks.device_examples FOLDER [--seconds 1500] [--only PART]… [--list]

Every part is a command of `scaling` with a share of the time, in the order of what they are worth. One that its share
ends is interrupted, which keeps its rows, and goes on when it is given again; what a part leaves, the later ones have.
Then `python -m benchmarks.devices FOLDER/devices FOLDER/gpu_cores FOLDER/minsky` prints the tables.
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


DEVICES = "sweep devices --no-report --set max_seconds=3"
CORES = "sweep minsky --no-report --set size=small --set cores=[1,2,4,8,16] --set rounds=3 --set turn_seconds=0.3"
PAIR = "compare devices --between framework=jax framework=torch --set device=gpu --set modes=train --set max_seconds=3"
PARTS = (
    Part("pair", f"{PAIR} --set workloads=residual --set launches=6", "pair", 0.12),
    Part("gpu-training", f"{DEVICES} --set device=gpu --set modes=train --set launches=1", "devices", 0.18),
    Part("gpu", f"{DEVICES} --set device=gpu --set launches=1", "devices", 0.12),
    Part("cpu", f"{DEVICES} --set launches=1", "devices", 0.18),
    Part("cores", f'{CORES} --set \'framework=["torch","jax"]\' --set launches=1', "minsky", 0.14),
    Part(
        "gpu-cores",
        "sweep gpu_cores --no-report --set workloads=alexnet --set launches=1 --set max_seconds=2",
        "gpu_cores",
        0.08,
    ),
    Part(
        "cores-tensorflow", f'{CORES} --set \'framework=["torch","jax","tensorflow"]\' --set launches=1', "minsky", 0.07
    ),
    Part("cores-again", f'{CORES} --set \'framework=["torch","jax","tensorflow"]\' --set launches=2', "minsky", 0.11),
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
    parser.add_argument("--seconds", type=float, default=1500.0)
    parser.add_argument("--only", action="append", choices=[part.name for part in PARTS], metavar="PART")
    parser.add_argument("--list", action="store_true", help="print the commands and measure nothing")
    given = parser.parse_args()
    parts = [part for part in PARTS if given.only is None or part.name in given.only]
    end = time.monotonic() + given.seconds
    for number, part in enumerate(parts):
        began = time.monotonic()
        left = given.seconds if given.list else (end - began) / sum(one.share for one in parts[number:])
        seconds = left * part.share
        print(f"{part.name}, {seconds:.0f} s: scaling {part.words} -o {given.folder / part.folder}", flush=True)
        if not given.list and seconds > 0:
            status = carry_out(part.command(given.folder), seconds)
            print(f"{part.name} took {time.monotonic() - began:.0f} s, status {status}", flush=True)


if __name__ == "__main__":
    main()
