"""Sweeps on the nodes of a cluster: a study in shards, each a scheduler job that sweeps on its node."""

from scaling.features import Feature, FigureKind, NodeTypes

_FIGURES = {"efficiency": "Parallel efficiency", "speedup": "Speedup", "capacity": "Throughput"}

FEATURE = Feature(
    figures=tuple(
        FigureKind(
            name,
            f"{title} by node type",
            f"{title.lower()} of the node types",
            "node types",
            f"{__name__}.figures:{name}",
            takes_target=name == "capacity",
        )
        for name, title in _FIGURES.items()
    ),
    node_types=NodeTypes(
        marker="cluster.toml",
        standings=f"{__name__}.reporting:standings",
        members=f"{__name__}.folder:measured_node_types",
        beside_points=f"{__name__}.reporting:beside_points",
        beside_answers=f"{__name__}.reporting:beside_answers",
        draw=f"{__name__}.page:draw",
        write_reports=f"{__name__}.page:write_reports",
    ),
    keys={"cluster": f"{__name__}.cluster:Cluster", "node_types": f"{__name__}.cluster:NodeType"},
    engines={"cluster": f"{__name__}.driver:run_on_cluster"},
    schemas={
        "show": f"{__name__}.reporting:node_type_points",
        "show sections": f"{__name__}.reporting:node_type_sections",
        "capacity": f"{__name__}.reporting:node_type_answers",
    },
)
