import json

from scaling.results.rows import SCHEMA
from tests.scaling.cli.folders import folder_of, swept_rows
from tests.scaling.cli.here import scaling


def test_points_are_exported_as_a_table_of_markdown(tmp_path):
    folder = folder_of(tmp_path / "a", swept_rows())
    completed = scaling("export", folder, "--format", "markdown")
    assert completed.stderr == f"scaling: 3 points written to {folder / 'points.md'}\n"
    header, rule, *lines = (folder / "points.md").read_text().splitlines()
    assert header.startswith("| workload | cores | step |")
    assert rule.startswith("| --- | ---: | ---: |")
    assert [line.split(" | ")[1] for line in lines] == ["1", "2", "4"]
    assert len({line.count("|") for line in (header, rule, *lines)}) == 1


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


def test_a_file_of_another_tool_has_no_runs_to_export(tmp_path):
    (tmp_path / "t.csv").write_text("cores,seconds\n1,4\n2,2\n")
    refused = scaling("export", tmp_path / "t.csv", "--format", "json", "-o", tmp_path / "out.json")
    assert refused.returncode == 2
    assert "rows; pass a results" in refused.stderr
    assert not (tmp_path / "out.json").exists()
