"""Whatever is measured, a fit comes to an end, in numbers that JSON can carry."""

import json

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from scaling.analysis.capacity import answer, scaling_limits
from scaling.analysis.fitting import fit
from scaling.analysis.series import Observation, Series, threads_on
from scaling.analysis.sizing.question import Goal, Question
from scaling.errors import FitError
from scaling.reporting.capacity import answer_facts, answer_sentence, limits_facts
from scaling.reporting.fits import fit_facts, fit_sentence, fits_table

times = st.floats(1e-6, 1e6)
observations = st.dictionaries(st.integers(1, 300), st.lists(times, min_size=1, max_size=3), min_size=2, max_size=6)


@settings(max_examples=20, deadline=None, derandomize=True, phases=[Phase.generate])
@given(counts=observations, shared=st.booleans(), target=times)
def test_any_measurement_ends_in_a_verdict_and_an_answer(counts, shared, target):
    measured = Series("any", tuple(Observation(float(n), tuple(seconds)) for n, seconds in sorted(counts.items())))
    if shared:
        measured = threads_on(measured, int(np.median(list(counts))))
    try:
        fitted = fit(measured)
    except FitError:
        return
    sized = answer(fitted, Question(Goal.THROUGHPUT, target), draw_count=50)
    facts = [fit_facts(fitted), answer_facts(sized), limits_facts(scaling_limits(fitted, draw_count=50))]
    assert json.dumps(facts, allow_nan=False)
    assert fit_sentence(fitted)
    assert answer_sentence(sized)
    assert fits_table([fitted]).rows
