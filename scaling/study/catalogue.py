"""Finds what a study names: study files, the catalogue of workloads, a user's files and programs.

The one module of `study` that reads files.
"""

import ast
import os
import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import msgspec

from scaling.errors import StudyError, to_install
from scaling.study.frameworks import FRAMEWORKS, TENSORFLOW
from scaling.study.keys import did_you_mean
from scaling.study.limits import LONGEST_TOML
from scaling.study.programs import Program
from scaling.study.spec import OF_FRAMEWORKS, OF_NETWORKS, Study
from scaling.study.workload import Command, Entry, Named, OwnFile, Workload, check_workload, workload

# The first and the last traced step are dropped.
LEAST_TRACED_STEPS = 3

# The `needs` of a workload that runs under any framework.
A_FRAMEWORK = "framework"


def is_installed(extra: str) -> bool:
    """Whether the packages of an extra can be imported, without importing them."""
    return all(find_spec(package) is not None for package in (FRAMEWORKS[extra].packages[0], "keras"))


# Studies that reproduce papers take hours; lists have them last.
OF_PAPERS = ("amdahl", "devices", "fathom", "fathom_threads", "frameworks", "minsky", "minsky_sections")


def ready_made() -> dict[str, str]:
    """The TOML of the studies that come with the program, by name."""
    paths = sorted(files("scaling.sweeps").iterdir(), key=lambda path: path.name)
    return {path.name.removesuffix(".toml"): path.read_text() for path in paths if path.name.endswith(".toml")}


def read_study_text(name: str) -> str:
    """The TOML of a study: a ready-made one by name, or a file."""
    path = Path(name)
    studies = ready_made()
    is_file = path.suffix == ".toml" or "/" in name
    if not is_file and name in studies:
        return studies[name]
    if path.suffix != ".toml" and shutil.which(name):
        raise StudyError(run_hint(name))
    if not is_file:
        raise StudyError(
            f"no study '{name}'{did_you_mean(name, studies)}; choose from "
            f"{', '.join(name for name in studies if name not in OF_PAPERS)}, the studies of papers "
            f"{', '.join(OF_PAPERS)}, or pass a file that ends in .toml"
        )
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(LONGEST_TOML + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise StudyError(f"study {name} cannot be read: {reason}; pass a TOML file or a name in `sweeps`") from error


def run_hint(program: str) -> str:
    """The command that measures a program."""
    return f"'{program}' is a program, not a study; to measure it, run: scaling run -- {program} with its arguments"


def read_catalogue() -> dict[str, Entry]:
    """The workloads that come with the program, by name."""
    table = tomllib.loads(files("scaling.workloads").joinpath("catalogue.toml").read_text())
    return {name: msgspec.convert({"name": name, **entry}, Entry) for name, entry in table.items()}


def check_workloads(study: Study, catalogue: Mapping[str, Entry]) -> None:
    """Refuse a missing workload, and one that cannot do what the study asks, before anything is measured."""
    for program in study.programs:
        _check_program(program, catalogue)
    for text in study.workloads:
        parsed = check_workload(text, catalogue)
        if study.data != ("fixed",) and _is_not_network(parsed, catalogue):
            raise _unsuited(study, text, "data", "is not a network and has no batches")
        if _has_no_framework(parsed, catalogue):
            for key, usual in OF_FRAMEWORKS.items():
                if getattr(study, key) != usual:
                    raise _unsuited(study, text, key, "uses no framework")
        if isinstance(parsed, Named) and True in study.jit and TENSORFLOW in study.framework:
            _refuse_to_compile(study, catalogue[parsed.name])
        modes = catalogue[parsed.name].modes if isinstance(parsed, Named) else study.modes
        if not {*study.modes} <= {*modes}:
            raise StudyError(f"workload '{text}': modes is {list(study.modes)}; use {' or '.join(modes)}")
        if isinstance(parsed, OwnFile):
            _check_file(text, parsed)
        if isinstance(parsed, Command):
            _check_executable(f"workload '{text}'", parsed.argv[0])


def _unsuited(study: Study, text: str, key: str, reason: str) -> StudyError:
    return StudyError(
        f"workload '{text}': it {reason}, so {key} cannot be {list(getattr(study, key))}; leave {key} out, or leave "
        f"'{text}' out"
    )


def _check_file(text: str, parsed: OwnFile) -> None:
    """Refuse a missing file, and a name that it does not define; the file is parsed, not imported."""
    path = Path(parsed.path)
    if not path.is_file():
        raise StudyError(f"workload '{text}': there is no file {parsed.path} below {Path.cwd()}")
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError, RecursionError):  # its run will say so
        return
    offered = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    if parsed.factory and (parsed.factory in offered or _may_define(body, parsed.factory)):
        return
    has = f"it has {', '.join(offered)}" if offered else "it has neither a function nor a class"
    wanted = f"there is no '{parsed.factory}' in it" if parsed.factory else "name what to measure"
    example = f", as in {parsed.path}:{offered[0]}" if offered else "; write one, such as def build(setting)"
    raise StudyError(f"workload '{text}': {wanted}; {has}{example}")


