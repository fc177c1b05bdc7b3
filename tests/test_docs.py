"""The documents agree with the program: examples run, and commands, options, keys, paths and links exist."""

import dataclasses
import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import scaling
from scaling.analysis.rules import RULES
from scaling.cli.main import app
from scaling.reporting.plots.registry import names
from scaling.study.spec import Study
from tests.runs import rows_of

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.glob("*.md"), *DOCS.glob("examples/*.md")])
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def inline_code(text: str) -> list[str]:
    """What a document has between single backticks, in its sentences."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose)]


def block_lines(text: str) -> list[str]:
    """The lines of a document's code blocks, those that are continued joined, without prompts and comments."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).replace("\n                 [", " [").splitlines()
    return [line.removeprefix("$ ").partition("  #")[0].strip() for line in lines]


def command_lines(text: str) -> list[str]:
    """Every command line of the program that a document shows."""
    text = text.partition("### Renamed or removed")[0]
    commands = [part for line in block_lines(text) for part in line.split(" && ")] + inline_code(text)
    commands = [command.removeprefix(".venv/bin/") for command in commands]
    names = get_command(app).list_commands(None)  # type: ignore[attr-defined,arg-type]
    return [command for command in commands if command.startswith(tuple(f"scaling {name} " for name in names))]


def parse(command_line: str) -> None:
    """Let the command's own parser read a line; of a summary with alternatives only the options are looked up."""
    command_line = command_line.partition(" -- ")[0]  # what follows is a program's own
    _, name, *words = shlex.split(command_line)
    group = get_command(app)
    command = group.get_command(typer.Context(group), name)  # type: ignore[attr-defined]
    options = {"--help"} | {
        option for parameter in command.params for option in parameter.opts + parameter.secondary_opts
    }
    if not {"[", "…", "|", "("} & set(command_line) and "--help" not in words:
        command.make_parser(typer.Context(command)).parse_args(words)
    assert set(re.findall(r"(?<!\S)[\[(]*(--?[a-z][a-z-]*)", command_line)) <= options, command_line


def table_keys(text: str) -> set[str]:
    """The names in backticks in the first column of a document's tables."""
    cells = re.findall(r"^\| (`[^|]*?) \|", text, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def field_names(*values: type) -> set[str]:
    """The fields of dataclasses."""
    return {field.name for value in values for field in dataclasses.fields(value)}


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


@pytest.mark.parametrize("page", ["fit.md", "capacity.md", "profile.md"])
def test_the_output_shown_for_an_example_is_what_the_program_prints(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (DOCS / page).read_text()
    blocks = re.findall(r"^```\n\$ scaling ([^\n]*? docs/examples/.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        command_line, *lines = block.splitlines()
        printed = CliRunner().invoke(app, shlex.split(command_line)).stdout.splitlines()
        assert [line for line in lines if line != "…" and line.rstrip() not in map(str.rstrip, printed)] == []


def test_the_page_about_figures_lists_every_figure():
    named = inline_code((DOCS / "plots.md").read_text())
    assert [name for name in names() if name not in named] == []


def test_the_page_about_studies_lists_every_key():
    assert table_keys((DOCS / "study.md").read_text()) == field_names(Study)


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.parametrize(("example", "options", "items"), [(0, "width=64", 64), (2, "megabytes=2", 2)])
def test_an_example_of_bringing_your_own_runs_as_it_stands(tmp_path, example, options, items, start):
    code = re.findall(r"```python\n(.*?)```", (DOCS / "bring-your-own.md").read_text(), flags=re.DOTALL)[example]
    (tmp_path / "mine.py").write_text(code)
    rows = rows_of(f"{tmp_path}/mine.py:build {options}", cores="all", start=start, in_company=True)
    assert {row.outcome.reason for row in rows} == {None}
    assert {row.outcome.items_per_step for row in rows} == {items}
    assert {row.outcome.cautions for row in rows} == {()}


def test_the_method_names_every_rule_with_its_reason():
    method = (DOCS / "method.md").read_text()
    missing = [rule.name for rule in RULES if f"| {rule.name} |" not in method or rule.why not in method]
    assert not missing
