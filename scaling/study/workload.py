"""Entries of a study's `workloads`: a name with options, a user's own file, or any program. Pure.

calibrated serial=0.2          a workload of the catalogue, with options; quotes hold a value with spaces together
net.py:factory width=64        a factory in a user's own file
command: ./prog -t {threads}   any program; a [[programs]] table can say more about one
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from scaling.errors import StudyError
from scaling.study.keys import did_you_mean
from scaling.study.programs import check_placeholders, split_line

COMMAND = "command:"

# A file and a function in it, of which the path may have spaces; options have '='.
FILE = re.compile(r"[^=]+?\.py(:\S*)?(?!\S)")

Option = bool | int | float | str
Options = tuple[tuple[str, Option], ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A workload of the catalogue."""

    name: str
    options: Options = ()


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A factory in a user's Python file; an empty name is refused later, with the names in the file."""

    path: str
    factory: str
    options: Options = ()


@dataclass(frozen=True, slots=True)
class Command:
    """Any program, with placeholders."""

    argv: tuple[str, ...]


Workload = Named | OwnFile | Command


@dataclass(frozen=True, slots=True)
class Entry:
    """A workload of the catalogue.

    `items` is the batch by size, `infer_items` the batch of inference if it differs, `paper_items` and `fathom_items`
    the batches of the paper and of Fathom. `item` is the shape of an item by size, and in "fathom" if it differs.
    `not_compiled` is the reason, by mode, why XLA under TensorFlow cannot compile it. `needs` is "framework" for a
    network.
    """

    name: str
    about: str
    paper: str
    modes: tuple[str, ...]
    sizes: tuple[str, ...]
    items: dict[str, int]
    layers: int | None = None
    options: dict[str, Option] = field(default_factory=dict)
    not_compiled: dict[str, str] = field(default_factory=dict)
    needs: str | None = None
    infer_items: int | None = None
    paper_items: int | None = None
    fathom_items: int | None = None
    item: dict[str, str] = field(default_factory=dict)


def workload(text: str) -> Workload:
    """The parsed entry of `workloads`."""
    if text.startswith(COMMAND):
        argv = split_line(f"workload '{text}'", text.removeprefix(COMMAND))
        check_placeholders(f"workload '{text}'", argv)
        return Command(argv)
    file = FILE.match(text.strip())
    name = file[0] if file else (text.split() or [""])[0]
    settings = text.strip().removeprefix(name).strip()
    words = split_line(f"workload '{text}'", settings) if settings else ()
    options = tuple(_option(text, word) for word in words)
    path, colon, factory = name.rpartition(":")
    if name.endswith(".py"):
        return OwnFile(name, "", options)
    if colon:
        if not (path.endswith(".py") and factory.isidentifier()):
            raise StudyError(f"workload '{text}': write a file and a function in it, such as net.py:factory")
        return OwnFile(path, factory, options)
    return Named(name, options)


def check_workload(text: str, catalogue: Mapping[str, Entry]) -> Workload:
    """The parsed entry; StudyError if the catalogue lacks the workload or an option."""
    parsed = workload(text)
    if isinstance(parsed, Named):
        if parsed.name not in catalogue:
            raise StudyError(
                f"unknown workload '{parsed.name}'{did_you_mean(parsed.name, catalogue)}; choose from "
                f"{', '.join(sorted(catalogue))}, your own as file.py:factory, or any program as 'command: …'"
            )
        known = catalogue[parsed.name].options
        for name, _ in parsed.options:
            if name not in known:
                raise StudyError(
                    f"workload '{text}': unknown option '{name}'{did_you_mean(name, known)}; "
                    f"{parsed.name} takes {', '.join(known) or 'none'}"
                )
    return parsed


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
