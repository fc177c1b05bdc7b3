import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from scaling.analysis import distributions

LEVELS = [0.001, 0.025, 0.5, 0.95, 0.999]


@pytest.mark.parametrize("df", [1, 2.5, 30, 1e6])
def test_every_function_is_that_of_scipy(df):
    for level in LEVELS:
        assert distributions.t_quantile(level, df) == pytest.approx(stats.t.ppf(level, df))
        assert distributions.f_quantile(level, 1, df) == pytest.approx(stats.f.ppf(level, 1, df))
        assert distributions.f_tail(level, 2, df) == pytest.approx(stats.f.sf(level, 2, df))
    at = np.array([-3.0, 0.0, 2.0])
    assert distributions.t_cdf(at, df) == pytest.approx(stats.t.cdf(at, df))
    assert distributions.chi2_quantile(np.array(LEVELS), df) == pytest.approx(stats.chi2.ppf(LEVELS, df))
    assert distributions.normal_quantile(LEVELS) == pytest.approx(stats.norm.ppf(LEVELS))
    assert distributions.normal_cdf(at) == pytest.approx(stats.norm.cdf(at))


def test_commands_that_show_and_fit_do_without_what_is_slow_to_import():
    slow = "[name for name in ('scipy.stats', 'pandas', 'matplotlib') if name in sys.modules]"
    code = f"import sys, scaling.cli.show, scaling.cli.fit, scaling.cli.capacity; print({slow})"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert completed.stdout.strip() == "[]", completed.stderr