def _may_define(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a module may get a name by an assignment, an import, or a definition within another statement."""
    nodes = [node for top in body if not isinstance(top, ast.FunctionDef | ast.ClassDef) for node in ast.walk(top)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    imported = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return name in names | defined or any((alias.asname or alias.name) in (name, "*") for alias in imported)


def _check_program(program: Program, catalogue: Mapping[str, Entry]) -> None:
    where = f"program '{program.name}'"
    if program.name in catalogue:
        raise StudyError(f"{where} has the name of a workload in the catalogue; choose another name")
    if program.cwd is not None and not Path(program.cwd).is_dir():
        raise StudyError(f"{where}: there is no folder {program.cwd}")
    if program.stdin is not None and not Path(program.stdin).is_file():
        raise StudyError(f"{where}: there is no file {program.stdin} to read from")
    for path in program.configuration:
        if not Path(path).is_file():
            raise StudyError(f"{where}: there is no file {path} to fill in")
    for line in program.lines.values():
        name = program.argv(line)[0]
        if not program.shell and "{" not in name:
            _check_executable(where, name, program.cwd)


def _check_executable(where: str, name: str, folder: str | None = None) -> None:
    if find_executable(name, folder) is None:
        first, *others = name.split() or [name]
        line = others and find_executable(first, folder)
        remedy = f"if that is '{first}' with arguments, quote each word by itself" if line else "write its path"
        raise StudyError(f"{where}: program '{name}' is missing or not executable; {remedy}")


def find_executable(name: str, folder: str | None = None, python: str | None = None) -> str | None:
    """The path of a program, relative to a folder; a bare name is searched beside the study's Python, then on PATH."""
    path = python and os.pathsep.join((str(Path(python).parent), os.environ.get("PATH", os.defpath)))
    return shutil.which(str(Path(folder or "", name).absolute()) if "/" in name else name, path=path)


# Why a profile needs the usual value of an axis, and the remedy.
_TRACEABLE = (
    ("jit", "a step compiled by XLA is one opaque operation", "set jit = false"),
    ("framework", "operations are traced only under TensorFlow", "leave framework out"),
    ("device", "operations are traced only on the CPU", "leave device out"),
    ("data", "the data do not change the operations of a step", "leave data out"),
)


# The traced steps of a run are taken however long they are; the plain steps after them end at `max_seconds`.
PROFILE_DEFAULTS = """
name = "profile"
question = "Which operations do the steps of these networks spend their time in?"
launches = 1
max_seconds = 20
timeout_seconds = 3600
"""


def check_traceable(study: Study, catalogue: Mapping[str, Entry], steps: int) -> None:
    """Refuse studies whose operations cannot be traced, before anything is measured."""
    for key, reason, remedy in _TRACEABLE:
        value = getattr(study, key)
        if value != OF_NETWORKS[key]:
            shown = "true" if key == "jit" else list(value)
            raise StudyError(f"study '{study.name}': {reason}, so {key} = {shown} cannot be profiled; {remedy}")
    if steps < LEAST_TRACED_STEPS:
        raise StudyError(
            f"steps {steps}: the first and the last traced step are dropped; use at least {LEAST_TRACED_STEPS}"
        )
    reason = "it is not a network, so there are no operations to profile"
    if study.programs:
        raise StudyError(f"program '{study.programs[0].name}': {reason}")
    for text in study.workloads:
        if _is_not_network(workload(text), catalogue):
            networks = ", ".join(name for name, entry in catalogue.items() if entry.layers is not None)
            raise StudyError(f"workload '{text}': {reason}; choose from {networks}, or your own as file.py:factory")


def _is_not_network(parsed: Workload, catalogue: Mapping[str, Entry]) -> bool:
    """Whether a workload is known not to be a network; a file's is not known before it is built."""
    return isinstance(parsed, Command) or (isinstance(parsed, Named) and catalogue[parsed.name].layers is None)


def _has_no_framework(parsed: Workload, catalogue: Mapping[str, Entry]) -> bool:
    """Whether a workload is known to use no framework; a file's is not known before it is built."""
    return isinstance(parsed, Command) or (isinstance(parsed, Named) and catalogue[parsed.name].needs != A_FRAMEWORK)


def uses_framework(text: str) -> bool:
    """Whether a workload may use a framework, as the networks of the catalogue do and a user's file may.

    The name of a program, such as bench.sh, is not an entry of `workloads`; it has no colon.
    """
    catalogue = read_catalogue()
    parsed = workload(text) if ":" in text or text.split()[0] in catalogue else None
    return parsed is not None and not _has_no_framework(parsed, catalogue)


def missing_extras(
    study: Study, catalogue: Mapping[str, Entry], is_installed: Callable[[str], bool] = is_installed
) -> dict[str, str]:
    """The workloads of a study that cannot run here, each with the extra that it lacks."""
    missing = [name for name in study.framework if not is_installed(name)]
    named = ((text, parsed) for text in study.workloads if isinstance(parsed := workload(text), Named))
    needs = {text: catalogue[parsed.name].needs for text, parsed in named if parsed.name in catalogue}
    return {text: missing[0] for text, need in needs.items() if need == A_FRAMEWORK and missing}


def missing_extra_sentence(workloads: Iterable[str], extra: str) -> str:
    """How to install the extra that workloads lack, in one sentence."""
    names = [f"'{name}'" for name in workloads]
    verb = "needs" if len(names) == 1 else "need"
    words = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return f"{words} {verb} {extra}, which is not installed; {to_install(extra)}"


def check_extras(study: Study, catalogue: Mapping[str, Entry]) -> None:
    """Refuse a study with workloads whose extra is not installed."""
    missing = missing_extras(study, catalogue)
    if missing:
        extra = next(iter(missing.values()))
        raise StudyError(missing_extra_sentence([text for text in missing if missing[text] == extra], extra))


def _refuse_to_compile(study: Study, entry: Entry) -> None:
    for mode in study.modes:
        if mode in entry.not_compiled:
            raise StudyError(
                f"study '{study.name}': {entry.name} cannot {mode} with jit = true, because "
                f"{entry.not_compiled[mode]}; set jit = false, or leave {entry.name} out"
            )
