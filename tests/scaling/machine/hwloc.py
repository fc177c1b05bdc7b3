"""The independent oracle: what hwloc's lstopo makes of a tree."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scaling.machine.topology import Cpus


@dataclass(frozen=True)
class Seen:
    """Cores and packages in hwloc's logical order."""

    cores: tuple[Cpus, ...]
    packages: tuple[Cpus, ...]


def lstopo(root: Path) -> Seen:
    """What hwloc sees below a root; skip without hwloc, unless system tests are required."""
    program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if program is None:
        missing = "lstopo is not installed (Debian package hwloc)"
        if os.environ.get("SCALING_REQUIRE_SYSTEM_TESTS") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    arguments = ["--if", "fsroot", "-i", str(root), "--of", "xml", "--disallowed"]
    xml = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    objects = ElementTree.fromstring(xml).iter("object")
    found = [(each.get("type"), _cpus(each.get("cpuset", ""))) for each in objects]
    return Seen(
        tuple(cpus for kind, cpus in found if kind == "Core"),
        tuple(cpus for kind, cpus in found if kind == "Package"),
    )


def _cpus(bitmap: str) -> Cpus:
    """'0x000000ff,,0x0000000f': words of 32 bits, the highest first, a zero word left empty."""
    words = enumerate(int(word or "0", 16) for word in reversed(bitmap.split(",")))
    return tuple(32 * place + bit for place, word in words for bit in range(32) if word >> bit & 1)
