"""`scaling machine`: the machine, the CPUs that a run would get, and what spoils measurements."""

import shutil
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from scaling.cli.options import Json, Root
from scaling.cli.printing import print_json, print_lines, print_note, print_table
from scaling.errors import PlacementError
from scaling.machine import placement as policies
from scaling.machine.doctor.findings import verdict
from scaling.machine.doctor.procfs import examine
from scaling.machine.sysfs import HERE, read_topology
from scaling.machine.topology import parse_list
from scaling.reporting.machine import examination_facts, examination_lines, machine_table, placement_table

# Longer lines of prose are hard to read, even in a wide terminal.
WIDEST = 100


def topology(root: Root = HERE, as_json: Json = False) -> None:
    """Show sockets, cores, SMT, NUMA nodes, caches, core types, allowed CPUs and quota.

    Example: scaling machine topology --json
    """
    machine = read_topology(root)
    if as_json:
        print_json(machine.facts())
    else:
        print_table(machine_table(machine))


def place(
    cores: Annotated[int, Option(metavar="N", help="Physical cores.")],
    smt: Annotated[int, Option(metavar="T", help="Hardware threads per core.")] = 1,
    placement: Annotated[str, Option(metavar="P", help=f"{', '.join(policies.POLICIES)} or cpus:LIST.")] = "compact",
    reserve: Annotated[str, Option(metavar="LIST", help="CPUs to leave free, with their whole cores.")] = "",
    within: Annotated[
        str | None,
        Option(
            metavar="D",
            help="Only in this domain: N (machine), S0 (socket), D0 (die), M8 (NUMA node) or C3 (last-level cache).",
        ),
    ] = None,
    core_type: Annotated[str | None, Option(metavar="K", help="Only cores of this type.")] = None,
    root: Root = HERE,
    as_json: Json = False,
) -> None:
    """Show the CPUs that a run would get, core by core.

    Example: scaling machine place --cores 4 --smt 2 --placement scatter
    """
    machine = read_topology(root)
    try:
        reserved = parse_list(reserve)
    except ValueError as error:
        raise PlacementError(f"--reserve {reserve}: {error}") from error
    chosen = policies.place(machine, policies.Request(cores, smt, placement, within, reserved, core_type))
    cpus = ",".join(map(str, chosen.flat))
    if as_json:
        print_json({"cpus": chosen.cpus, "list": cpus, "short": chosen.short, "cautions": chosen.cautions})
        return
    print_lines(f"{chosen.short}: {cpus}")
    print_table(placement_table(machine, chosen))
    for caution in chosen.cautions:
        print_note(f"caution: {caution}")


def doctor(
    folder: Annotated[
        Path | None, Argument(metavar="[DIR]", help="A results folder: show how quiet the host was during its runs.")
    ] = None,
    root: Root = HERE,
    as_json: Json = False,
) -> None:
    """Show what would spoil a measurement on this machine, why, and the remedy; change nothing.

    With a results folder, show the share of quiet turns, and how much longer all turns took. The exit status is 1 if
    something would spoil a measurement, or if a point is disturbed or had no quiet turn. Thread variables are always
    read from this shell.

    Example: scaling machine doctor --json

    Example: scaling machine doctor results/mine
    """
    if folder is not None:
        _print_host(folder, as_json)
        return
    examination = examine(read_topology(root), root)
    if as_json:
        print_json(examination_facts(examination))
    else:
        print_lines(*examination_lines(examination, min(WIDEST, shutil.get_terminal_size().columns)))
    if verdict(examination) == "spoiler":
        raise Exit(1)


def _print_host(folder: Path, as_json: bool) -> None:
    # These import NumPy, which the other commands do not need.
    from scaling.analysis.rules import Verdict
    from scaling.api.results import load
    from scaling.reporting.quietness import has_quiet_turn, quietness_facts, quietness_sentence, quietness_table

    points = [point for source in load(folder).sources for point in source.points]
    if as_json:
        print_json(quietness_facts(points))
    else:
        print_lines(quietness_sentence(points), "")
        print_table(quietness_table(points))
    slowdowns = [point.summary.slowdown for point in points]
    never_quiet = any(slowdown is not None and not has_quiet_turn(slowdown) for slowdown in slowdowns)
    if never_quiet or any(point.verdict is Verdict.DISTURBED for point in points):
        raise Exit(1)
