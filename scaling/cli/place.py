"""`scaling machine place`: the CPUs a run would get, or why not."""

from typing import Annotated

import typer

from scaling.cli.options import Json, Root
from scaling.cli.printing import print_json, print_lines, print_note, print_table
from scaling.errors import PlacementError
from scaling.machine import placement as policies
from scaling.machine.cpulist import parse_list
from scaling.machine.sysfs import HERE, read_topology
from scaling.reporting.machine import placement_table


def place(
    cores: Annotated[int, typer.Option(metavar="N", help="Physical cores.")],
    smt: Annotated[int, typer.Option(metavar="T", help="Hardware threads used of each core.")] = 1,
    placement: Annotated[
        str, typer.Option(metavar="P", help=f"{', '.join(policies.POLICIES)} or cpus:LIST.")
    ] = "compact",
    reserve: Annotated[str, typer.Option(metavar="LIST", help="CPUs to leave alone, with their whole cores.")] = "",
    within: Annotated[str | None, typer.Option(metavar="D", help="Only in this domain: N, S0, D0, M8, C3.")] = None,
    core_type: Annotated[str | None, typer.Option(metavar="K", help="Only cores of this type.")] = None,
    root: Root = HERE,
    as_json: Json = False,
) -> None:
    """Show the CPUs a run would get, core by core, or refuse and say what there is.

    Example: scaling machine place --cores 4 --smt 2 --placement scatter
    """
    machine = read_topology(root)
    try:
        reserved = parse_list(reserve)
    except ValueError as error:
        raise PlacementError(f"--reserve {reserve}: {error}") from error
    chosen = policies.place(machine, policies.Request(cores, smt, placement, within, reserved, core_type))
    if as_json:
        print_json(
            {
                "cpus": chosen.cpus,
                "list": ",".join(map(str, chosen.flat)),
                "short": chosen.short,
                "cautions": chosen.cautions,
            }
        )
    else:
        print_lines(f"{chosen.short}: {','.join(map(str, chosen.flat))}")
        print_table(placement_table(machine, chosen))
        for caution in chosen.cautions:
            print_note(f"caution: {caution}")
