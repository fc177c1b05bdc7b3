"""What the process of a run imports before its first step."""

import subprocess
import sys


def test_the_worker_imports_nothing_heavy_before_it_has_checked_its_pinning():
    code = "import sys; import scaling.running.worker; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "scipy", "pydantic", "tensorflow", "importlib.metadata"} & set(loaded.stdout.split())
