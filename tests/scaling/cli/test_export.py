import json

from scaling.results.rows import SCHEMA
from tests.scaling.cli.folders import folder_of, swept_rows
from tests.scaling.cli.here import scaling


def test_every_format_has_a_file_of_its_own(tmp_path):
    folder = folder_of(tmp_path / "a", swept_rows())
    for form in ("csv", "json", "pyperf", "extrap"):
        assert scaling("export", folder, "--format", form).returncode == 0
    written = {path.name for path in folder.iterdir()} - {"rows.jsonl"}
    assert written == {"rows.csv", "rows.json", "pyperf.json", "extrap.json"}
    assert json.loads((folder / "rows.json").read_text())["schema"] == SCHEMA


def test_personal_data_are_exported_only_in_full(tmp_path):
    folder = folder_of(tmp_path / "a", swept_rows())
    variables = []
    for options in ((), ("--full",)):
        scaling("export", folder, "--format", "json", *options)
        variables.append([row["environment"] for row in json.loads((folder / "rows.json").read_text())["rows"]])
    assert [{*map(str, one)} for one in variables] == [{"{}"}, {"{'PATH': '/usr/bin'}"}]
