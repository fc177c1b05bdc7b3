import subprocess
import sys

import pytest

from scaling.features import resolve
from scaling.reporting.plots.registry import all_kinds, names


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: f"{kind.needs} {kind.name}")
def test_every_kind_is_drawn_by_a_documented_function(kind):
    assert resolve(kind.function).__doc__
    assert kind.title
    assert kind.description


def test_a_name_is_registered_once_for_what_it_needs():
    registered = [(kind.needs, kind.name) for kind in all_kinds()]
    assert len(registered) == len(set(registered))
    assert set(names("node types")) <= set(names("rows"))


def test_reading_the_registry_imports_no_plotting_library():
    loaded = "[name for name in ('matplotlib', 'numpy') if name in sys.modules]"
    code = f"import sys; import scaling.reporting.plots.registry; print({loaded})"
    reply = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert reply.stdout.strip() == "[]"
