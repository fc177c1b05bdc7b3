import lzma
from dataclasses import replace

import pytest

from scaling.errors import StoreError
from scaling.results.compressed import compressed
from scaling.results.jsonl import Lines, Redo, has_lines, read_lines
from tests.scaling.results.test_jsonl import NUMBERS

MANY = range(100_000)


@pytest.fixture
def folder(tmp_path):
    """A folder whose first lines were compressed in two steps, and others appended since."""
    text = "".join(f"{number}\n" for number in MANY).encode()
    compressed(tmp_path / NUMBERS.file).write_bytes(lzma.compress(text[:100]) + lzma.compress(text[100:]))
    lines = Lines(tmp_path, NUMBERS)
    lines.append(-1)
    lines.close()
    return tmp_path


def test_compressed_lines_come_before_those_that_were_appended_since(folder):
    assert has_lines(folder, NUMBERS)
    assert list(read_lines(folder, NUMBERS)) == [*MANY, -1]
    (folder / NUMBERS.file).unlink()
    assert has_lines(folder, NUMBERS)
    assert list(read_lines(folder, NUMBERS)) == [*MANY]


def test_runs_that_are_made_again_leave_the_compressed_part_too(folder):
    even = replace(NUMBERS, ended_well=lambda number: number % 2 == 0)
    lines = Lines(folder, even)
    assert lines.set_runs_aside(Redo.FAILED) == len(MANY) // 2 + 1
    lines.close()
    assert list(read_lines(folder, NUMBERS)) == [*MANY[::2]]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda content: content[:-20], "ends too early"),
        (lambda content: content[:50] + b"damage" + content[56:], "is damaged"),
        (lambda content: b"", None),
        (lambda content: b"1\n2\n" * 20, "is damaged"),
    ],
)
def test_a_damaged_part_is_refused_in_a_sentence(folder, damage, reason):
    path = compressed(folder / NUMBERS.file)
    path.write_bytes(damage(path.read_bytes()))
    if reason is None:
        assert list(read_lines(folder, NUMBERS)) == [-1]
    else:
        with pytest.raises(StoreError, match=rf"numbers.jsonl cannot be read \(its compressed part {reason}"):
            list(read_lines(folder, NUMBERS))


def test_a_part_that_asks_for_gigabytes_to_be_read_is_refused(folder):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    compressed(folder / NUMBERS.file).write_bytes(lzma.compress(b"1\n", filters=filters))
    with pytest.raises(StoreError, match="Memory usage limit"):
        list(read_lines(folder, NUMBERS))


def test_a_short_part_that_is_a_line_of_gigabytes_is_refused(folder):
    compressed(folder / NUMBERS.file).write_bytes(300 * lzma.compress(bytes(1 << 20)))
    with pytest.raises(StoreError, match="line 1 is longer than 256 MiB"):
        list(read_lines(folder, NUMBERS))
