"""Programs that a study measures. Pure.

A `[[programs]]` table, `scaling run` and the short form `command: ./prog -t {threads}` all describe a `Program`. A
feature may add a subclass with its own table, placeholders and workload. Placeholders are filled in for every run;
write {{word}} for a literal {word}.

    {threads}  {cores}  {smt}  {cpus}  {items}  {intra}  {inter}
"""

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import PurePath
from typing import Annotated

from msgspec import Meta

from scaling.errors import StudyError, excerpt
from scaling.study.keys import Key, keyed

# Options that look like a number of threads or workers.
FIXED_THREADS = re.compile(r"(-[@jnpTt]|--(threads|jobs|workers|procs|processes|numprocesses|parallel)[= ]) ?\d+")
PLACEHOLDERS = ("threads", "cores", "smt", "cpus", "items", "intra", "inter")
_BRACES = re.compile(r"\{\{(?P<plain>\w+)\}\}|\{(?P<name>\w+)\}")

# Variables of thread libraries: OpenMP, BLAS, numexpr, Rayon, Go, Julia.
THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS", "JULIA_NUM_THREADS"),
)

# Programs that execute the file named after them.
INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|julia|Rscript|java|bash|dash|zsh|sh|env|mpirun|mpiexec)[\d.]*")


@dataclass(frozen=True, slots=True)
class FromShell:
    """A variable whose value comes from the shell; only its digest is stored, once it is known."""

    digest: str | None = None

    def value_in(self, shell: Mapping[str, str], name: str) -> str:
        """The value; StudyError if it is not set, or differs from the stored digest."""
        if name not in shell:
            raise StudyError(
                f"variable {name} should come from the shell but is not set there; set it, or write NAME=VALUE"
            )
        if self.digest not in (None, _digest(name, shell[name])):
            raise StudyError(
                f"variable {name} has a different value in this shell than when the study was started; restore it, or "
                "choose another folder with `folder=`"
            )
        return shell[name]


def from_shell(shell: Mapping[str, str], name: str, known: FromShell) -> FromShell:
    """A variable with the digest of its value in the shell."""
    return FromShell(_digest(name, known.value_in(shell, name)))


def _digest(name: str, value: str) -> str:
    return sha256(os.fsencode(f"{name}={value}")).hexdigest()[:16]


VariableName = Annotated[str, Meta(pattern=r"^[^=\x00]+$")]
Variables = tuple[tuple[VariableName, str | FromShell], ...]
# A line to split as a shell would, or its words.
CommandLine = Annotated[str, Meta(min_length=1)] | Annotated[tuple[str, ...], Meta(min_length=1)]
Executions = Annotated[int, Meta(ge=1, le=65536)]
Amount = Annotated[int, Meta(ge=1, lt=10**15)]
NAME_LENGTH = 100


def _pairs(value: object) -> object:
    return tuple(value.items()) if isinstance(value, Mapping) else value


_COMMAND = Key("a command line, or a list of its words")
_PATTERN = Key("a regular expression with one group, the number")


def program_name(words: Sequence[str]) -> str:
    """A default name for a program: its file, or the script of an interpreter, with '-' for what a name cannot have.

    A single word is a line, as for a shell.
    """
    first, *others = (" ".join(words).split() if len(words) == 1 else words) or [""]
    name = PurePath(first).name
    script = PurePath(others[0]).name if others and INTERPRETER.fullmatch(name) else ""
    chosen = script if re.fullmatch(r"[\w+][\w.+ -]*", script) else name
    return re.sub(r"[^\w.+-]+", "-", chosen[:NAME_LENGTH])


