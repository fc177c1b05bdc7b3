"""One law at its best: parameters, standard errors, and which of them lie on a bound. Pure.

A parameter on its bound is known to be there, not to be spread around it: it is dropped from the covariance, has no
standard error, and the others have the errors they would have without it.

Counts that lie off the law by more than the noise of launches explains (each by a percent, say: alignment, the split of
the work) make the parameters less certain than launches do. Where an F test of lack of fit against pure error gives
p < 0.2, the variance is that of the lack of fit, with its few degrees of freedom, if that makes intervals wider: the
Birge ratio (Birge, Physical Review 40, 1932).
"""

from dataclasses import dataclass

import numpy as np

from scaling.analysis.distributions import f_tail, t_quantile
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.observations import LEAST_NOISE, Counts, Slope, pure_error, weights
from scaling.analysis.fits.solving import Design, Solution, solve
from scaling.analysis.laws import Law, contention_slope, relative_time

PARAMETERS = ("log_seconds", "contention", "coherency", "smt_yield")

# A share of T(1) this small is zero: a solver cannot tell it from the bound, nor can anybody.
ON_BOUND = 1e-12
# Where the search for the yield of a core's second thread begins.
USUAL_SMT_YIELD = 0.2
LEAST_CORES = 1e-3
LARGEST_COHERENCY = 1e6
# Lack of fit less likely than this by chance widens intervals; so many degrees of freedom of pure error judge it. With
# one degree of freedom of its own it would make any interval useless.
SUSPICIOUS = 0.2
LEAST_PURE_DF = 3
LEAST_LACK_OF_FIT_DF = 2


@dataclass(frozen=True, slots=True)
class FitProblem:
    """A law and the counts it is fitted to, with what each count weighs."""

    law: Law
    counts: Counts
    slope: Slope
    weights: Floats
    pure: float
    smt_free: bool = False

    @property
    def parameters(self) -> int:
        """How many parameters the law has: T(1), contention, coherency, the SMT yield where it is sought."""
        return self.law.least_counts + self.smt_free

    @property
    def df(self) -> int:
        """Degrees of freedom that are left for the noise."""
        return self.counts.observed - self.parameters

    @property
    def smt_start(self) -> Floats | None:
        """Where the search for the SMT yield begins."""
        return np.array([USUAL_SMT_YIELD]) if self.smt_free else None


