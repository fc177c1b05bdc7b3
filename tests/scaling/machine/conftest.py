"""The recorded machines, each unpacked once."""

from collections.abc import Callable
from functools import cache

import pytest

from tests.scaling.machine.recorded import NAMES, Recorded, unpack


@pytest.fixture(scope="session")
def _unpacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recorded]:
    return cache(lambda name: unpack(name, tmp_path_factory.mktemp(name)))


@pytest.fixture(params=NAMES)
def recorded(request: pytest.FixtureRequest, _unpacked: Callable[[str], Recorded]) -> Recorded:
    """Each recorded machine in turn."""
    return _unpacked(request.param)
