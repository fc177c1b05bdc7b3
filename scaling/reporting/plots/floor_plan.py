"""A machine as a plan: cores in their caches, those in NUMA nodes, those in sockets, packed side by side. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log, sqrt
from typing import Literal

from scaling.machine.topology import Cpus
from scaling.results.machine_file import MachineFile

Level = Literal["core", "cache", "node", "socket"]

PADDING = {"core": 0.08, "cache": 0.14, "node": 0.16, "socket": 0.2}
# A block is about so many times as wide as it is high.
BROAD = 2.0


@dataclass(frozen=True, slots=True)
class Box:
    """A core or a group of them, from its lower left corner; only cores have CPUs."""

    level: Level
    x: float
    y: float
    width: float
    height: float
    cpus: Cpus = ()

    def moved(self, x: float, y: float) -> "Box":
        """The same elsewhere."""
        return replace(self, x=self.x + x, y=self.y + y)


@dataclass(frozen=True, slots=True)
class Plan:
    """All boxes of a machine, outer ones first, and the room they take."""

    width: float
    height: float
    boxes: tuple[Box, ...]

    @property
    def cores(self) -> tuple[Box, ...]:
        """The cores alone."""
        return tuple(box for box in self.boxes if box.level == "core")

    def groups(self, level: Level) -> tuple[Box, ...]:
        """The sockets, nodes or caches."""
        return tuple(box for box in self.boxes if box.level == level)


def floor_plan(machine: MachineFile) -> Plan:
    """The machine's picture; a group that holds all there is anyway is not drawn, save the socket."""
    by_socket: dict[int, dict[int, dict[int, list[Cpus]]]] = {}
    for core in machine.cores:
        socket, node, cache = (_place(core, groups) for groups in (machine.sockets, machine.nodes, machine.l3s))
        by_socket.setdefault(socket, {}).setdefault(node, {}).setdefault(cache, []).append(core)
    sockets = []
    for nodes in by_socket.values():
        inner = [
            _packed(list(map(_cache, caches.values())), "node", len(machine.nodes) > 1) for caches in nodes.values()
        ]
        sockets.append(_packed(inner, "socket", True))
    return _packed(sockets, "socket", False)


def _cache(cores: Sequence[Cpus]) -> Plan:
    return _packed([Plan(1.0, 1.0, (Box("core", 0.0, 0.0, 1.0, 1.0, core),)) for core in cores], "cache", True)


def _place(core: Cpus, groups: Sequence[Cpus]) -> int:
    """Which of the groups a core is in; -1 for none."""
    return next((place for place, group in enumerate(groups) if core[0] in group), -1)


def _columns(parts: int, wanted: float) -> int:
    """How many side by side: as many as look best among the numbers that leave the fewest holes."""
    likely = range(max(1, int(wanted / 1.5)), max(1, min(parts, ceil(1.5 * wanted))) + 1)
    return min(likely, key=lambda columns: (-parts % columns, round(abs(log(columns / wanted)), 1), -columns))


def _packed(parts: Sequence[Plan], level: Level, boxed: bool) -> Plan:
    """Parts side by side in rows from the top, within a box of their own where it says something."""
    wide, high = max(part.width for part in parts), max(part.height for part in parts)
    columns = _columns(len(parts), sqrt(len(parts) * BROAD * high / wide))
    rows = ceil(len(parts) / columns)
    gap, edge = PADDING["core"] if level == "cache" else PADDING[level], PADDING[level] if boxed else 0.0
    width, height = (count * size + (count - 1) * gap + 2.0 * edge for count, size in ((columns, wide), (rows, high)))
    boxes = [Box(level, 0.0, 0.0, width, height)] if boxed else []
    for place, part in enumerate(parts):
        row, column = divmod(place, columns)
        x = edge + column * (wide + gap)
        y = height - edge - (row + 1) * high - row * gap + high - part.height
        boxes += [box.moved(x, y) for box in part.boxes]
    return Plan(width, height, tuple(boxes))
