"""The independent oracle: what hwloc's lstopo makes of a tree."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from scaling.machine.topology import Cpus
from tests.conftest import need


@dataclass(frozen=True)
class Seen:
    """Cores and packages in hwloc's logical order."""

    cores: tuple[Cpus, ...]
    packages: tuple[Cpus, ...]


def lstopo(root: Path) -> Seen:
    """What hwloc sees below a root; skip without hwloc, unless system tests are required."""
    program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    need(program is not None, "lstopo (Debian package hwloc)")
    arguments = ["--if", "fsroot", "-i", str(root), "--of", "xml", "--disallowed"]
    xml = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    objects = ElementTree.fromstring(xml).iter("object")
    typed = [(item.get("type"), _cpus(item.get("cpuset", ""))) for item in objects]
    return Seen(
        tuple(cpus for item_type, cpus in typed if item_type == "Core"),
        tuple(cpus for item_type, cpus in typed if item_type == "Package"),
    )


def _cpus(bitmap: str) -> Cpus:
    """'0x000000ff,,0x0000000f': words of 32 bits, the highest first, a zero word left empty."""
    words = enumerate(int(word or "0", 16) for word in reversed(bitmap.split(",")))
    return tuple(32 * index + bit for index, word in words for bit in range(32) if word >> bit & 1)
