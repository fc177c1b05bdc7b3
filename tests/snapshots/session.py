"""Runs the command lines of snapshots in this process, in a folder of its own, on a machine that measures nothing.

A line is as a shell has it, of programs of our own: `scaling`; `page` (the words of a page) and `captions` (of its
figures), which draw nothing; `keys` (the keys of JSON). `&&`, `|`, `<` and `NAME=value` are understood.
"""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from benchmarks.shared.machines import HOST
from scaling.cli.main import main
from scaling.results.files import _read_stream
from tests.snapshots import folders
from tests.snapshots.pretend import PretendEngine, pretend_findings, pretend_machine

ROOT = Path(__file__).parents[2]
# What a command writes, or would write by itself: gone before the next case.
WRITTEN = ("out", "results")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "COLUMNS": "100", "LINES": "50"}
COUNTED = {"parameters": 7_000_000, "weights_bytes": 28_000_000, "gmacs_per_item": 0.5}
# Where the machine is read, its runs are made, and what is installed is asked for.
PRETENDED = {
    "scaling.api.measuring.LocalEngine": PretendEngine,
    "scaling.api.measuring.examine": pretend_findings,
    "scaling.api.measuring.has_gpu": lambda: False,
    "scaling.api.measuring.read_machine": lambda *_: HOST,
    "scaling.api.measuring.read_topology": pretend_machine,
    "scaling.features.packs.library.read_topology": pretend_machine,
    "scaling.features.profiling.library.read_machine": lambda *_: HOST,
    "scaling.features.profiling.library.read_topology": pretend_machine,
    "scaling.features.tuning.library.read_topology": pretend_machine,
    "scaling.machine.doctor.procfs.SECONDS_BETWEEN_READINGS": 0,
    "scaling.running.workload_counts._count_in_child": lambda function, names: dict.fromkeys(names, COUNTED),
    "scaling.running.workload_counts.version": lambda package: "1",
    "scaling.study.catalogue.find_spec": lambda package: True,
}


class Session:
    """A folder with what the cases read: `docs`, `data` (files of other tools) and `made/NAME`, made when named."""

    def __enter__(self) -> "Session":
        self.stack = ExitStack()
        self.root = Path(self.stack.enter_context(TemporaryDirectory()))
        (self.root / "docs").symlink_to(ROOT / "docs")
        (self.root / "data").symlink_to(ROOT / "tests" / "data" / "other_tools")
        (self.root / "made").mkdir()
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def output(self, line: str) -> str:
        """All that a command line prints, its folder as /here, and its exit status if that is not 0."""
        for name in WRITTEN:
            shutil.rmtree(self.root / name, ignore_errors=True)
        for name in re.findall(r"\bmade/([\w.-]+)", line):
            self._make(name)
        before = Path.cwd()
        os.chdir(self.root)
        try:
            return "".join(self._outputs(line)).replace(str(self.root), "/here")
        finally:
            os.chdir(before)

    def _make(self, name: str) -> None:
        if not (self.root / "made" / name).exists():
            getattr(folders, re.sub(r"[-.]", "_", name))(self.root / "made" / name)

    def _outputs(self, line: str) -> Iterator[str]:
        for part in line.split(" && "):
            command, *filters = part.split(" | ")
            printed, notes = _run(shlex.split(command))
            for words in filters:
                printed = FILTERS[words](printed)
            yield printed + notes


def _run(words: list[str]) -> tuple[str, str]:
    """What a program prints on stdout, and on stderr with its exit status if that is not 0."""
    here = Path.cwd()
    environment = dict(ENVIRONMENT, SCALING_LOCK=str(here / "lock"), XDG_CACHE_HOME=str(here / "cache"))
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    given = ""
    if "<" in words:
        *words, _, file = words
        given = Path(file).read_text()
    _read_stream.cache_clear()  # of the stdin of the case before
    out, err, status = TextIOWrapper(BytesIO(), encoding="utf-8"), StringIO(), 0
    with ExitStack() as patches:
        for patch in _patches(words, environment, given):
            patches.enter_context(patch)
        patches.enter_context(redirect_stdout(out))
        patches.enter_context(redirect_stderr(err))
        try:
            PROGRAMS[words[0]](*words[1:])
        except SystemExit as end:
            status = end.code or 0
    out.flush()
    ended = f"exit status {status}\n" if status else ""
    return out.buffer.getvalue().decode(), f"{err.getvalue()}{ended}"


