"""The program `scaling`: its commands, and the one place where a user's mistake becomes a line and a status.

A command's module is imported when the command is called, so that each may import what it needs at its top and
`scaling --help` still answers at once.
"""

import errno
import gc
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import scaling
from scaling.cli.printing import flush_stdout, prepare_streams, print_lines, print_note
from scaling.errors import Interrupted, ScalingError, StudyError, excerpt
from scaling.features import Command, features, resolve

# Group, command, and the first line of its help; module and function have the last word of the command's name.
CORE = {
    "Measure": {
        "run": "Measure a program, given as one would start it, and say how many cores to give it.",
        "sweep": "Run a study; the same command again goes on where it stopped.",
    },
    "Read": {
        "show": "Show the answer, then every point: step time, speedup and efficiency, with intervals and verdicts.",
        "fit": "Say of every series how its curve runs, which serial fraction describes it, and how well.",
        "capacity": "Say how many cores each series needs for a throughput, latency, deadline or cost, and "
        "how sure that is.",
        "compare": "Say which points differ, by how much, and with what certainty; status 1 when any does.",
        "plot": "Draw figures of a results folder: efficiency, speedup with its curves, step times, sizes and more.",
        "report": "Write one page with the answers, a planner, the figures, every point and the machine; it opens "
        "offline.",
        "export": "Write every run of a results folder as a table or JSON, or for pyperf or Extra-P; or its points as "
        "Markdown.",
    },
    "Machine": {
        "machine topology": "Show sockets, cores, SMT, NUMA nodes, caches, core types, allowed CPUs and quota.",
        "machine place": "Show the CPUs a run would get, core by core, or refuse and say what there is.",
        "machine doctor": "Show what would spoil a measurement here, why it matters, and the remedy; changes nothing.",
        "workloads": "Show what can be measured: paper, layers, parameters, forward GMACs per item, memory, modes, "
        "sizes.",
    },
}
# Commands for programs, which help does not list.
HIDDEN = {"": {"schema": "Print the JSON Schema of what a command prints with --json, or of `export --format json`."}}
COMMANDS = {
    name: Command(group, name, summary, f"scaling.cli.{name.split()[-1]}:{name.split()[-1]}")
    for group, commands in (CORE | HIDDEN).items()
    for name, summary in commands.items()
} | {command.name: command for feature in features() for command in feature.commands}
GROUPS = {"machine": "Show the machine, the CPUs that a run would get, and what would spoil a measurement."}
# Rows and points are many, and none is part of a cycle: looking for garbage among them is a tenth of the time.
OBJECTS_BETWEEN_COLLECTIONS = 100_000
CONTEXT = {"help_option_names": ["-h", "--help"]}


class _LazyCommands(Mapping[str, Any]):
    """The commands by name, or those of a group by their second word, each imported when it is looked up."""

    def __init__(self, group: str = "") -> None:
        self.group = group
        words = [name.removeprefix(group).split() for name in COMMANDS if name.startswith(group)]
        self.names = list(dict.fromkeys(first for first, *_ in words))

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        command = COMMANDS.get(f"{self.group}{name}")
        if command is None:
            return LazyGroup(
                name=name,
                group=f"{name} ",
                help=GROUPS[name],
                no_args_is_help=True,
                rich_markup_mode=None,
                context_settings=CONTEXT,
            )
        single = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=CONTEXT)
        # What follows a program's name belongs to the program.
        context = {"allow_interspersed_args": False} if name == "run" else {}
        single.command(name, context_settings=context)(resolve(command.function))
        return typer.main.get_command(single)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class LazyGroup(TyperGroup):
    """Lists commands without importing them, in groups."""

    def __init__(self, group: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.group = group
        self.commands = _LazyCommands(group)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the groups."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A program in the place of a command is answered with the line that measures it."""
        is_other = args and args[0] not in self.commands and not args[0].startswith("-")
        if is_other and not self.group and shutil.which(args[0]):
            raise StudyError(
                f"'{args[0]}' is a program, and no command of scaling; to measure it give: scaling run -- "
                f"{shlex.join(args)}"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every group with the whole summary of its commands."""
        own = [one for one in COMMANDS.values() if one.name.startswith(self.group)]
        for group in dict.fromkeys(one.group for one in own if one.group in CORE):
            with formatter.section(group):
                formatter.write_dl([(one.name, one.summary) for one in own if one.group == group])


app = typer.Typer(
    name="scaling",
    cls=LazyGroup,
    help="How does this program scale on this CPU, and so how many cores should it get?",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_lines(f"scaling {scaling.__version__}")
        raise typer.Exit


@app.callback(epilog="Example: scaling sweep quick")
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """How does this program scale on this CPU, and so how many cores should it get?"""


# What to do where the system has no room for what was asked.
REMEDIES = {
    errno.EMFILE: "allow more open files with ulimit -n",
    errno.ENFILE: "close some of what is open on this machine",
    errno.ENAMETOOLONG: "give a shorter path",
    errno.ENOSPC: "make room, or set TMPDIR or -o to another disk",
    errno.EDQUOT: "make room, or set TMPDIR or -o to another disk",
    errno.EAGAIN: "allow more processes with ulimit -u",
    errno.ENOMEM: "leave it more memory",
}


def refusal_of_the_system(error: OSError) -> str:
    """What the system did not let us do, and what to do about it, in one sentence."""
    what = f"{excerpt(os.fsdecode(error.filename))}: " if isinstance(error.filename, str | bytes) else ""
    remedy = REMEDIES.get(error.errno or 0, "see to it, and give the same command again")
    return f"{what}the system says '{error.strerror or error}'; {remedy}"


def main() -> None:
    """Run one command: status 0 done, 1 no, 2 the user can put it right, 3 a gate has no answer, 130 interrupted."""
    prepare_streams()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        try:
            app()
        finally:
            flush_stdout()
    except BrokenPipeError:  # whoever reads our output has seen enough
        sys.exit(1)
    except ScalingError as error:
        print_note(str(error))
        sys.exit(2)
    except OSError as error:
        print_note(refusal_of_the_system(error))
        sys.exit(2)
    except Interrupted as stopped:
        print_note(str(stopped))
        sys.exit(130)
