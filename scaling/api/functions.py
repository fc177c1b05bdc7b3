"""Measure a function or a program from a notebook, script or module.

Runs are fresh processes that import the function from a file. The function of a notebook or script is written to a file
with the modules, functions and plain values that it uses; nothing is pickled.
"""

import ast
import builtins
import inspect
import linecache
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import Any

from scaling.api.measuring import DEFAULT_FOLDER, run
from scaling.api.results import Results
from scaling.errors import StoreError, StudyError
from scaling.results.files import open_output
from scaling.study.axes import INTRA_VARIABLES, PROGRAM_MODE
from scaling.study.programs import THREAD_VARIABLES, Program, program_name
from scaling.study.spec import Study

QUESTION = "How does it scale, and so how many cores should it get?"

# The first line of a file that a function is written to; other files are not replaced.
WRITTEN = b"# Written by scaling.measure, which replaces this file.\n"


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
    """Measure a function without further arguments, or a program given as words, on one core, two, four, and so on.

    `threads` names the parameter of the function, or the variable such as "OMP_NUM_THREADS", for the number of threads;
    without it, the function uses the CPUs of its process. A program has {threads} among its words. `keys` are keys of a
    study, such as cores or launches.
    """
    if callable(subject):
        workload, name = _workload(subject, threads, None if folder is None else Path(folder))
        defaults: dict[str, Any] = {"workloads": [workload], "modes": PROGRAM_MODE, "name": name}
        defaults |= {"intra": "cpus"} if threads in INTRA_VARIABLES else {}
    else:
        program = (
            subject if isinstance(subject, Program) else Program(name=program_name(subject), command=tuple(subject))
        )
        defaults = {"programs": [program], "name": program.name, "launches": 10}
        if threads is not None and threads not in THREAD_VARIABLES:
            raise StudyError(
                f"threads = '{threads}' names no parameter, since {program.name} is a program; put {{threads}} among "
                "its words, or into `env` of a `scaling.Program`"
            )
    study = Study(**{"question": QUESTION, **defaults, **keys})
    return run(study, folder, budget=budget, again=again, wait=wait, progress=progress)


def _workload(function: Callable[..., object], threads: str | None, folder: Path | None) -> tuple[str, str]:
    """The study entry and the name of a function, which is written beside the results unless it has a file."""
    name = getattr(function, "__name__", "")
    if not isinstance(function, FunctionType) or not name.isidentifier():
        raise StudyError(f"{function!r} is not a named Python function; call it from a function defined with def")
    path = _own_file(function) or _write(function, (folder.parent if folder else DEFAULT_FOLDER) / f"{name}.py")
    option = "" if threads is None or threads in INTRA_VARIABLES else f" {_parameter(function, threads)}={{threads}}"
    return f"{path}:{name}{option}", name


def _parameter(function: FunctionType, threads: str) -> str:
    names = list(inspect.signature(function).parameters)
    if threads in names:
        return threads
    raise StudyError(
        f"threads = '{threads}': {function.__name__} has no such parameter (it has {', '.join(names) or 'none'}); "
        f"choose one of its parameters, or one of {', '.join(INTRA_VARIABLES)}"
    )


def _own_file(function: FunctionType) -> Path | None:
    """The file from which a function can be imported, if there is one."""
    module = sys.modules.get(function.__module__)
    path = getattr(module, "__file__", None)
    if module is None or path is None or module.__name__ == "__main__" or module.__package__:
        return None
    return Path(path) if getattr(module, function.__name__, None) is function else None


def _write(function: FunctionType, path: Path) -> Path:
    parts: dict[str, str] = {}
    _add(function.__name__, function, function.__name__, parts)
    if path.is_file() and not path.read_bytes().startswith(WRITTEN):
        raise StudyError(
            f"{path} was not written by `scaling.measure`, so it is not replaced; rename the function, or choose "
            "another folder with `folder=`"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{path.parent} cannot be created: {error.strerror}; choose another folder with `folder=`"
        ) from error
    with open_output(path) as file:
        file.write(WRITTEN + "\n\n".join(parts.values()).encode() + b"\n")
    return path


