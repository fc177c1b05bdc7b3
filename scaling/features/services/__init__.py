"""Services: a server under load, measured with an existing load generator."""

from scaling.features import Feature, FigureKind

FEATURE = Feature(
    figures=(
        FigureKind(
            "clients",
            "Throughput by clients",
            "throughput and latency of services by number of clients, for every number of cores",
            "rows",
            f"{__name__}.figure:clients",
        ),
    ),
    programs={"services": f"{__name__}.service:Service"},
    doubts=(f"{__name__}.load:doubts",),
    quantities=(f"{__name__}.report:quantities",),
    sentences=(f"{__name__}.report:sentences",),
    sections=(f"{__name__}.report:section",),
    objectives={"service": f"{__name__}.report:objective"},
    schemas={"capacity": f"{__name__}.report:printed"},
    library={"Service": f"{__name__}.service:Service"},
)
