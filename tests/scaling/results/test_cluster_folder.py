import pytest

from scaling.errors import StoreError
from scaling.results.cluster_folder import Journal, count_rows, read_journal


def test_what_was_written_is_there_for_the_next_driver(tmp_path):
    journal = Journal(tmp_path)
    journal.write("sent", "epyc", key="k", attempt=1)
    journal.close()
    again = Journal(tmp_path)
    assert again.ledger.accepts("epyc", "k", 1)
    again.close()


def test_two_drivers_cannot_write_to_one_folder(tmp_path):
    journal = Journal(tmp_path)
    with pytest.raises(StoreError, match="another cluster sweep is writing"):
        Journal(tmp_path)
    journal.close()


def test_a_torn_last_line_is_passed_over_and_set_aside(tmp_path):
    journal = Journal(tmp_path)
    journal.write("begun")
    journal.write("sent", "epyc", key="k", attempt=1)
    journal.close()
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert [entry.event for entry in read_journal(tmp_path)] == ["begun"]
    again = Journal(tmp_path)
    assert not again.ledger.accepts("epyc", "k", 1)
    again.close()


def test_a_folder_in_the_place_of_rows_has_none(tmp_path):
    (tmp_path / "rows.jsonl").mkdir()
    assert count_rows(tmp_path) == 0
