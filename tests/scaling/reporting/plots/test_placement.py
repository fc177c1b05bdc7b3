from dataclasses import replace

from matplotlib.colors import to_hex

from scaling.reporting.plots.placement import machine_plan, slices, used_of
from scaling.reporting.plots.style import COLOURS
from scaling.results.machine_file import MachineFile
from tests.scaling.reporting.plots.artists import legend, panels, picture
from tests.scaling.reporting.results import result

TWO_SOCKETS = MachineFile(
    host="two",
    cpu_model=None,
    arch=None,
    kernel=None,
    cores=tuple((cpu, cpu + 16) for cpu in range(16)),
    sockets=((*range(8), *range(16, 24)), (*range(8, 16), *range(24, 32))),
    l3s=tuple((*range(start, start + 4), *range(start + 16, start + 20)) for start in range(0, 16, 4)),
    nodes=((*range(8), *range(16, 24)), (*range(8, 16), *range(24, 32))),
    allowed=tuple(range(31)),
    isolated=(),
    quota_cpus=None,
)


def within(inner, outer):
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.width <= outer.x + outer.width + 1e-9
        and inner.y + inner.height <= outer.y + outer.height + 1e-9
    )


def test_every_core_of_a_machine_is_in_its_cache_its_node_and_its_socket():
    plan = machine_plan(TWO_SOCKETS)
    assert len(plan.cores) == 16
    for level, groups in (("cache", TWO_SOCKETS.l3s), ("node", TWO_SOCKETS.nodes), ("socket", TWO_SOCKETS.sockets)):
        assert len(plan.groups(level)) == len(groups)
        for box in plan.groups(level):
            held = {core.cpus[0] for core in plan.cores if within(core, box)}
            assert any(held == {cpu for cpu in group if cpu < 16} for group in groups)


def test_no_two_cores_are_drawn_on_the_same_spot():
    corners = {(round(core.x, 6), round(core.y, 6)) for core in machine_plan(TWO_SOCKETS).cores}
    assert len(corners) == 16


def test_a_core_is_cut_across_for_each_of_its_threads():
    upper, lower = slices(machine_plan(TWO_SOCKETS).cores[0])
    assert (upper.cpus, lower.cpus) == ((0,), (16,))
    assert upper.y > lower.y
    assert upper.height == lower.height == 0.5


def filled(axes):
    """How many cells are filled."""
    patches = [
        patch for patch in axes.patches if to_hex(patch.get_facecolor()) == COLOURS[0] and patch.get_facecolor()[3]
    ]
    return sum(len(patch.get_path().to_polygons()) for patch in patches)


def test_a_panel_fills_the_cpus_its_runs_were_given(tmp_path):
    understood = result('cores = [1, 2, 3, 4]\nsmt = "all"\nlaunches = 1', tmp_path, 4, 2)
    drawing = picture(understood, "placement")
    assert [axes.get_title() for axes in panels(drawing)] == [
        "compact, 1 core",
        "compact, 2 cores",
        "compact, 4 cores",
        "compact, 1 core, 2 threads each",
        "compact, 2 cores, 2 threads each",
        "compact, 4 cores, 2 threads each",
    ]
    assert [filled(axes) for axes in panels(drawing)] == [1, 2, 4, 2, 4, 8]
    assert {text.get_text() for text in panels(drawing)[0].texts} == {str(cpu) for cpu in range(8)}
    assert legend(drawing)[:3] == ["used", "not used", "socket"]
    assert {used.cores: len(used.cpus) for used in used_of(understood) if used.smt == 2} == {1: 2, 2: 4, 3: 6, 4: 8}


def test_cpus_that_may_not_be_used_are_distinguished(tmp_path):
    understood = result("cores = [1, 2]\nlaunches = 1", tmp_path, 4)
    machine = replace(understood.folder.machine, allowed=(0, 1))
    drawing = picture(replace(understood, folder=replace(understood.folder, machine=machine)), "placement")
    assert "not allowed" in legend(drawing)
