"""Quantiles and tail probabilities of the distributions that tests and intervals use. Pure.

The same functions as in `scipy.stats`, which takes longer to import than most commands take to answer.
"""

from typing import Any

from scipy.special import fdtrc, fdtri, gammaincinv, stdtr, stdtrit
from scipy.special import ndtr as normal_cdf
from scipy.special import ndtri as normal_quantile

__all__ = ["chi2_quantile", "f_quantile", "f_tail", "normal_cdf", "normal_quantile", "t_cdf", "t_quantile"]


def t_quantile(level: float, df: float) -> float:
    """Student's t at a level."""
    return float(stdtrit(df, level))


def t_cdf(value: Any, df: float) -> Any:
    """The probability of at most a value of Student's t; of many values, each of them."""
    return stdtr(df, value)


def f_quantile(level: float, above: float, below: float) -> float:
    """Fisher's F at a level, with the degrees of freedom above and below the line."""
    return float(fdtri(above, below, level))


def f_tail(value: float, above: float, below: float) -> float:
    """The probability of more than a value, which is not negative, of Fisher's F."""
    return float(fdtrc(above, below, value))


def chi2_quantile(levels: Any, df: float) -> Any:
    """Chi-squared at each of the levels."""
    return 2.0 * gammaincinv(df / 2.0, levels)
