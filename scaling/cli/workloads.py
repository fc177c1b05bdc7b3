"""`scaling workloads`: the ready-made workloads, and the rates that networks achieve."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument

from scaling.analysis.roofline import RooflinePoint
from scaling.api.roofline import achieved_in
from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_notes, print_table
from scaling.reporting.workloads import ceiling_sentences, model_facts, model_table, workloads_table
from scaling.running.workload_counts import counts
from scaling.study.catalogue import is_installed, missing_extra_sentence, read_catalogue

Folders = Annotated[
    list[Path] | None,
    Argument(metavar="[DIR…]", help="Results folders of one machine: show the rates of its networks."),
]


def workloads(folders: Folders = None, as_json: Json = False) -> None:
    """List the workloads: paper, layers, parameters, forward GMACs per item, memory, modes, sizes.

    Parameters and GMACs are counted on the networks at published size, which takes half a minute the first time.
    Write your own workload as "file.py:factory", and a program as "command: ./prog --threads {intra}". With results
    folders, show GFLOP/s and arithmetic intensity of each network, and its share of the ceilings measured by
    `scaling sweep ceilings`.

    Example: scaling workloads results/minsky results/ceilings
    """
    if folders:
        _print_models(achieved_in(folders), as_json)
        return
    entries = read_catalogue().values()
    networks = [entry.name for entry in entries if entry.layers]
    can_count = is_installed("tensorflow")
    counted = counts(networks) if can_count else {}
    if as_json:
        unknown = {"parameters": None, "gmacs_per_item": None, "weights_bytes": None}
        print_json({"workloads": [{**asdict(entry), **counted.get(entry.name, unknown)} for entry in entries]})
    else:
        print_table(workloads_table(entries, counted))
        if not can_count:
            print_note(missing_extra_sentence(networks, "tensorflow"))
        print_note('your own workload: "file.py:factory"; any program: "command: ./prog --threads {intra}"')


def _print_models(points: list[RooflinePoint], as_json: bool) -> None:
    if as_json:
        print_json({"points": [model_facts(point) for point in points]})
        return
    print_table(model_table(points))
    print_notes(ceiling_sentences(points))
    print_note("GFLOPs count products and convolutions; bytes assume empty caches between operations")
