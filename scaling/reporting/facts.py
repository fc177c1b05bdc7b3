"""Points and comparisons as JSON facts: the numbers every other form of showing must agree with."""

from dataclasses import asdict

from scaling.analysis.comparison import Comparison, Difference
from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import Scaled


def point_facts(each: Scaled) -> dict[str, object]:
    """A point with its figures, unrounded, and its verdict."""
    summary = each.summary
    return {
        **asdict(summary.point),
        "launches": len(summary.used),
        "left_out": summary.left_out,
        "failures": summary.failures,
        "items_per_step": summary.items,
        **_figure("step_seconds", summary.step),
        **_figure("items_per_second", summary.rate),
        **_figure("speedup", each.speedup),
        **_figure("efficiency", each.efficiency),
        **_figure("karp_flatt", each.karp_flatt),
        **_figure("smt_yield", each.smt_yield),
        "valid": each.valid,
        "doubts": [doubt.rule.name for doubt in each.all_doubts],
        "reasons": [doubt.words for doubt in each.all_doubts],
    }


def comparison_facts(comparison: Comparison) -> dict[str, object]:
    """Two results held against each other."""
    return {
        "differs": any(difference.differs for difference in comparison.differences),
        "points": [_difference_facts(difference) for difference in comparison.differences],
        "only_first": [asdict(point) for point in comparison.only_first],
        "only_second": [asdict(point) for point in comparison.only_second],
    }


def _difference_facts(difference: Difference) -> dict[str, object]:
    return {
        **asdict(difference.point),
        **_figure("first_seconds", difference.first.step),
        **_figure("second_seconds", difference.second.step),
        **_figure("ratio", difference.ratio),
        "probability": difference.probability,
        "adjusted_probability": difference.adjusted,
        "verdict": difference.verdict,
        "reasons": difference.reasons,
    }


def _figure(name: str, figure: Estimate | None) -> dict[str, float | None]:
    if figure is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
