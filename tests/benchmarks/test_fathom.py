from pathlib import Path

from benchmarks.fathom import main

SMALL = Path(__file__).parents[2] / "docs" / "examples" / "profiles-small"


def test_the_tables_of_the_document_are_made_from_a_folder_of_profiles(capsys):
    main(SMALL)
    printed = capsys.readouterr().out
    assert "| centroid | residual – vgg 0.003 | residual – vgg 0.00" in printed
    assert printed.count("### ") == 9
    assert "with --threads 2 were disturbed" in printed
