"""Sweeps on the nodes of a cluster: a study in shards, each a job of the scheduler that sweeps on its node."""

from scaling.features import Feature, FigureKind, NodeTypes

_HERE = __name__

FEATURE = Feature(
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
        standings=f"{_HERE}.status:standings",
        members=f"{_HERE}.folder:measured_node_types",
        beside_points=f"{_HERE}.reporting:beside_points",
        beside_answers=f"{_HERE}.reporting:beside_answers",
        draw=f"{_HERE}.reporting:draw",
        write_reports=f"{_HERE}.reporting:write_reports",
    ),
    keys={"cluster": f"{_HERE}.cluster:Cluster", "node_types": f"{_HERE}.cluster:NodeType"},
    engines={"cluster": f"{_HERE}.driver:run_on_cluster"},
    schemas={
        "show": f"{_HERE}.schemas:node_type_points",
        "show sections": f"{_HERE}.schemas:node_type_sections",
        "capacity": f"{_HERE}.schemas:node_type_answers",
    },
)
