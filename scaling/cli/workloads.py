"""`scaling workloads`: what can be measured, and what of it a machine achieves."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.errors import StoreError
from scaling.reporting.workloads import workloads_table
from scaling.running.workload_counts import counts, pass_counts
from scaling.study.catalogue import read_catalogue

if TYPE_CHECKING:
    from scaling.analysis.ops.roofline import Achieved

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
    counted = counts([entry.name for entry in entries if entry.layers])
    if as_json:
        unknown = {"parameters": None, "gmacs_per_item": None, "weights_bytes": None}
        print_json([{**asdict(entry), **counted.get(entry.name, unknown)} for entry in entries])
    else:
        print_table(workloads_table(entries, counted))
        print_note('your own: "file.py:factory"; any program: "command: ./prog --threads {intra}"')


def achieved_in(folders: Sequence[Path]) -> "list[Achieved]":
    """What the networks of results folders achieved, against the ceilings these folders have."""
    from scaling.analysis.ops.roofline import StepCounts, achieved, ceilings_of, counted_as
    from scaling.analysis.summary import by_point
    from scaling.results.rows import launch_of
    from scaling.results.store import read_rows

    rows = [row for folder in folders for row in read_rows(folder)]
    machines = {row.machine.fingerprint for row in rows}
    if len(machines) > 1:
        raise StoreError(
            f"the rows of {', '.join(map(str, folders))} come from {len(machines)} machines; a ceiling holds for one, "
            "so give folders of one machine"
        )
    points = by_point(map(launch_of, rows))
    networks = [name for name, entry in read_catalogue().items() if entry.layers]
    wanted = {counted_as(each.point) for each in points if each.point.workload in networks}
    if not wanted:
        raise StoreError(f"no network was measured in {', '.join(map(str, folders))}; there are {', '.join(networks)}")
    found = {}
    for size, mode in sorted({(size, mode) for _, size, mode in wanted}):
        names = sorted(name for name, *rest in wanted if rest == [size, mode])
        for name, told in pass_counts(names, size, mode).items():
            gmacs = told.pop("gmacs_per_item")
            found[name, size, mode] = StepCounts(flops_per_item=2e9 * gmacs, **told)
    return achieved(points, found, ceilings_of(points))


def _print_models(points: "list[Achieved]", as_json: bool) -> None:
    from scaling.reporting.workloads import ceiling_sentences, model_facts, model_table

    if as_json:
        print_json({"points": [model_facts(each) for each in points]})
        return
    print_table(model_table(points))
    for sentence in ceiling_sentences(points):
        print_note(sentence)
    print_note("GFLOPs are of products and convolutions; bytes as if nothing stayed in a cache between operations")
