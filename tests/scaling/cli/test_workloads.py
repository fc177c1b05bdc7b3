import pytest

from scaling.running import workload_counts
from tests.scaling.cli.here import json_of, scaling
from tests.workloads.test_networks import NETWORKS

INVENTED = {"parameters": 7, "weights_bytes": 28, "gmacs_per_item": 0.5}


@pytest.fixture
def counted_in_child(tmp_path, monkeypatch):
    """Networks that were counted in another process: which, and nothing of them is known before."""
    counted: list[str] = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("scaling.study.catalogue.find_spec", lambda package: True)
    monkeypatch.setattr(workload_counts, "version", lambda package: "1")
    monkeypatch.setattr(
        workload_counts,
        "_count_in_child",
        lambda function, names: counted.extend(names) or dict.fromkeys(names, INVENTED),
    )
    return counted


@pytest.fixture
def listed(counted_in_child):
    return {entry["name"]: entry for entry in json_of("workloads")["workloads"]}


def test_workloads_are_listed_with_their_options(listed):
    assert listed["calibrated"]["options"]["serial"] == 0.1
    assert listed["calibrated"]["parameters"] is None


def test_networks_are_counted_once_and_listed_for_people_too(listed, counted_in_child):
    lines = {line.split()[0]: line for line in scaling("workloads").stdout.splitlines() if line.strip()}
    assert sorted(counted_in_child) == NETWORKS
    assert {"calibrated", *NETWORKS} <= lines.keys()
    assert "32 of 1566 × 26" in lines["speech"]
    assert "32, infer 1" in lines["deepq"]


def test_batches_are_listed_beside_those_of_the_paper_and_of_fathom(listed):
    batches = {name: [listed[name][key] for key in ("paper_items", "fathom_items")] for name in NETWORKS}
    assert batches == {
        "alexnet": [128, 64],
        "autoenc": [100, 128],
        "deepq": [32, 32],
        "fcn": [None, None],
        "memnet": [32, 32],
        "residual": [256, 16],
        "seq2seq": [128, 64],
        "speech": [None, 32],
        "vgg": [256, 8],
    }
    assert listed["deepq"]["infer_items"] == 1
    assert listed["speech"]["item"] == {"published": "300 × 26", "small": "100 × 26", "fathom": "1566 × 26"}


@pytest.mark.slow
def test_the_catalogue_counts_what_the_papers_say(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    listed = workload_counts.counts(NETWORKS)
    parameters = {name: listed[name]["parameters"] for name in NETWORKS}
    assert parameters == {
        "alexnet": 60_965_224,
        "autoenc": 815_824,
        "deepq": 1_686_180,
        "fcn": 784 * 2048 + 2048 * 4096 + 4096 * 1024 + 1024 * 10 + 2048 + 4096 + 1024 + 10,
        "memnet": 4 * 20 * (20 + 50),
        "residual": 21_797_672,
        "seq2seq": 34_633_792,
        "speech": 25_356_350,
        "vgg": 143_667_240,
    }
    gmacs = {name: listed[name]["gmacs_per_item"] for name in ("alexnet", "vgg", "residual")}
    # AlexNet's is published as 0.7, to one digit; 0.724 is what its layers come to.
    assert gmacs == pytest.approx({"alexnet": 0.724, "vgg": 19.6, "residual": 3.66}, rel=0.02)


def test_without_tensorflow_workloads_are_listed_uncounted_and_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("scaling.study.catalogue.find_spec", lambda package: None)
    completed = scaling("workloads")
    assert completed.returncode == 0
    assert "calibrated" in completed.stdout
    assert "pip install '.[tensorflow]'" in completed.stderr
