"""`scaling machine topology`: what this machine, or a recorded one, is."""

from scaling.cli.options import Json, Root
from scaling.cli.printing import print_json, print_table
from scaling.machine.sysfs import HERE, read_topology
from scaling.reporting.machine import machine_table


def topology(root: Root = HERE, as_json: Json = False) -> None:
    """Show sockets, cores, SMT, NUMA nodes, caches, core types, allowed CPUs and quota.

    Example: scaling machine topology --json
    """
    machine = read_topology(root)
    if as_json:
        print_json(machine.facts())
    else:
        print_table(machine_table(machine))
