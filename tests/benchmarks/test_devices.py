"""The tables of devices, from rows whose truth is known."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from scipy.stats import spearmanr

from benchmarks import devices
from benchmarks.shared.devices import pretend_study, write_folder
from benchmarks.shared.devices import rows as simulated
from benchmarks.shared.machines import first_run, row
from scaling.analysis.device_profile import DeviceProfile, DriverCall
from scaling.features.devices.report import pairs_table, profiles_table

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
    folder = devices.folder_of("both", made)
    relative = devices.table_lines(pairs_table(folder.pairs))
    assert len(relative) == 2 + len(NETWORKS)
    assert relative[2].startswith("| alexnet | jax | 901.8 ms on 4 | 100.2 ms on 4 | 11.1 %")
    assert devices.table_lines(profiles_table(made))[2] == (
        "| alexnet | jax | 4 | 6 ms | 2 ms | 25.0 % | 92.0 % | 300 | 8 ms | 7 ms | cudaGraphLaunch (1 ×, 20 µs) |"
    )
    assert devices.correlation(folder, folder)[2].startswith("| jax | train | 5 | published, 4 cores | 1.00")
    assert len(devices.sections(made)) == 2 + 2 * len(NETWORKS)


def launches(seconds, number=3, **settings):
    point = replace(first_run().point, workload="alexnet", cores=4, **settings)
    for launch in range(1, number + 1):
        yield row(replace(first_run(), point=point, launch=launch), (seconds * (1 + launch / 1000),) * 20)


def test_a_gpu_under_the_loosest_cap_is_held_against_the_fastest_framework_on_the_cpu():
    made = [
        *launches(0.9, framework="jax"),
        *launches(0.5, framework="torch"),
        *launches(0.1, 2, framework="tensorflow"),
    ]
    for seconds, watts in ((0.05, 700.0), (0.01, 200.0)):
        made += launches(seconds, device="gpu", framework="jax", gpu_power_watts=watts)
    (line,) = devices.gpu_over_fastest_cpu([devices.folder_of("both", made)])[2:]
    assert line.startswith("| alexnet | train | torch, 501 ms on 4 | jax, 50.1 ms on 4 | 10.0")
    assert line.endswith("| 3 and 3 |")


def test_efficiency_of_another_size_stands_in_where_that_of_the_same_was_not_measured(on_both):
    folder = devices.folder_of("both", on_both)
    lines = devices.correlation(folder, folder)
    assert lines[2].startswith("| jax | train | 8 | small, 16 cores | 0.")


def test_sections_are_over_the_cpu_alone_and_setup_is_that_of_the_first_launch(on_both):
    made = [row for row in on_both if row.run.point.workload == "alexnet"]
    cached = [
        replace(row, outcome=replace(row.outcome, sections=structs.replace(row.outcome.sections, setup=0.1)))
        if row.run.launch > 1
        else row
        for row in made
    ]
    assert devices.sections(cached) == devices.sections(made)
    cpu = next(line for line in devices.sections(made) if line.startswith("| alexnet | train | jax | cpu, 16"))
    assert "| 1.0000 |" in cpu


def test_torch_is_held_against_jax_on_the_same_host_cores(on_both):
    residual = [row for row in on_both if row.run.point.workload == "residual"]
    first, again = (devices.folder_of(name, residual) for name in ("first", "again"))
    found = devices.frameworks_on_gpu([first, again])
    assert found == devices.frameworks_on_gpu([first])
    line = next(line for line in found if line.startswith("| residual | train | fixed | 16"))
    assert "| 1.3" in line
    assert line.endswith("| 3 and 3 | first |")


def test_rows_of_two_folders_are_held_against_each_other_and_never_pooled(tmp_path, monkeypatch, capsys):
    folders = [write_folder(tmp_path / name, pretend_study(name)) for name in ("devices", "cores")]
    monkeypatch.setattr("sys.argv", ["devices", *map(str, folders)])
    devices.main()
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("### ")]
    assert [title for title in titles if title.endswith(": devices")] == [
        f"### {title}: devices" for title in list(devices.OF_A_FOLDER)[:3]
    ]
    assert titles[-1] == "### Efficiency on the CPU (cores) and gain by the GPU (devices)"


def test_a_gpu_on_one_number_of_host_cores_shows_nothing_about_them():
    assert len(devices.host_cores(devices.folder_of("both", rows()).points)) == 2
    fed = devices.host_cores(devices.folder_of("fed", simulated(pretend_study("gpu-cores"))).points)
    assert fed[0].startswith("| network | mode | framework | data | 1 core | 2 cores |")
    assert len(fed) == 2 + 4


def test_docs_have_the_tables_that_their_command_prints(monkeypatch, capsys):
    root = Path(devices.__file__).parent.parent
    names = ("energy-gpu", "minsky-sixteen", "frameworks-most")
    monkeypatch.setattr("sys.argv", ["devices", *(str(root / "docs" / "examples" / name) for name in names)])
    devices.main()
    printed = capsys.readouterr().out.splitlines()
    document = (root / "docs" / "reproductions" / "frameworks.md").read_text()
    shown = [line for line in document.splitlines() if re.match(r"\| \w+ \| train \|", line)]
    assert len(shown) == 5
    assert {*shown} <= {*printed}


@pytest.mark.parametrize("ties", [False, True])
def test_the_rank_correlation_is_that_of_scipy(ties):
    rng = np.random.default_rng(3)
    one = rng.integers(4, size=12).astype(float) if ties else rng.normal(size=12)
    other = one + rng.normal(size=12)
    found = devices.rank_correlation(list(one), list(other))
    assert found.value == pytest.approx(spearmanr(one, other).statistic)
    assert found.low < found.value < found.high


def test_a_few_workloads_or_equal_ones_have_no_order():
    assert devices.rank_correlation([1, 2, 3], [1, 2, 3]) is None
    assert devices.rank_correlation([1, 1, 1, 1], [1, 2, 3, 4]) is None
