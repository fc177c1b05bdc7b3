"""Measuring a function or a program as it is at hand: in a notebook, in a script, in a module.

Runs are fresh processes, which import the function from a file. One that a notebook or a script defines is written into
a file with the modules, functions and plain values that it uses; nothing is pickled.
"""

import ast
import builtins
import inspect
import linecache
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import Any

from scaling.api.measuring import DEFAULT_FOLDER, run
from scaling.api.results import Results
from scaling.errors import StudyError
from scaling.results.files import open_output
from scaling.running.environment import INTRA_VARIABLES
from scaling.study.planning import PROGRAM_MODE
from scaling.study.programs import Program, program_name
from scaling.study.spec import Study

QUESTION = "How does it scale, and so how many cores should it get?"


def measure(
    subject: Callable[..., object] | Sequence[str] | Program,
    folder: str | Path | None = None,
    *,
    threads: str | None = None,
    budget: str | float | None = None,
    again: bool = False,
    wait: bool = True,
    progress: bool = True,
    **keys: Any,
) -> Results:
    """Measure a function of no further arguments, or a program given as its words, on one core, two, four, and so on.

    `threads` is how a function learns the number of its threads: by one of its parameters, or by a variable such as
    "OMP_NUM_THREADS"; without it, it finds the CPUs of its process. In the words of a program it is {threads}. `keys`
    are those of a study, such as cores or launches.
    """
    if callable(subject):
        workload, name = _workload(subject, threads, None if folder is None else Path(folder))
        by_variable = threads in INTRA_VARIABLES
        found: dict[str, Any] = {"workloads": [workload], "modes": PROGRAM_MODE, "name": name}
        found |= {"intra": "cpus"} if by_variable else {}
    else:
        program = subject if isinstance(subject, Program) else _program(subject)
        found = {"programs": [program], "name": program.name, "launches": 10}
    study = Study(**{"question": QUESTION, **found, **keys})
    return run(study, folder, budget=budget, again=again, wait=wait, progress=progress)


def _program(words: Sequence[str]) -> Program:
    return Program(name=program_name(words), command=tuple(words))


def _workload(function: Callable[..., object], threads: str | None, folder: Path | None) -> tuple[str, str]:
    """The entry of a study for a function, and its name; its file is beside the results where it has none."""
    name = getattr(function, "__name__", "")
    if not isinstance(function, FunctionType) or not name.isidentifier():
        raise StudyError(f"{function!r} is no function with a name; define one with def that calls it")
    path = _own_file(function) or _write(function, (folder.parent if folder else DEFAULT_FOLDER) / f"{name}.py")
    option = "" if threads is None or threads in INTRA_VARIABLES else f" {_parameter(function, threads)}={{threads}}"
    return f"{path}:{name}{option}", name


def _parameter(function: FunctionType, threads: str) -> str:
    names = list(inspect.signature(function).parameters)
    if threads in names:
        return threads
    raise StudyError(
        f"threads = '{threads}': {function.__name__} has no such parameter (it has {', '.join(names) or 'none'}), and "
        f"no such variable is set; give one of its parameters, or one of {', '.join(INTRA_VARIABLES)}"
    )


def _own_file(function: FunctionType) -> Path | None:
    """The file of a function that can be imported from it by itself; None where there is none."""
    module = sys.modules.get(function.__module__)
    path = getattr(module, "__file__", None)
    if module is None or path is None or module.__name__ == "__main__" or module.__package__:
        return None
    return Path(path) if getattr(module, function.__name__, None) is function else None


def _write(function: FunctionType, path: Path) -> Path:
    parts: dict[str, str] = {}
    _add(function.__name__, function, function.__name__, parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(path) as file:
        file.write("\n\n".join(parts.values()).encode() + b"\n")
    return path


def _add(name: str, value: object, function: str, parts: dict[str, str]) -> None:
    """Add what defines a name to the parts of a file, after what that needs itself."""
    if name in parts:
        return
    parts[name] = ""  # a function may call itself
    if isinstance(value, ModuleType):
        text = f"import {value.__name__} as {name}"
    elif _is_importable(value):
        text = f"from {value.__module__} import {value.__name__} as {name}"  # type: ignore[attr-defined]
    elif isinstance(value, FunctionType | type):
        text = _source(value)
        for used, found in _names_used(value, text):
            _add(used, found, function, parts)
    else:
        text = f"{name} = {_literal(name, value, function)}"
    del parts[name]
    parts[name] = text


def _is_importable(value: object) -> bool:
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    own = module is None or module.__name__ == "__main__"
    return not own and getattr(module, getattr(value, "__name__", ""), None) is value


def _source(value: FunctionType | type) -> str:
    try:
        text = dedent(inspect.getsource(value)) if isinstance(value, FunctionType) else _class_source(value)
        tree = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, StopIteration):
        tree = None
    if not isinstance(tree, ast.FunctionDef | ast.ClassDef):
        raise StudyError(f"{value.__name__} has no source of its own here; define it with def, or put it into a file")
    return text


def _class_source(value: type) -> str:
    """The source of a class from the cell that its methods are in, which inspect does not look for."""
    method = next(one for one in vars(value).values() if isinstance(one, FunctionType))
    cell = "".join(linecache.getlines(method.__code__.co_filename))
    nodes = ast.walk(ast.parse(cell))
    found = next(one for one in nodes if isinstance(one, ast.ClassDef) and one.name == value.__name__)
    return dedent(ast.get_source_segment(cell, found, padded=True) or "")


def _names_used(value: FunctionType | type, text: str) -> list[tuple[str, object]]:
    """The names in a source that its module or the function around it defines, and their values."""
    module = sys.modules.get(value.__module__)
    known = dict(vars(module)) if module else {}
    if isinstance(value, FunctionType):
        known = {**value.__globals__, **inspect.getclosurevars(value).nonlocals}
    names = {node.id: None for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return [(name, known[name]) for name in names if name in known and not hasattr(builtins, name)]


def _literal(name: str, value: object, function: str) -> str:
    """A plain value as it is written in a file."""
    try:
        if ast.literal_eval(repr(value)) == value:
            return repr(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    raise StudyError(
        f"{function} uses '{name}' of type {type(value).__name__}, which cannot be written into a file; make it inside "
        "the function, or put both into a file of their own"
    )
