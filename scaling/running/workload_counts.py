"""The size of a workload, counted: parameters, multiply-adds, memory of its weights, memory traffic.

A child process builds every network and executes an item or two op by op, which takes long, so counts are cached until
a workload or the framework changes.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scaling.errors import StoreError, WorkloadError
from scaling.results.files import read_regular_text, replace_file
from scaling.running.environment import QUIET_CPU
from scaling.running.processes import ending
from scaling.study.catalogue import is_installed, missing_extra_sentence

CODE = "from scaling.running.frameworks.counting import {0}; {0}()"

Counts = dict[str, dict[str, Any]]


def counts(names: Sequence[str]) -> Counts:
    """Parameters, forward GMACs per item and bytes of weights of these networks at published size, by name."""
    return _cached_counts("count_networks", "workloads", names)


def pass_counts(names: Sequence[str], size: str, mode: str) -> Counts:
    """A network's size and its step: GMACs and bytes moved per item, and further bytes moved per step."""
    return _cached_counts("count_steps", f"passes-{size}-{mode}", names, size, mode)


def _cached_counts(function: str, subject: str, names: Sequence[str], *arguments: str) -> Counts:
    if not names:
        return {}
    if not is_installed("tensorflow"):
        raise WorkloadError(missing_extra_sentence(names, "tensorflow"))
    cache = _cache_path(subject)
    known = {} if cache is None else _read_cache(cache)
    missing = [name for name in names if name not in known]
    if missing:
        known |= _count_in_child(function, [*arguments, *missing])
        if cache is not None:
            _write_cache(cache, known)
    return {name: known[name] for name in names}


def _read_cache(path: Path) -> Counts:
    try:
        known = json.loads(read_regular_text(path))
    except (StoreError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) and all(isinstance(counted, dict) for counted in known.values()) else {}


def _write_cache(path: Path, known: Counts) -> None:
    """Cache counts if possible; otherwise they are counted again."""
    with suppress(OSError, StoreError):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(known))


def _count_in_child(function: str, arguments: Sequence[str]) -> Counts:
    command = [sys.executable, "-P", "-c", CODE.format(function), *arguments]
    with TemporaryDirectory(prefix="scaling-") as scratch:  # for files that Keras and matplotlib put into the home
        homes = dict.fromkeys(("KERAS_HOME", "MPLCONFIGDIR"), scratch)
        environment = {**os.environ, **QUIET_CPU, "KERAS_BACKEND": "tensorflow", **homes}
        child = subprocess.run(command, env=environment, capture_output=True, text=True)
    if child.returncode:
        last = (child.stderr.strip().splitlines() or [ending(child.returncode)])[-1]
        raise WorkloadError(f"the networks cannot be counted: {last}")
    counted: Counts = json.loads(child.stdout.splitlines()[-1])
    return counted


def _cache_path(subject: str) -> Path | None:
    """The path of cached counts, whose name depends on the workloads and the framework; None without a cache folder."""
    folder = cache_folder()
    if folder is None:
        return None
    sources = sorted(files("scaling.workloads").iterdir(), key=lambda entry: entry.name)
    digest = hashlib.sha256(version("tensorflow").encode() + version("keras").encode())
    for source in sources:
        if source.name.endswith(".py"):
            digest.update(source.read_bytes())
    return folder / f"{subject}-{digest.hexdigest()[:16]}.json"


def cache_folder() -> Path | None:
    """The folder of this user's caches; None for a user without a home."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(base, "cpu-scaling")
