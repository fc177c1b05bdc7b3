"""Times of the parts of a step on several numbers of threads, and bootstrap draws of them. Pure.

The parts are the op types, the framework's time between ops, and the unexplained; they add up to the step. What slows
a launch slows many ops at once, so a draw scatters all parts together: it is a random mixture of the measured
deviations, which has their covariance, over a scaled inverse χ², which widens the intervals of few launches. With one
launch per count the deviations are those of steps, and what differs between launches is not in them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from scaling.analysis.fits.observations import Floats
from scaling.analysis.ops.profile import OVERHEAD, UNEXPLAINED, launch_parts, step_parts
from scaling.analysis.ops.traces import Trace
from scaling.errors import FitError

DRAWS = 1000
SEED = 20260101
# The resolution of a clock: a part that never ran at some count took less than this, and has a logarithm.
LEAST_SECONDS = 1e-9
# However noisy a part, a draw keeps at least this share of its time.
LEAST_LEFT = 1e-3
WHOLE_STEP = "whole step"


@dataclass(frozen=True, slots=True)
class PartTimes:
    """Mean seconds of each part on each number of threads: counts × parts.

    `units` is how many launches (or, with `of_steps`, steps) each mean is of; `deviations` are theirs from the mean of
    their count, relative, all counts together: rows × parts, with `freedom` degrees of freedom, and `step_deviations`
    those of the whole step.
    """

    names: tuple[str, ...]
    threads: tuple[int, ...]
    means: Floats
    units: tuple[int, ...]
    deviations: Floats
    step_deviations: Floats
    freedom: int
    of_steps: bool
    plain_ratio: float | None

    @property
    def steps(self) -> Floats:
        """Seconds of the whole step on each number of threads."""
        total: Floats = self.means.sum(axis=1)
        return total

    def at(self, threads: int) -> int | None:
        """The index of a number of threads; None where it was not traced."""
        return self.threads.index(threads) if threads in self.threads else None

    def only(self, wanted: Sequence[int]) -> "PartTimes":
        """The same without the other numbers of threads; what is known of noise stays."""
        indices = [index for index, threads in enumerate(self.threads) if threads in wanted]
        return replace(
            self,
            threads=tuple(self.threads[index] for index in indices),
            means=self.means[indices],
            units=tuple(self.units[index] for index in indices),
        )

    def as_one(self) -> "PartTimes":
        """The whole step as the only part."""
        return replace(self, names=(WHOLE_STEP,), means=self.steps[:, None], deviations=self.step_deviations[:, None])


def part_times(traces: Sequence[Trace]) -> PartTimes:
    """The parts of one subject's traces, op types with the most time on the fewest threads first."""
    by_threads: dict[int, list[Trace]] = defaultdict(list)
    for trace in traces:
        if trace.inter > 1:
            raise FitError(
                f"{trace.point.workload} was traced with {trace.inter} inter-op threads, where ops overlap and their "
                "times do not add up to a step; profile it with --inter 1"
            )
        by_threads[trace.threads].append(trace)
    counts = sorted(by_threads)
    of_steps = all(len(group) == 1 for group in by_threads.values())
    launches = [[launch_parts(trace) for trace in by_threads[threads]] for threads in counts]
    names = _names(launches)
    units = [_units(by_threads[threads], names, of_steps) for threads in counts]
    means = np.array([_matrix(rows, names).mean(axis=0) for rows in launches])
    repeated = [(rows, mean) for rows, mean in zip(units, means, strict=True) if len(rows) > 1]
    none = np.zeros((0, len(names)))
    return PartTimes(
        names=names,
        threads=tuple(counts),
        means=means,
        units=tuple(map(len, units)),
        deviations=np.concatenate([none, *(_deviations(rows, mean) for rows, mean in repeated)]),
        step_deviations=np.concatenate([none[:, 0], *(rows.sum(1) / mean.sum() - 1.0 for rows, mean in repeated)]),
        freedom=sum(len(rows) - 1 for rows, _ in repeated),
        of_steps=of_steps,
        plain_ratio=_plain_ratio(traces),
    )


def _deviations(rows: Floats, mean: Floats) -> Floats:
    """The relative deviation of each unit from the mean; 0 for a part that hardly ran."""
    relative: Floats = (rows - mean) / np.where(mean > LEAST_SECONDS, mean, np.inf)
    return relative


def draw_means(times: PartTimes, size: int = DRAWS, seed: int = SEED) -> tuple[Floats, Floats]:
    """Draw means, draws × counts × parts, and return them with the noise factor of each draw.

    The factor times the root mean square of deviations over √freedom is the relative noise of one unit.
    """
    chance = np.random.default_rng(seed)
    half = size // 2
    if not times.freedom:
        return np.repeat(times.means[None], 2 * half, axis=0), np.zeros(2 * half)
    spread = stats.chi2.ppf((chance.permutation(half) + 0.5) / half, times.freedom)
    mixture = chance.standard_normal((half, len(times.threads), len(times.deviations)))
    units = np.array(times.units, dtype=np.float64)
    shift = mixture @ times.deviations / np.sqrt(spread[:, None, None] * units[None, :, None])
    both = np.concatenate([shift, -shift])
    means: Floats = times.means[None] * np.maximum(1.0 + both, LEAST_LEFT)
    return means, np.tile(1.0 / np.sqrt(spread), 2)


def _units(traces: Sequence[Trace], names: tuple[str, ...], of_steps: bool) -> Floats:
    if of_steps:
        return _matrix([step_parts(step) for step in traces[0].steps], names)
    return _matrix([launch_parts(trace) for trace in traces], names)


def _names(launches: Sequence[Sequence[dict[str, float]]]) -> tuple[str, ...]:
    first = launches[0][0]
    ops = {name for count in launches for parts in count for name in parts} - {OVERHEAD, UNEXPLAINED}
    return (*sorted(ops, key=lambda name: (-first.get(name, 0.0), name)), OVERHEAD, UNEXPLAINED)


def _matrix(rows: Sequence[dict[str, float]], names: tuple[str, ...]) -> Floats:
    return np.array([[max(row.get(name, 0.0), LEAST_SECONDS) for name in names] for row in rows], dtype=np.float64)


def _plain_ratio(traces: Sequence[Trace]) -> float | None:
    """A plain step over a traced one, the geometric mean of launches."""
    ratios = [
        np.median(trace.plain_step_seconds) / sum(launch_parts(trace).values())
        for trace in traces
        if trace.plain_step_seconds
    ]
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else None
