"""`scaling workloads`: what can be measured."""

from dataclasses import asdict

from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.running.describing import COUNTED, counts
from scaling.showing.tables import workloads_table
from scaling.study.finding import read_catalogue


def workloads(as_json: Json = False) -> None:
    """Show what can be measured: paper, layers, parameters, forward GMACs per item, memory, modes, sizes.

    Parameters and GMACs are counted on the networks themselves, at published size: half a minute the first time.
    Your own comes as "file.py:factory", any program as "command: ./prog --threads {intra}".

    Example: scaling workloads --json
    """
    entries = read_catalogue().values()
    counted = counts([entry.name for entry in entries if entry.layers])
    if as_json:
        unknown = dict.fromkeys(COUNTED)
        print_json([{**asdict(entry), **counted.get(entry.name, unknown)} for entry in entries])
    else:
        print_table(workloads_table(entries, counted))
        print_note('your own: "file.py:factory"; any program: "command: ./prog --threads {intra}"')
