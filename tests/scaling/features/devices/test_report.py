"""Tables of CPU and GPU, from rows that were never measured."""

from dataclasses import replace

import pytest

from benchmarks.shared.devices import pretend_study, rows
from benchmarks.shared.machines import first_run
from scaling.analysis.device_profile import DeviceProfile, DriverCall
from scaling.analysis.summary import Launch, summarize
from scaling.features.devices.report import (
    device_answers,
    device_pairs,
    mean_calls,
    pairs_table,
    profiles_table,
    relative_executions,
)
from scaling.results.rows import launch_of
from tests.scaling.reporting.results import assert_question

POINT = replace(first_run('workloads = ["alexnet"]').point, framework="jax")


def launches(device, cores, *seconds, **settings):
    point = replace(POINT, device=device, cores=cores, **settings)
    return [Launch(point, number, one, items=32, steps=50) for number, one in enumerate(seconds, 1)]


def test_a_step_on_the_gpu_is_held_against_the_cpu_with_most_cores():
    measured = [
        *launches("cpu", 1, 8.0, 8.1, 8.2),
        *launches("cpu", 16, 1.0, 1.02, 0.98),
        *launches("gpu", 2, 0.02, 0.0201, 0.0199),
        *launches("gpu", 16, 0.01, 0.0101, 0.0099),
        *launches("cpu", 16, 5.0, 5.1, 5.2, mode="infer"),  # on one device only
    ]
    (pair,) = device_pairs(summarize(measured))
    assert (pair.cpu.point.cores, pair.gpu.point.cores) == (16, 16)
    assert pair.relative.value == pytest.approx(0.01, rel=1e-3)
    assert pair.relative.low < 0.01 < pair.relative.high
    assert pair.gain.value == pytest.approx(100, rel=1e-3)
    assert pair.gain.low < 100 < pair.gain.high


def answers(*measured):
    return [one.sentence for one in device_answers(device_pairs(summarize(measured)))]


def test_devices_that_may_be_equally_fast_are_no_answer():
    (even,) = answers(*launches("cpu", 16, 1.0, 1.02, 0.98), *launches("gpu", 16, 0.99, 1.01, 0.985))
    assert even.startswith("no answer yet")


def test_every_mode_and_device_is_relative_to_training_on_the_cpu():
    measured = [
        *(*launches("cpu", 16, 1.0, 1.02, 0.98), *launches("gpu", 2, 0.01, 0.0101, 0.0099)),
        *(
            *launches("cpu", 16, 0.5, 0.51, 0.49, mode="infer"),
            *launches("gpu", 2, 0.004, 0.0041, 0.0039, mode="infer"),
        ),
    ]
    found = relative_executions(device_pairs(summarize(measured)))
    ratios = {(one.summary.point.mode, one.summary.point.device): one.ratio.value for one in found}
    assert ratios == pytest.approx(
        {("train", "cpu"): 1.0, ("train", "gpu"): 0.01, ("infer", "cpu"): 0.5, ("infer", "gpu"): 0.004}, rel=1e-3
    )


@pytest.fixture(scope="module")
def made():
    return [row for name in ("devices", "gpu-cores") for row in rows(pretend_study(name))]


def test_every_network_mode_and_framework_has_a_line_that_says_how_much_faster_the_gpu_is(made):
    table = pairs_table(device_pairs(summarize(map(launch_of, made))))
    assert len(table.rows) == 8 * 2 * 2
    assert all(len(row) == len(table.headers) for row in table.rows)
    vgg = next(row for row in table.rows if row[:3] == ("vgg", "train", "jax"))
    assert 60 < float(vgg[-1]) < 90


def test_profiles_are_those_of_the_most_host_cores_by_what_feeds_the_device(made):
    table = profiles_table(made)
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
