"""The figures of density count what they say."""

import ast

from tests.sizes import folder_imports, is_operation, sources, table


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {path: ast.parse(path.read_text()) for path in sources(root)}


def test_names_and_constants_are_no_operations():
    # An assignment, a sum and a call.
    assert sum(map(is_operation, ast.walk(ast.parse("total = first + len(others)")))) == 3


def test_folders_that_import_each_other_are_a_circle_and_a_folder_within_another_is_none(tmp_path):
    root = tmp_path / "scaling"
    trees = write(
        root,
        {
            "study/plan.py": "from scaling.machine.cpus import first\n",
            "machine/cpus.py": "from scaling.study import plan\nfrom scaling.machine.doctor import checks\n",
            "machine/doctor/checks.py": "import os\nfrom scaling.machine import cpus\n",
            "workloads/kernel.py": "import numpy\n",
        },
    )
    assert ("scaling.machine", "scaling.machine.doctor") in folder_imports(trees, root)
    figures = table(trees, root)
    assert (figures["modules"], figures["lines"]) == ("3", "5")
    assert figures["names imported by a module, median / largest"] == "2 / 2"
    assert figures["pairs of folders that import each other"] == "scaling.machine ⇄ scaling.study"
