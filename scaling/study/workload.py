"""What a study's `workloads` entries say: a name with options, a user's own file, or any program. Pure.

calibrated serial=0.2          a workload of ours, with options
net.py:factory width=64        a factory in a user's own file
command: ./prog -t {threads}   any program; what more there is to say of one, a [[programs]] table says
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scaling.errors import StudyError
from scaling.study.keys import did_you_mean
from scaling.study.programs import check_placeholders, split_line

COMMAND = "command:"

Option = bool | int | float | str
Options = tuple[tuple[str, Option], ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A workload of ours."""

    name: str
    options: Options = ()


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A factory in a user's Python file; without its name, the file is refused with the names that it has."""

    path: str
    factory: str
    options: Options = ()


@dataclass(frozen=True, slots=True)
class Command:
    """Any program, its placeholders not yet filled in."""

    argv: tuple[str, ...]


Workload = Named | OwnFile | Command


@dataclass(frozen=True, slots=True)
class Entry:
    """What the catalogue says of a workload of ours.

    `items` are those of a step by size, in inference `infer_items` where they differ; the paper's and Fathom's batches
    are `paper_items` and `fathom_items`, None where it names none. `item` is the shape of one, by size and, where it
    differs, in "fathom". `not_compiled` gives the reason, by mode, why XLA cannot compile it under TensorFlow; `needs`
    is "framework" where one carries it out.
    """

    name: str
    about: str
    paper: str
    layers: int | None
    modes: tuple[str, ...]
    sizes: tuple[str, ...]
    items: Mapping[str, int]
    options: Mapping[str, Option]
    not_compiled: Mapping[str, str]
    needs: str | None = None
    infer_items: int | None = None
    paper_items: int | None = None
    fathom_items: int | None = None
    item: Mapping[str, str] = field(default_factory=dict)


def workload(text: str) -> Workload:
    """What an entry of `workloads` means."""
    if text.startswith(COMMAND):
        return Command(_argv(text))
    name, *settings = text.split()
    options = tuple(_option(text, setting) for setting in settings)
    path, colon, factory = name.rpartition(":")
    if name.endswith(".py"):
        return OwnFile(name, "", options)
    if colon:
        if not (path.endswith(".py") and factory.isidentifier()):
            raise StudyError(f"workload '{text}': write a file and a function in it, such as net.py:factory")
        return OwnFile(path, factory, options)
    return Named(name, options)


def check_workload(text: str, catalogue: Mapping[str, Entry]) -> Workload:
    """What an entry means, refused where our catalogue has no such workload or option."""
    parsed = workload(text)
    if isinstance(parsed, Named):
        if parsed.name not in catalogue:
            raise StudyError(
                f"unknown workload '{parsed.name}'{did_you_mean(parsed.name, catalogue)}; there are "
                f"{', '.join(sorted(catalogue))}, your own as file.py:factory, and any program as 'command: …'"
            )
        known = catalogue[parsed.name].options
        for name, _ in parsed.options:
            if name not in known:
                raise StudyError(
                    f"workload '{text}': unknown option '{name}'{did_you_mean(name, known)}; "
                    f"{parsed.name} takes {', '.join(known) or 'none'}"
                )
    return parsed


def _argv(text: str) -> tuple[str, ...]:
    argv = split_line(f"workload '{text}'", text.removeprefix(COMMAND))
    check_placeholders(f"workload '{text}'", argv)
    return argv


def _option(text: str, setting: str) -> tuple[str, Option]:
    name, equals, value = setting.partition("=")
    if not (equals and name.isidentifier() and value):
        raise StudyError(f"workload '{text}': '{setting}' is not an option; write name=value")
    if value in ("true", "false"):
        return name, value == "true"
    for number in (int, float):
        try:
            return name, number(value)
        except ValueError:
            continue
    return name, value
