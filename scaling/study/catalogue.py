"""Finds what a study names: study files, our catalogue of workloads, a user's files and programs.

The one part of `study` that touches the disk.
"""

import ast
import os
import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from scaling.errors import StudyError, to_install
from scaling.study.frameworks import FRAMEWORKS, TENSORFLOW
from scaling.study.keys import LONGEST_TOML, did_you_mean
from scaling.study.programs import Program
from scaling.study.spec import CPU, Study
from scaling.study.workload import Command, Entry, Named, OwnFile, Workload, check_workload, workload

# The first and the last traced step are dropped, and something must be left.
LEAST_TRACED_STEPS = 3

# What a workload needs that is carried out by whichever framework a study names.
A_FRAMEWORK = "framework"


def is_installed(extra: str) -> bool:
    """Whether the packages of an extra can be imported; nothing is imported to see."""
    return all(find_spec(package) is not None for package in (FRAMEWORKS[extra].packages[0], "keras"))


# Studies that repeat what was published, of networks and for hours; lists have them last.
OF_PAPERS = ("amdahl", "devices", "fathom", "fathom_threads", "frameworks", "minsky", "minsky_sections")


def ready_made() -> dict[str, str]:
    """The names of the studies that come with the program, and their TOML."""
    return {
        entry.name.removesuffix(".toml"): entry.read_text()
        for entry in sorted(files("scaling.sweeps").iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".toml")
    }


