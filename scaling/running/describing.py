"""What a workload is, counted and not typed in: parameters, forward multiply-adds, memory of its weights, traffic.

Counting builds every network and passes one item through it, operation by operation, which takes
a while: it is done in a child process, and kept until a workload or the framework changes.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from scaling.errors import WorkloadError
from scaling.running.environment import QUIET_CPU

COUNTED = ("parameters", "gmacs_per_item", "weights_bytes", "traffic_bytes_per_item", "traffic_bytes_per_step")
CODE = "from scaling.running.describing import tell; tell()"


def counts(names: Sequence[str], size: str = "published") -> dict[str, dict[str, Any]]:
    """The counts of each of these networks at a size, by name."""
    kept = _cache(size)
    if kept.exists():
        known: dict[str, dict[str, Any]] = json.loads(kept.read_text())
        if set(names) <= set(known):
            return known
    environment = {**os.environ, **QUIET_CPU, "KERAS_BACKEND": "tensorflow"}
    command = [sys.executable, "-P", "-c", CODE, size, *names]
    told = subprocess.run(command, env=environment, capture_output=True, text=True)
    if told.returncode:
        raise WorkloadError(f"the networks cannot be counted: {told.stderr.strip().splitlines()[-1]}")
    counted: dict[str, dict[str, Any]] = json.loads(told.stdout.splitlines()[-1])
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(counted))
    return counted


def _cache(size: str) -> Path:
    """Where counts are kept: under a name that changes with the size, the workloads and the framework."""
    sources = sorted(files("workloads").iterdir(), key=lambda entry: entry.name)
    digest = hashlib.sha256(version("tensorflow").encode() + version("keras").encode())
    for source in sources:
        if source.name.endswith(".py"):
            digest.update(source.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "cpu-scaling", f"workloads-{len(COUNTED)}-{size}-{digest.hexdigest()[:16]}.json")


def tell() -> None:
    """In the child: count the networks named on the command line and print them as one line of JSON."""
    from importlib import import_module

    from scaling.running.frameworks.counting import counted as counted_on
    from workloads.base import Setting

    size, *names = sys.argv[1:]
    setting = Setting("infer", size, items=1, times=1, cores=1, smt=1, intra=0, inter=0, seed=1)
    counted = {}
    for name in names:
        network = import_module(f"workloads.{name}").build(setting)
        inputs, _ = network.data()
        found = counted_on(network, inputs)
        values = (
            sum(_elements(variable) for variable in network.model.trainable_variables),
            found.multiply_adds / 1e9,
            sum(4 * _elements(variable) for variable in network.model.variables),
            found.other_bytes,
            found.weight_bytes,
        )
        counted[name] = dict(zip(COUNTED, values, strict=True))
    print(json.dumps(counted))


def _elements(variable: Any) -> int:
    count = 1
    for length in variable.shape:
        count *= length
    return count
