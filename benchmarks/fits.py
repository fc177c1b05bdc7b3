"""Cost of fitting: a thousand resamples of both laws against a loop over a general solver, and twenty whole series.

    python -m benchmarks.fits [--resamples 1000] [--loop 100]

The loop calls `scipy.optimize.least_squares` with bounds once per resample and law; it runs over some of the resamples
and its time is scaled up. Both use the same resamples in the same process, and their results are compared.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from benchmarks.shared.launches import Truth, series
from scaling.analysis.capacity import answer
from scaling.analysis.fits.bootstrap import both_laws, fit_resamples, resample_means
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.fits.least_squares import fit_problem
from scaling.analysis.fits.observations import counts
from scaling.analysis.fitting import SeriesFit, fit
from scaling.analysis.laws import USL
from scaling.analysis.sizing.question import Goal, Question
from scaling.results.csv_series import read_csv_series

NINE = (1, 2, 4, 8, 12, 16, 24, 32, 48)
TRUTH = Truth(0.03, 1e-4, grid=NINE, launches=10)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--loop", type=int, default=100)
    arguments = parser.parse_args()
    print("| what | ms | relative to the loop |\n|---|---|---|")
    _resamples(arguments.resamples, arguments.loop)
    _series(20)
    _csv(1_000_000)


def _resamples(size: int, looped: int) -> None:
    measured = series(TRUTH, np.random.default_rng(1))
    seen = counts(measured)
    means = resample_means(seen, size, seed=1)
    weights = fit_problem(USL, seen).weights
    ours = min(_seconds(lambda: both_laws(seen, size)) for _ in range(5))
    loop = _seconds(lambda: [_loop(mean, weights) for mean in means[:looped]]) / looped * size
    batch = fit_resamples(means[:looped], seen, USL)
    off = max(abs(_loop(row, weights)[1][1] - s) for row, s in zip(means[:looped], batch.contention, strict=True))
    print(
        f"| {size} resamples, both laws, nine counts × 10 launches | {1000 * ours:.0f} | × {loop / ours:.0f} faster |"
    )
    print(f"| the loop, over {looped} of them | {1000 * loop:.0f} | largest difference in s {off:.0e} |")


def _loop(means: Floats, weights: Floats) -> list[Floats]:
    """Both laws by a general solver."""
    cores, root, solutions = np.array(NINE, dtype=np.float64), np.sqrt(weights), []
    for extra in (0, 1):

        def missed(p: Floats, extra: int = extra) -> Floats:
            loss = p[1] * (1.0 - 1.0 / cores) + (p[2] * (cores - 1.0) if extra else 0.0)
            residuals: Floats = root * (means - p[0] - np.log(1.0 / cores + loss))
            return residuals

        bounds = ([-np.inf, 0.0, 0.0][: 2 + extra], [np.inf, 1.0, 1.0][: 2 + extra])
        start, scale = [means[0], 0.05, 1e-4][: 2 + extra], [1.0, 1e-2, 1e-4][: 2 + extra]
        solutions.append(least_squares(missed, start, bounds=bounds, x_scale=scale, method="trf").x)
    return solutions


def _series(many: int) -> None:
    chance = np.random.default_rng(1)
    measured = [series(TRUTH, chance) for _ in range(many)]
    fits: list[SeriesFit] = []
    everything = _seconds(lambda: fits.extend(fit(series) for series in measured))
    print(f"| {many} series, complete analysis | {1000 * everything:.0f} | |")
    question = Question(Goal.THROUGHPUT, 10.0)
    answered = _seconds(lambda: [answer(fitted, question) for fitted in fits])
    print(f"| {many} sizing answers over 2,000 draws each | {1000 * answered:.0f} | |")


def _csv(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        chance = np.random.default_rng(1)
        cores = chance.choice(NINE, rows)
        seconds = (1.0 / cores + 0.03) * np.exp(chance.normal(0.0, 0.02, rows))
        path.write_text("cores,seconds\n" + "".join(f"{n},{t:.6f}\n" for n, t in zip(cores, seconds, strict=True)))
        print(f"| read {rows:,} rows of a CSV | {1000 * _seconds(lambda: read_csv_series(path)):.0f} | |")
        print(f"| and fit them | {1000 * _seconds(lambda: fit(read_csv_series(path)[0])):.0f} | |")


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
