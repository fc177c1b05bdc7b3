"""What the planner computes from: for each series the draws that `scaling capacity` asks, and the sizes on offer.

Draws have the digits of single precision, so single precision carries them whole. An array of equal values travels as
that one number; noise and slope repeat themselves after half the draws, so only half of them travels.
"""

import base64
from dataclasses import asdict

import numpy as np

from scaling.analysis.capacity import (
    DRAWS,
    crossing_grid,
    farthest,
    most_measured,
    on_offer,
    only_measured,
    refusal,
)
from scaling.analysis.fits.observations import Floats
from scaling.analysis.fits.parametric_bootstrap import Draws
from scaling.analysis.sizing.question import Outlook
from scaling.analysis.sizing.sizes import Sizes


def planner_facts(outlook: Outlook, sizes: Sizes | None) -> dict[str, object]:
    """All that is needed to put a question to a series; where none is answered, only why."""
    fit = outlook.fit
    told: dict[str, object] = {"name": fit.series.name, "label": fit.series.label, "unit": fit.series.unit}
    known = {**told, "verdict": fit.verdict.word, "refusal": refusal(fit)}
    if known["refusal"]:
        return known
    drawn = fit.draws(DRAWS)
    return {
        **known,
        "work": fit.series.work,
        "recommended": outlook.recommended,
        "most_measured": most_measured(fit),
        "farthest": farthest(fit),
        "only_measured": only_measured(fit),
        "counts": on_offer(fit, sizes),
        "machine": _machine(sizes),
        "smt_known": fit.chosen.figures.smt_yield is not None,
        "clock": asdict(drawn.clock),
        "grid": None if drawn.clock.governs == "nothing" else _doubles(crossing_grid(fit)),
        "laws": _laws(drawn),
    }


def _machine(sizes: Sizes | None) -> dict[str, object] | None:
    """What of the sizes an answer speaks of: the machine's name, its last size, and the threads of a core."""
    if sizes is None or not sizes.counts:
        return None
    return {"name": sizes.machine, "last": sizes.counts[-1], "threads": sizes.threads}


def _laws(drawn: Draws) -> list[dict[str, object]]:
    """The draws law by law: those of one law have the same share."""
    laws = len(drawn.share) // DRAWS
    parts = [slice(place * DRAWS, (place + 1) * DRAWS) for place in range(laws)]
    return [
        {
            "draws": DRAWS,
            "share": float(drawn.share[part.start]),
            "log_seconds": _singles(drawn.log_seconds[part]),
            "contention": _singles(drawn.contention[part]),
            "coherency": _singles(drawn.coherency[part]),
            "smt_yield": _singles(drawn.smt_yield[part]),
            "noise": _singles(drawn.noise[part][: DRAWS // 2]),
            "slope": _singles(drawn.slope[part][: DRAWS // 2]),
        }
        for part in parts
    ]


def _singles(values: Floats) -> float | str:
    if np.all(values == values[0]):
        return float(values[0])
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


def _doubles(values: Floats) -> str:
    return base64.b64encode(values.astype("<f8").tobytes()).decode()
