"""The recipes of CONTRIBUTING.md, applied to a copy of the project.

A line ` # path` of a diff begins a file, `@@` another place in it. The lines that a diff keeps or removes name the
place: they must be in the file exactly once.
"""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
COPIED = ("scaling", "docs/generate.py", "docs/reference.toml", "docs/reference", "workloads/catalogue.toml")


def recipe(title: str) -> str:
    """The diff below a heading."""
    section = CONTRIBUTING.read_text().partition(f"# {title}\n")[2].partition("\n#")[0]
    diff = re.search(r"^```diff\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert diff, f"CONTRIBUTING.md has no diff below '{title}'"
    return diff[1]


def copy_with(title: str, copy: Path) -> Path:
    """A copy of the project to which a recipe is applied."""
    for part in COPIED:
        source, target = ROOT / part, copy / part
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    apply(recipe(title), copy)
    return copy


def apply(diff: str, root: Path) -> None:
    """Change the files below a folder."""
    for part in re.split(r"^ # (?=\S+$)", diff, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        path = root / name
        text = path.read_text()
        for hunk in body.split("@@\n"):
            before, after = sides(hunk)
            places = [match.start() for match in re.finditer(f"^{re.escape(before)}$", text, re.MULTILINE)]
            assert len(places) == 1, f"{name} has {len(places)} times: {before}"
            text = text[: places[0]] + after + text[places[0] + len(before) :]
        path.write_text(text)


def sides(hunk: str) -> tuple[str, str]:
    """The lines before a change, and after it."""
    lines = hunk.splitlines()
    before = [line[1:] for line in lines if not line.startswith("+")]
    after = [line[1:] for line in lines if not line.startswith("-")]
    return "\n".join(before), "\n".join(after)
