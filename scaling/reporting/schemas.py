"""The JSON of every command as types, from which its JSON Schema is generated.

The number of the schema is at the top of every output. Within one number keys may be added; another number means that
a key has gone or changed its meaning. A number that is unknown or without limit is null.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, NotRequired, TypedDict, get_args, get_type_hints

import msgspec

from scaling.analysis.comparison import Change, Gate
from scaling.analysis.curves.fit import Description
from scaling.analysis.curves.laws import Law
from scaling.analysis.rules import Verdict
from scaling.analysis.sizing.question import Grounds, Replicas, Status
from scaling.analysis.summary import HostSlowdown
from scaling.features import features, resolve
from scaling.machine.doctor.findings import Finding, State
from scaling.reporting.cluster import Pilot
from scaling.reporting.energy import ENERGY_KEYS
from scaling.reporting.points import COUNTERS, DECOMPOSITION, STEP_KEYS
from scaling.reporting.words import SCHEMA
from scaling.results.ledger import Progress
from scaling.results.rows import RowLine
from scaling.results.sections import SECTIONS, Spread
from scaling.study.planning import Point
from scaling.study.workload import Entry

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Fields = Mapping[str, Any]

# Made at run time, which a type checker does not follow.
ARRAY: Any = list
MAP: Any = dict
OPTIONAL: Any = NotRequired
ONLY: Any = Literal

NUMBER = float | None
TEXTS = list[str]


def record(name: str, *parts: Fields, **more: Any) -> Any:
    """An object with these keys."""
    typed_dict: Any = TypedDict
    return typed_dict(name, {key: hint for part in (*parts, more) for key, hint in part.items()})


def fields_of(value_type: type) -> Fields:
    """The fields of a dataclass that is printed as it is."""
    hints = get_type_hints(value_type, include_extras=True)
    return {field.name: hints[field.name] for field in fields(value_type)}


def _estimates(*names: str) -> Fields:
    """Estimates whose ends are keys of their own."""
    return {f"{name}{end}": NUMBER for name in names for end in ("", "_low", "_high")}


def _output(name: str, *parts: Fields, **more: Any) -> Any:
    """What a command prints."""
    return record(name, {"schema": ONLY[SCHEMA]}, *parts, more)


# What another tool's file does not say is null.
SETTINGS: Fields = {name: hint | None for name, hint in get_type_hints(Point).items()}
POINT = record("Point", SETTINGS)
HOST = record("HostSlowdown", fields_of(HostSlowdown))
QUIETNESS = record("Quietness", dict.fromkeys(("p10", "p50", "p90"), NUMBER), quiet_share=float, turns=int)
ON_THIS_HOST: Fields = {"host": HOST | None}
ESTIMATE = record("Estimate", value=NUMBER, low=NUMBER, high=NUMBER)

COUNTER_RATIOS = record("CounterRatios", dict.fromkeys(COUNTERS, ESTIMATE))
LOSSES = record("Decomposition", dict.fromkeys(DECOMPOSITION, ESTIMATE), counters=COUNTER_RATIOS | None)

ENERGY = record("Energy", dict.fromkeys(ENERGY_KEYS.values(), ESTIMATE), domains=TEXTS)
ECONOMY = record(
    "Economy",
    {"sentence": str, "best": POINT, "fastest": POINT, "frontier": ARRAY[POINT]},
    dict.fromkeys(("energy_ratio", "time_ratio"), ESTIMATE),
)
CAP_EFFECT = record(
    "CapEffect",
    {"point": POINT, "reference": POINT, "slows": bool | None, "bound_by": str | None, "share_of_roof": NUMBER},
    dict.fromkeys(("time_ratio", "energy_ratio", "energy_delay_ratio"), ESTIMATE),
)

MEASURED_POINT = record(
    "MeasuredPoint",
    SETTINGS,
    {"launches": int, "left_out": int, "failures": TEXTS, "items_per_step": int | None},
    {"peak_memory_bytes": NUMBER, "throttled_share": NUMBER, "pipeline_share": NUMBER, "decomposition": LOSSES | None},
    {"not_decomposed": str | None, "energy": ENERGY | None},
    _estimates(*STEP_KEYS.values()),
    _estimates("step_seconds", "items_per_second", "speedup", "efficiency", "karp_flatt", "smt_yield"),
    _estimates("common_speedup", "common_efficiency"),
    {"verdict": str, "verdict_code": Verdict, "speedup_at_least": NUMBER, "speedup_at_most": NUMBER},
    ON_THIS_HOST,
    {"doubts": TEXTS, "doubt_codes": TEXTS, "reasons": TEXTS},
)
BETWEEN_MACHINES = record(
    "BetweenMachines",
    {"workload": str, "mode": str, "cores": int, "smt": int, "placement": str, "point": str},
    machines=ARRAY[record("MachineMean", host=str, launches=int, seconds=float)],
    apart=float,
    between=NUMBER,
    within=NUMBER,
)
NODE_TYPE_POINTS = record(
    "NodeTypePoints", node_type=str, points=ARRAY[MEASURED_POINT], between_machines=ARRAY[BETWEEN_MACHINES]
)

SPREADS = record("Sections", dict.fromkeys(SECTIONS, record("Spread", fields_of(Spread))))
SECTIONS_OF_POINTS: Fields = {
    "sections": ARRAY[record("PointSections", SETTINGS, launches=int, steps=int, seconds=SPREADS, normalised=SPREADS)],
    "forked": int,
    "in_turns": int,
}

SERIES = record(
    "SeriesFit",
    {"name": str, "unit": str, "scale": ONLY["strong", "weak"], "measured": ARRAY[float], "launches": ARRAY[int]},
    curve=ARRAY[record("CurvePoint", cores=float, speedup=ESTIMATE, efficiency=ESTIMATE)],
    law=Law,
    serial_fraction=ESTIMATE | None,
    coherency=ESTIMATE | None,
    described_within=NUMBER,
    description=Description,
    limit=ESTIMATE,
    rate_at_1=ESTIMATE,
    karp_flatt=ARRAY[record("KarpFlatt", cores=float, value=NUMBER, low=NUMBER, high=NUMBER)],
    cautions=TEXTS,
    caution_codes=TEXTS,
    truth=record("Truth", serial_fraction=float, inside=bool | None) | None,
    sentence=str,
)

ALLOCATION = record(
    "Allocation",
    {"cores": int, "threads": int, "assurance": NUMBER, "rate": ESTIMATE, "efficiency": ESTIMATE},
    {"cpu_hours_per_million": float, "cost_per_million": float, "extrapolated": bool, "host": HOST | None},
    {"basis": Grounds, "own_point_left_out": bool},
    job_seconds=ESTIMATE | None,
)
ANSWER = record(
    "Answer",
    {"name": str, "unit": str, "question": str, "target": NUMBER, "assurance_asked": float},
    {"status": str, "status_code": Status, "cores": int | None, "threads": int | None, "assurance": NUMBER},
    {"extrapolated": bool | None, "basis": Grounds | None, "needed": ESTIMATE, "allocation": ALLOCATION | None},
    {"neighbours": ARRAY[ALLOCATION], "replicas": record("Replicas", fields_of(Replicas)) | None},
    {"quantile": NUMBER, "items": NUMBER},
    {"reason": str | None, "reason_codes": TEXTS, "described_within": NUMBER},
    {"levels": str | None, "sentence": str},
)
SIDE_BY_SIDE = record(
    "SideBySide",
    series=str,
    cheapest=str,
    fewest_cores=str,
    node_types=MAP[str, record("NodeTypeSize", cores=int, threads=int, cost_per_million=float, rate=float)],
)
ON_DEVICES = record(
    "OnDevices",
    {"name": str, "sentence": str},
    ways=ARRAY[record("Way", device=str, framework=str, replicas=int, cores=int, threads=int, hourly_cost=float),],
)
LIMITS = record(
    "Limits",
    {"name": str, "unit": str, "recommended_cores": int | None, "recommended_threads": int | None},
    dict.fromkeys(("knee_cores", "speedup_limit", "rate_limit", "peak_cores"), ESTIMATE),
    {"described_within": NUMBER},
)

DIFFERENCE = record(
    "Difference",
    SETTINGS,
    {"second_point": POINT},
    _estimates("first_seconds", "second_seconds", "ratio"),
    {"probability": NUMBER, "adjusted_probability": NUMBER, "margin_probability": NUMBER, "beyond_margin": bool},
    {"launches": ARRAY[int], "pairs": int | None, "launches_needed": int | None},
    {"verdict": str, "verdict_code": Change, "point_verdict_codes": ARRAY[Verdict]},
    {"reasons": TEXTS, "reason_codes": TEXTS},
)

NETWORK = record(
    "Network",
    {"workload": str, "mode": str, "size": str, "cores": int, "smt": int, "placement": str},
    {"items_per_step": int, "parameters": int, "weights_bytes": int, "gflops_per_item": float, "step_seconds": float},
    _estimates("gflops_per_second"),
    {"peak_gflops_per_second": NUMBER, "memory_gigabytes_per_second": NUMBER, "doubtful_ceilings": TEXTS},
    {"share_of_peak": NUMBER, "flops_per_byte": float, "bound_by": str | None, "share_of_roof": NUMBER, "valid": bool},
)
STANDING = record(
    "Standing", {"node_type": str}, fields_of(Progress), pilots=ARRAY[record("Pilot", fields_of(Pilot))] | None
)

# What each command prints with --json, and `export --format json` writes; several where it depends on the question.
_CORE: Mapping[str, Any] = {
    "show": _output("Show", points=ARRAY[MEASURED_POINT])
    | _output("ShowCluster", node_types=ARRAY[NODE_TYPE_POINTS])
    | _output("ShowSections", **SECTIONS_OF_POINTS)
    | _output("ShowClusterSections", node_types=ARRAY[record("NodeTypeSections", SECTIONS_OF_POINTS, node_type=str)]),
    "fit": _output("Fit", series=ARRAY[SERIES]),
    "capacity": _output(
        "Capacity",
        answers=ARRAY[ANSWER],
        node_types=OPTIONAL[ARRAY[SIDE_BY_SIDE]],
        devices=OPTIONAL[ARRAY[ON_DEVICES]],
    )
    | _output("CapacityLimits", limits=ARRAY[LIMITS])
    | _output("CapacityEnergy", economies=ARRAY[ECONOMY], caps=ARRAY[CAP_EFFECT]),
    "compare": _output(
        "Compare",
        differs=bool,
        answer=str,
        fail_above=NUMBER,
        gate=Gate | None,
        points=ARRAY[DIFFERENCE],
        only_first=ARRAY[POINT],
        only_second=ARRAY[POINT],
    ),
    "doctor": _output("Doctor", verdict=State, findings=ARRAY[record("Finding", {"code": str}, fields_of(Finding))])
    | _output(
        "DoctorOfResults",
        sentence=str,
        points=ARRAY[record("PointOnHost", SETTINGS, host=QUIETNESS | None, verdict_code=Verdict)],
    ),
    "topology": _output(
        "Topology",
        cpu_model=str | None,
        online=str,
        n_online=int,
        present=str,
        possible=str,
        sockets=int,
        cores=int,
        cores_by_smt=dict[str, int],
        numa_nodes=dict[str, str],
        cpus_without_node=str,
        l3_groups=int,
        cluster_or_l2_groups=int,
        core_kinds=int,
        socket_cpus=TEXTS,
        die_cpus=TEXTS,
        l3_cpus=TEXTS,
        core_cpus=TEXTS,
        kinds=dict[str, str],
        allowed=str,
        isolated=str,
        quota_cpus=NUMBER,
    ),
    "place": _output("Place", cpus=ARRAY[ARRAY[int]], list=str, short=str, cautions=TEXTS),
    "workloads": _output(
        "Workloads",
        workloads=ARRAY[
            record("Workload", fields_of(Entry), parameters=int | None, gmacs_per_item=NUMBER, weights_bytes=int | None)
        ],
    )
    | _output("WorkloadsOfResults", points=ARRAY[NETWORK]),
    "profile": _output("Profile", profiles=ARRAY[dict[str, Any]], analysis=dict[str, Any]),
    "status": _output("Status", driver_running=bool, node_types=ARRAY[STANDING]),
    "export": _output("Export", rows=ARRAY[RowLine]),
}


@cache
def outputs() -> Mapping[str, Any]:
    """What every command prints with --json, those of features last."""
    printed = [one for feature in features() for one in feature.schemas.items()]
    return {**_CORE, **{command: _output(command.title(), resolve(function)()) for command, function in printed}}


def json_schema(command: str) -> dict[str, Any]:
    """The JSON Schema of what a command prints."""
    schemas, definitions = msgspec.json.schema_components(get_args(outputs()[command]) or (outputs()[command],))
    body = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    schema = {"$schema": DIALECT, "title": f"scaling {command}, schema {SCHEMA}", **body, "$defs": definitions}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema))
    return plain