@keyed(lambda problem: StudyError(f"programs: {problem}"))
class Program:
    """A program and how it is executed; one execution is one step, unless `seconds` finds step times in its output.

    A launch runs `setup` once, then `prepare` before every execution, then `cleanup`; none of them is timed. `steps`
    executions are measured after `warmup` others. `items`, `throughput` and `seconds` are patterns that find figures in
    the output: a program that runs for a fixed time is judged by its throughput.
    """

    name: Annotated[
        str, Meta(pattern=r"^[\w.+-]+$", max_length=NAME_LENGTH), Key("a name of letters, digits and . _ + -")
    ]
    command: Annotated[CommandLine, _COMMAND]
    env: Annotated[Variables, Key('a table such as { KEY = "value", FROM_THE_SHELL = {} }', _pairs)] = ()
    cwd: Annotated[str | None, Key("a folder")] = None
    stdin: Annotated[str | None, Key("a file")] = None
    setup: Annotated[CommandLine | None, _COMMAND] = None
    prepare: Annotated[CommandLine | None, _COMMAND] = None
    cleanup: Annotated[CommandLine | None, _COMMAND] = None
    shell: Annotated[bool, Key("true or false")] = False
    ignore_failure: Annotated[bool, Key("true or false")] = False
    warmup: Annotated[int, Meta(ge=0, le=65536), Key("a number from 0")] = 0
    steps: Annotated[Executions, Key("a whole number above 0")] = 1
    items: Annotated[Amount | str | None, Key("a whole number above 0, or a regular expression with one group")] = None
    throughput: Annotated[str | None, _PATTERN] = None
    seconds: Annotated[str | None, _PATTERN] = None

    table = "programs"
    workload = "command"
    placeholders = PLACEHOLDERS
    takes_rounds = False  # every launch executes it anew
    needs_others = False  # nothing of it runs on the CPUs that a run leaves free
    lives_alone = False  # its processes may live at the same time

    def __post_init__(self) -> None:
        """Refuse keys that contradict each other."""
        _refuse_bytes(self)
        for pattern in (self.items, self.throughput, self.seconds):
            if isinstance(pattern, str):
                _check_one_group(pattern)
        if self.throughput and self.seconds:
            raise StudyError(f"program '{self.name}': use throughput or seconds, not both")
        for line in self.lines.values():
            check_placeholders(f"program '{self.name}'", self.argv(line), self.placeholders)

    @property
    def usual_items(self) -> int:
        """The items of one core if the study sets none."""
        return self.items if isinstance(self.items, int) else 1

    @property
    def lines(self) -> dict[str, CommandLine]:
        """The command lines by their names in the workload, the measured one first."""
        lines = {"argv": self.command, "setup": self.setup, "before_each": self.prepare, "cleanup": self.cleanup}
        return {name: line for name, line in lines.items() if line is not None}

    @property
    def measured(self) -> tuple[CommandLine, ...]:
        """The command lines that are measured."""
        return (self.command,)

    @property
    def configuration(self) -> tuple[str, ...]:
        """The configuration files of what is measured."""
        return ()

    @property
    def options(self) -> dict[str, object]:
        """Further options for its workload."""
        return {}

    @property
    def names(self) -> set[str]:
        """The placeholders that it uses."""
        variables = [value for _, value in self.env if isinstance(value, str)]
        return names_in([*variables, *(word for line in self.lines.values() for word in self.argv(line))])

    def argv(self, line: CommandLine | None = None) -> tuple[str, ...]:
        """The words of its command or of another line, or of the shell that runs the line."""
        given = self.command if line is None else line
        if self.shell:
            return ("/bin/sh", "-c", given if isinstance(given, str) else " ".join(given))
        return split_line(f"program '{self.name}'", given) if isinstance(given, str) else given

    def filled(self, values: Mapping[str, object]) -> dict[str, list[str]]:
        """The words of its command lines with their placeholders filled in."""
        return {name: [fill(word, values) for word in self.argv(line)] for name, line in self.lines.items()}

    def variables(self, shell: Mapping[str, str]) -> dict[str, str]:
        """Its environment variables, with values from the shell filled in."""
        return {name: value if isinstance(value, str) else value.value_in(shell, name) for name, value in self.env}

    @property
    def shell_variables(self) -> tuple[str, ...]:
        """The names of the variables that come from the shell."""
        return tuple(name for name, value in self.env if isinstance(value, FromShell))


def _refuse_bytes(program: Program) -> None:
    """Refuse text that is not UTF-8, since the study is stored as TOML."""
    words = [word for line in program.lines.values() for word in ([line] if isinstance(line, str) else line)]
    words += [text for pair in program.env for text in pair if isinstance(text, str)]
    for text in (*words, *filter(None, (program.cwd, program.stdin))):
        if text != text.encode(errors="replace").decode():
            raise StudyError(
                f"program '{program.name}': '{excerpt(text)}' is not UTF-8 text, so the study cannot be stored; write "
                "it in UTF-8, or put it into a script"
            )


def split_line(where: str, line: str) -> tuple[str, ...]:
    """The words of a command line, split as a shell would."""
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise StudyError(f"{where}: the command line cannot be split ({error}); close its quotes") from error
    if not words:
        raise StudyError(f"{where}: the command line is empty; write a program and its arguments")
    return words


def check_placeholders(where: str, words: tuple[str, ...], placeholders: Sequence[str] = PLACEHOLDERS) -> None:
    """Refuse words in single braces that are not placeholders."""
    for match in _BRACES.finditer(" ".join(words)):
        name = match["name"]
        if name is not None and name not in placeholders:
            known, unknown = ", ".join(f"{{{placeholder}}}" for placeholder in placeholders), excerpt(name)
            raise StudyError(
                f"{where}: unknown placeholder {{{unknown}}}; choose from {known}, or write {{{{{unknown}}}}} for a "
                f"literal {{{unknown}}}"
            )


def fill(text: str, values: Mapping[str, object]) -> str:
    """A text with its placeholders filled in, and {{word}} as {word}."""
    return _BRACES.sub(lambda match: str(values[match["name"]]) if match["name"] else match[0][1:-1], text)


def fill_in(text: str, values: Mapping[str, object]) -> str:
    """A text with these placeholders filled in, and all others left as they are."""
    return _BRACES.sub(lambda match: str(values[match["name"]]) if match["name"] in values else match[0], text)


def names_in(words: Iterable[str]) -> set[str]:
    """The placeholders in words."""
    return {match["name"] for word in words for match in _BRACES.finditer(word) if match["name"]}


def _check_one_group(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except (re.error, RecursionError, OverflowError) as error:
        raise StudyError(f"programs: {excerpt(pattern)!r} is not a regular expression: {error}") from error
    if groups != 1:
        raise StudyError(
            f"programs: {excerpt(pattern)!r} has {groups} groups; put one pair of parentheses around the number"
        )


def fixed_threads(words: Sequence[str]) -> str | None:
    """Words that look like a fixed number of threads, '-T4' or '--threads 4'; None if the line has a placeholder."""
    if any("{" in word for word in words):
        return None
    single = (word for word in words[1:] if FIXED_THREADS.fullmatch(word))
    pairs = (f"{one} {other}" for one, other in pairwise(words[1:]) if other.isdecimal())
    return next(chain(single, (pair for pair in pairs if FIXED_THREADS.fullmatch(pair))), None)
