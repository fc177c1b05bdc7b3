"""Tuning: the best settings of a workload or program on this machine, found by racing them."""

from scaling.features import Command, Feature

_HERE = __name__

FEATURE = Feature(
    commands=(
        Command(
            "Measure",
            "tune",
            "Find the best settings: threads, placement, SMT and XLA of a workload, or any parameter of a program.",
            f"{_HERE}.command:tune",
        ),
    ),
    answers=(f"{_HERE}.report:study_answers",),
    sections=(f"{_HERE}.report:section",),
    schemas={"tune": f"{_HERE}.report:printed"},
    library={"Tuned": f"{_HERE}.library:Tuned", "tune": f"{_HERE}.library:tune"},
    files={"tuning.json": f"{_HERE}.report:read_search"},
)
