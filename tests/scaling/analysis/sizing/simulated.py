"""The fit of a simulated sweep of which every step is known."""

import numpy as np

from benchmarks.shared.hosts import point
from benchmarks.shared.launches import TO_16, Truth, series
from scaling.analysis.curves.fit import SeriesFit, fit
from scaling.analysis.series import selected_series
from scaling.analysis.step_times import step_times
from scaling.analysis.summary import Launch, select_points, summarize

TRUTH = Truth(0.05, noise=0.005, grid=TO_16)
# One step in twenty takes so many times as long as the others.
TAIL = 1.5
STEPS = [1.0] * 190 + [TAIL] * 10
MEAN = sum(STEPS) / len(STEPS)


def _launches() -> list[Launch]:
    chance = np.random.default_rng(1)
    return [
        Launch(point(cores), number, seconds, items=1, step_times=step_times([seconds * one for one in STEPS]))
        for cores in TRUTH.grid
        for number, seconds in enumerate(
            (TRUTH.true_seconds(cores) * np.exp(chance.normal(0.0, TRUTH.noise, 5))).tolist(), 1
        )
    ]


FIT: SeriesFit = fit(selected_series(select_points(summarize(_launches())))[0])


def of_table() -> SeriesFit:
    """A fit of which nothing is known but times."""
    return fit(series(TRUTH, np.random.default_rng(1)))