def read_study_text(name: str) -> str:
    """The TOML of a study: a ready-made one by name, or a file."""
    path = Path(name)
    if path.suffix != ".toml" and "/" not in name:
        studies = ready_made()
        if name in studies:
            return studies[name]
        if shutil.which(name):
            raise StudyError(run_hint(name))
        raise StudyError(
            f"no study '{name}'{did_you_mean(name, studies)}; "
            f"there are {', '.join(name for name in studies if name not in OF_PAPERS)}, those of papers "
            f"({', '.join(OF_PAPERS)}), or give a file that ends in .toml"
        )
    if path.suffix != ".toml" and shutil.which(name):
        raise StudyError(run_hint(name))
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(LONGEST_TOML + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise StudyError(f"study {name} cannot be read: {reason}; give a TOML file or a name in `sweeps`") from error


def run_hint(program: str) -> str:
    """What to type to measure a program."""
    return f"'{program}' is a program, and no study; to measure it give: scaling run -- {program} and its arguments"


def read_catalogue() -> dict[str, Entry]:
    """What can be measured without bringing anything, by name."""
    table = tomllib.loads(files("scaling.workloads").joinpath("catalogue.toml").read_text())
    return {
        name: Entry(
            name,
            entry["about"],
            entry["paper"],
            entry.get("layers"),
            tuple(entry["modes"]),
            tuple(entry["sizes"]),
            entry["items"],
            entry.get("options", {}),
            entry.get("not_compiled", {}),
            entry.get("needs"),
            entry.get("infer_items"),
            entry.get("paper_items"),
            entry.get("fathom_items"),
            entry.get("item", {}),
        )
        for name, entry in table.items()
    }


def check_workloads(study: Study, catalogue: Mapping[str, Entry]) -> None:
    """Refuse a workload that is not there, or cannot do what the study asks, before anything is measured."""
    for program in study.programs:
        _check_program(program, catalogue)
    for text in study.workloads:
        parsed = check_workload(text, catalogue)
        if study.data != ("fixed",) and _is_no_network(parsed, catalogue):
            raise StudyError(
                f"workload '{text}': it is no network and has no batches, so data cannot be {list(study.data)}; leave "
                f"data out, or leave '{text}' out"
            )
        if study.framework != (TENSORFLOW,) and _has_no_framework(parsed, catalogue):
            raise StudyError(
                f"workload '{text}': it uses no framework, so framework cannot be {list(study.framework)}; leave "
                f"framework out, or leave '{text}' out"
            )
        if study.device != (CPU,) and _has_no_framework(parsed, catalogue):
            raise StudyError(
                f"workload '{text}': it uses no framework, so device cannot be {list(study.device)}; leave device out, "
                f"or leave '{text}' out"
            )
        if isinstance(parsed, Named) and True in study.jit and TENSORFLOW in study.framework:
            _refuse_to_compile(study, catalogue[parsed.name])
        modes = catalogue[parsed.name].modes if isinstance(parsed, Named) else study.modes
        if not {*study.modes} <= {*modes}:
            raise StudyError(f"workload '{text}': modes is {list(study.modes)}; give {' or '.join(modes)}")
        if isinstance(parsed, OwnFile):
            _check_file(text, parsed)
        if isinstance(parsed, Command) and find_executable(parsed.argv[0]) is None:
            raise StudyError(
                f"workload '{text}': no program '{parsed.argv[0]}' is found or it may not be run; give its path"
            )


def _check_file(text: str, parsed: OwnFile) -> None:
    """Refuse a file that is not there, and a name that it does not have; it is read and not imported."""
    path = Path(parsed.path)
    if not path.is_file():
        raise StudyError(f"workload '{text}': there is no file {parsed.path} below {Path.cwd()}")
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError, RecursionError):  # its run will say so
        return
    offered = [one.name for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    if parsed.factory and (parsed.factory in offered or _may_have(body, parsed.factory)):
        return
    has = f"it has {', '.join(offered)}" if offered else "it has neither a function nor a class"
    wanted = f"there is no '{parsed.factory}' in it" if parsed.factory else "name what to measure"
    example = f", as in {parsed.path}:{offered[0]}" if offered else "; write one, such as def build(setting)"
    raise StudyError(f"workload '{text}': {wanted}; {has}{example}")


def _may_have(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a module may get a name otherwise: by an assignment, an import, or something within another statement."""
    nodes = [node for one in body if not isinstance(one, ast.FunctionDef | ast.ClassDef) for node in ast.walk(one)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    imported = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return name in names | defined or any((one.asname or one.name) in (name, "*") for one in imported)


def _check_program(program: Program, catalogue: Mapping[str, Entry]) -> None:
    where = f"program '{program.name}'"
    if program.name in catalogue:
        raise StudyError(f"{where} has the name of a workload of ours; give it another one")
    if program.cwd is not None and not Path(program.cwd).is_dir():
        raise StudyError(f"{where}: there is no folder {program.cwd}")
    if program.stdin is not None and not Path(program.stdin).is_file():
        raise StudyError(f"{where}: there is no file {program.stdin} to read from")
    for line in program.lines.values():
        name = program.argv(line)[0]
        if not program.shell and "{" not in name and find_executable(name, program.cwd) is None:
            raise StudyError(f"{where}: no program '{name}' is found or it may not be run; give its path")


def find_executable(name: str, folder: str | None = None, python: str | None = None) -> str | None:
    """A program as it is found from a folder, a bare name beside the interpreter of a study or on PATH; None if not."""
    path = python and os.pathsep.join((str(Path(python).parent), os.environ.get("PATH", os.defpath)))
    return shutil.which(str(Path(folder or "", name).absolute()) if "/" in name else name, path=path)


def check_traceable(study: Study, catalogue: Mapping[str, Entry], steps: int) -> None:
    """Refuse what has no ops to tell apart, before anything is measured."""
    if True in study.jit:
        raise StudyError(
            f"study '{study.name}': a step compiled by XLA is one opaque operation, so jit = true cannot be profiled; "
            "set jit = false"
        )
    if study.framework != (TENSORFLOW,):
        raise StudyError(
            f"study '{study.name}': operations are traced under TensorFlow alone, so framework = "
            f"{list(study.framework)} cannot be profiled; leave framework out"
        )
    if study.device != (CPU,):
        raise StudyError(
            f"study '{study.name}': operations are traced on the CPU alone, so device = {list(study.device)} cannot be "
            "profiled; leave device out"
        )
    if study.data != ("fixed",):
        raise StudyError(
            f"study '{study.name}': a step has the same operations whatever it is fed with, so data = "
            f"{list(study.data)} cannot be profiled; leave data out"
        )
    if steps < LEAST_TRACED_STEPS:
        raise StudyError(
            f"steps {steps}: the first and the last traced step are dropped; give at least {LEAST_TRACED_STEPS}"
        )
    if study.programs:
        raise StudyError(f"program '{study.programs[0].name}': it is no network, so there are no operations to profile")
    for text in study.workloads:
        if _is_no_network(workload(text), catalogue):
            networks = ", ".join(name for name, entry in catalogue.items() if entry.layers is not None)
            raise StudyError(
                f"workload '{text}': it is no network, so there are no operations to profile; there are {networks}, "
                "and your own as file.py:factory"
            )


def _is_no_network(parsed: Workload, catalogue: Mapping[str, Entry]) -> bool:
    """Whether a workload is known to be none; that of a file shows only when it is built."""
    return isinstance(parsed, Command) or (isinstance(parsed, Named) and catalogue[parsed.name].layers is None)


def _has_no_framework(parsed: Workload, catalogue: Mapping[str, Entry]) -> bool:
    """Whether a workload is known to use no framework; that of a file shows only when it is built."""
    return isinstance(parsed, Command) or (isinstance(parsed, Named) and catalogue[parsed.name].needs != A_FRAMEWORK)


def uses_framework(text: str) -> bool:
    """Whether a workload may use a framework: one of a file may, a program and most of ours do not."""
    catalogue = read_catalogue()
    parsed = workload(text) if "." in text or text.split()[0] in catalogue else None
    return parsed is not None and not _has_no_framework(parsed, catalogue)


def missing_extras(
    study: Study, catalogue: Mapping[str, Entry], is_installed: Callable[[str], bool] = is_installed
) -> dict[str, str]:
    """The workloads of a study that cannot run here, and the extra of this package that each of them needs.

    A workload that needs a framework needs those of the study.
    """
    missing = [name for name in study.framework if not is_installed(name)]
    named = ((text, parsed) for text in study.workloads if isinstance(parsed := workload(text), Named))
    needs = {text: catalogue[parsed.name].needs for text, parsed in named if parsed.name in catalogue}
    return {text: missing[0] for text, need in needs.items() if need == A_FRAMEWORK and missing}


def missing_extra_sentence(workloads: Iterable[str], extra: str) -> str:
    """What to install for workloads that cannot run here, in one sentence."""
    names = [f"'{name}'" for name in workloads]
    verb = "needs" if len(names) == 1 else "need"
    words = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return f"{words} {verb} {extra}, which is not installed; {to_install(extra)}"


def check_extras(study: Study, catalogue: Mapping[str, Entry]) -> None:
    """Refuse a study of which a workload needs an extra that is not installed."""
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
