"""`scaling workloads`: what can be measured."""

from dataclasses import asdict

from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.showing.tables import workloads_table
from scaling.study.finding import read_catalogue


def workloads(as_json: Json = False) -> None:
    """Show what can be measured: name, paper, items per step, modes, sizes, parameters.

    Your own comes as "file.py:factory", any program as "command: ./prog --threads {intra}".

    Example: scaling workloads --json
    """
    entries = list(read_catalogue().values())
    if as_json:
        print_json([asdict(entry) for entry in entries])
    else:
        print_table(workloads_table(entries))
        print_note('your own: "file.py:factory"; any program: "command: ./prog --threads {intra}"')
