"""The CPUs that each placement used, on a plan of the machine with cores in caches in NUMA nodes in sockets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log, sqrt
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from scaling.machine.topology import Cpus
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.layout import POINTS_PER_INCH, make_grid
from scaling.reporting.plots.specification import Stroke
from scaling.reporting.plots.style import COLOURS, FAINT, INK, LIGHT
from scaling.reporting.words import count
from scaling.results.evaluation import Evaluation
from scaling.results.machine_file import MachineFile

Level = Literal["core", "cache", "node", "socket"]

PADDING = {"core": 0.08, "cache": 0.14, "node": 0.16, "socket": 0.2}
# The wanted width of a block over its height.
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

    def shift(self, x: float, y: float) -> "Box":
        """The box moved by a distance."""
        return replace(self, x=self.x + x, y=self.y + y)


@dataclass(frozen=True, slots=True)
class Plan:
    """All boxes of a machine, outer ones first, and their total size."""

    width: float
    height: float
    boxes: tuple[Box, ...]

    @property
    def cores(self) -> tuple[Box, ...]:
        """The cores."""
        return self.groups("core")

    def groups(self, level: Level) -> tuple[Box, ...]:
        """The boxes of a level."""
        return tuple(box for box in self.boxes if box.level == level)


def machine_plan(machine: MachineFile) -> Plan:
    """The plan of a machine, without a node or cache that contains everything."""
    by_socket: dict[int, dict[int, dict[int, list[Cpus]]]] = {}
    for core in machine.cores:
        socket, node, cache = (_group_index(core, groups) for groups in (machine.sockets, machine.nodes, machine.l3s))
        by_socket.setdefault(socket, {}).setdefault(node, {}).setdefault(cache, []).append(core)
    sockets, several_nodes = [], len(machine.nodes) > 1
    for nodes in by_socket.values():
        inner = [
            _pack(
                [_pack(list(map(_core_plan, cores)), "cache", True) for cores in caches.values()], "node", several_nodes
            )
            for caches in nodes.values()
        ]
        sockets.append(_pack(inner, "socket", True))
    return _pack(sockets, "socket", False)


def _core_plan(core: Cpus) -> Plan:
    return Plan(1.0, 1.0, (Box("core", 0.0, 0.0, 1.0, 1.0, core),))


def _group_index(core: Cpus, groups: Sequence[Cpus]) -> int:
    return next((index for index, group in enumerate(groups) if core[0] in group), -1)


def _columns(parts: int, wanted: float) -> int:
    """The number of parts side by side: near the wanted one, with few holes in the last row."""
    likely = range(max(1, int(wanted / 1.5)), max(1, min(parts, ceil(1.5 * wanted))) + 1)
    return min(likely, key=lambda columns: (-parts % columns, round(abs(log(columns / wanted)), 1), -columns))


def _pack(parts: Sequence[Plan], level: Level, boxed: bool) -> Plan:
    """Parts side by side in rows from the top, in a box of their own if `boxed`."""
    wide, high = max(part.width for part in parts), max(part.height for part in parts)
    columns = _columns(len(parts), sqrt(len(parts) * BROAD * high / wide))
    rows = ceil(len(parts) / columns)
    gap, edge = PADDING["core"] if level == "cache" else PADDING[level], PADDING[level] if boxed else 0.0
    width, height = (count * size + (count - 1) * gap + 2.0 * edge for count, size in ((columns, wide), (rows, high)))
    boxes = [Box(level, 0.0, 0.0, width, height)] if boxed else []
    for index, part in enumerate(parts):
        row, column = divmod(index, columns)
        x = edge + column * (wide + gap)
        y = height - edge - (row + 1) * high - row * gap + high - part.height
        boxes += [box.shift(x, y) for box in part.boxes]
    return Plan(width, height, tuple(boxes))


# The most panels, and the most for a machine with more than LARGE CPUs.
MOST_PANELS, MOST_PANELS_IF_LARGE, LARGE = 12, 6, 64
# Smaller cells have no room for a number.
LEAST_CELL_POINTS = 15.0
USED = COLOURS[0]
OUTLINES: dict[Level, tuple[str, float, Stroke]] = {
    "socket": (INK, 1.4, "-"),
    "node": (COLOURS[1], 1.1, "--"),
    "cache": (FAINT, 0.9, "-"),
}
GROUPS: dict[Level, str] = {"socket": "socket", "node": "NUMA node", "cache": "shared last-level cache"}


@dataclass(frozen=True, slots=True)
class Used:
    """The CPUs that a placement gave to a run."""

    placement: str
    smt: int
    cores: int
    cpus: frozenset[int]


def placement(result: Evaluation) -> Drawing | NotDrawn:
    """Draw a panel for the fewest, the middle and the most cores of every placement and number of threads per core."""
    machine = result.folder.machine
    if machine is None:
        return NotDrawn("the folder has no file that describes its machine")
    used = used_of(result)
    groups: dict[tuple[str, int], list[Used]] = {}
    for one in used:
        groups.setdefault((one.placement, one.smt), []).append(one)
    room = MOST_PANELS if sum(map(len, machine.cores)) <= LARGE else MOST_PANELS_IF_LARGE
    most = max(1, min(3, room // len(groups)))
    chosen = [one for group in groups.values() for one in few(group, most)]
    left = f" {len(chosen)} of {len(used)} are drawn." if len(chosen) < len(used) else ""
    about = f" of {machine.host}, {machine.cpu_model}" if machine.cpu_model else f" of {machine.host}"
    caption = (
        f"The CPUs{about}, by core. CPUs that a run used are filled; a core with several threads is divided.{left}"
    )
    return Drawing(caption, _figure(chosen, machine))


def used_of(result: Evaluation) -> list[Used]:
    """The CPUs by placement, threads per core and core count, from the first run, or the first replica of a pack."""
    used: dict[tuple[str, int, int], Used] = {}
    for row in result.folder.rows:
        point = row.run.point
        key = point.placement, point.smt, point.cores
        used.setdefault(key, Used(*key, frozenset(row.run.flat_cpus[: point.cores * point.smt])))
    return [used[key] for key in sorted(used)]


def few(used: Sequence[Used], most: int) -> list[Used]:
    """The most cores, and with room the fewest and the middle."""
    indices = {1: [-1], 2: [0, -1], 3: [0, (len(used) - 1) // 2, -1]}[most]
    return [used[index] for index in sorted({index % len(used) for index in indices})]


def _figure(chosen: Sequence[Used], machine: MachineFile) -> Figure:
    plan = machine_plan(machine)
    high = max(0.9, min(2.6, 2.6 * plan.height / plan.width))
    grid = make_grid(len(chosen), share_x=False, share_y=False, height=high)
    widest = grid.figure.get_figwidth() / grid.columns - 0.4
    cell = min(widest / plan.width, high / plan.height) * POINTS_PER_INCH
    labelled = cell / max(len(core.cpus) for core in plan.cores) ** 0.5 >= LEAST_CELL_POINTS
    for index, used in enumerate(chosen):
        smt = f", {used.smt} threads each" if used.smt > 1 else ""
        grid.title(index, f"{used.placement}, {count(used.cores, 'core')}{smt}")
        _draw(grid.axes[index], plan, used.cpus, frozenset(machine.allowed), broad=widest / high, labelled=labelled)
    grid.legend(_keys(plan, machine))
    return grid.figure


def _draw(
    axes: Axes, plan: Plan, used: frozenset[int], allowed: frozenset[int], *, broad: float, labelled: bool
) -> None:
    """The machine in about square cells, the used CPUs filled; `broad` is the width of the panel over its height."""
    axes.set_axis_off()
    spare_x, spare_y = (
        max(0.0, spare) / 2.0 + 0.1 for spare in (broad * plan.height - plan.width, plan.width / broad - plan.height)
    )
    axes.set_xlim(-spare_x, plan.width + spare_x)
    axes.set_ylim(-spare_y, plan.height + spare_y)
    for level, (tint, width, stroke) in OUTLINES.items():
        _outline(axes, plan.groups(level), edgecolor=tint, linewidth=width, linestyle=stroke)
    cells = [(cpu, cell) for core in plan.cores for cpu, cell in zip(core.cpus, slices(core), strict=True)]
    _outline(axes, [cell for cpu, cell in cells if cpu in allowed], edgecolor=FAINT, linewidth=0.6)
    _outline(axes, [cell for cpu, cell in cells if cpu not in allowed], edgecolor=FAINT, linewidth=0.6, linestyle=":")
    _outline(axes, [cell for cpu, cell in cells if cpu in used], facecolor=USED, edgecolor=USED, linewidth=0.6)
    for cpu, cell in cells if labelled else []:
        x, y = cell.x + cell.width / 2.0, cell.y + cell.height / 2.0
        tint = LIGHT if cpu in used else FAINT
        axes.text(x, y, str(cpu), ha="center", va="center", fontsize=6.0, color=tint)


def slices(core: Box) -> list[Box]:
    """A cell for each hardware thread of a core, from the top."""
    high = core.height / len(core.cpus)
    return [
        Box("core", core.x, core.y + core.height - (index + 1) * high, core.width, high, (cpu,))
        for index, cpu in enumerate(core.cpus)
    ]


def _outline(axes: Axes, boxes: Sequence[Box], **look: object) -> None:
    """Many boxes as one patch, since a large machine has hundreds."""
    if boxes:
        paths = []
        for box in boxes:
            left, bottom, right, top = box.x, box.y, box.x + box.width, box.y + box.height
            corners = [(left, bottom), (right, bottom), (right, top), (left, top), (left, bottom)]
            paths.append(Path(corners, closed=True))
        axes.add_patch(PathPatch(Path.make_compound_path(*paths), **{"facecolor": "none", **look}))


def _keys(plan: Plan, machine: MachineFile) -> list[Artist]:
    keys: list[Artist] = [Patch(facecolor=USED, edgecolor=USED, label="used")]
    keys.append(Patch(facecolor="none", edgecolor=FAINT, linewidth=0.6, label="not used"))
    if not {cpu for core in plan.cores for cpu in core.cpus} <= set(machine.allowed):
        keys.append(Patch(facecolor="none", edgecolor=FAINT, linestyle=":", linewidth=0.6, label="not allowed"))
    for level, (tint, width, stroke) in OUTLINES.items():
        if plan.groups(level):
            keys.append(Patch(facecolor="none", edgecolor=tint, linewidth=width, linestyle=stroke, label=GROUPS[level]))
    return keys
