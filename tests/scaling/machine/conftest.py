"""The recorded machines, each unpacked once, and a GPU that nobody built."""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from benchmarks.shared.power import NVML, gpu_state
from tests.scaling.machine.recorded import NAMES, Recorded, unpack


@pytest.fixture(scope="session")
def _unpacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recorded]:
    return cache(lambda name: unpack(name, tmp_path_factory.mktemp(name)))


@pytest.fixture(params=NAMES)
def recorded(request: pytest.FixtureRequest, _unpacked: Callable[[str], Recorded]) -> Recorded:
    """Each recorded machine in turn."""
    return _unpacked(request.param)


@pytest.fixture
def invented_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """What writes the state of an invented GPU, which is the one of this process."""
    monkeypatch.syspath_prepend(str(NVML))
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.setenv("INVENTED_NVML", str(gpu_state(tmp_path / "gpu.json")))
    yield lambda **changes: gpu_state(tmp_path / "gpu.json", **changes)
    sys.modules.pop("pynvml", None)
