from dataclasses import replace

import pytest

from benchmarks.shared.machines import first_run
from scaling.analysis.summary import Launch, summarize
from scaling.features.devices.pairs import device_pairs

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
