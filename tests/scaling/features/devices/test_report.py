"""Tables of CPU and GPU, from rows that were never measured."""

import pytest

from benchmarks.shared.devices import pretend_study, rows
from scaling.analysis.device_profile import DeviceProfile, DriverCall
from scaling.analysis.summary import summarize
from scaling.features.devices.pairs import device_pairs
from scaling.features.devices.report import mean_calls, pairs_table, profiles_table
from scaling.results.rows import launch_of
from tests.scaling.reporting.results import assert_question


@pytest.fixture(scope="module")
def made():
    return [row for name in ("devices", "gpu-cores") for row in rows(pretend_study(name))]


def test_every_network_mode_and_framework_has_a_line_that_says_how_much_faster_the_gpu_is(made):
    table = pairs_table(device_pairs(summarize(map(launch_of, made))))
    assert table.headers == (
        *("workload", "mode", "framework", ">CPU, cores", ">GPU, host cores", ">GPU / CPU time", ">times faster"),
    )
    assert len(table.rows) == 8 * 2 * 2
    assert all(len(row) == len(table.headers) for row in table.rows)
    vgg = next(row for row in table.rows if row[:3] == ("vgg", "train", "jax"))
    assert 60 < float(vgg[-1]) < 90


def test_profiles_are_those_of_the_most_host_cores_by_what_feeds_the_device(made):
    table = profiles_table(made)
    assert table.headers[:6] == ("workload", "mode", "framework", "data", ">host cores", ">kernels")
    assert len(table.rows) == 8 * 2 * 2 + 2
    assert {row[4] for row in table.rows} == {"16"}
    assert "pipeline" in {row[3] for row in table.rows}


def test_calls_are_means_over_launches_and_the_longest_comes_first():
    def profile(*calls):
        return DeviceProfile(5, 8e-3, 6e-3, 2e-3, 8e-3, 7e-3, 300.0, 2.0, calls)

    calls = mean_calls(
        [profile(DriverCall("a", 1.0, 1.0), DriverCall("b", 2.0, 0.5)), profile(DriverCall("b", 4.0, 1.0))]
    )
    assert calls == [DriverCall("b", 3.0, 0.75), DriverCall("a", 0.5, 0.5)]


def test_its_question_is_the_study_s_own():
    assert_question("devices-gpu", "device")
