"""Services: a server under load, measured with the load generator that people already use."""

from scaling.features import Feature, FigureKind

_HERE = __name__

FEATURE = Feature(
    figures=(
        FigureKind(
            "clients",
            "Throughput over clients",
            "throughput and latency of services over clients, for every number of cores",
            "rows",
            f"{_HERE}.figure:clients",
        ),
    ),
    programs={"services": f"{_HERE}.service:Service"},
    doubts=(f"{_HERE}.load:doubts",),
    quantities=(f"{_HERE}.report:quantities",),
    sentences=(f"{_HERE}.report:sentences",),
    sections=(f"{_HERE}.report:section",),
    objectives={"service": f"{_HERE}.report:objective"},
    schemas={"capacity": f"{_HERE}.report:printed"},
    library={"Service": f"{_HERE}.service:Service"},
)
