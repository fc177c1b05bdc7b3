"""Profiles: the operations of networks, their scaling, and predictions for other machines."""

from scaling.features import Command, Feature, FigureKind

_HERE = __name__

_FIGURES = (
    ("op-steps", "Op time by step", "op time step by step", "figures:op_steps"),
    (
        "op-tail",
        "How few op types make up most of the time",
        "cumulative share of op time by op type",
        "figures:op_tail",
    ),
    ("op-shares", "Which ops take the time", "share of op time by op type", "figures:op_shares"),
    ("op-similarity", "Which workloads are similar", "workloads clustered by their op types", "figures:op_similarity"),
    (
        "op-modes",
        "Training and inference by op class",
        "op classes in training and in inference",
        "scaling_figures:op_modes",
    ),
    ("op-threads", "Ops by thread count", "op times by thread count", "scaling_figures:op_threads"),
    ("op-losses", "Ops that limit each workload", "the ops in which efficiency is lost", "scaling_figures:op_losses"),
)

FEATURE = Feature(
    commands=(
        Command(
            "Measure",
            "profile",
            "Trace the operations of networks: the time of each type in a step, and the time between operations.",
            f"{_HERE}.command:profile",
        ),
    ),
    figures=tuple(
        FigureKind(name, title, description, "traces", f"{_HERE}.{function}")
        for name, title, description, function in _FIGURES
    ),
    subjects={"traces": f"{_HERE}.evaluation:evaluate_ops"},
    schemas={"profile": f"{_HERE}.report:printed"},
)
