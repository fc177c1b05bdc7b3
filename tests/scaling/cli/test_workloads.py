import json
import os

import pytest

from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import scaling as program
from tests.workloads.test_networks import NETWORKS


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def listed(cache):
    """What there is by name, counted where nothing has been counted yet."""
    completed = program("workloads", "--json", env={**os.environ, "XDG_CACHE_HOME": cache})
    return {entry["name"]: entry for entry in json.loads(completed.stdout)["workloads"]}


def test_workloads_are_listed_with_their_options(listed):
    assert listed["calibrated"]["options"]["serial"] == 0.1


def test_workloads_are_listed_for_people_from_what_was_counted_before(listed, cache, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setattr("subprocess.run", None)
    completed = scaling("workloads").stdout
    assert "calibrated" in completed
    assert "vgg" in completed
    assert "32 of 1566 × 26" in completed
    assert "32, infer 1" in completed


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


def test_the_catalogue_counts_what_the_papers_say(listed):
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
    assert listed["calibrated"]["parameters"] is None


def test_without_tensorflow_workloads_are_listed_uncounted_and_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("scaling.study.catalogue.find_spec", lambda package: None)
    completed = scaling("workloads")
    assert completed.returncode == 0
    assert "calibrated" in completed.stdout
    assert "pip install 'cpu-scaling[tensorflow]'" in completed.stderr
