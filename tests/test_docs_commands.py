"""Every command in the blocks of the documents is run: as it stands on results that are kept, or as --dry-run.

Lines whose comment says what they need (a GPU, a cluster) are only parsed, by test_docs. The tutorial is followed from
its first command to its last.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaling.api import roofline
from scaling.cli.main import app
from scaling.running.workload_counts import pass_counts
from tests.test_docs import DOCS, DOCUMENTS, block_lines, parts

pytestmark = pytest.mark.slow

# The folders of the documents, by the example that stands for them.
EXAMPLES = {
    "results/minsky": "minsky-sixteen",
    "results/minsky_sections": "sections-sixteen",
    "results/quick": "turns-sixteen",
    "results/three": "frameworks-sixteen",
    "results/devices": "devices-gpu",
    "results/energy": "energy-gpu",
    "results/ops": "profiles-small",
    "results/fathom": "profiles-small",
    "results/ceilings": "ceilings-sixteen",
    "results/mine": "turns-sixteen",
    "results/before": "calibrated-sixteen",
    "results/after": "calibrated-sixteen",
    "results/release": "calibrated-sixteen",
    "results/new": "calibrated-sixteen",
    "here/ops": "profiles-now-two",
    "here/ceilings": "ceilings-two",
    "other/ops": "profiles-now-sixteen",
    "other/ceilings": "ceilings-sixteen",
}
PLANNED = ("run", "sweep", "tune", "pack")
# What measures networks at their size and has no --dry-run: the tests of profiling and of comparing run these.
PARSED = (r"scaling profile (?!\w+/)", r"scaling compare quick ")
PROGRAM = "import sys; from scaling.cli.main import main; main()"
TIMES = {1: 4.0, 2: 2.2, 4: 1.3, 8: 0.9}


def commands(pages: list[Path]) -> list[str]:
    """The commands of pages, each once; what needs other hardware is left out."""
    lines = [line for page in pages for line in block_lines(without_needs(page.read_text()))]
    given = dict.fromkeys(part.strip() for line in lines for part in parts(line))
    return [part for part in given if part.startswith("scaling ") and not re.match("|".join(PARSED), part)]


def without_needs(text: str) -> str:
    """A page without the lines that say in a comment what they need."""
    return re.sub(r"^.*#.*\bneeds .*\n", "", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with everything that the documents name."""
    root = tmp_path_factory.mktemp("documents")
    shutil.copytree(DOCS / "examples", root / "docs" / "examples")
    for name, example in EXAMPLES.items():
        shutil.copytree(DOCS / "examples" / example, root / name)
    for name in ("prog", "prog-a", "prog-b", "old/prog"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("#!/bin/sh\nsleep 0.02\n")
        (root / name).chmod(0o755)
    for name in ("my.toml", "mine.toml", "gate.toml"):
        (root / name).write_text('workloads = ["command: ./prog {cores}"]\ncores = [1, 2]\nlaunches = 6\n')
    for name in ("zstd.json", "before.json", "after.json"):
        (root / name).write_text(json.dumps(hyperfine()))
    rows = [f"{cores},{seconds * noise}" for cores, seconds in TIMES.items() for noise in (0.99, 1.0, 1.02)]
    (root / "times.csv").write_text("\n".join(["workers,elapsed", *rows]))
    for name in ("data", "lines.txt", "nginx.conf"):
        (root / name).write_text("b\na\n")
    return root


def hyperfine() -> dict[str, object]:
    """What hyperfine writes of a program on several numbers of threads."""
    return {
        "results": [
            {
                "command": f"zstd -T{threads} -kf data",
                "times": [seconds * noise for noise in (0.99, 1.0, 1.01, 1.02)],
                "parameters": {"threads": str(threads)},
            }
            for threads, seconds in TIMES.items()
        ]
    }


def planned(command_line: str) -> list[str]:
    """The words of a command, with --dry-run if it would measure."""
    _, command, *words = shlex.split(command_line)
    return [command, *(["--dry-run"] if command in PLANNED else []), *words]


@pytest.mark.parametrize("command_line", commands([page for page in DOCUMENTS if page.stem != "tutorial"]))
def test_a_command_of_the_documents_runs(command_line, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(roofline, "pass_counts", lambda names, size, mode: pass_counts(names, "small", mode))
    words = planned(command_line)
    if "--between" in words:
        ended = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, timeout=600)
        assert ended.returncode in (0, 1, 3), ended.stderr
        return
    given = (folder / "zstd.json").read_text() if "-" in words else None
    result = CliRunner().invoke(app, words, input=given)
    assert result.exit_code in (0, 1), result.output


@pytest.mark.alone
def test_the_tutorial_can_be_followed(tmp_path):
    """Every command, in order; its shell blocks but the one that installs."""
    text = (DOCS / "tutorial.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)[1:]
    (tmp_path / "scaling").write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{PROGRAM}' \"$@\"\n")
    (tmp_path / "scaling").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(DOCS.parent)}
    shorter = "".join(blocks).replace("seq 1000000", "seq 100000")
    for line in re.sub(r"\\\n\s*", "", shorter).splitlines():
        ended = subprocess.run(
            ["/bin/sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
        )
        is_busy_host = ended.returncode == 2 and "disturbed" in ended.stderr
        assert ended.returncode in (0, 1) or is_busy_host, f"{line}: {ended.stderr}"
        assert "Traceback" not in ended.stderr
    assert (tmp_path / "results/sort/report.html").exists()
    assert (tmp_path / "results/versions/B/rows.jsonl").exists()
