"""Batched Gauss-Newton: weighted least squares of log time with coefficients that are not negative. Pure.

In time every law here is a sum of columns with coefficients that are not negative,

    T(n) = p1 / n  +  p2  +  p3 (n - 1),      T(1) = p1 + p2,  s = p2 / T(1),  k = p3 / T(1)

so that 0 <= s <= 1, k >= 0 and T(1) > 0 are the same as p >= 0. The fit is of log T, which is not linear in p; but
around any p the columns divided by T(n) are, and the next p is again a least-squares problem with p >= 0. With three
coefficients there are seven sets of positive ones to try, all by hand: no loop over resamples is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.fits.launch_effects import Floats

Truths = NDArray[np.bool_]

# Entries of rows × counts that are solved at once.
LARGEST_BATCH = 2**20
ROUNDS = 40
HALVINGS = 12
# Enough: the sum of squares no longer falls by more than this share of itself, or of the weights where it is nothing.
SETTLED = 1e-12
NOTHING = 1e-20
LEAST_TIME = 1e-100
# A determinant of unit columns below this is no information.
SINGULAR = 1e-13

# Columns of the fit for yields of the further threads of a core, batch × levels (None: there are none to find), each of
# which moves counts of its own: batch × counts × p.
Design = Callable[[Floats | None], Floats]


@dataclass(frozen=True, slots=True)
class Solution:
    """Coefficients and sums of squares, one for each of a batch; yields φ of further threads where they were free."""

    coefficients: Floats
    squares: Floats
    smt_yields: Floats | None = None


def solve(
    logs: Floats, weights: Floats, design: Design, *, bounded: bool = True, smt: Floats | None = None
) -> Solution:
    """The best coefficients for each row of log times; with starting `smt` yields, those too, within -1 and 1.

    Rows are solved by themselves, so that many of them with many counts are taken in pieces that can be held.
    """
    logs, weights = np.broadcast_arrays(*np.atleast_2d(logs, weights))
    batch, size = max(len(logs), 0 if smt is None else len(smt)), max(1, LARGEST_BATCH // logs.shape[1])
    if batch <= size or (smt is None and len(design(None)) > 1):
        return _solve_batch(logs, weights, design, bounded, smt)
    pieces = [slice(first, first + size) for first in range(0, batch, size)]
    parts = [
        _solve_batch(_rows(logs, piece), _rows(weights, piece), design, bounded, _rows(smt, piece)) for piece in pieces
    ]
    yields = [part.smt_yields for part in parts if part.smt_yields is not None]
    return Solution(
        np.concatenate([part.coefficients for part in parts]),
        np.concatenate([part.squares for part in parts]),
        np.concatenate(yields) if yields else None,
    )


def _rows(values: Any, piece: slice) -> Any:
    """These rows of a batch; the one row, or none, that stands for all of them."""
    return values if values is None or len(values) == 1 else values[piece]


def _solve_batch(logs: Floats, weights: Floats, design: Design, bounded: bool, smt: Floats | None) -> Solution:
    columns = design(smt)
    batch = max(columns.shape[0], logs.shape[0])
    logs = np.broadcast_to(logs, (batch, logs.shape[1]))
    weights = np.broadcast_to(weights, logs.shape)
    best = _start(logs, weights, columns, bounded)
    current = Solution(best, _squares(logs, weights, columns, best), smt)
    least = NOTHING * weights.sum(axis=-1)
    for _ in range(ROUNDS):
        improved = _round(logs, weights, design, current, bounded)
        settled = (improved.squares >= (1.0 - SETTLED) * current.squares) | (improved.squares <= least)
        current = improved
        if settled.all():
            break
    return current


def _start(logs: Floats, weights: Floats, columns: Floats, bounded: bool) -> Floats:
    """Least squares of relative error in time, which is linear: close enough to begin with."""
    start = _scaled_least_squares(columns, np.exp(-logs), np.ones_like(logs), weights, bounded)
    if bounded:
        # A start that says T(1) = 0 has no logarithm; take some of everything instead.
        dead = ~np.isfinite(_squares(logs, weights, columns, start))
        even = np.exp(logs.mean(axis=-1))[:, None] / columns.mean(axis=-2) / columns.shape[-1]
        return np.where(dead[:, None], even, start)
    start_bounded = _start(logs, weights, columns, bounded=True)
    usable = np.isfinite(_squares(logs, weights, columns, start))
    return np.where(usable[:, None], start, start_bounded)


def _squares(logs: Floats, weights: Floats, columns: Floats, coefficients: Floats) -> Floats:
    """The weighted sum of squares; infinite where a coefficient makes a time that is not positive."""
    times = weighted_sums(columns, coefficients)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.sum(weights * (logs - np.log(times)) ** 2, axis=-1)
    return np.where(np.all(times > 0.0, axis=-1) & np.isfinite(squares), squares, np.inf)


def weighted_sums(columns: Floats, coefficients: Floats) -> Floats:
    """Columns times coefficients, each of a batch by itself: the times that a law gives at every count."""
    shared = len(columns) == 1
    sums: Floats = coefficients @ columns[0].T if shared else (columns @ coefficients[..., None])[..., 0]
    return sums


def _round(logs: Floats, weights: Floats, design: Design, current: Solution, bounded: bool) -> Solution:
    columns = design(current.smt_yields)
    # Below one core the last column is negative, and there may be no good start; such rows stay as bad as they are.
    times = np.maximum(weighted_sums(columns, current.coefficients), LEAST_TIME)
    wanted = logs - np.log(times) + 1.0  # the linear problem is for the new p itself, and slopes @ p = 1
    if current.smt_yields is None:
        aim = _scaled_least_squares(columns, 1.0 / times, wanted, weights, bounded)
        return _line_search(logs, weights, design, current, aim, None)
    slopes, lean = columns / times[..., None], _lean(design, current) / times[..., None]
    # The yields are eliminated one by one: no count depends on two of them, so that their columns are orthogonal.
    heavy = np.swapaxes(weights[..., None] * lean, -1, -2)
    inner = np.sum(weights[..., None] * lean**2, axis=-2)
    share = np.divide(1.0, inner, out=np.zeros_like(inner), where=inner > 0.0)[..., None]

    def without_lean(values: Floats) -> Floats:
        rest: Floats = values - lean @ (heavy @ values * share)
        return rest

    aim = _least_squares(without_lean(slopes), without_lean(wanted[..., None])[..., 0], weights, bounded)
    left = wanted - weighted_sums(slopes, aim)
    move = (heavy @ left[..., None] * share)[..., 0]
    return _line_search(logs, weights, design, current, aim, np.clip(current.smt_yields + move, -1.0, 1.0))


def _lean(design: Design, current: Solution) -> Floats:
    """How times change with each of the yields, by central differences: batch × counts × levels."""
    assert current.smt_yields is not None
    steps = 1e-6 * np.eye(current.smt_yields.shape[-1])
    changes = [design(current.smt_yields + step) - design(current.smt_yields - step) for step in steps]
    return np.stack([weighted_sums(change, current.coefficients) / 2e-6 for change in changes], axis=-1)


def _line_search(
    logs: Floats, weights: Floats, design: Design, current: Solution, aim: Floats, smt_aim: Floats | None
) -> Solution:
    """As far towards the aim as makes the sum of squares smaller; nowhere if nothing does."""
    best = current
    step = np.ones(len(aim))
    for _ in range(HALVINGS):
        coefficients = current.coefficients + step[:, None] * (aim - current.coefficients)
        smt = None if smt_aim is None or current.smt_yields is None else _between(current.smt_yields, smt_aim, step)
        squares = _squares(logs, weights, design(smt), coefficients)
        better = squares < best.squares
        best = Solution(
            np.where(better[:, None], coefficients, best.coefficients),
            np.where(better, squares, best.squares),
            None if smt is None or best.smt_yields is None else np.where(better[:, None], smt, best.smt_yields),
        )
        # The last digits of a finished fit are not worth halving for.
        enough = current.squares * (1.0 + SETTLED) + NOTHING * weights.sum(axis=-1)
        waiting = ~better & (best.squares == current.squares) & (squares > enough)
        if not waiting.any():
            break
        step = np.where(waiting, step / 3.0, step)
    return best


def _between(start: Floats, end: Floats, step: Floats) -> Floats:
    between: Floats = start + step[:, None] * (end - start)
    return between


def _least_squares(columns: Floats, wanted: Floats, weights: Floats, bounded: bool) -> Floats:
    """Weighted linear least squares, each of a batch by itself; with p >= 0 the best of all sets of positive ones."""
    weighted = columns * weights[..., None]
    # As products of matrices: for so few columns einsum takes many times as long.
    gram = np.swapaxes(weighted, -1, -2) @ columns
    return _solve_normal_equations(gram, (wanted[..., None, :] @ weighted)[..., 0, :], bounded)


def _scaled_least_squares(columns: Floats, scale: Floats, wanted: Floats, weights: Floats, bounded: bool) -> Floats:
    """The same of columns that are scaled count by count; those that a batch shares are multiplied out but once."""
    if len(columns) > 1:
        return _least_squares(columns * scale[..., None], wanted, weights, bounded)
    (shared,), heavy = columns, weights * scale
    size = shared.shape[-1]
    pairs = (shared[:, :, None] * shared[:, None, :]).reshape(len(shared), -1)
    gram = ((heavy * scale) @ pairs).reshape(-1, size, size)
    return _solve_normal_equations(gram, (heavy * wanted) @ shared, bounded)


def _solve_normal_equations(gram: Floats, moment: Floats, bounded: bool) -> Floats:
    scale = np.sqrt(np.einsum("...pp->...p", gram))
    scale = np.where(scale > 0.0, scale, 1.0)
    gram, moment = gram / (scale[..., :, None] * scale[..., None, :]), moment / scale
    size = moment.shape[-1]
    if not bounded:
        return _solve_subset(gram, moment, tuple(range(size)))[0] / scale
    best, sound = _solve_subset(gram, moment, tuple(range(size)))
    outside = np.flatnonzero(~(sound & np.all(best >= 0.0, axis=-1)))
    if outside.size:
        best[outside] = _on_a_bound(gram[outside], moment[outside])
    return best / scale


def _on_a_bound(gram: Floats, moment: Floats) -> Floats:
    """The best coefficients with at least one of them zero."""
    size = moment.shape[-1]
    best, gain = np.zeros_like(moment), np.full(moment.shape[:-1], -np.inf)
    for chosen in (chosen for many in range(1, size) for chosen in combinations(range(size), many)):
        trial, sound = _solve_subset(gram, moment, chosen)
        worth = np.einsum("...p,...p->...", trial, moment)
        better = sound & np.all(trial >= 0.0, axis=-1) & (worth > gain)
        best, gain = np.where(better[..., None], trial, best), np.where(better, worth, gain)
    return best


def _solve_subset(gram: Floats, moment: Floats, chosen: tuple[int, ...]) -> tuple[Floats, Truths]:
    """The coefficients of the chosen columns, the others zero, and whether there is information enough for them."""
    minors = _adjugate(gram, chosen)
    determinant = sum(gram[..., chosen[0], other] * minors[0][index] for index, other in enumerate(chosen))
    sound = determinant > SINGULAR
    safe = np.where(sound, determinant, 1.0)
    full = np.zeros_like(moment)
    for row, column in enumerate(chosen):
        parts = (minors[row][index] * moment[..., other] for index, other in enumerate(chosen))
        full[..., column] = sum(parts) / safe
    return full, sound


def _adjugate(gram: Floats, chosen: tuple[int, ...]) -> list[list[Any]]:
    """The adjugate of a symmetric matrix of at most three columns, entry by entry: no solver is called in a loop."""

    def entry(row: int, column: int) -> Any:
        return gram[..., chosen[row], chosen[column]]

    if len(chosen) == 1:
        return [[1.0]]
    if len(chosen) == 2:
        return [[entry(1, 1), -entry(0, 1)], [-entry(0, 1), entry(0, 0)]]

    def minor(row: int, column: int) -> Any:
        (a, b), (c, d) = [i for i in range(3) if i != row], [j for j in range(3) if j != column]
        return (-1.0) ** (row + column) * (entry(a, c) * entry(b, d) - entry(a, d) * entry(b, c))

    return [[minor(row, column) for column in range(3)] for row in range(3)]