@dataclass(frozen=True, slots=True)
class FittedLaw:
    """A law fitted: log T(1), contention (Amdahl's serial fraction), coherency, SMT yield; the noise it leaves.

    `squares` is the weighted sum of squares over launches, `covariance` is of the parameters in `free` alone.
    """

    problem: FitProblem
    log_seconds: float
    contention: float
    coherency: float
    smt_yield: float | None
    squares: float
    free: tuple[str, ...]
    covariance: Floats

    @property
    def variance(self) -> float:
        """Variance of one launch on one core, relative; NaN where nothing is left to judge it by."""
        return self.squares / self.problem.df if self.problem.df > 0 else float("nan")

    @property
    def lack_of_fit_df(self) -> int:
        """Degrees of freedom of the means of counts around the law; a parameter on its bound takes none."""
        return self.problem.counts.size - len(self.free)

    @property
    def lack_of_fit_variance(self) -> float:
        """Mean square of the means of counts around the law, as of a launch on one core."""
        return max(self.squares - self.problem.pure, 0.0) / self.lack_of_fit_df

    @property
    def lack_of_fit_p(self) -> float | None:
        """The chance of as much lack of fit where the law is right; None without launches that repeat counts."""
        pure_df = self.problem.counts.pure_df
        if self.lack_of_fit_df <= 0 or pure_df < LEAST_PURE_DF or not has_replicates(self.problem.counts):
            return None
        ratio = self.lack_of_fit_variance / (self.problem.pure / pure_df)
        return f_tail(ratio, self.lack_of_fit_df, pure_df)

    @property
    def misfits(self) -> bool:
        """Whether the law's lack of fit is to be in its intervals."""
        p = self.lack_of_fit_p
        return p is not None and p < SUSPICIOUS and self.lack_of_fit_df >= LEAST_LACK_OF_FIT_DF

    def interval_variance(self, parameter: str) -> tuple[float, float]:
        """The variance and degrees of freedom of a parameter's interval: of launches, or of lack of fit if wider."""
        choices = [(self.variance, self.effective_df(parameter))]
        if self.misfits:
            choices.append((self.lack_of_fit_variance, float(self.lack_of_fit_df)))
        return max(choices, key=lambda choice: choice[0] * t_quantile(0.975, choice[1]) ** 2)

    def stderr(self, parameter: str) -> float | None:
        """The standard error of a parameter; None on its bound, and where nothing is left to judge by."""
        error = self.launch_stderr(parameter)
        if error is None or not self.misfits:
            return error
        variance = self.squares / (self.problem.counts.observed - len(self.free))
        return error * float(max(self.lack_of_fit_variance / variance, 1.0) ** 0.5)

    def launch_stderr(self, parameter: str) -> float | None:
        """The standard error as far as launches and residuals make it, without the Birge ratio."""
        if parameter not in self.free or not self.covariance.size:
            return None
        index = self.free.index(parameter)
        return float(np.sqrt(self.covariance[index, index]))

    def effective_df(self, parameter: str) -> float:
        """Degrees of freedom of a parameter's interval (Satterthwaite): fewer, the more it hangs on the slope of noise.

        The variance of a parameter is known as well as its logarithm, a + lean b, is: 2 / df for the level of noise at
        the pivot, and the slope's own variance for how far from the pivot the parameter looks.
        """
        df, slope = self.problem.df, self.problem.slope
        if df <= 0 or slope.variance <= 0.0:
            return float(df)
        names = [name for name in PARAMETERS if name in self.free or name == parameter]
        slopes = _slopes(self.problem, self.contention, self.coherency, self.smt_yield)
        chosen, x = np.stack([slopes[name] for name in names], axis=-1), np.log(self.problem.counts.cores)

        def log_variance(steeper: float) -> float:
            weight = self.problem.weights * np.exp(-steeper * x)
            information = chosen.T @ (chosen * weight[:, None])
            if not np.isfinite(information).all():
                return float("nan")
            inverse = np.linalg.pinv(information)
            variance = inverse[names.index(parameter), names.index(parameter)]
            return float(np.log(variance)) if variance > 0.0 else float("nan")

        lean = (log_variance(1e-4) - log_variance(-1e-4)) / 2e-4
        if np.isnan(lean):
            return float(df)
        return 2.0 / (2.0 / df + (lean - slope.pivot) ** 2 * slope.variance)

    def correlation(self, one: str, other: str) -> float:
        """How two parameters lean on each other; 0 where one is on its bound."""
        if one not in self.free or other not in self.free or not self.covariance.size:
            return 0.0
        i, j = self.free.index(one), self.free.index(other)
        spread = np.sqrt(self.covariance[i, i] * self.covariance[j, j])
        return float(self.covariance[i, j] / spread) if spread > 0.0 else 0.0


def fit_problem(law: Law, counts: Counts, *, smt_free: bool = False) -> FitProblem:
    """The problem of fitting a law to counts, weighted by how noise grows with cores."""
    slope = counts.slope
    floor = counts.observed * LEAST_NOISE**2
    pure = pure_error(counts, slope.value) + floor
    return FitProblem(law, counts, slope, weights(counts, slope.value), pure, smt_free)


def has_replicates(counts: Counts) -> bool:
    """Whether there are replicates: half the counts or more have two launches."""
    return counts.repeats >= 2.0


def effective_cores(counts: Counts, smt_yield: Floats | None) -> Floats:
    """Cores, and so much of a core for every further hardware thread in use: batch × counts."""
    if smt_yield is None:
        return counts.cores[None, :]
    # Second threads that take a whole core away leave nothing, which has no logarithm.
    cores: Floats = np.maximum(counts.cores + smt_yield[:, None] * counts.siblings, LEAST_CORES)
    return cores


