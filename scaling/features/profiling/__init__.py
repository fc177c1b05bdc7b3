"""Profiles: the operations that steps of networks spend their time in, how they scale, and what other machines take."""

from scaling.features import Command, Feature, FigureKind

_HERE = __name__

FEATURE = Feature(
    commands=(
        Command(
            "Measure",
            "profile",
            "Trace the operations of networks: how long each type takes in a step, and what lies between them.",
            f"{_HERE}.command:profile",
        ),
    ),
    figures=(
        FigureKind("op-steps", "Op time by step", "op time step by step", "traces", f"{_HERE}.figures:op_steps"),
        FigureKind(
            "op-tail",
            "How few op types make up most of the time",
            "cumulative share of op time by op type",
            "traces",
            f"{_HERE}.figures:op_tail",
        ),
        FigureKind(
            "op-shares",
            "Which ops take the time",
            "share of op time by op type",
            "traces",
            f"{_HERE}.figures:op_shares",
        ),
        FigureKind(
            "op-similarity",
            "Which workloads are similar",
            "workloads clustered by their op types",
            "traces",
            f"{_HERE}.figures:op_similarity",
        ),
        FigureKind(
            "op-modes",
            "Training and inference by op class",
            "op classes in training and in inference",
            "traces",
            f"{_HERE}.scaling_figures:op_modes",
        ),
        FigureKind(
            "op-threads",
            "Ops by thread count",
            "op times by thread count",
            "traces",
            f"{_HERE}.scaling_figures:op_threads",
        ),
        FigureKind(
            "op-losses",
            "What limits each workload",
            "the ops in which efficiency is lost",
            "traces",
            f"{_HERE}.scaling_figures:op_losses",
        ),
    ),
    subjects={"traces": f"{_HERE}.evaluation:evaluate_ops"},
    schemas={"profile": f"{_HERE}.report:printed"},
)
