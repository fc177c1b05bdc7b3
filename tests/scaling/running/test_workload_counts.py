"""Counting a network without what it needs; the counts themselves are in `frameworks/test_counting.py`."""

import json
import re

import pytest

from scaling.errors import WorkloadError, to_install
from scaling.running import workload_counts


def test_without_tensorflow_counting_says_which_extra_to_install(monkeypatch):
    monkeypatch.setattr(workload_counts, "is_installed", lambda extra: False)
    with pytest.raises(WorkloadError, match=re.escape(to_install("tensorflow"))):
        workload_counts.counts(["alexnet"])


def test_a_child_that_fails_is_a_sentence_with_its_last_line(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(workload_counts, "_cache_path", lambda subject: tmp_path / "counts.json")
    monkeypatch.setattr(workload_counts, "is_installed", lambda extra: True)
    monkeypatch.setattr(workload_counts, "CODE", "raise ValueError('no {0}')")
    with pytest.raises(WorkloadError, match="counted: ValueError: no count_networks"):
        workload_counts.counts(["alexnet"])


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """What counting finds, its cache in a folder of its own."""
    monkeypatch.setattr(workload_counts, "is_installed", lambda extra: True)
    monkeypatch.setattr(workload_counts, "_cache_path", lambda subject: tmp_path / "cache" / "counts.json")
    monkeypatch.setattr(workload_counts, "_count_in_child", lambda function, names: {name: {"n": 1} for name in names})
    return tmp_path / "cache"


@pytest.mark.parametrize("torn", ['{"alexnet": {"n"', "[1]", '{"alexnet": 1}', "\udcff", "[" * 100_000])
def test_a_cache_that_is_torn_is_counted_anew(counted, torn):
    counted.mkdir()
    (counted / "counts.json").write_text(torn, errors="surrogateescape")
    assert workload_counts.counts(["alexnet"]) == {"alexnet": {"n": 1}}
    assert json.loads((counted / "counts.json").read_text()) == {"alexnet": {"n": 1}}
    assert [path.name for path in counted.iterdir()] == ["counts.json"]


def test_a_cache_that_cannot_be_written_is_done_without(counted):
    counted.write_text("a file where the folder should be")
    assert workload_counts.counts(["alexnet"]) == {"alexnet": {"n": 1}}


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", home)
    assert workload_counts.cache_folder() is None
