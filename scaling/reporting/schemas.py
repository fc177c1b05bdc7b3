"""The JSON of every command as types, from which its JSON Schema is generated.

Every output begins with the number of its schema. New keys keep the number; a key that goes or changes its meaning
increases it. Numbers that are unknown or without limit are null.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

import msgspec

from scaling.analysis.comparison import Change, Gate
from scaling.analysis.rules import Verdict
from scaling.features import features, resolve
from scaling.machine.doctor.findings import Finding, State
from scaling.reporting.capacity import ANSWER, LIMITS
from scaling.reporting.fits import SERIES
from scaling.reporting.json_types import (
    ARRAY,
    ESTIMATE,
    NUMBER,
    ONLY,
    OPTIONAL,
    POINT,
    SETTINGS,
    TEXTS,
    Fields,
    estimate_keys,
    fields_of,
    record,
)
from scaling.reporting.quantities import quantities
from scaling.reporting.words import SCHEMA
from scaling.results.evaluation import SECTIONS, Spread
from scaling.results.rows import SCHEMA as ROW_SCHEMA
from scaling.results.rows import RowLine
from scaling.study.workload import Entry

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _output(name: str, *parts: Fields, **more: Any) -> Any:
    return record(name, {"schema": ONLY[SCHEMA]}, *parts, more)


QUIETNESS = record("Quietness", dict.fromkeys(("p10", "p50", "p90"), NUMBER), quiet_share=float, turns=int)

MEASURED_POINT = record("MeasuredPoint", SETTINGS, *(one.types for one in quantities()))
STUDY_ANSWER = record(
    "StudyAnswer",
    {"question": str, "subject": str, "code": str, "sentence": str, "is_answer": bool},
    {"cores": int | None, "threads": int | None, "speedup": ESTIMATE, "efficiency": ESTIMATE, "by_curve": bool | None},
)
SHOWN: Fields = {"answers": ARRAY[STUDY_ANSWER], "points": ARRAY[MEASURED_POINT]}

SPREADS = record("Sections", dict.fromkeys(SECTIONS, record("Spread", fields_of(Spread))))
SECTIONS_OF_POINTS: Fields = {
    "sections": ARRAY[record("PointSections", SETTINGS, launches=int, steps=int, seconds=SPREADS, normalised=SPREADS)],
    "forked": int,
    "in_turns": int,
}

ON_DEVICES = record(
    "OnDevices",
    {"name": str, "sentence": str},
    ways=ARRAY[record("Way", device=str, framework=str, replicas=int, cores=int, threads=int, hourly_cost=float)],
)
ANSWERS: Fields = {"answers": ARRAY[ANSWER.record], "devices": OPTIONAL[ARRAY[ON_DEVICES]]}
DIFFERENCE = record(
    "Difference",
    SETTINGS,
    {"second_point": POINT},
    estimate_keys("first_seconds", "second_seconds", "ratio"),
    {"probability": NUMBER, "adjusted_probability": NUMBER, "margin_probability": NUMBER, "beyond_margin": bool},
    {"launches": ARRAY[int], "pairs": int | None, "launches_needed": int | None},
    {"verdict": str, "verdict_code": Change, "point_verdict_codes": ARRAY[Verdict]},
    {"reasons": TEXTS, "reason_codes": TEXTS},
)

NETWORK = record(
    "Network",
    {"workload": str, "mode": str, "size": str, "cores": int, "smt": int, "placement": str},
    {"items_per_step": int, "parameters": int, "weights_bytes": int, "gflops_per_item": float, "step_seconds": float},
    estimate_keys("gflops_per_second"),
    {"peak_gflops_per_second": NUMBER, "memory_gigabytes_per_second": NUMBER, "doubtful_ceilings": TEXTS},
    {"share_of_peak": NUMBER, "flops_per_byte": float, "bound_by": str | None, "share_of_roof": NUMBER, "valid": bool},
)

# The output of each command with --json and of `export --format json`; several types if it depends on the question.
_CORE: Mapping[str, Any] = {
    "show": _output("Show", SHOWN) | _output("ShowSections", SECTIONS_OF_POINTS),
    "fit": _output("Fit", series=ARRAY[SERIES.record]),
    "capacity": _output("Capacity", ANSWERS)
    | _output("CapacityLimits", answers=ARRAY[STUDY_ANSWER], limits=ARRAY[LIMITS.record]),
    "compare": _output(
        "Compare",
        {"differs": bool, "answer": str, "fail_above": NUMBER, "gate": Gate | None, "points": ARRAY[DIFFERENCE]},
        dict.fromkeys(("only_first", "only_second"), ARRAY[POINT]),
        failed=ARRAY[record("FailedPoint", SETTINGS, failures=TEXTS)],
    ),
    "machine doctor": _output(
        "Doctor", verdict=State, findings=ARRAY[record("Finding", {"code": str}, fields_of(Finding))]
    )
    | _output(
        "DoctorOfResults",
        sentence=str,
        points=ARRAY[record("PointOnHost", SETTINGS, host=QUIETNESS | None, verdict_code=Verdict)],
    ),
    "machine topology": _output(
        "Topology",
        {"cpu_model": str | None, "online": str, "n_online": int, "present": str, "possible": str},
        {"sockets": int, "cores": int, "cores_by_smt": dict[str, int], "numa_nodes": dict[str, str]},
        {"cpus_without_node": str, "l3_groups": int, "cluster_or_l2_groups": int, "core_kinds": int},
        dict.fromkeys(("socket_cpus", "die_cpus", "l3_cpus", "core_cpus"), TEXTS),
        {"kinds": dict[str, str], "allowed": str, "isolated": str, "quota_cpus": NUMBER},
    ),
    "machine place": _output("Place", cpus=ARRAY[ARRAY[int]], list=str, short=str, cautions=TEXTS),
    "workloads": _output(
        "Workloads",
        workloads=ARRAY[
            record("Workload", fields_of(Entry), parameters=int | None, gmacs_per_item=NUMBER, weights_bytes=int | None)
        ],
    )
    | _output("WorkloadsOfResults", points=ARRAY[NETWORK]),
    "export": record("Export", {"schema": ONLY[ROW_SCHEMA]}, rows=ARRAY[RowLine]),
}


@cache
def outputs() -> Mapping[str, Any]:
    """The JSON output of every command, of the core and then of features."""
    printed = dict(_CORE)
    for feature in features():
        for title, function in feature.schemas.items():
            command = title.partition(" ")[0]
            name = f"{function.split('.')[2]} {title}".title().replace(" ", "")
            added = _output(name, resolve(function)())
            printed[command] = printed[command] | added if command in printed else added
    return printed


def json_schema(command: str) -> dict[str, Any]:
    """The JSON Schema of a command's output."""
    schemas, definitions = msgspec.json.schema_components(get_args(outputs()[command]) or (outputs()[command],))
    body = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    schema = {"$schema": DIALECT, "title": f"scaling {command}", **body, "$defs": definitions}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema))
    return plain
