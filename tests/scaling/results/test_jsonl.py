import json

import pytest

from scaling.errors import StoreError
from scaling.results.jsonl import Lines, RecordFormat, read_lines, replace_file


def number_from_json(line):
    try:
        return int(json.loads(line))
    except ValueError as error:
        raise StoreError("no number") from error


NUMBERS = RecordFormat("numbers", "number", "a counter", str, number_from_json, lambda number: True)


def test_lines_come_back_in_their_order(tmp_path):
    lines = Lines(tmp_path, NUMBERS)
    for number in (3, 1, 2):
        lines.append(number)
    lines.close()
    assert list(read_lines(tmp_path, NUMBERS)) == [3, 1, 2]


def test_only_a_torn_last_line_is_passed_over(tmp_path):
    (tmp_path / NUMBERS.file).write_text("1\n2\n{")
    assert list(read_lines(tmp_path, NUMBERS)) == [1, 2]
    (tmp_path / NUMBERS.file).write_text("1\n{\n2\n")
    with pytest.raises(StoreError, match="line 2 is not a number"):
        list(read_lines(tmp_path, NUMBERS))


def test_a_folder_without_the_file_is_refused_with_who_writes_it(tmp_path):
    with pytest.raises(StoreError, match="give a folder that a counter has written"):
        list(read_lines(tmp_path, NUMBERS))


def test_a_replaced_file_leaves_no_draft(tmp_path):
    path = tmp_path / "machine.json"
    replace_file(path, "old")
    replace_file(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
