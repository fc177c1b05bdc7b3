"""What a size costs: an hourly price per core and per replica, and so a price per million units of work. Pure."""

from dataclasses import dataclass
from typing import Any

SECONDS_AN_HOUR = 3600.0
MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Price:
    """An hour of a core, and an hour of a replica whatever its cores (memory, licence, the rest of the machine)."""

    core_hour: float = 1.0
    replica_hour: float = 0.0

    def hourly(self, cores: Any) -> Any:
        """What a replica of so many cores costs an hour."""
        return self.replica_hour + self.core_hour * cores

    def per_million(self, cores: Any, units_per_second: Any) -> Any:
        """What a million units cost on it."""
        return self.hourly(cores) / units_per_second / SECONDS_AN_HOUR * MILLION


def cpu_hours_per_million(cores: Any, units_per_second: Any) -> Any:
    """Core-hours a million units take."""
    return Price().per_million(cores, units_per_second)
