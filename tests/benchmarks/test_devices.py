"""The tables of devices, from rows whose truth is known."""

from dataclasses import replace

from benchmarks import devices
from benchmarks.shared.machines import first_run, row
from scaling.analysis.devices import device_pairs
from scaling.analysis.ops.device_profile import DeviceProfile, DriverCall
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.results.rows import launch_of

NETWORKS = ("alexnet", "autoenc", "deepq", "memnet", "residual")
PROFILE = DeviceProfile(5, 8e-3, 6e-3, 2e-3, 8e-3, 7e-3, 300.0, 2.0, (DriverCall("cudaGraphLaunch", 1.0, 2e-5),))


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
    relative = devices.relative_execution(pairs)
    assert len(relative) == 2 + len(NETWORKS)
    assert relative[2].startswith("| alexnet | train | jax | 901.8 ms on 4 | 100.2 ms on 4 | 11.1 %")
    assert devices.device_profiles(made)[2] == (
        "| alexnet | train | jax | 6 ms | 25.0 % | 0.0 % | 300 | 8 ms | cudaGraphLaunch (1 ×, 20 µs) |"
    )
    assert devices.correlation(points, pairs)[2].startswith("| jax | train | 5 | 1.00")
    assert len(devices.sections(made)) == 2 + 2 * len(NETWORKS)


def test_a_gpu_on_one_number_of_host_cores_shows_nothing_about_them():
    assert len(devices.host_cores(speedups(summarize(map(launch_of, rows()))))) == 2
