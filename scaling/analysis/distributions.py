"""The normal, Student's and chi-squared distributions. Pure.

Student's t and the chi-squared distribution are computed by their incomplete beta and gamma functions: the continued
fraction by Lentz's method, quantiles by Newton's (Press et al., Numerical Recipes, 6.2 and 6.4). SciPy would add 149
MB, a third of an installation.
"""

from collections.abc import Callable
from functools import cache
from itertools import count
from math import exp, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

# The probability of a two-sided interval.
LEVEL = 0.95
# Relative change below which a sum or a quantile has converged.
CONVERGED = 1e-15
MOST_STEPS = 500
_NORMAL = NormalDist()


def normal_quantile(probability: float) -> float:
    """The quantile of the normal distribution with mean 0 and standard deviation 1."""
    return _NORMAL.inv_cdf(probability)


def normal_chance(value: float) -> float:
    """The probability of at most a value under that distribution."""
    return _NORMAL.cdf(value)


def student_t(freedom: float) -> float:
    """The standard errors that a two-sided interval reaches."""
    return student_quantile((1 + LEVEL) / 2, round(freedom, 6))


def student_p(t: float, freedom: float) -> float:
    """The two-sided probability of a t at least this far out."""
    return 2 * student_tail(abs(t), freedom)


def student_tail(t: float, freedom: float) -> float:
    """The probability of exceeding a non-negative t."""
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


@cache
def student_quantile(probability: float, freedom: float) -> float:
    """The quantile of t at a probability of at least one half."""
    half = freedom / 2
    # Newton's steps never overshoot: t lies above the normal quantile, and the tail is convex there.
    log_scale = lgamma(half + 0.5) - lgamma(half) - log(freedom * pi) / 2

    def step(t: float) -> float:
        density = exp(log_scale - (half + 0.5) * log1p(t * t / freedom))
        return (student_tail(t, freedom) - (1.0 - probability)) / density

    return _newton(normal_quantile(probability), step)


@cache
def chi_squared_quantile(probability: float, freedom: float) -> float:
    """The quantile at a probability, starting from Wilson and Hilferty's approximation."""
    half, spread = freedom / 2, 2 / (9 * freedom)
    start = half * max(1 - spread + normal_quantile(probability) * sqrt(spread), 0.1) ** 3

    def step(x: float) -> float:
        # The density of log x, in which a step never leads below zero.
        log_density = half * log(x) - x - lgamma(half)
        change = (probability - _incomplete_gamma(half, x)) / exp(log_density)
        return x * (exp(max(-2.0, min(2.0, change))) - 1)

    return 2 * _newton(start, step)


def _newton(value: float, step: Callable[[float], float]) -> float:
    for _ in range(MOST_STEPS):
        change = step(value)
        value += change
        if abs(change) <= 10 * CONVERGED * abs(value):
            break
    return value


def _incomplete_gamma(a: float, x: float) -> float:
    """P(a, x) by its series, all of whose terms are positive."""
    term = total = 1 / a
    for number in count(1):
        term *= x / (a + number)
        total += term
        if term < CONVERGED * total:
            break
    return total * exp(a * log(x) - x - lgamma(a))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), by its mirror image if the fraction converges slowly."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    log_factor = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)
    return exp(log_factor) * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    upper, lower = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = lower
    for number in range(1, MOST_STEPS):
        twice = a + 2 * number
        even = number * (b - number) * x / ((twice - 1) * twice)
        odd = -(a + number) * (a + b + number) * x / (twice * (twice + 1))
        before = value
        for part in (even, odd):
            lower, upper = 1 / (1 + part * lower), 1 + part / upper
            value *= lower * upper
        if abs(value - before) <= CONVERGED * abs(value):
            break
    return value