def _add(name: str, value: object, function: str, parts: dict[str, str]) -> None:
    """Add the definition of a name to the parts of a file, after the definitions it needs."""
    if name in parts:
        return
    parts[name] = ""  # a function may call itself
    if isinstance(value, ModuleType):
        text = f"{_own_path(value)}import {value.__name__} as {name}"
    elif _is_importable(value):
        module, known = sys.modules[value.__module__], value.__name__  # type: ignore[attr-defined]
        text = f"{_own_path(module)}from {module.__name__} import {known} as {name}"
    elif isinstance(value, FunctionType | type):
        text = _source(value)
        for used, definition in _names_used(value, text):
            _add(used, definition, function, parts)
            if isinstance(definition, ModuleType):
                parts.update(_submodules(used, definition, text))
    else:
        text = f"{name} = {_literal(name, value, function)}"
    del parts[name]
    parts[name] = text


def _own_path(module: ModuleType) -> str:
    """A line that lets the file import a user's own module, with its digest; empty for an installed module."""
    if not getattr(module, "__file__", None):
        return ""
    file = Path(module.__file__ or "").absolute()
    if "site-packages" in file.parts or any(map(file.is_relative_to, (sys.prefix, sys.base_prefix))):
        return ""
    folder = file.parents[module.__name__.count(".") + hasattr(module, "__path__")]
    return f"__import__('sys').path.append({str(folder)!r})  # {sha256(file.read_bytes()).hexdigest()[:16]}\n"


def _submodules(name: str, module: ModuleType, text: str) -> dict[str, str]:
    """Imports of the submodules that a source uses by their dotted names, such as concurrent.futures."""
    imports = {}
    for node in ast.walk(ast.parse(text)):
        parts = ast.unparse(node).split(".") if isinstance(node, ast.Attribute) else []
        if len(parts) > 1 and parts[0] == name:
            dotted = ".".join([module.__name__, *parts[1:]])
            if dotted in sys.modules:
                imports[dotted] = f"__import__({dotted!r})"
    return imports


def _is_importable(value: object) -> bool:
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    own = module is None or module.__name__ == "__main__"
    return not own and getattr(module, getattr(value, "__name__", ""), None) is value


def _source(value: FunctionType | type) -> str:
    try:
        text = dedent(_class_source(value) if isinstance(value, type) else inspect.getsource(value))
        tree = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, StopIteration):
        tree = None
    if not isinstance(tree, ast.FunctionDef | ast.ClassDef):
        raise StudyError(f"the source of {value.__name__} was not found; define it with def, or in a file")
    return text


def _class_source(value: type) -> str:
    """The source of a class with its decorators, also from a notebook's cell, in which inspect does not find it."""
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        methods = [one for one in vars(value).values() if isinstance(one, FunctionType)]
    cell = next(filter(None, (linecache.getlines(method.__code__.co_filename) for method in methods)))
    nodes = ast.walk(ast.parse("".join(cell)))
    node = next(one for one in nodes if isinstance(one, ast.ClassDef) and one.name == value.__name__)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "".join(cell[first - 1 : node.end_lineno])


def _names_used(value: FunctionType | type, text: str) -> list[tuple[str, object]]:
    """The names in a source that its module or enclosing function defines, with values."""
    module = sys.modules.get(value.__module__)
    known = dict(vars(module)) if module else {}
    if isinstance(value, FunctionType):
        known = {**value.__globals__, **inspect.getclosurevars(value).nonlocals}
    names = {node.id: None for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    used = [(name, known[name]) for name in names if name in known]
    return [(name, one) for name, one in used if one is not getattr(builtins, name, known)]


def _literal(name: str, value: object, function: str) -> str:
    try:
        if ast.literal_eval(repr(value)) == value:
            return repr(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    raise StudyError(
        f"{function} uses '{name}' of type {type(value).__name__}, which cannot be written to a file; create it in "
        "the function, or put it and the function into a module"
    )