def _patches(words: list[str], environment: dict[str, str], given: str) -> Iterator["mock._patch"]:
    yield mock.patch.object(sys, "argv", words)
    yield mock.patch.object(sys.modules["__main__"], "__package__", None)  # or it would name the program
    yield mock.patch.object(sys, "stdin", TextIOWrapper(BytesIO(given.encode())))
    yield mock.patch.dict(os.environ, environment, clear=True)
    for name, pretended in PRETENDED.items():
        yield mock.patch(name, pretended)


def _page(folder: str, cores_from: str | None = None) -> None:
    from scaling.api.results import load
    from scaling.reporting.page.page import page

    results = load(folder, cores_from=cores_from)
    words = Words()
    words.feed(_node_types_page(results) if results.has_node_types else page(results.sources[0].page_evaluation, []))
    print(words.text())


def _node_types_page(results: Any) -> str:
    from scaling.features.cluster.node_types import NodeTypeEvaluation
    from scaling.features.cluster.page import node_types_page

    node_types = [NodeTypeEvaluation(one.node_type, one.core_hour, one.evaluation) for one in results.sources]
    pages = {one.name: f"{one.name}/report.html" for one in node_types}
    return str(node_types_page(results.path.name, None, node_types, pages, [], unmeasured=["never"]))


def _captions(folder: str, *kinds: str) -> None:
    from scaling.api.figures import draw
    from scaling.api.results import load

    for drawing in draw(load(folder), kinds):
        words = getattr(drawing, "caption", None) or f"not drawn: {drawing.reason}"
        print(f"{drawing.kind}: {drawing.title}\n  {words}")


def _keys(text: str) -> str:
    """The keys of JSON, each with the name of its values' types."""
    kinds: dict[str, set[str]] = {}
    _collect("", json.loads(text), kinds)
    return "".join(f"{path}: {', '.join(sorted(names))}\n" for path, names in kinds.items())


def _collect(path: str, value: object, kinds: dict[str, set[str]]) -> None:
    if isinstance(value, dict):
        for key, part in value.items():
            _collect(f"{path}.{key}".lstrip("."), part, kinds)
    elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
        for part in value:
            _collect(f"{path}[]", part, kinds)
    else:
        kinds.setdefault(path, set()).add(JSON_TYPES[type(value)])


JSON_TYPES = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "text", list: "list"}
PROGRAMS = {"scaling": lambda *_: main(), "page": _page, "captions": _captions}
FILTERS = {"keys": _keys, "header": lambda text: text.partition("\n")[0].replace(",", "\n") + "\n"}


class Words(HTMLParser):
    """The words of a page as one reads them, a line per paragraph or row."""

    HIDDEN = ("script", "style", "svg", "title")
    LINES = (
        "p",
        "li",
        "tr",
        "h1",
        "h2",
        "h3",
        "h4",
        "div",
        "section",
        "figure",
        "table",
        "summary",
        "pre",
        "dt",
        "nav",
    )
    CELLS = ("td", "th", "dd", "button", "option", "label", "a")

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line or a cell."""
        self.hidden += tag in self.HIDDEN
        self.parts.append("\n" if tag in self.LINES else "  " if tag in self.CELLS else "")

    def handle_endtag(self, tag: str) -> None:
        """End a line."""
        self.hidden -= tag in self.HIDDEN
        self.parts.append("\n" if tag in self.LINES else "")

    def handle_data(self, data: str) -> None:
        """Keep what is shown."""
        if not self.hidden:
            self.parts.append(re.sub(r"\s+", " ", data))

    def text(self) -> str:
        """The lines that have words."""
        lines = ("  ".join(filter(None, map(str.strip, line.split("  ")))) for line in "".join(self.parts).splitlines())
        return "\n".join(filter(None, lines))
