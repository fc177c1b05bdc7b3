"""What to trace, as a study: threads are cores, one op at a time unless asked otherwise. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from scaling.errors import StudyError
from scaling.machine.topology import Topology
from scaling.study.planning import Plan, Run, plan
from scaling.study.spec import Study
from scaling.study.workload import Command, Entry, Named, workload

# A traced run takes as many traced steps as it was told to, however long they are; the plain steps after them end at
# `max_seconds`.
DEFAULTS = """
name = "profile"
question = "Which operations do the steps of these networks spend their time in?"
launches = 1
max_seconds = 20
timeout_seconds = 3600
"""

# The plain steps a trace is held against. TensorFlow takes some ninety runs to learn which ops are too cheap to be
# worth another thread, so these end in the state that long runs are in.
PLAIN_STEPS = 100

# First and last are dropped, and something must be left.
LEAST_STEPS = 3


def traced_plan(study: Study, topology: Topology, steps: int) -> Plan:
    """The runs of a study on the thread counts it names, each with so many traced steps, then plain ones.

    One core is neither added nor measured again at the end.
    """
    planned = plan(study, topology)
    runs = (replace(run, traced=steps, steps=PLAIN_STEPS) for run in planned.runs if _asked_for(study, run))
    return replace(planned, runs=tuple(runs))


def _asked_for(study: Study, run: Run) -> bool:
    named = not isinstance(study.cores, tuple) or run.point.cores in study.cores
    return named and run.launch <= study.launches


def check_can_be_traced(study: Study, catalogue: Mapping[str, Entry], steps: int) -> None:
    """Refuse what has no ops to tell apart, before anything is measured."""
    if study.jit:
        raise StudyError(
            f"study '{study.name}': a step compiled by XLA is one opaque operation, so jit = true cannot be profiled; "
            "set jit = false"
        )
    if steps < LEAST_STEPS:
        raise StudyError(
            f"--steps {steps}: the first and the last traced step are dropped; give at least {LEAST_STEPS}"
        )
    for text in study.workloads:
        parsed = workload(text)
        without_ops = isinstance(parsed, Command) or (
            isinstance(parsed, Named) and catalogue[parsed.name].layers is None
        )
        if without_ops:
            networks = ", ".join(name for name, entry in catalogue.items() if entry.layers is not None)
            raise StudyError(
                f"workload '{text}': it is no network, so there are no operations to profile; there are {networks}, "
                "and your own as file.py:factory"
            )
