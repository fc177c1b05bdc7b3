"""Points as JSON facts: the numbers every other form of showing must agree with."""

from dataclasses import asdict

from scaling.analysis.speedup import Scaled


def point_facts(each: Scaled) -> dict[str, object]:
    """A point with its figures, unrounded."""
    summary = each.summary
    return {
        **asdict(summary.point),
        "launches": summary.launches,
        "failed": summary.failed,
        "reasons": summary.reasons,
        "items_per_step": summary.items,
        "step_seconds": summary.seconds,
        "step_seconds_low": summary.low,
        "step_seconds_high": summary.high,
        "items_per_second": summary.items_per_second,
        "speedup": each.speedup,
        "efficiency": each.efficiency,
    }
