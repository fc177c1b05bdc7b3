"""A feature's folder can be deleted, with its tests and what measures it, and everything else still works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.features import NAMES

ROOT = Path(__file__).parents[3]
COPIED = ("scaling", "workloads", "sweeps", "tests", "benchmarks", "pyproject.toml")
# Of the core: everything is imported, and every command answers.
IMPORT_ALL = """
import pkgutil, importlib, scaling
for one in pkgutil.walk_packages(scaling.__path__, "scaling."):
    if not one.name.startswith(("scaling.workloads", "scaling.running.frameworks")):
        importlib.import_module(one.name)
"""
COMMANDS = (["--help"], ["show"], ["fit"], ["capacity"], ["plot", "speedup"], ["report"])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_without_a_feature_all_else_works(name, tmp_path):
    delete_feature(copy := tmp_path / "copy", name)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(copy)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)

    assert run(sys.executable, "-c", IMPORT_ALL).stderr == ""
    folder = tmp_path / "results"
    shutil.copytree(ROOT / "docs" / "examples" / "turns-sixteen", folder)
    program = "import sys; from scaling.cli.main import main; main()"
    for command, *options in COMMANDS:
        given = [] if command == "--help" else [str(folder), *options]
        ended = run(sys.executable, "-c", program, command, *given)
        assert ended.returncode == 0, ended.stderr
        assert "Traceback" not in ended.stderr
    tests = ("tests/test_layers.py", "tests/scaling/cli/test_main.py", "tests/scaling/reporting/test_schemas.py")
    ended = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(copy / test) for test in tests))
    assert ended.returncode == 0, ended.stdout[-2000:]


def delete_feature(copy: Path, name: str) -> None:
    """A copy of the project without a feature, its tests, and the benchmarks that measure it."""
    copy.mkdir()
    for part in COPIED:
        subprocess.run(["cp", "-r", ROOT / part, copy / part], check=True)
    (copy / "docs").symlink_to(ROOT / "docs")
    shutil.rmtree(copy / "scaling" / "features" / name)
    shutil.rmtree(copy / "tests" / "scaling" / "features" / name)
    uses = re.compile(rf"^from scaling\.features\.{name}\b", re.MULTILINE)
    for benchmark in (copy / "benchmarks").glob("*.py"):
        if uses.search(benchmark.read_text()):
            benchmark.unlink()
            (copy / "tests" / "benchmarks" / f"test_{benchmark.name}").unlink(missing_ok=True)
