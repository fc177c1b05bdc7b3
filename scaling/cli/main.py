"""The program `scaling`: its commands, and the one place where a user's mistake becomes a line and a status."""

import sys

import typer

from scaling.cli import (
    capacity,
    compare,
    doctor,
    export,
    fit,
    place,
    plot,
    profile,
    report,
    show,
    status,
    sweep,
    topology,
    workloads,
)
from scaling.cli.printing import print_note
from scaling.errors import ScalingError

app = typer.Typer(
    name="scaling",
    help="How does this program scale on this CPU, and so how many cores should it get?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("topology")(topology.topology)
app.command("place")(place.place)
app.command("doctor")(doctor.doctor)
app.command("workloads")(workloads.workloads)
app.command("sweep")(sweep.sweep)
app.command("status")(status.status)
app.command("show")(show.show)
app.command("fit")(fit.fit)
app.command("capacity")(capacity.capacity)
app.command("profile")(profile.profile)
app.command("plot")(plot.plot)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("export")(export.export)


def main() -> None:
    """Run one command: status 0 done, 1 the answer is no, 2 the user can put it right, 130 interrupted."""
    try:
        app()
    except ScalingError as error:
        print_note(str(error))
        sys.exit(2)
