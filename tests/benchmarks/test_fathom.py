from pathlib import Path

from benchmarks.fathom import main

SMALL = Path(__file__).parents[2] / "docs" / "examples" / "profiles-small"


def test_the_tables_of_the_document_are_made_from_a_folder_of_profiles(capsys):
    main(SMALL)
    printed = capsys.readouterr().out
    assert "| centroid | residual – vgg 0.003 | residual – vgg 0.00" in printed
    assert printed.count("### ") == 9
    assert "what limits vgg train at 2 threads" in printed


def test_another_machine_is_predicted_and_held_against_its_profiles(capsys, tmp_path):
    lines = (SMALL.parent / "profiles-sixteen" / "traces.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "traces.jsonl").write_text("".join(line for line in lines if '"workload":"deepq"' in line))
    ceilings = SMALL.parent / "ceilings-sixteen"
    main(tmp_path, ceilings, ceilings, tmp_path)
    printed = capsys.readouterr().out
    assert "| deepq train | 16 | " in printed
    assert "7 predictions, error " in printed
