"""`scaling workloads`: what can be measured, and what of it a machine achieves."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.roofline import RooflinePoint
from scaling.api.roofline import achieved_in
from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.reporting.workloads import ceiling_sentences, model_facts, model_table, workloads_table
from scaling.running.workload_counts import counts
from scaling.study.catalogue import is_installed, missing_extra_sentence, read_catalogue

Folders = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[DIR…]", help="Results folders of one machine: show what its networks achieve."),
]


def workloads(folders: Folders = None, as_json: Json = False) -> None:
    """Show what can be measured: paper, layers, parameters, forward GMACs per item, memory, modes, sizes.

    Parameters and GMACs are counted on the networks themselves, at published size: half a minute the first time.
    Your own comes as "file.py:factory", any program as "command: ./prog --threads {intra}". With results folders: the
    GFLOP/s each network achieved, its arithmetic intensity, and its share of the ceilings `scaling sweep ceilings`
    measured.

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
        print_note('your own: "file.py:factory"; any program: "command: ./prog --threads {intra}"')


def _print_models(points: list[RooflinePoint], as_json: bool) -> None:
    if as_json:
        print_json({"points": [model_facts(point) for point in points]})
        return
    print_table(model_table(points))
    for sentence in ceiling_sentences(points):
        print_note(sentence)
    print_note("GFLOPs are of products and convolutions; bytes as if nothing stayed in a cache between operations")
