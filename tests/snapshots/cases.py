"""Cases as the files have them: a heading with a command line, and its output below."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
HEADING = "$ "


class Case(NamedTuple):
    """A command line and its output."""

    command: str
    output: str

    def text(self) -> str:
        """The case as it stands in a file."""
        return f"{HEADING}{self.command}\n{self.output}"


def files() -> list[Path]:
    """Every file of cases."""
    return sorted(HERE.glob("*.txt"))


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    for block in f"\n{path.read_text()}".split(f"\n{HEADING}")[1:]:
        command, _, output = block.partition("\n")
        yield Case(command, output)


def write_cases(path: Path, cases: Iterator[Case]) -> None:
    """Write a file anew."""
    path.write_text("\n".join(case.text() for case in cases))
