"""The recorded machines of ../shared/machines or $SCALING_MACHINES: dumps of real ones, kept outside the project."""

import json
import os
import tarfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from scaling.machine.sysfs import read_topology
from scaling.machine.topology import Topology

REPOSITORY = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("SCALING_MACHINES") or REPOSITORY.parent / "shared/machines")
NAMES = (
    "xeon-4108-2s8c2t",
    "xeon-l5640-2s6c2t",
    "epyc-7451-2s24c2t",
    "intel-hybrid-4p8e",
    "dgx-gb10-20c",
    "power9-2s4c4t-sparse",
    "xeon-2680v3-offline",
    "power8-2s10c8t",
)


@dataclass(frozen=True)
class Recorded:
    """A recorded machine: where it was unpacked, and what is expected of it."""

    root: Path
    facts: dict[str, Any]
    placements: dict[str, list[list[int]] | None]

    @cached_property
    def topology(self) -> Topology:
        return read_topology(self.root)


def unpack(name: str, root: Path) -> Recorded:
    """Unpack a recorded machine below a root; skip the test where the recordings are not at hand."""
    if not FOLDER.is_dir():
        pytest.skip(f"no recorded machines in {FOLDER}; set SCALING_MACHINES to the folder that holds them")
    # The first versions of Python 3.11 know no filters.
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(FOLDER / f"{name}.tar.gz") as archive:
        archive.extractall(root, **safely)
    facts = json.loads((FOLDER / "expected.json").read_text())[name]
    return Recorded(root, facts, facts.pop("placements"))
