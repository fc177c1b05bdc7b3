"""What pictures and pages read of a cluster's folder: what every kind comes to, and the price of its cores."""

from pathlib import Path

from scaling.cli.sources import read_places
from scaling.results.evaluation import evaluate
from scaling.results.folder import read_folder
from scaling.results.node_types import NodeTypeEvaluation


def read_kind_results(folder: Path, include_invalid: bool) -> list[NodeTypeEvaluation]:
    """Every kind with results, in the order of the cluster file."""
    return [
        NodeTypeEvaluation(place.kind, place.core_hour, evaluate(read_folder(place.folder), include_invalid))
        for place in read_places(folder)
        if place.kind is not None and place.core_hour is not None
    ]