def columns(law: Law, counts: Counts) -> Design:
    """The columns of a law at some counts, for each SMT yield of a batch."""

    def design(smt_yield: Floats | None) -> Floats:
        cores = effective_cores(counts, smt_yield)
        return np.stack(law.columns(counts.stretch / cores, cores), axis=-1)

    return design


def fit_law(problem: FitProblem, *, bounded: bool = True) -> FittedLaw:
    """The law's parameters at their best; unbounded only to look at what the bounds hide, where T(1) stays positive."""
    counts = problem.counts
    logs = problem.law.sign * counts.means
    solution = solve(logs, problem.weights, columns(problem.law, counts), bounded=bounded, smt=problem.smt_start)
    if not bounded and solution.coefficients[0, :2].sum() <= 0.0:
        return fit_law(problem)
    return _fitted_law(problem, solution)


def _fitted_law(problem: FitProblem, solution: Solution) -> FittedLaw:
    log_seconds, s, k = natural(solution, problem.law)
    phi = None if solution.smt_yield is None else float(solution.smt_yield[0])
    squares = float(solution.squares[0]) + problem.pure
    free = _free(problem, float(s[0]), float(k[0]), phi)
    return FittedLaw(
        problem=problem,
        log_seconds=float(log_seconds[0]),
        contention=float(s[0]),
        coherency=float(k[0]),
        smt_yield=phi,
        squares=squares,
        free=free,
        covariance=_covariance(problem, float(s[0]), float(k[0]), phi, free, squares),
    )


def natural(solution: Solution, law: Law) -> tuple[Floats, Floats, Floats]:
    """Log T(1), contention and coherency of each of a batch; T(1) is never quite nothing.

    The coefficients of a law of throughput add up to the inverse of T(1).
    """
    loss = solution.coefficients[:, 2] if solution.coefficients.shape[1] == 3 else np.zeros(len(solution.coefficients))
    one_core = np.maximum(solution.coefficients[:, :2].sum(axis=1), np.abs(loss) / LARGEST_COHERENCY)
    return law.sign * np.log(one_core), solution.coefficients[:, 1] / one_core, loss / one_core


def _free(problem: FitProblem, s: float, k: float, phi: float | None) -> tuple[str, ...]:
    bounds = {
        "log_seconds": False,
        "contention": abs(s) <= ON_BOUND or abs(1.0 - s) <= ON_BOUND,
        "coherency": not problem.law.has_peak or abs(k) <= ON_BOUND,
        "smt_yield": phi is None or abs(phi) >= 1.0 - 1e-9,
    }
    return tuple(name for name, bound in bounds.items() if not bound)


def _covariance(
    problem: FitProblem, s: float, k: float, phi: float | None, free: tuple[str, ...], squares: float
) -> Floats:
    """Inverse information of the free parameters times the noise they leave; empty where no noise is left to judge."""
    left = problem.counts.observed - len(free)
    if left <= 0:
        return np.empty((0, 0))
    slopes = _slopes(problem, s, k, phi)
    chosen = np.stack([slopes[name] for name in free], axis=-1)
    information = chosen.T @ (chosen * problem.weights[:, None])
    if np.linalg.cond(information) > 1e15:
        return np.empty((0, 0))
    covariance: Floats = np.linalg.inv(information) * squares / left
    return covariance


def _slopes(problem: FitProblem, s: float, k: float, phi: float | None) -> dict[str, Floats]:
    """How log T at each count changes with each parameter."""
    counts, scale = problem.counts, problem.law.scale

    def time(yielded: float | None) -> Floats:
        cores = effective_cores(counts, None if yielded is None else np.array([yielded]))[0]
        total: Floats = relative_time(cores, s, k, counts.stretch, scale)
        return total

    cores = effective_cores(counts, None if phi is None else np.array([phi]))[0]
    here, step = time(phi), 1e-6
    lean = np.zeros_like(here) if phi is None else (time(phi + step) - time(phi - step)) / (2.0 * step)
    return {
        "log_seconds": np.ones_like(here),
        "contention": contention_slope(cores, counts.stretch, here, scale),
        "coherency": (cores - 1.0) / here,
        "smt_yield": lean / here,
    }
