"""What the further threads of a core bring: throughput with them over throughput without, on the same cores."""

from collections.abc import Sequence

from scaling.analysis.estimates import Estimate
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.frame import upper_limit
from scaling.reporting.plots.law_lines import left_out_words, marks_of
from scaling.reporting.plots.lines import lines_of
from scaling.reporting.plots.series_figure import Drawn, Look, series_figure
from scaling.results.evaluation import Evaluation


def smt(result: Evaluation) -> Drawing | NotDrawn:
    """The SMT yield of every series that uses more than one thread of a core."""
    lines = lines_of(result)
    drawn = [Drawn(line, marks) for line in lines if (marks := marks_of(line, lambda point: point.smt_yield))]
    if not drawn:
        several = any(line.point.smt > 1 for line in lines)
        reason = "no point with several threads of a core was measured beside the same cores with one thread each"
        return NotDrawn(reason if several else "no point uses a second thread of a core")
    figures = [mark.figure for each in drawn for mark in each.marks]
    look = Look(
        y="SMT yield, times one thread a core",
        ends=_ends(figures),
        farthest=max(mark.cores for each in drawn for mark in each.marks),
        ideal=1.0,
    )
    caption = (
        "Throughput with all the threads used of each core over throughput with one, on the same cores: above 1 the "
        "further threads help, below they harm. Bars are 95 % intervals over launches, hollow marks have a verdict "
        f"against them.{left_out_words(len(drawn))}"
    )
    return Drawing(caption, series_figure(drawn, look))


def _ends(figures: Sequence[Estimate]) -> tuple[float, float]:
    """Around 1, and around all values with the intervals that are not absurdly wide."""
    values = [each.value for each in figures]
    top = upper_limit(values, [each.high for each in figures], 1.1)
    lows = [each.low for each in figures if each.low is not None]
    lowest = max(min([*values, *lows]), 0.5 * min([1.0, *values]))
    return min(0.9, 0.95 * lowest), top
