"""How dense the code is, and how its packages hang together: `python -m tests.sizes [FOLDER]`, by default `scaling`.

An operation is a statement or an expression other than a name or a constant.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median

LEAVES = (ast.Name, ast.Constant)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def main() -> None:
    """Print the table."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "scaling")
    trees = {path: ast.parse(path.read_text()) for path in sources(root)}
    for name, value in table(trees, root).items():
        print(f"{name:46} {value}")


def sources(root: Path) -> list[Path]:
    """The modules below a folder, without workloads, which are measured."""
    return sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] != "workloads")


def table(trees: Mapping[Path, ast.Module], root: Path) -> dict[str, str]:
    """The figures by their names."""
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    lines = sum(len(path.read_text().splitlines()) for path in trees)
    operations = sum(map(is_operation, nodes))
    comprehensions = sum(isinstance(node, COMPREHENSIONS) for node in nodes)
    ternaries = sum(isinstance(node, ast.IfExp) for node in nodes)
    imported = [len(names_imported(tree)) for tree in trees.values()]
    folders = folder_imports(trees, root)
    return {
        "modules": f"{len(trees):,}",
        "operations": f"{operations:,}",
        "lines": f"{lines:,}",
        "operations per line": f"{operations / lines:.2f}",
        "comprehensions per 1,000 lines": f"{1000 * comprehensions / lines:.0f}",
        "ternaries per 1,000 lines": f"{1000 * ternaries / lines:.0f}",
        "names imported by a module, median / largest": f"{median(imported):.0f} / {max(imported)}",
        "pairs of folders that import each other": ", ".join(circles(folders)) or "none",
    }


def is_operation(node: ast.AST) -> bool:
    """Whether a node is a statement, or an expression other than a name or a constant."""
    return isinstance(node, ast.stmt | ast.expr) and not isinstance(node, LEAVES)


def names_imported(tree: ast.Module) -> list[str]:
    """The names that a module imports."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return [alias.name for node in imports for alias in node.names]


def folder_imports(trees: Mapping[Path, ast.Module], root: Path) -> set[tuple[str, str]]:
    """The pairs of folders of which the first imports the second."""
    pairs = set()
    for path, tree in trees.items():
        own = ".".join((root.name, *path.relative_to(root).parent.parts))
        for module in modules_imported(tree):
            pairs.add((own, folder_of(module, root)))
    return {(importing, imported) for importing, imported in pairs if importing != imported}


def modules_imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a module imports from, with the names that may be modules themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def folder_of(module: str, root: Path) -> str:
    """The folder of a module; empty for a module of another package."""
    parts = module.split(".")
    if parts[0] != root.name:
        return ""
    path = root.joinpath(*parts[1:])
    if path.is_dir():
        return module
    return ".".join(parts[:-1]) if path.with_suffix(".py").is_file() else ""


def circles(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """The pairs of folders, neither in the other, that import each other."""
    known = set(pairs)
    both = {tuple(sorted(pair)) for pair in known if pair[::-1] in known and all(pair)}
    apart = [pair for pair in both if not is_nested(*pair)]
    return sorted(" ⇄ ".join(pair) for pair in apart)


def is_nested(first: str, second: str) -> bool:
    """Whether one folder is in the other."""
    return any(inner.startswith(f"{outer}.") for inner, outer in ((first, second), (second, first)))


if __name__ == "__main__":
    main()
