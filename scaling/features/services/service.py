"""Services in a study: the command lines of a server and of its load generator. Pure.

{clients}  {rate}   of the load                     {port}    a free port
{folder}            an empty folder of the launch   {NAME}    a file of `files`, with its placeholders filled in
"""

import re
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from scaling.errors import StudyError
from scaling.study.keys import Key, keyed
from scaling.study.programs import _COMMAND, PLACEHOLDERS, CommandLine, Program, _check_one_group, _pairs

PERCENTILE = re.compile(r"p\d{1,2}(\.\d+)?|mean|max")
# Known only to the process of a run.
LATE = ("port", "folder")

Pairs = tuple[tuple[str, str], ...]


@keyed(lambda problem: StudyError(f"services: {problem}"))
class Service(Program):
    """A server that stays up for a launch, and the load generator that is executed once per turn.

    The server is ready when a line of its output matches `ready` or, without a pattern, when its port answers.
    `latency` has a pattern per percentile for times such as 1.2ms in the generator's output; plain numbers are
    milliseconds.
    """

    command: Annotated[CommandLine, Key("the command line of the load generator, or a list of its words", name="load")]
    serve: Annotated[CommandLine, _COMMAND]
    throughput: Annotated[str, Key("a regular expression with one group, the requests per second")]
    latency: Annotated[Pairs, Key('a table such as { p99 = "99%\\\\s+(\\\\S+)" }', _pairs)] = ()
    files: Annotated[Pairs, Key('a table such as { conf = "nginx.conf" }', _pairs)] = ()
    port: Annotated[Annotated[int, Meta(ge=1, le=65535)] | None, Key("the port, if the server has a fixed one")] = None
    ready: Annotated[str | None, Key("a regular expression that the server's output matches once it is ready")] = None
    ready_seconds: Annotated[float, Meta(gt=0, le=3600), Key("seconds above 0, at most an hour")] = 60.0
    stop_seconds: Annotated[float, Meta(gt=0, le=3600), Key("seconds above 0, at most an hour")] = 10.0
    warmup: Annotated[int, Meta(ge=0, le=65536), Key("a number from 0")] = 1

    table = "services"
    workload = "scaling.features.services.server"
    takes_rounds = True
    needs_others = True

    def __post_init__(self) -> None:
        """Refuse keys that contradict each other."""
        Program.__post_init__(self)
        for name, pattern in self.latency:
            if not PERCENTILE.fullmatch(name):
                raise StudyError(
                    f"service '{self.name}': latency '{name}' is not known; use p50, p99, p99.9, mean or max"
                )
            _check_one_group(pattern)
        if self.seconds or self.items is not None:
            raise StudyError(f"service '{self.name}' is measured by its throughput; leave seconds and items out")
        if self.ready is None and self.port is None and "port" not in self.names:
            raise StudyError(
                f"service '{self.name}': nothing shows when it is ready; put {{port}} into its command line, "
                "or set port or ready"
            )

    @property
    def placeholders(self) -> tuple[str, ...]:  # type: ignore[override]
        """The placeholders of every program, of the load, and of its files."""
        return (*PLACEHOLDERS, "clients", "rate", *LATE, *(name for name, _ in self.files))

    @property
    def lives_alone(self) -> bool:  # type: ignore[override]
        """Whether only one of its servers can live at a time: a fixed port is theirs in turn."""
        return self.port is not None

    @property
    def lines(self) -> dict[str, CommandLine]:
        """Its command lines by the names in its workload."""
        return {**Program.lines.fget(self), "serve": self.serve}  # type: ignore[attr-defined]

    def filled(self, values: Mapping[str, object]) -> dict[str, list[str]]:
        """The words of its command lines as they are: the process of a run has the values, and knows more of them."""
        return {name: list(self.argv(line)) for name, line in self.lines.items()}

    @property
    def measured(self) -> tuple[CommandLine, ...]:
        """The server and the generator."""
        return (self.serve, self.command)

    @property
    def configuration(self) -> tuple[str, ...]:
        """The files that it fills in."""
        return tuple(path for _, path in self.files)

    @property
    def options(self) -> dict[str, object]:
        """The further arguments of its workload."""
        plain = ("ready", "ready_seconds", "stop_seconds", "port")
        pairs = {"latency": dict(self.latency), "files": dict(self.files)}
        return {**{name: getattr(self, name) for name in plain}, **pairs}
