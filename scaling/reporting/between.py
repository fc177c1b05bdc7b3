"""How alike the machines of a kind are, as a table and JSON facts."""

from collections.abc import Sequence

from scaling.analysis.between_machines import Between
from scaling.reporting.tables import Table
from scaling.reporting.words import duration, point_words, share


def between_table(found: Sequence[Between]) -> Table:
    """Points measured on several machines: each with its launches, and how far they are apart."""
    rows = [
        (
            point_words(each.point),
            ", ".join(f"{host} {duration(mean)} ({launches})" for host, launches, mean in each.machines),
            share(each.apart),
            "-" if each.between is None else share(each.between),
            "-" if each.within is None else share(each.within),
        )
        for each in found
    ]
    return Table(("point", "machines (launches)", ">apart", ">sd between", ">sd of launches"), rows)


def between_facts(each: Between) -> dict[str, object]:
    """The same for scripts."""
    machines = [{"host": host, "launches": launches, "seconds": mean} for host, launches, mean in each.machines]
    told = {"workload": each.point.workload, "mode": each.point.mode, "cores": each.point.cores, "smt": each.point.smt}
    told |= {"placement": each.point.placement, "point": point_words(each.point)}
    return {**told, "machines": machines, "apart": each.apart, "between": each.between, "within": each.within}
