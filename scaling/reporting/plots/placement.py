"""Which CPUs of the machine each placement used, drawn on the machine's own picture."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from scaling.machine.topology import Cpus
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.floor_plan import Box, Level, Plan, floor_plan
from scaling.reporting.plots.layout import POINTS_PER_INCH, make_grid
from scaling.reporting.plots.specification import Stroke
from scaling.reporting.plots.style import COLOURS, FAINT, INK, LIGHT
from scaling.reporting.words import count
from scaling.results.evaluation import Evaluation
from scaling.results.machine_file import MachineFile

# On a machine with many CPUs fewer panels say as much.
MOST_PANELS, MOST_PANELS_IF_LARGE, LARGE = 12, 6, 64
# Where cells are smaller than this, a number does not fit in.
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
    """What a placement gave a run of so many cores."""

    placement: str
    smt: int
    cores: int
    cpus: frozenset[int]


def placement(result: Evaluation) -> Drawing | NotDrawn:
    """A panel for the fewest, the middle and the most cores of every placement and number of threads a core."""
    machine = result.folder.machine
    if machine is None:
        return NotDrawn("the folder does not say what its machine is made of")
    found = used_of(result)
    groups: dict[tuple[str, int], list[Used]] = {}
    for each in found:
        groups.setdefault((each.placement, each.smt), []).append(each)
    room = MOST_PANELS if sum(map(len, machine.cores)) <= LARGE else MOST_PANELS_IF_LARGE
    most = max(1, min(3, room // len(groups)))
    chosen = [each for group in groups.values() for each in few(group, most)]
    left = f" {len(chosen)} of {len(found)} are drawn." if len(chosen) < len(found) else ""
    about = f" of {machine.host}, {machine.cpu_model}" if machine.cpu_model else f" of {machine.host}"
    caption = (
        f"The CPUs{about}, core by core; a core with several threads is cut across, and filled are the ones a run was "
        f"given.{left}"
    )
    return Drawing(caption, _figure(chosen, machine))


def used_of(result: Evaluation) -> list[Used]:
    """What each placement, number of threads a core and core count was given, by its first run."""
    found: dict[tuple[str, int, int], Used] = {}
    for row in result.folder.rows:
        point = row.run.point
        key = point.placement, point.smt, point.cores
        found.setdefault(key, Used(*key, frozenset(row.run.flat_cpus)))
    return [found[key] for key in sorted(found)]


def few(found: Sequence[Used], most: int) -> list[Used]:
    """The most cores; with room the fewest before, and the middle between."""
    places = {1: [-1], 2: [0, -1], 3: [0, (len(found) - 1) // 2, -1]}[most]
    return [found[place] for place in sorted({place % len(found) for place in places})]


def _figure(chosen: Sequence[Used], machine: MachineFile) -> Figure:
    plan = floor_plan(machine)
    high = max(0.9, min(2.6, 2.6 * plan.height / plan.width))
    shown = make_grid(len(chosen), share_x=False, share_y=False, height=high)
    widest = shown.figure.get_figwidth() / shown.columns - 0.4
    cell = min(widest / plan.width, high / plan.height) * POINTS_PER_INCH
    labelled = cell / _threads(plan) ** 0.5 >= LEAST_CELL_POINTS
    for place, each in enumerate(chosen):
        smt = f", {each.smt} threads each" if each.smt > 1 else ""
        shown.title(place, f"{each.placement}, {count(each.cores, 'core')}{smt}")
        _draw(shown.axes[place], plan, each.cpus, frozenset(machine.allowed), broad=widest / high, labelled=labelled)
    shown.legend(_keys(plan, machine))
    return shown.figure


def _threads(plan: Plan) -> int:
    return max(len(core.cpus) for core in plan.cores)


def _draw(
    axes: Axes, plan: Plan, used: frozenset[int], allowed: frozenset[int], *, broad: float, labelled: bool
) -> None:
    """The machine with the CPUs used, about square cells in a panel that is so many times as wide as it is high."""
    axes.set_axis_off()
    spare_x, spare_y = (
        max(0.0, each) / 2.0 + 0.1 for each in (broad * plan.height - plan.width, plan.width / broad - plan.height)
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
        Box("core", core.x, core.y + core.height - (place + 1) * high, core.width, high, (cpu,))
        for place, cpu in enumerate(core.cpus)
    ]


def _outline(axes: Axes, boxes: Sequence[Box], **look: object) -> None:
    """Many boxes as one patch: a large machine has hundreds."""
    if boxes:
        corners = [
            [
                (box.x, box.y),
                (box.x + box.width, box.y),
                (box.x + box.width, box.y + box.height),
                (box.x, box.y + box.height),
            ]
            for box in boxes
        ]
        outline = Path.make_compound_path(*(Path([*each, each[0]], closed=True) for each in corners))
        axes.add_patch(PathPatch(outline, **{"facecolor": "none", **look}))


def _keys(plan: Plan, machine: MachineFile) -> list[Artist]:
    keys: list[Artist] = [Patch(facecolor=USED, edgecolor=USED, label="used")]
    keys.append(Patch(facecolor="none", edgecolor=FAINT, linewidth=0.6, label="not used"))
    if _not_allowed(plan, frozenset(machine.allowed)):
        keys.append(Patch(facecolor="none", edgecolor=FAINT, linestyle=":", linewidth=0.6, label="not allowed"))
    for level, (tint, width, stroke) in OUTLINES.items():
        if plan.groups(level):
            keys.append(Patch(facecolor="none", edgecolor=tint, linewidth=width, linestyle=stroke, label=GROUPS[level]))
    return keys


def _not_allowed(plan: Plan, allowed: frozenset[int]) -> Cpus:
    return tuple(cpu for core in plan.cores for cpu in core.cpus if cpu not in allowed)
