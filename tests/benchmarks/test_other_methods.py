"""Published fits, found again: estimates to 1e-4, standard errors to 1e-3."""

import numpy as np
import pytest

from benchmarks.other_methods import figures_by
from scaling.errors import FitError
from tests.published import CARPENTRY, CISCO, EXACT, NO_SINGLE, RAYTRACER, SDM91, rates, times

ESTIMATE, ERROR = 1e-4, 1e-3


def usl(points, method):
    return figures_by(rates("x", points), method)[1]


def amdahl(points, method):
    return figures_by(rates("x", points), method)[0]


@pytest.mark.parametrize(
    ("points", "contention", "coherency", "rate"),
    [
        (SDM91, (0.0277285, 0.0091217), (0.0001044, 0.0000199), (89.9952330, 14.2134894)),
        (SDM91, (0.02772863, 0.009121), (0.00010437, 1.99e-05), (89.9954927, 14.21296)),
        (RAYTRACER[:6], (0.02444404, 0.0083907), (0.00162681, 0.0002614), (20.8560, 0.7885)),
        (NO_SINGLE, (0.0418302, 0.041185), (0.0004091, 0.00085952), (12.67, 2.950)),
        (EXACT, (0.0200058, None), (0.0199997, None), (1.0000051, None)),
        (CISCO, (0.02671591, None), (7.690945e-4, None), (995.6486, None)),
    ],
    ids=["sdm91", "sdm91 by lmfit", "six rays", "no single", "exact", "cisco"],
)
def test_least_squares_on_throughput_finds_published_fits(points, contention, coherency, rate):
    figures = usl(points, "ls")
    printed = {"contention": 5e-8, "coherency": 5e-8, "rate_at_1": 5e-3 if points is NO_SINGLE else 5e-8}
    for name, (value, error) in {"contention": contention, "coherency": coherency, "rate_at_1": rate}.items():
        figure = getattr(figures, name)
        assert figure.value == pytest.approx(value, rel=ESTIMATE, abs=printed[name]), name
        if error is not None:
            assert figure.stderr == pytest.approx(error, rel=ERROR, abs=5e-8), name


def test_the_peak_of_sdm91_is_where_r_puts_it():
    assert usl(SDM91, "ls").peak_cores.value == pytest.approx(96.51956, rel=ESTIMATE)


def test_the_profile_interval_of_sdm91_is_lopsided_as_lmfits():
    figures = usl(SDM91, "ls")
    assert (figures.contention.low, figures.contention.high) == pytest.approx((0.0095, 0.0641), abs=1e-4)
    assert (figures.rate_at_1.low, figures.rate_at_1.high) == pytest.approx((61.2, 144.5), abs=0.1)


@pytest.mark.parametrize(
    ("points", "method", "contention", "coherency"),
    [
        (SDM91, "linearised", (0.01704689, 0.00331839), (7.8924979e-5, 2.4917957e-5)),
        (SDM91, "normalised", (0.0126048, 0.002535), (1.112010e-4, 2.044e-5)),
        (RAYTRACER, "linearised", (0.0500239, None), (4.7082e-6, None)),
        (RAYTRACER, "normalised", (0.0497973, 0.003207), (1.14344e-5, 6.93e-5)),
    ],
    ids=["sdm91 linearised", "sdm91 normalised", "rays linearised", "rays normalised"],
)
def test_variants_that_divide_by_one_core_find_their_published_fits(points, method, contention, coherency):
    figures = usl(points, method)
    for figure, (value, error) in ((figures.contention, contention), (figures.coherency, coherency)):
        assert figure.value == pytest.approx(value, rel=ESTIMATE)
        if error is not None:
            assert figure.stderr == pytest.approx(error, rel=ERROR)


def test_a_coherency_on_its_bound_has_a_limit_and_no_error_and_spoils_no_other():
    figures = usl(RAYTRACER, "ls")
    assert (figures.coherency.value, figures.coherency.low, figures.coherency.stderr) == (0.0, 0.0, None)
    assert figures.coherency.on_bound
    assert figures.coherency.high == pytest.approx(9.6e-5, rel=0.02)
    assert figures.contention.value == pytest.approx(0.05777078, rel=ESTIMATE)
    assert figures.contention.stderr == pytest.approx(0.00526, abs=1e-4)
    assert figures.peak_cores.value == np.inf


def test_amdahls_law_alone_by_least_squares():
    assert amdahl(SDM91, "ls").contention.value == pytest.approx(0.07364816, rel=ESTIMATE)
    assert amdahl(SDM91, "ls").contention.stderr == pytest.approx(0.02565, rel=ERROR)
    assert amdahl(RAYTRACER, "ls").rate_at_1.value == pytest.approx(21.848843, rel=ESTIMATE)


@pytest.mark.parametrize("method", ["ls", "linearised", "normalised", "reciprocal"])
def test_a_program_with_a_known_serial_fraction_gives_it_back(method):
    figures = figures_by(times("carpentry", CARPENTRY), method)[0]
    assert figures.contention.value == pytest.approx(0.150, abs=1e-3)


def test_dividing_by_one_core_needs_one_core():
    with pytest.raises(FitError, match=r"'x' has no measurement on one core \(the fewest is 2\).*method normalised"):
        usl(NO_SINGLE, "normalised")
