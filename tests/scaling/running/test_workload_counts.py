"""Counting a network without what it needs; the counts themselves are in `frameworks/test_counting.py`."""

import pytest

from scaling.errors import WorkloadError
from scaling.running import workload_counts


def test_without_tensorflow_counting_says_which_extra_to_install(monkeypatch):
    monkeypatch.setattr(workload_counts, "is_installed", lambda extra: False)
    sentence = r"'alexnet' needs tensorflow, which is not installed; give: pip install 'cpu-scaling\[tensorflow\]'"
    with pytest.raises(WorkloadError, match=sentence):
        workload_counts.counts(["alexnet"])


def test_a_child_that_fails_is_a_sentence_with_its_last_line(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(workload_counts, "_cache_path", lambda subject: tmp_path / "counts.json")
    monkeypatch.setattr(workload_counts, "is_installed", lambda extra: True)
    monkeypatch.setattr(workload_counts, "CODE", "raise ValueError('no {0}')")
    with pytest.raises(WorkloadError, match="the networks cannot be counted: ValueError: no count_networks"):
        workload_counts.counts(["alexnet"])
