"""The inputs of sort and zstd: the same bytes everywhere, written in two seconds."""

from pathlib import Path

import numpy as np

LINES = 4_000_000
WORDS = 20_000_000
# A short list of words, the first ones above all, compresses to about a quarter.
VOCABULARY = 4096


def write_inputs(folder: Path, lines: int = LINES, words: int = WORDS) -> None:
    """Write lines.txt for sort and words.txt for zstd."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lines.txt").write_bytes(_random_lines(lines))
    (folder / "words.txt").write_bytes(_frequent_words(words))


def _random_lines(count: int) -> bytes:
    """Lines of 20 hexadecimal digits."""
    digits = np.random.default_rng(1).bytes(10 * count).hex().encode()
    table = np.frombuffer(digits, np.uint8).reshape(count, 20)
    return np.insert(table, 20, ord("\n"), axis=1).tobytes()


def _frequent_words(count: int) -> bytes:
    """Words of eight letters."""
    chance = np.random.default_rng(2)
    known = chance.integers(ord("a"), ord("z"), size=(VOCABULARY, 8), dtype=np.uint8, endpoint=True)
    ranks = (VOCABULARY * chance.random(count) ** 3).astype(int)
    return bytes(known[ranks].data)
