"""Services that a study measures: the command line of a server, and that of what puts it under load. Pure.

{clients}  {rate}   of the load                     {port}    a port that is free
{folder}            an empty folder of the launch   {NAME}    a file of `files`, with its placeholders filled in
"""

import re
from typing import Annotated

from msgspec import Meta

from scaling.errors import StudyError
from scaling.study.keys import Key, keyed
from scaling.study.programs import _COMMAND, PLACEHOLDERS, CommandLine, Program, _check_one_group, _pairs

PERCENTILE = re.compile(r"p\d{1,2}(\.\d+)?|mean|max")
# What only the process of a run knows.
LATE = ("port", "folder")

Pairs = tuple[tuple[str, str], ...]


@keyed(lambda problem: StudyError(f"services: {problem}"))
class Service(Program):
    """A server, and the load generator that is executed once per turn; one server serves all turns of its launch.

    The server is ready when a line that it prints matches `ready` or, without one, when its port answers. `latency`
    finds times such as 1.2ms in what the generator prints, by percentile; a number alone is in milliseconds.
    """

    command: Annotated[CommandLine, Key("the command line of the load generator, or a list of its words", name="load")]
    serve: Annotated[CommandLine, _COMMAND]
    throughput: Annotated[str, Key("a regular expression with one group, the requests per second")]
    latency: Annotated[Pairs, Key('a table such as { p99 = "99%\\\\s+(\\\\S+)" }', _pairs)] = ()
    files: Annotated[Pairs, Key('a table such as { conf = "nginx.conf" }', _pairs)] = ()
    port: Annotated[Annotated[int, Meta(ge=1, le=65535)] | None, Key("a port, where the server has its own")] = None
    ready: Annotated[str | None, Key("a regular expression that a line of the server matches once it is ready")] = None
    ready_seconds: Annotated[float, Meta(gt=0, le=3600), Key("seconds above 0, at most an hour")] = 60.0
    stop_seconds: Annotated[float, Meta(gt=0, le=3600), Key("seconds above 0, at most an hour")] = 10.0
    warmup: Annotated[int, Meta(ge=0, le=65536), Key("a number from 0")] = 1

    table = "services"
    workload = "scaling.features.services.server"
    takes_rounds = True
    needs_others = True

    def __post_init__(self) -> None:
        """Refuse what its keys cannot mean together."""
        Program.__post_init__(self)
        for name, pattern in self.latency:
            if not PERCENTILE.fullmatch(name):
                raise StudyError(f"service '{self.name}': latency '{name}' is none; give p50, p99, p99.9, mean or max")
            _check_one_group(pattern)
        if self.seconds or self.items is not None:
            raise StudyError(f"service '{self.name}' is measured by its throughput; leave seconds and items out")
        if self.ready is None and self.port is None and "port" not in self.names:
            raise StudyError(
                f"service '{self.name}' names no port, so that nothing says when it is ready; put {{port}} into its "
                "line, or give port or ready"
            )

    @property
    def placeholders(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of every program, of its load, and its files."""
        return (*PLACEHOLDERS, "clients", "rate", *LATE, *(name for name, _ in self.files))

    @property
    def lines(self) -> dict[str, CommandLine]:
        """Its command lines by the names that its workload has for them."""
        return {**Program.lines.fget(self), "serve": self.serve}  # type: ignore[attr-defined]

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
        """How its server is started, and what its generator prints."""
        return {
            "ready": self.ready,
            "ready_seconds": self.ready_seconds,
            "stop_seconds": self.stop_seconds,
            "port": self.port,
            "latency": dict(self.latency),
            "files": dict(self.files),
        }
