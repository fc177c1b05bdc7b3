"""Sweeps on the nodes of a cluster: a study in shards, each a scheduler job that sweeps on its node."""

from scaling.features import Feature, FigureKind, NodeTypes

_HERE = __name__

FEATURE = Feature(
    figures=(
        FigureKind(
            "efficiency",
            "Parallel efficiency by node type",
            "parallel efficiency of the node types",
            "node types",
            f"{__name__}.figures:efficiency",
        ),
        FigureKind(
            "speedup", "Speedup by node type", "speedup of the node types", "node types", f"{__name__}.figures:speedup"
        ),
        FigureKind(
            "capacity",
            "Throughput by node type",
            "throughput of the node types",
            "node types",
            f"{__name__}.figures:capacity",
            takes_target=True,
        ),
    ),
    node_types=NodeTypes(
        marker="cluster.toml",
        standings=f"{__name__}.status:standings",
        members=f"{__name__}.folder:measured_node_types",
        beside_points=f"{__name__}.reporting:beside_points",
        beside_answers=f"{__name__}.reporting:beside_answers",
        draw=f"{__name__}.page:draw",
        write_reports=f"{__name__}.page:write_reports",
    ),
    engines={"cluster": f"{__name__}.driver:run_on_cluster"},
    schemas={
        "show": f"{__name__}.reporting:node_type_points",
        "show sections": f"{__name__}.reporting:node_type_sections",
        "capacity": f"{__name__}.reporting:node_type_answers",
    },
)
