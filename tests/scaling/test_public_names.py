import subprocess
import sys
from importlib.metadata import version

import pytest

import scaling
from scaling.features import features


def test_every_public_name_can_be_imported():
    added = {name for feature in features() for name in feature.library}
    assert {name: getattr(scaling, name) for name in {*scaling.__all__, *added}}
    assert {*scaling.__all__, *added} <= set(dir(scaling))
    assert scaling.__version__ == version("cpu-scaling")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        scaling.lode  # noqa: B018


def test_importing_it_loads_no_heavy_library():
    heavy = "[m for m in ('numpy', 'pandas', 'scipy', 'matplotlib', 'tensorflow') if m in sys.modules]"
    completed = subprocess.run(
        [sys.executable, "-c", f"import sys, scaling; scaling.__version__; print({heavy})"],
        capture_output=True,
        text=True,
    )
    assert completed.stdout.strip() == "[]", completed.stderr
