"""The documents agree with the program: examples run, and commands, options, keys, paths and links exist."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import scaling
from docs import generate
from scaling.cli.main import app
from tests.runs import rows_of

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("*/*.md")])
PAGES = ("sizes", "machine", "operations")  # of the how-to guides, those that show output of an example
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def inline_code(text: str) -> list[str]:
    """What a document has between single backticks, in its sentences."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose)]


def block_lines(text: str) -> list[str]:
    """The lines of a document's code blocks, those that are continued joined, without prompts and comments."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", "\n".join(blocks)).splitlines()
    return [line.removeprefix("$ ").partition("  #")[0].strip() for line in lines]


def parts(line: str) -> list[str]:
    """The commands of a line, one after another or in a pipe; a line that has such signs in quotes is one command."""
    split = re.split(r" && | \| ", line)
    return split if all(part.count('"') % 2 == 0 and part.count("'") % 2 == 0 for part in split) else [line]


def command_lines(text: str) -> list[str]:
    """Every command line of the program that a document shows."""
    commands = [part for line in block_lines(text) for part in parts(line)] + inline_code(text)
    commands = [command.removeprefix(".venv/bin/") for command in commands]
    names = get_command(app).list_commands(None)  # type: ignore[attr-defined,arg-type]
    return [command for command in commands if command.startswith(tuple(f"scaling {name} " for name in names))]


def parse(command_line: str) -> None:
    """Let the command's own parser read a line; of a summary with alternatives only the options are looked up."""
    command_line = command_line.partition(" -- ")[0]  # what follows is a program's own
    _, name, *words = shlex.split(command_line)
    group = get_command(app)
    command = group.get_command(typer.Context(group), name)  # type: ignore[attr-defined]
    if name == "machine":
        command = command.commands[words.pop(0)]
    options = {"--help"} | {
        option for parameter in command.params for option in parameter.opts + parameter.secondary_opts
    }
    if not {"[", "…", "|", "("} & set(command_line) and "--help" not in words:
        command.make_parser(typer.Context(command)).parse_args(words)
    given = (re.match(r"[\[(]*(--?[a-z][a-z-]*)", word) for word in words)
    assert {match[1] for match in given if match} <= options, command_line


@each_document
def test_every_command_line_parses(document):
    for command_line in command_lines(document.read_text()):
        parse(command_line)


@each_document
def test_every_relative_link_leads_to_a_file(document):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text())
    assert [target for target in targets if "://" not in target and not (document.parent / target).exists()] == []


@each_document
def test_every_path_of_the_repository_exists(document):
    pattern = r"(?:scaling|tests|benchmarks|workloads|sweeps|docs)/[\w./-]*"
    code = [*inline_code(document.read_text()), *block_lines(document.read_text())]
    paths = {path.rstrip("./") for part in code for path in re.findall(rf"(?<![\w./-]){pattern}", part)}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


@each_document
def test_every_benchmark_named_exists(document):
    names = re.findall(r"python -m benchmarks\.(\w+)", document.read_text())
    assert [name for name in names if not (ROOT / f"benchmarks/{name}.py").exists()] == []


@each_document
def test_every_name_of_the_library_exists(document):
    names = re.findall(r"\bscaling\.([A-Za-z_]\w*)\b(?=\(|`)", document.read_text())
    assert [name for name in names if not (hasattr(scaling, name) or (ROOT / "scaling" / name).is_dir())] == []


SHOWN = r"^```\n\$ scaling ([^\n]*?docs/examples/.*?)^```"


@pytest.mark.parametrize("page", ["tutorial.md", "explanation/curves.md", *(f"how-to/{name}.md" for name in PAGES)])
def test_the_output_shown_for_an_example_is_what_the_program_prints(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(SHOWN, (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        command_line, *lines = block.splitlines()
        printed = CliRunner().invoke(app, shlex.split(command_line)).stdout.splitlines()
        assert [line for line in lines if line != "…" and line.rstrip() not in map(str.rstrip, printed)] == []


def test_every_page_that_shows_output_is_checked():
    pages = [path for path in DOCS.rglob("*.md") if re.search(SHOWN, path.read_text(), re.DOTALL | re.MULTILINE)]
    assert {path.stem for path in pages} == {"tutorial", "curves", *PAGES}


def test_the_reference_is_what_the_program_says():
    stale = [name for name, text in generate.pages().items() if (DOCS / "reference" / name).read_text() != text]
    assert stale == [], "run python docs/generate.py"


def test_every_picture_is_shown():
    shown = "".join(path.read_text() for path in DOCUMENTS)
    assert [path.name for path in (DOCS / "pictures").iterdir() if f"pictures/{path.name}" not in shown] == []


@pytest.mark.parametrize(
    ("example", "options", "items", "start"),
    [
        pytest.param(0, "width=64", 64, "fork", marks=pytest.mark.needs("tensorflow")),
        (2, "megabytes=2", 2, "spawn"),
        (2, "megabytes=2", 2, "fork"),
    ],
)
def test_an_example_of_bringing_your_own_runs_as_it_stands(tmp_path, example, options, items, start):
    code = re.findall(r"```python\n(.*?)```", (DOCS / "how-to/model.md").read_text(), flags=re.DOTALL)[example]
    (tmp_path / "mine.py").write_text(code)
    rows = rows_of(f"{tmp_path}/mine.py:build {options}", cores="all", start=start, in_company=True)
    assert {row.outcome.reason for row in rows} == {None}
    assert {row.outcome.items_per_step for row in rows} == {items}
    assert {row.outcome.cautions for row in rows} == {()}


@pytest.mark.slow
@pytest.mark.alone
def test_the_example_of_the_library_runs(tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / "how-to" / "python.md").read_text(), re.DOTALL))
    (tmp_path / "example.py").write_text(code)
    completed = subprocess.run([sys.executable, "example.py"], capture_output=True, text=True, cwd=tmp_path)
    assert completed.returncode == 0, completed.stderr
    assert (tmp_path / "small.html").exists()


def test_the_first_commands_of_the_readme_measure_networks_and_run_the_tests_of_ci():
    measures, tests, *_ = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    for line, environment in ((measures, ".venv"), (tests, ".venv-tests")):
        assert line.count("\n") == 1
        assert line.startswith(f"python3 -m venv {environment} && ")
    assert "pip install '.[report,tensorflow]'" in measures
    assert measures.endswith("scaling sweep quick\n")
    assert tests.endswith("pip install tox-uv && .venv-tests/bin/tox\n")
    assert "grep '^python3 -m venv .venv-tests' README.md" in (ROOT / ".ci" / "run").read_text()
