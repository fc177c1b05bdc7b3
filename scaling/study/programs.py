"""Programs that a study measures: a command line, and what belongs to it. Pure.

A `[[programs]]` table, `scaling run` and the short form `command: ./prog -t {threads}` all describe a `Program`.
Placeholders are filled in for every run. Braces around another word are written twice; all others stay as they are.

    {threads}  {cores}  {smt}  {cpus}  {items}        and {intra}, {inter} where a study varies them

A feature may bring programs of another kind: a subclass with a table, placeholders and a workload of its own.
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

# What looks like a number of threads, or of workers, in a command line.
FIXED_THREADS = re.compile(r"(-[@jnpTt]|--(threads|jobs|workers|procs|processes|numprocesses|parallel)[= ]) ?\d+")
PLACEHOLDERS = ("threads", "cores", "smt", "cpus", "items", "intra", "inter")
_BRACES = re.compile(r"\{\{(?P<plain>\w+)\}\}|\{(?P<name>\w+)\}")

# Read by the libraries that programs get their threads from: OpenMP, BLAS, numexpr, Rayon, Go, Julia.
THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS", "JULIA_NUM_THREADS"),
)

# What executes the file that is named first after it.
INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|julia|Rscript|java|bash|dash|zsh|sh|env|mpirun|mpiexec)[\d.]*")


@dataclass(frozen=True, slots=True)
class FromShell:
    """The value of a variable that a program gets from the shell: it is not kept, only its digest, once it is known."""

    digest: str | None = None

    def value_in(self, shell: Mapping[str, str], name: str) -> str:
        """The value; StudyError where the shell has none, or another than it had."""
        if name not in shell:
            raise StudyError(f"variable {name} is to come from the shell, which has none; set it, or write NAME=VALUE")
        if self.digest not in (None, _digest(name, shell[name])):
            raise StudyError(
                f"variable {name} has another value in this shell than when the study was begun; set that again, or "
                "choose another folder with `folder=`"
            )
        return shell[name]


def from_shell(shell: Mapping[str, str], name: str, known: FromShell) -> FromShell:
    """A variable as the shell has it, by its digest."""
    return FromShell(_digest(name, known.value_in(shell, name)))


def _digest(name: str, value: str) -> str:
    return sha256(os.fsencode(f"{name}={value}")).hexdigest()[:16]


VariableName = Annotated[str, Meta(pattern=r"^[^=\x00]+$")]
Variables = tuple[tuple[VariableName, str | FromShell], ...]
# A line that is split as a shell would, or its words.
CommandLine = Annotated[str, Meta(min_length=1)] | Annotated[tuple[str, ...], Meta(min_length=1)]
Executions = Annotated[int, Meta(ge=1, le=65536)]


def _pairs(value: object) -> object:
    return tuple(value.items()) if isinstance(value, Mapping) else value


_COMMAND = Key("a command line, or a list of its words")
_PATTERN = Key("a regular expression with one group, the number")


def program_name(words: Sequence[str]) -> str:
    """What to call a program that has no name: its file, or the file that an interpreter is given."""
    first, *others = " ".join(words).split() or [""]
    name = PurePath(first).name
    script = PurePath(others[0]).name if others and INTERPRETER.fullmatch(name) else ""
    return script if re.fullmatch(r"[\w+][\w.+-]*", script) else name


@keyed(lambda problem: StudyError(f"programs: {problem}"))
class Program:
    """A program and how it is executed; one execution is one step, unless it prints the seconds of its own.

    Of a launch, `setup` comes before its executions, `prepare` before every single one, `cleanup` after the last; none
    of them is timed. `steps` executions count, after `warmup` that do not. Where it prints what it achieved, `items`,
    `throughput` or `seconds` find it: a program that runs for a fixed time is judged by its throughput.
    """

    name: Annotated[str, Meta(pattern=r"^[\w.+-]+$", max_length=100), Key("a name of letters, digits and . _ + -")]
    command: Annotated[CommandLine, _COMMAND]
    env: Annotated[Variables, Key('a table such as { KEY = "value", OF_THE_SHELL = {} }', _pairs)] = ()
    cwd: Annotated[str | None, Key("a folder")] = None
    stdin: Annotated[str | None, Key("a file")] = None
    setup: Annotated[CommandLine | None, _COMMAND] = None
    prepare: Annotated[CommandLine | None, _COMMAND] = None
    cleanup: Annotated[CommandLine | None, _COMMAND] = None
    shell: Annotated[bool, Key("true or false")] = False
    ignore_failure: Annotated[bool, Key("true or false")] = False
    warmup: Annotated[int, Meta(ge=0, le=65536), Key("a number from 0")] = 0
    steps: Annotated[Executions, Key("a number from 1")] = 1
    items: Annotated[Executions | str | None, Key("a number from 1, or a regular expression with one group")] = None
    throughput: Annotated[str | None, _PATTERN] = None
    seconds: Annotated[str | None, _PATTERN] = None

    table = "programs"
    workload = "command"
    placeholders = PLACEHOLDERS
    takes_rounds = False  # it is executed anew for every launch
    needs_others = False  # it has no use for the CPUs that a run leaves

    def __post_init__(self) -> None:
        """Refuse what its keys cannot mean together."""
        _refuse_bytes(self)
        for pattern in (self.items, self.throughput, self.seconds):
            if isinstance(pattern, str):
                _check_one_group(pattern)
        if self.throughput and self.seconds:
            raise StudyError(f"program '{self.name}': give throughput or seconds, not both")
        for line in self.lines.values():
            check_placeholders(f"program '{self.name}'", self.argv(line), self.placeholders)

    @property
    def lines(self) -> dict[str, CommandLine]:
        """Its command lines by the names that its workload has for them, those of what is measured first."""
        lines = {"argv": self.command, "setup": self.setup, "before_each": self.prepare, "cleanup": self.cleanup}
        return {name: line for name, line in lines.items() if line is not None}

    @property
    def measured(self) -> tuple[CommandLine, ...]:
        """The lines of what is measured."""
        return (self.command,)

    @property
    def configuration(self) -> tuple[str, ...]:
        """The files that what is measured is configured with."""
        return ()

    @property
    def options(self) -> dict[str, object]:
        """What its workload is given beyond what that of every program is."""
        return {}

    @property
    def names(self) -> set[str]:
        """The placeholders that it uses."""
        return names_in(word for line in self.lines.values() for word in self.argv(line))

    def argv(self, line: CommandLine | None = None) -> tuple[str, ...]:
        """The words of its command, or of another line of it; with a shell, what starts that on the line."""
        given = self.command if line is None else line
        if self.shell:
            return ("/bin/sh", "-c", given if isinstance(given, str) else " ".join(given))
        return split_line(f"program '{self.name}'", given) if isinstance(given, str) else given

    def variables(self, shell: Mapping[str, str]) -> dict[str, str]:
        """Its variables, those from the shell among them."""
        return {name: value if isinstance(value, str) else value.value_in(shell, name) for name, value in self.env}

    @property
    def shell_variables(self) -> tuple[str, ...]:
        """The names of those that it gets from the shell."""
        return tuple(name for name, value in self.env if isinstance(value, FromShell))

    @property
    def scales_items(self) -> bool:
        """Whether its command is told how many items to handle."""
        return "items" in names_in(self.argv())


def _refuse_bytes(program: Program) -> None:
    """Refuse text that is not UTF-8: a study is kept, and TOML has no other."""
    words = [word for line in program.lines.values() for word in ([line] if isinstance(line, str) else line)]
    words += [text for pair in program.env for text in pair if isinstance(text, str)]
    for text in (*words, *filter(None, (program.cwd, program.stdin))):
        if text != text.encode(errors="replace").decode():
            raise StudyError(
                f"program '{program.name}': '{excerpt(text)}' is not UTF-8 text, and a study is kept as such; give it "
                "another name, or put it into a script"
            )


def split_line(where: str, line: str) -> tuple[str, ...]:
    """The words of a command line, split as a shell would."""
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise StudyError(f"{where}: the command line does not end well ({error})") from error
    if not words:
        raise StudyError(f"{where}: the command line is empty; give a program and its arguments")
    return words


def check_placeholders(where: str, words: tuple[str, ...], placeholders: Sequence[str] = PLACEHOLDERS) -> None:
    """Refuse words in braces that are neither a placeholder nor written with two braces."""
    for match in _BRACES.finditer(" ".join(words)):
        name = match["name"]
        if name is not None and name not in placeholders:
            known = ", ".join(f"{{{placeholder}}}" for placeholder in placeholders)
            raise StudyError(
                f"{where}: unknown placeholder {{{excerpt(name)}}}; there are {known}, and what is none is written "
                f"{{{{{excerpt(name)}}}}}"
            )


def fill(text: str, values: Mapping[str, object]) -> str:
    """A text with its placeholders filled in, and a word in two braces in one."""
    return _BRACES.sub(lambda match: str(values[match["name"]]) if match["name"] else match[0][1:-1], text)


def fill_in(text: str, values: Mapping[str, object]) -> str:
    """A text with these words in braces filled in, and all others left as they are."""
    return _BRACES.sub(lambda match: str(values[match["name"]]) if match["name"] in values else match[0], text)


def names_in(words: Iterable[str]) -> set[str]:
    """The words in braces that are to be filled in."""
    return {match["name"] for word in words for match in _BRACES.finditer(word) if match["name"]}


def _check_one_group(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except (re.error, RecursionError, OverflowError) as error:
        raise StudyError(f"programs: {excerpt(pattern)!r} is no regular expression: {error}") from error
    if groups != 1:
        raise StudyError(
            f"programs: {excerpt(pattern)!r} has {groups} groups; put one pair of parentheses around the number"
        )


def fixed_threads(words: Sequence[str]) -> str | None:
    """The words of a command line that look like a number of threads, '-T4' or '--threads 4'; None where there are
    none, or where the line has a placeholder."""
    if any("{" in word for word in words):
        return None
    single = (word for word in words[1:] if FIXED_THREADS.fullmatch(word))
    pairs = (f"{one} {other}" for one, other in pairwise(words[1:]) if other.isdecimal())
    return next(chain(single, (pair for pair in pairs if FIXED_THREADS.fullmatch(pair))), None)
