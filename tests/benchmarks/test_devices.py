"""The tables of devices, from rows whose truth is known."""

from dataclasses import replace

import pytest

from benchmarks import devices
from benchmarks.shared.devices import pretend_study
from benchmarks.shared.devices import rows as simulated
from benchmarks.shared.machines import first_run, row
from scaling.analysis.devices import device_pairs
from scaling.analysis.ops.device_profile import DeviceProfile, DriverCall
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.reporting.devices import pairs_table, profiles_table
from scaling.results.rows import launch_of

NETWORKS = ("alexnet", "autoenc", "deepq", "memnet", "residual")
PROFILE = DeviceProfile(5, 8e-3, 6e-3, 2e-3, 8e-3, 7e-3, 300.0, 2.0, (DriverCall("cudaGraphLaunch", 1.0, 2e-5),))


@pytest.fixture(scope="module")
def on_both():
    """The networks on both devices at published size, and the small ones on 1 to 16 cores."""
    return [row for name in ("devices", "cores") for row in simulated(pretend_study(name))]


def rows():
    """Networks on 1 and 4 cores and on a GPU: each is faster there, and the more so the better it uses cores."""
    for number, name in enumerate(NETWORKS, 1):
        for device, cores, seconds in (("cpu", 1, 1.0), ("cpu", 4, 0.9 / number), ("gpu", 4, 0.1 / number**2)):
            point = replace(first_run().point, workload=name, device=device, cores=cores, framework="jax")
            for launch in (1, 2, 3):
                run = replace(first_run(), point=point, launch=launch)
                steps = (seconds * (1 + launch / 1000),) * 20
                yield row(run, steps, device_profile=PROFILE if device == "gpu" else None)


def test_every_table_has_a_line_per_network_and_efficient_ones_gain_more():
    made = list(rows())
    points = list(speedups(summarize(map(launch_of, made))))
    pairs = device_pairs(point.summary for point in points)
    relative = devices.table_lines(pairs_table(pairs))
    assert len(relative) == 2 + len(NETWORKS)
    assert relative[2].startswith("| alexnet | jax | 901.8 ms on 4 | 100.2 ms on 4 | 11.1 %")
    assert devices.table_lines(profiles_table(made))[2] == (
        "| alexnet | jax | 4 | 6 ms | 2 ms | 25.0 % | 92.0 % | 300 | 8 ms | 7 ms | cudaGraphLaunch (1 ×, 20 µs) |"
    )
    assert devices.correlation(points, pairs)[2].startswith("| jax | train | 5 | published, 4 cores | 1.00")
    assert len(devices.sections(made)) == 2 + 2 * len(NETWORKS)


def test_efficiency_of_another_size_stands_in_where_that_of_the_same_was_not_measured(on_both):
    points = list(speedups(summarize(map(launch_of, on_both))))
    lines = devices.correlation(points, device_pairs(point.summary for point in points))
    assert lines[2].startswith("| jax | infer | 0 | - | too few")
    assert lines[3].startswith("| jax | train | 8 | small, 16 cores | 0.")


def test_sections_are_over_the_cpu_alone_and_setup_is_that_of_the_first_launch(on_both):
    made = [row for row in on_both if row.run.point.workload == "alexnet"]
    cached = [
        replace(row, outcome=replace(row.outcome, sections=replace(row.outcome.sections, setup=0.1)))
        if row.run.launch > 1
        else row
        for row in made
    ]
    assert devices.sections(cached) == devices.sections(made)
    cpu = next(line for line in devices.sections(made) if line.startswith("| alexnet | train | jax | cpu, 16"))
    assert "| 1.0000 |" in cpu


def test_torch_is_held_against_jax_on_the_same_host_cores(on_both):
    residual = [row for row in on_both if row.run.point.workload == "residual"]
    found = devices.frameworks_on_gpu(summarize(map(launch_of, residual)))
    residual = next(line for line in found if line.startswith("| residual | train | fixed | 16"))
    assert "| 1.3" in residual
    assert residual.endswith("| 3 and 3 |")


def test_a_gpu_on_one_number_of_host_cores_shows_nothing_about_them():
    assert len(devices.host_cores(speedups(summarize(map(launch_of, rows()))))) == 2
    fed = devices.host_cores(speedups(summarize(map(launch_of, simulated(pretend_study("gpu-cores"))))))
    assert fed[0].startswith("| network | mode | framework | data | 1 core | 2 cores |")
    assert len(fed) == 2 + 4
