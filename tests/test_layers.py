"""Layers: a package imports only from packages below it, from `cli` at the top to `errors` at the bottom."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "errors": set(),
    "features": {
        "cli",
        "api",
        "running",
        "workloads",
        "reporting",
        "results",
        "analysis",
        "study",
        "machine",
        "errors",
    },
    "machine": {"errors"},
    "study": {"machine", "errors"},
    "analysis": {"study", "machine", "errors"},
    "results": {"analysis", "study", "machine", "errors"},
    "running": {"workloads", "results", "analysis", "study", "machine", "errors"},
    "reporting": {"results", "analysis", "study", "machine", "errors"},
    "api": {"running", "reporting", "results", "analysis", "study", "machine", "errors"},
    "__main__": {"cli"},
    "__init__": {"api", "analysis", "study"},  # names it imports when they are first used
    "cli": {"api", "running", "results", "reporting", "analysis", "study", "machine", "errors"},
}
PURE = ["machine/topology", "machine/placement", "study/axes", "study/spec", "study/planning", "study/workload"]
PURE += [f"machine/doctor/{name}" for name in ("readings", "findings", "checks")]
PURE += [
    "results/rows",
    *(f"features/cluster/{name}" for name in ("cluster", "node_types") if (ROOT / "scaling/features/cluster").is_dir()),
    *(str(path.relative_to(ROOT / "scaling").with_suffix("")) for path in ROOT.glob("scaling/analysis/**/*.py")),
]
CHILD_OF_A_FEATURE = "server.py"
OUTSIDE = {"os", "pathlib", "subprocess", "time", "shutil", "io", "socket", "threading", "platform", "psutil", "rich"}


def sources() -> list[Path]:
    """Every module of the engine; `scaling/workloads` is a link to what is measured, which is no part of it."""
    return [path for path in ROOT.glob("scaling/**/*.py") if path.parts[len(ROOT.parts) + 1] != "workloads"]


@cache
def imported(path: Path) -> set[str]:
    """The modules a file names in any import, wherever in it."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return modules


@pytest.mark.parametrize("path", sorted(sources()), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_imports_only_from_packages_below_it(path):
    package = path.relative_to(ROOT / "scaling").parts[0].removesuffix(".py")
    if path.name == CHILD_OF_A_FEATURE and package == "features":
        package = "running"  # it is imported by child processes alone
    packages = {name.split(".")[1] for name in imported(path) if name.startswith("scaling.")}
    assert packages - {package, "features"} <= MAY_IMPORT.get(package, set())


@pytest.mark.parametrize("path", sorted(sources()), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_reaches_a_feature_through_the_list_of_features_alone(path):
    # `scaling/__init__.py` names what features add for type checkers only.
    if path.relative_to(ROOT / "scaling").parts[0] not in ("features", "__init__.py"):
        modules = {name for name in imported(path) if name.startswith("scaling.features.")}
        assert not [name for name in modules if (ROOT / name.replace(".", "/")).with_suffix(".py").exists()]
        assert not [name for name in modules if (ROOT / name.replace(".", "/")).is_dir()]


@pytest.mark.parametrize(
    ("below", "above"), [("*.py", ("curves", "sizing")), ("curves/*.py", ("sizing",))], ids=["statistics", "curves"]
)
def test_statistics_need_no_curve_and_curves_no_size(below, above):
    importers = {
        str(path.relative_to(ROOT))
        for path in ROOT.glob(f"scaling/analysis/{below}")
        for name in imported(path)
        if name.startswith(tuple(f"scaling.analysis.{folder}" for folder in above))
    }
    assert importers == set()


def test_no_module_imports_itself_through_others():
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sources()}
    TopologicalSorter({name: imported(path) & {*modules} for name, path in modules.items()}).prepare()


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_imports_nothing_that_touches_the_outside(module):
    assert not {name.split(".")[0] for name in imported(ROOT / "scaling" / f"{module}.py")} & OUTSIDE


def test_only_children_import_workloads():
    importers = {path.name for path in sources() if any(n.startswith("scaling.workloads") for n in imported(path))}
    assert importers - {CHILD_OF_A_FEATURE} == {"worker.py", "counting.py", "own_workloads.py"}


def test_only_figures_import_matplotlib_or_seaborn():
    importers = [path for path in sources() if {n.split(".")[0] for n in imported(path)} & {"matplotlib", "seaborn"}]
    plots, features = ROOT / "scaling/reporting/plots", ROOT / "scaling/features"
    assert [path for path in importers if path.parent != plots and path.parents[1] != features] == []
    assert all(path.stem.endswith(("figure", "figures")) for path in importers if path.parent != plots)


def test_no_workload_knows_the_engine():
    assert not [
        path
        for path in ROOT.glob("workloads/*.py")
        if any(n.startswith("scaling") and not n.startswith("scaling.workloads") for n in imported(path))
    ]


def test_benchmarks_import_nothing_from_tests():
    assert not [
        path for path in ROOT.glob("benchmarks/**/*.py") if "tests" in {n.split(".")[0] for n in imported(path)}
    ]


def test_tests_import_from_benchmarks_only_what_is_shared_and_what_they_test():
    importers = {
        str(path.relative_to(ROOT))
        for path in ROOT.glob("tests/**/*.py")
        if any(n.startswith("benchmarks.") and not n.startswith("benchmarks.shared") for n in imported(path))
    }
    assert {str(Path(path).parent) for path in importers} == {"tests/benchmarks"}, sorted(importers)


@pytest.mark.parametrize("code", ["import scaling", "from scaling.cli.main import app"])
def test_starting_up_imports_no_heavy_library(code):
    heavy = (
        "[m for m in ('tensorflow', 'keras', 'pandas', 'matplotlib', 'seaborn', 'scipy', 'numpy') if m in sys.modules]"
    )
    completed = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print({heavy})"], capture_output=True, text=True
    )
    assert completed.stdout.strip() == "[]", completed.stderr
