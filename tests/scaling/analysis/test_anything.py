"""Whatever is measured, a fit comes to an end, in numbers that JSON can carry."""

import json
from math import inf

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.shared.launches import Truth
from scaling.analysis.curves.fit import fit
from scaling.analysis.series import Observation, Series, SeriesKey, threads_on
from scaling.analysis.sizing.capacity import answer, scaling_limits
from scaling.analysis.sizing.question import Goal, Question
from scaling.errors import FitError
from scaling.reporting.capacity import answer_facts, answer_sentence, limits_facts
from scaling.reporting.fits import fit_facts, fit_sentence, fits_table

WEAK, STRONG = Truth(0.1, scale="weak"), SeriesKey()

times = st.floats(1e-6, 1e6)
observations = st.dictionaries(st.integers(1, 300), st.lists(times, min_size=1, max_size=3), min_size=2, max_size=6)


@pytest.mark.slow
@settings(max_examples=12, phases=[Phase.generate])
@given(counts=observations, shared=st.booleans(), blocks=st.booleans(), weak=st.booleans(), target=times)
def test_any_measurement_ends_in_a_curve_and_an_answer(counts, shared, blocks, weak, target):
    measured = Series(
        "any",
        tuple(
            Observation(float(n), tuple(seconds), blocks=tuple(map(str, range(len(seconds)))) if blocks else ())
            for n, seconds in sorted(counts.items())
        ),
        key=WEAK.key if weak else STRONG,
    )
    if shared:
        measured = threads_on(measured, int(np.median(list(counts))))
    if len(set(measured.cores)) < 2:
        with pytest.raises(FitError, match=r"^series 'any' .* least two core counts$"):
            fit(measured)
        return
    fitted = fit(measured)
    sized, limits = answer(fitted, Question(Goal.THROUGHPUT, target)), scaling_limits(fitted)
    facts = [fit_facts(fitted), answer_facts(sized), limits_facts(limits)]
    assert json.dumps(facts, allow_nan=False)
    for point in fitted.curve:
        for one in (point.speedup, point.efficiency):
            assert 0.0 < one.low <= one.value <= one.high < inf
    for one in (fitted.rate_at_1, fitted.speedup_limit, limits.knee, limits.peak_cores, limits.rate_limit):
        assert 0.0 < one.low <= one.value <= one.high
    assert fit_sentence(fitted)
    assert answer_sentence(sized)
    assert fits_table([fitted]).rows
