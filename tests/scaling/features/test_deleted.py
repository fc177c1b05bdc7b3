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
IMPORT_ALL = """
import pkgutil, importlib, scaling
for one in pkgutil.walk_packages(scaling.__path__, "scaling."):
    if not one.name.startswith(("scaling.workloads", "scaling.running.frameworks")):
        importlib.import_module(one.name)
"""
# Those that show what features add to: commands, JSON, figures, pages, the library, results folders and the layers.
REMAINING = (
    "test_layers.py",
    "scaling/test_public_names.py",
    "scaling/cli/test_main.py",
    *(f"scaling/reporting/{name}.py" for name in ("test_points", "test_schemas", "plots/test_registry")),
    "scaling/cli/test_report.py::test_the_page_lies_beside_the_rows_and_its_path_is_printed",
)
WITHOUT_ANY = (
    *REMAINING[:-1],
    *(f"scaling/cli/test_{name}.py" for name in ("export", "fit", "plot", "report", "show")),
    "scaling/api/test_results.py",
    "scaling/results/test_store.py",
)


@pytest.mark.slow
@pytest.mark.parametrize("names", [*((name,) for name in NAMES), NAMES], ids=[*NAMES, "all"])
def test_without_a_feature_all_else_works(names, tmp_path):
    copy = copy_without(names, tmp_path / "copy")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(copy)}

    def run(*words: str) -> None:
        python = [sys.executable, *words]
        ended = subprocess.run(python, cwd=copy, env=environment, capture_output=True, text=True, timeout=1200)
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout[-3000:]

    run("-c", IMPORT_ALL)
    pytest_words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow")
    # The tests of other features may import it; all other tests are collected once, without any feature.
    collected, remaining = ("tests", WITHOUT_ANY) if names == NAMES else ("tests/scaling/features", REMAINING)
    run(*pytest_words, "--collect-only", collected)
    run(*pytest_words, *(f"tests/{part}" for part in remaining))


def copy_without(features: tuple[str, ...], copy: Path) -> Path:
    """A copy of the project without some features, their tests, and the benchmarks that measure them."""
    copy.mkdir()
    for part in COPIED:
        subprocess.run(["cp", "-r", ROOT / part, copy / part], check=True)
    (copy / "docs").symlink_to(ROOT / "docs")
    for name in features:
        shutil.rmtree(copy / "scaling" / "features" / name)
        shutil.rmtree(copy / "tests" / "scaling" / "features" / name)
    uses = re.compile(rf"^from scaling\.features\.({'|'.join(features)})\b", re.MULTILINE)
    for benchmark in (copy / "benchmarks").glob("*.py"):
        if uses.search(benchmark.read_text()):
            benchmark.unlink()
            (copy / "tests" / "benchmarks" / f"test_{benchmark.name}").unlink(missing_ok=True)
    return copy
