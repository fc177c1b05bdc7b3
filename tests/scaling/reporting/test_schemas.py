"""What commands print with --json holds to its schema, and has no key that the schema does not name."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from scaling.reporting.schemas import SETTINGS, json_schema, outputs
from scaling.study.planning import Point
from tests.scaling.cli.folders import folder_of, swept_rows
from tests.scaling.cli.here import scaling
from tests.scaling.machine.invented import POWER9, files, write
from tests.scaling.reporting.results import made

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "other_tools"
EXAMPLES = ROOT / "docs" / "examples"


def closed(schema):
    """The same schema with every object closed: what is printed and not described is found."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    return {**parts, "additionalProperties": False} if "properties" in schema and "type" in schema else parts


def check(command, document):
    validator = Draft202012Validator(closed(json_schema(command)))
    errors = sorted(validator.iter_errors(document), key=lambda error: len(error.absolute_path))
    deepest = [part for error in errors for part in (error.context or [error])]
    assert not errors, f"{command}: {[part.message[:300] for part in deepest][:6]}; see scaling/reporting/schemas.py"
    assert document["schema"] == 1


def printed(command, *arguments):
    completed = scaling(command, *arguments, "--json")
    assert completed.returncode in (0, 1, 3), completed.stderr
    return json.loads(completed.stdout)


@pytest.mark.parametrize("command", outputs())
def test_every_schema_is_one(command):
    Draft202012Validator.check_schema(json_schema(command))
    assert json.loads(scaling("schema", command).stdout) == json_schema(command)


def test_the_settings_are_those_of_a_point():
    assert list(SETTINGS) == [field.name for field in fields(Point)]


@pytest.mark.parametrize("folder", [EXAMPLES / "turns-sixteen", DATA / "hyperfine.json"])
@pytest.mark.parametrize(
    "question",
    [
        ("show",),
        ("fit",),
        ("capacity",),
        ("capacity", "--efficiency", 0.5),
        ("capacity", "--throughput", 1e12),
        ("capacity", "--latency", 0.5, "--quantile", 0.9),
        ("capacity", "--work", 1e6, "--deadline", "8h"),
        ("machine doctor",),
    ],
)
def test_what_is_said_of_results_holds_to_its_schema(folder, question):
    command, *options = question
    check(command, printed(*command.split(), folder, *options))


def test_sections_hold_to_their_schema(tmp_path):
    document = printed("show", folder_of(tmp_path / "results", made("cores = [1, 2]\nlaunches = 2")), "--sections")
    check("show", document)
    assert [point["normalised"]["wall"]["median"] for point in document["sections"]][-1] == pytest.approx(1.0)


def test_comparisons_hold_to_their_schema(tmp_path):
    stolen = [replace(row, witness=replace(row.witness, steal_seconds=10.0)) for row in swept_rows(seed=2)]
    a, b = folder_of(tmp_path / "a", swept_rows()), folder_of(tmp_path / "b", [*swept_rows(seed=3)[:9], *stolen[9:]])
    check("compare", printed("compare", a, b, "--fail-above", "5%"))
    check("compare", printed("compare", DATA / "hyperfine-before.json", DATA / "hyperfine-after.json"))


def test_what_is_said_of_machines_and_workloads_holds_to_its_schema(tmp_path, monkeypatch):
    root = write(tmp_path, files(POWER9))
    check("machine topology", printed("machine", "topology", "--root", root))
    check("machine place", printed("machine", "place", "--cores", 2, "--smt", 4, "--root", root))
    check("machine doctor", printed("machine", "doctor", "--root", root))
    monkeypatch.setattr("scaling.cli.workloads.is_installed", lambda name: False)
    check("workloads", printed("workloads"))


def test_an_export_holds_to_its_schema(tmp_path):
    scaling("export", EXAMPLES / "turns-sixteen", "--format", "json", "-o", tmp_path / "rows.json")
    document = json.loads((tmp_path / "rows.json").read_text())
    Draft202012Validator(json_schema("export")).validate({**document, "rows": document["rows"][:20]})
