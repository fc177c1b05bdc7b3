"""The types of what `show` and `capacity` print of several node types with --json."""

from scaling.reporting.json_types import ARRAY, MAP, NUMBER, Fields, record
from scaling.reporting.schemas import ANSWERS, SECTIONS_OF_POINTS, SHOWN

BETWEEN_MACHINES = record(
    "BetweenMachines",
    {"workload": str, "mode": str, "cores": int, "smt": int, "placement": str, "point": str},
    machines=ARRAY[record("MachineMean", host=str, launches=int, seconds=float)],
    apart=float,
    between=NUMBER,
    within=NUMBER,
)
JOB = record("Job", {"job": str | None, "state": str, "node": str | None, "runs": int, "reason": str | None})
STANDING = record("Standing", node_type=str, planned=int | None, done=int, jobs=ARRAY[JOB])
SIDE_BY_SIDE = record(
    "SideBySide",
    series=str,
    cheapest=str,
    fewest_cores=str,
    node_types=MAP[str, record("NodeTypeSize", cores=int, threads=int, cost_per_million=float, rate=float)],
)


def node_type_points() -> Fields:
    """How far its sweep has come, the points of every node type, and those measured on several of its machines."""
    points = {"node_type": str, **SHOWN, "between_machines": ARRAY[BETWEEN_MACHINES]}
    standings = {"driver_running": bool, "standings": ARRAY[STANDING]}
    return {**standings, "node_types": ARRAY[record("NodeTypePoints", points)]}


def node_type_sections() -> Fields:
    """The sections of every node type."""
    return {"node_types": ARRAY[record("NodeTypeSections", SECTIONS_OF_POINTS, node_type=str)]}


def node_type_answers() -> Fields:
    """The answers of all node types, and the node types side by side."""
    return {**ANSWERS, "node_types": ARRAY[SIDE_BY_SIDE]}
