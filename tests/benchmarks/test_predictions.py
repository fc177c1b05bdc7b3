"""Counts left out and predicted: few series, but the whole way from rows to a table."""

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks import predictions
from scaling.analysis.curves.posterior import DEVIATIONS, prior_of_deviations

ROOT = Path(__file__).parents[2]
CALIBRATED = ROOT / "docs/examples/calibrated-sixteen"


def test_a_program_built_to_a_law_is_predicted_closely():
    (one,) = predictions.series_of(CALIBRATED)
    found = list(predictions.predictions(one, prior_of_deviations(), 500, np.random.default_rng(1)))
    assert [prediction.is_inner for prediction in found] == [True, True, True, False]
    assert all(prediction.held and prediction.error < 0.05 for prediction in found)


def test_the_prior_that_is_kept_names_every_deviation_and_sums_to_one(tmp_path, monkeypatch):
    path = tmp_path / "prior.json"
    monkeypatch.setattr(sys, "argv", ["predictions", str(CALIBRATED), "--prior", str(path)])
    predictions.main()
    weights = json.loads(path.read_text())["weights"]
    assert list(map(float, weights)) == DEVIATIONS.tolist()
    assert abs(sum(weights.values()) - 1.0) < 1e-3
    assert abs(prior_of_deviations().sum() - 1.0) < 1e-3
