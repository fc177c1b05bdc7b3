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

    @property
    def parameters(self) -> int:
        """How many parameters the law has: T(1), contention, coherency, and a yield for every SMT level."""
        return self.law.least_counts + len(self.counts.levels)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters that a law may have."""
        return ("log_seconds", "contention", "coherency", *map(yield_name, self.counts.levels))

    @property
    def df(self) -> int:
        """Degrees of freedom that are left for the noise."""
        return self.counts.observed - self.parameters

    @property
    def smt_start(self) -> Floats | None:
        """Where the search for the SMT yields begins: what usual further threads yield together, shared by them."""
        levels = self.counts.levels
        return np.array([[USUAL_SMT_YIELD / max(level - 1, 1) for level in levels]]) if levels else None


@dataclass(frozen=True, slots=True)
class FittedLaw:
    """A law fitted: log T(1), contention (Amdahl's serial fraction), coherency, SMT yields; the noise it leaves.

    `squares` is the weighted sum of squares over launches, `covariance` is of the parameters in `free` alone.
    """

    problem: FitProblem
    log_seconds: float
    contention: float
    coherency: float
    smt_yields: tuple[float, ...]
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
        names = [name for name in self.problem.names if name in self.free or name == parameter]
        slopes = _slopes(self.problem, self.contention, self.coherency, self.smt_yields)
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


def yield_name(level: int) -> str:
    """The name of the parameter that is the yield of an SMT level."""
    return f"smt_yield_{level}"


def fit_problem(law: Law, counts: Counts) -> FitProblem:
    """The problem of fitting a law to counts, weighted by how noise grows with cores."""
    slope = counts.slope
    floor = counts.observed * LEAST_NOISE**2
    pure = pure_error(counts, slope.value) + floor
    return FitProblem(law, counts, slope, weights(counts, slope.value), pure)


def has_replicates(counts: Counts) -> bool:
    """Whether there are replicates: half the counts or more have two launches."""
    return counts.repeats >= 2.0


def effective_cores(counts: Counts, smt_yields: Floats | None) -> Floats:
    """Cores, and so much of a core for every further hardware thread in use, by its SMT level: batch × counts."""
    if smt_yields is None:
        return counts.cores[None, :]
    # Further threads that take a whole core away leave nothing, which has no logarithm.
    cores: Floats = np.maximum(counts.cores + smt_yields @ counts.siblings.T, LEAST_CORES)
    return cores


def yields_of(smt_yields: tuple[float, ...], size: int = 1) -> Floats | None:
    """The same yields for every row of a batch; None without any."""
    return np.tile(smt_yields, (size, 1)) if smt_yields else None


def columns(law: Law, counts: Counts) -> Design:
    """The columns of a law at some counts, for the SMT yields of each row of a batch."""

    def design(smt_yields: Floats | None) -> Floats:
        cores = effective_cores(counts, smt_yields)
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
    phi = () if solution.smt_yields is None else tuple(map(float, solution.smt_yields[0]))
    squares = float(solution.squares[0]) + problem.pure
    free = _free(problem, float(s[0]), float(k[0]), phi)
    return FittedLaw(
        problem=problem,
        log_seconds=float(log_seconds[0]),
        contention=float(s[0]),
        coherency=float(k[0]),
        smt_yields=phi,
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


def _free(problem: FitProblem, s: float, k: float, phi: tuple[float, ...]) -> tuple[str, ...]:
    bounds = {
        "log_seconds": False,
        "contention": abs(s) <= ON_BOUND or abs(1.0 - s) <= ON_BOUND,
        "coherency": not problem.law.has_peak or abs(k) <= ON_BOUND,
    }
    bounds |= {yield_name(level): abs(own) >= 1.0 - 1e-9 for level, own in zip(problem.counts.levels, phi, strict=True)}
    return tuple(name for name, bound in bounds.items() if not bound)


def _covariance(
    problem: FitProblem, s: float, k: float, phi: tuple[float, ...], free: tuple[str, ...], squares: float
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


def _slopes(problem: FitProblem, s: float, k: float, phi: tuple[float, ...]) -> dict[str, Floats]:
    """How log T at each count changes with each parameter."""
    counts, scale = problem.counts, problem.law.scale

    def time(more: float) -> Floats:
        cores = effective_cores(counts, yields_of(tuple(own + more for own in phi)))[0]
        total: Floats = relative_time(cores, s, k, counts.stretch, scale)
        return total

    cores = effective_cores(counts, yields_of(phi))[0]
    here, step = time(0.0), 1e-6
    # A count depends on the yield of its own level only, so that all of them may be moved at once.
    lean = (time(step) - time(-step)) / (2.0 * step) / here
    return {
        "log_seconds": np.ones_like(here),
        "contention": contention_slope(cores, counts.stretch, here, scale),
        "coherency": (cores - 1.0) / here,
        **{yield_name(level): lean * (own > 0.0) for level, own in zip(counts.levels, counts.siblings.T, strict=True)},
    }
