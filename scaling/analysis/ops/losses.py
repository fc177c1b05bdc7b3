"""What limits a program at n threads: the time beyond a perfect share, and which ops it is spent in. Pure.

The efficiency lost at n threads is the part of a step beyond T(1) / n. It is attributed to the parts of the step: each
has lost t(n) - t(1) / n. A part that gained more than its share, as caches allow, has lost less than nothing.
"""

from dataclasses import dataclass

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.observations import Floats
from scaling.analysis.ops.classes import OpClass, op_class
from scaling.analysis.ops.laws import HIGH, LOW, StepLaws
from scaling.analysis.ops.profile import NOT_OPS

# Below this share of a perfect step nothing is lost that could be shared out.
LEAST_LOSS = 1e-3


@dataclass(frozen=True, slots=True)
class LostPart:
    """What one part has lost: seconds, and its share of all that is lost."""

    name: str
    op_class: OpClass
    seconds: float
    share: Estimate

    @property
    def is_op(self) -> bool:
        """Whether it is an op, and not the framework between ops."""
        return self.name not in NOT_OPS


@dataclass(frozen=True, slots=True)
class Loss:
    """A step at n threads: its time, its efficiency, and where what is missing went, the largest loss first.

    `measured` says whether these threads were traced, or are what the laws foretell; `told` whether more is lost than
    noise might be, so that it can be shared out.
    """

    threads: int
    seconds: float
    lost_seconds: float
    efficiency: float
    measured: bool
    told: bool
    parts: tuple[LostPart, ...]


def loss(laws: StepLaws, threads: int) -> Loss:
    """What is lost at so many threads, by part; from traces where there are any, else from the laws."""
    here, drawn_here = _times(laws, threads)
    one, drawn_one = _times(laws, 1)
    lost, drawn = here - one / threads, drawn_here - drawn_one / threads
    total, least = float(lost.sum()), LEAST_LOSS * float(one.sum()) / threads
    totals = drawn.sum(axis=1)
    shares = drawn / np.maximum(totals, least)[:, None]
    parts = [
        LostPart(name, op_class(name), float(seconds), _share(laws, float(seconds) / max(total, least), share))
        for name, seconds, share in zip(laws.times.names, lost, shares.T, strict=True)
    ]
    return Loss(
        threads=threads,
        seconds=float(here.sum()),
        lost_seconds=total,
        efficiency=float(one.sum() / threads / here.sum()),
        measured=laws.times.at(threads) is not None,
        told=min(total, float(np.quantile(totals, LOW))) > least,
        parts=tuple(sorted(parts, key=lambda part: -part.seconds)),
    )


def _times(laws: StepLaws, threads: int) -> tuple[Floats, Floats]:
    place = laws.times.at(threads)
    if place is not None:
        return laws.times.means[place], laws.drawn_times[:, place]
    return laws.parallel / threads + laws.serial, laws.drawn_parallel / threads + laws.drawn_serial


def _share(laws: StepLaws, value: float, drawn: Floats) -> Estimate:
    if not laws.times.freedom:
        return Estimate(value)
    low, high = np.quantile(drawn, [LOW, HIGH])
    return Estimate(value, float(min(low, value)), float(max(high, value)), float(drawn.std()))
