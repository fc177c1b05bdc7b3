"""Sweeps on the nodes of a cluster: a study in shards, each a job of the scheduler that sweeps on its node."""

from scaling.features import Command, Feature, FigureKind, NodeTypes

_HERE = __name__

FEATURE = Feature(
    commands=(
        Command(
            "Measure",
            "status",
            "Show how far a sweep on a cluster has come: runs made per node type, and its jobs.",
            f"{_HERE}.status:status",
        ),
    ),
    figures=(
        FigureKind(
            "efficiency",
            "Parallel efficiency by node type",
            "parallel efficiency of the node types",
            "node types",
            f"{_HERE}.figures:efficiency",
        ),
        FigureKind(
            "speedup", "Speedup by node type", "speedup of the node types", "node types", f"{_HERE}.figures:speedup"
        ),
        FigureKind(
            "capacity",
            "Throughput by node type",
            "throughput of the node types",
            "node types",
            f"{_HERE}.figures:capacity",
            takes_target=True,
        ),
    ),
    node_types=NodeTypes(
        marker="cluster.toml",
        members=f"{_HERE}.folder:measured_node_types",
        beside_points=f"{_HERE}.reporting:beside_points",
        beside_answers=f"{_HERE}.reporting:beside_answers",
        draw=f"{_HERE}.reporting:draw",
        write_reports=f"{_HERE}.reporting:write_reports",
    ),
    engines={"cluster": f"{_HERE}.driver:run_on_cluster"},
    schemas={"status": f"{_HERE}.status:printed"},
)
