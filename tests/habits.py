"""Habits that make a sentence need two readings, found in docs and, for the folders listed, in docstrings and messages.

`python -m tests.habits` prints every place and ends with status 1 if there is any. It needs no package.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
# Folders whose docstrings and messages are checked as well.
SOURCES = ("scaling", "workloads")
# Pages that docs/generate.py writes from the program: their habits are those of the source.
GENERATED = ROOT / "docs" / "reference"
HABITS = {
    "begins with What": r"(?:^|(?<=[.:;] ))What\b(?![^.]*\?)",
    "where for if": (
        r"(?:^|(?<=[.:;] ))Where [^,.]*,"
        r"|(?<!continues )(?<!stands )(?<!show )(?<!shows )(?<!--)\bwhere\b(?!=)"
    ),
    "told or tell": r"\b(?:told|tells?|telling)\b",
    "so many or as many": r"\b(?:so|as) many\b(?! as\b)",
    "those of or that of": r"\b(?:those|that) of\b",
    "predicate none": r"\b(?:is|are|has|have|had) none\b",
    "fronted of": r"(?:^|(?<=[.:;] ))Of (?!course\b)\w+",
    "is no": r"(?<!here )\b(?:is|are|was|were) no (?!longer\b|more\b|\w+er\b)\w+",
}
# Sentences that are meant as they are, by their file.
EXCEPTIONS: dict[str, tuple[str, ...]] = {
    "scaling/study/where.py": ("where ",),  # the name of the option
    "workloads/memnet.py": ("where is ",),  # a question to the network
}


class Finding(NamedTuple):
    """A habit in a sentence."""

    path: Path
    line: int
    habit: str
    text: str


def main() -> None:
    """Print every finding."""
    findings = [*in_documents(documents()), *in_sources(SOURCES)]
    for path, line, habit, text in findings:
        print(f"{path.relative_to(ROOT)}:{line}: {habit}: {text.strip()[:100]}")
    sys.exit(1 if findings else 0)


def documents() -> list[Path]:
    """Every page that people write."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")]
    return sorted(page for page in pages if page.parent != GENERATED)


def in_documents(pages: Iterable[Path]) -> Iterator[Finding]:
    """The habits of pages, code left out."""
    for page in pages:
        for number, line in prose_lines(page.read_text()):
            yield from _findings(page, number, line)


def _findings(path: Path, number: int, text: str) -> Iterator[Finding]:
    allowed = EXCEPTIONS.get(str(path.relative_to(ROOT)), ()) if path.is_relative_to(ROOT) else ()
    if not any(sentence in text for sentence in allowed):
        yield from (Finding(path, number, habit, text) for habit in habits_of(text))


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a page outside blocks of code, without code, links and marks."""
    in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        in_block ^= line.startswith("```")
        if not in_block and not line.startswith(("```", "    ", "![", "<!--")):
            plain = re.sub(r"`[^`]*`|\]\([^)]*\)|\"[^\"]*\"", "", line)
            yield number, re.sub(r"^[\s#>|*+-]*(?:\d+\. )?|\*+", "", plain)


def habits_of(sentence: str) -> list[str]:
    """The names of the habits that a sentence has."""
    return [name for name, pattern in HABITS.items() if re.search(pattern, sentence.strip())]


def in_sources(folders: Iterable[str]) -> Iterator[Finding]:
    """The habits of docstrings and messages in Python files."""
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                for sentence in re.sub(r"`[^`]*`", "", node.value).splitlines():
                    yield from _findings(path, node.lineno, sentence)


if __name__ == "__main__":
    main()
