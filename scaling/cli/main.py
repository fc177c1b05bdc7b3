"""The program `scaling`: its commands, and the exit status and message for every error of a user.

Modules of commands are imported on demand, so that `scaling --help` stays fast.
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

# Commands by group, with the first line of their help; the function has the last word of the name.
CORE = {
    "Measure": {
        "run": "Measure a program and show how many cores to give it.",
        "sweep": "Run a study; the same command again resumes it.",
    },
    "Read": {
        "show": "Show the answer, then every point: step time, speedup and efficiency, with intervals and verdicts.",
        "fit": "Fit a curve and a law to every series: speedup, serial fraction, limit, and how well the law fits.",
        "capacity": "Show how many cores each series needs for a throughput, latency, deadline or cost, and how sure "
        "that is.",
        "compare": "Show which points differ and by how much, with intervals; exit status 1 if any differs.",
        "plot": "Draw figures of a results folder: efficiency, speedup with its curves, step times, sizes and more.",
        "report": "Write a self-contained page with the answers, a planner, the figures, every point and the machine.",
        "export": "Export runs as CSV, Parquet or JSON, for pyperf or Extra-P, or points as Markdown.",
    },
    "Machine": {
        "machine topology": "Show sockets, cores, SMT, NUMA nodes, caches, core types, allowed CPUs and quota.",
        "machine place": "Show the CPUs that a run would get, core by core.",
        "machine doctor": "Show what would spoil a measurement on this machine, why, and the remedy; change nothing.",
        "workloads": "List the workloads: paper, layers, parameters, forward GMACs per item, memory, modes, sizes.",
    },
}
# Commands for programs, not listed in the help.
HIDDEN = {"": {"schema": "Print the JSON Schema of a command's --json output, or of `export --format json`."}}
COMMANDS = {
    name: Command(group, name, summary, f"scaling.cli.{name.split()[0]}:{name.split()[-1]}")
    for group, commands in (CORE | HIDDEN).items()
    for name, summary in commands.items()
} | {command.name: command for feature in features() for command in feature.commands}
GROUPS = {"machine": "Show the machine, the CPUs that a run would get, and what would spoil a measurement."}
# Rows and points are many and form no cycles; collecting garbage among them took a tenth of the time.
OBJECTS_BETWEEN_COLLECTIONS = 100_000
CONTEXT = {"help_option_names": ["-h", "--help"]}


class _LazyCommands(Mapping[str, Any]):
    """The commands by name, or by second word within a group, each imported on lookup."""

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
        # Options after the name of a program belong to the program.
        context = {"allow_interspersed_args": False} if name == "run" else {}
        single.command(name, context_settings=context)(resolve(command.function))
        return typer.main.get_command(single)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class LazyGroup(TyperGroup):
    """A group that lists its commands without importing them."""

    def __init__(self, group: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.group = group
        self.commands = _LazyCommands(group)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the groups."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Answer the name of a program with the command that measures it."""
        is_other = args and args[0] not in self.commands and not args[0].startswith("-")
        if is_other and not self.group and shutil.which(args[0]):
            raise StudyError(
                f"'{args[0]}' is a program and not a command of scaling; to measure it, run: scaling run -- "
                f"{shlex.join(args)}"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every group with the full summaries of its commands."""
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


# Remedies for errors of the system.
REMEDIES = {
    errno.EMFILE: "allow more open files with ulimit -n",
    errno.ENFILE: "close files on this machine",
    errno.ENAMETOOLONG: "use a shorter path",
    errno.ENOSPC: "make room, or set TMPDIR or -o to another disk",
    errno.EDQUOT: "make room, or set TMPDIR or -o to another disk",
    errno.EAGAIN: "allow more processes with ulimit -u",
    errno.ENOMEM: "free some memory",
}


def refusal_of_the_system(error: OSError) -> str:
    """An error of the system and its remedy, in one sentence."""
    what = f"{excerpt(os.fsdecode(error.filename))}: " if isinstance(error.filename, str | bytes) else ""
    remedy = REMEDIES.get(error.errno or 0, "fix that and run the same command again")
    return f"{what}the system says '{error.strerror or error}'; {remedy}"


def main() -> None:
    """Run a command: status 0 success, 1 no, 2 an error of the user, 3 a gate without an answer, 130 interrupted."""
    prepare_streams()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        try:
            app()
        finally:
            flush_stdout()
    except BrokenPipeError:  # the reader closed the pipe
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
