"""How many cores to give each series: the answer to the usual question of a study. Pure.

The answer is read off the curve of the series, as all sizes are. Where too few points can be used for a curve, a bound
that a disturbed point leaves may still be an answer; otherwise the answer says why there is none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from scaling.analysis import rules
from scaling.analysis.curves.fit import OneLaunchPerCount
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.series import series_key, table_point
from scaling.analysis.sizing.question import MEASURED, Basis, ScalingLimits
from scaling.analysis.speedup import ScalingPoint
from scaling.study.planning import Point


class AnswerCode(StrEnum):
    """Whether a size is given, and if not why; the value is the code that scripts match."""

    GIVE = "give"
    NO_ANSWER = "no-answer-yet"
    ONE_CORE_COUNT = "one-core-count"
    NOTHING_MEASURED = "nothing-measured"


@dataclass(frozen=True, slots=True)
class SizeAnswer:
    """How many cores to give a series, with how many threads each; without `cores` there is no answer.

    `label` is the label of its curve, None where it has none. `speedup` is over one core with one thread: that of the
    size given or, if this is one core, of the `compared` cores, the most that can be used. It is the one measured or,
    where that has no interval, `by_curve`; it has no interval where it is `at_least` its value. `left_out` are larger
    core counts that were disturbed or not valid. With `single_launches` no core count has two. `verdict` and `doubt`
    say what stands in the way of an answer, `failure` why nothing was measured.
    """

    label: str | None
    settings: Point
    code: AnswerCode
    cores: int | None = None
    threads: int = 1
    compared: int | None = None
    speedup: Estimate | None = None
    at_least: bool = False
    basis: Basis = MEASURED
    is_most: bool = False
    single_launches: bool = False
    by_curve: bool = False
    left_out: tuple[int, ...] = ()
    verdict: Verdict = Verdict.OK
    doubt: Doubt | None = None
    failure: str | None = None

    @property
    def is_answer(self) -> bool:
        """Whether a size is given; points on one core count ask for none."""
        return self.code in (AnswerCode.GIVE, AnswerCode.ONE_CORE_COUNT)

    @property
    def efficiency(self) -> Estimate | None:
        """The speedup over the cores that it is of."""
        cores = self.compared
        return self.speedup.map(lambda speedup: speedup / cores) if self.speedup and cores else None


def size_answers(points: Iterable[ScalingPoint], limits: Iterable[ScalingLimits]) -> list[SizeAnswer]:
    """An answer for every series; points under a CPU quota and packs are in none."""
    by_settings: dict[Point, list[ScalingPoint]] = {}
    for point in points:
        if point.summary.point.in_series:
            settings = series_key(point.summary.point).settings
            assert settings is not None
            by_settings.setdefault(settings, []).append(point)
    sized = {one.fit.series.key.settings: one for one in limits}
    return [_answer(settings, series, sized.get(settings)) for settings, series in by_settings.items()]


def _answer(settings: Point, series: Sequence[ScalingPoint], limits: ScalingLimits | None) -> SizeAnswer:
    blank = SizeAnswer(limits.fit.series.sizing_label if limits else None, settings, AnswerCode.NO_ANSWER)
    if not any(point.summary.step for point in series):
        reasons = [reason for point in series for reason in point.summary.failures]
        return replace(blank, code=AnswerCode.NOTHING_MEASURED, failure=reasons[0] if reasons else None)
    counts = {point.summary.point.cores for point in series}
    if len(counts) == 1:
        return replace(blank, code=AnswerCode.ONE_CORE_COUNT, compared=counts.pop())
    given = curve_answer(limits) if limits else _by_bound(blank, series)
    if given is None or given.cores is None or any(_is_scattered(point) for point in series if _is_end(point, given)):
        return _without_answer(blank, series)
    given = _as_measured(given, series)
    usable = [point.summary.point.cores for point in series if point.valid or given.at_least]
    most = max(usable)
    larger = sorted({cores for cores in counts if cores > most})
    return replace(given, is_most=given.cores == most, left_out=tuple(larger))


def _as_measured(given: SizeAnswer, series: Sequence[ScalingPoint]) -> SizeAnswer:
    """The same answer with the speedup that was measured at its size, so that it is the one a table has."""
    for point in series:
        where, speedup = point.summary.point, point.common_speedup
        is_here = (where.cores, where.smt) == (given.compared, given.threads)
        if is_here and given.by_curve and point.valid and speedup and speedup.is_answer:
            return replace(given, speedup=speedup, by_curve=False)
    return given


def _is_end(point: ScalingPoint, given: SizeAnswer) -> bool:
    """Whether an answer's speedup is over this point, or is its own."""
    return point.summary.point.cores in (1, given.compared)


def _is_scattered(point: ScalingPoint) -> bool:
    """Whether its launches say nothing: a curve of few cores would then rest on what is usual of programs alone."""
    launches = point.summary.launches
    differ = any(doubt.rule is rules.NO_ANSWER for doubt in point.summary.doubts)
    return differ or (len(launches) > 1 and max(launches) > rules.WIDEST_ANSWER * min(launches))


def curve_answer(limits: ScalingLimits) -> SizeAnswer:
    """The size that a curve recommends; no answer where its speedup is not known within a factor of 3."""
    settings = limits.fit.series.key.settings or table_point(limits.fit.series.own_name)
    blank = SizeAnswer(limits.fit.series.sizing_label, settings, AnswerCode.NO_ANSWER)
    most = limits.fit.most_cores
    speedup = limits.fit.speedup(most) if limits.recommended == 1 else limits.speedup
    if limits.recommended is None or speedup is None or not speedup.is_answer:
        return blank
    return replace(
        blank,
        code=AnswerCode.GIVE,
        cores=limits.recommended,
        threads=limits.threads,
        compared=int(most) if limits.recommended == 1 else limits.recommended,
        speedup=speedup,
        basis=limits.basis,
        single_launches=any(isinstance(one, OneLaunchPerCount) for one in limits.fit.cautions),
        by_curve=True,
    )


def _by_bound(blank: SizeAnswer, series: Sequence[ScalingPoint]) -> SizeAnswer | None:
    """The disturbed point whose speedup is at least worth its cores, the best of several; None where none is."""
    bounded = [point for point in series if (point.at_least or 0.0) ** 2 > point.summary.point.cores]
    if not bounded:
        return None
    best = max(bounded, key=lambda point: (point.at_least or 0.0) ** 2 / point.summary.point.cores)
    where = best.summary.point
    return replace(
        blank,
        code=AnswerCode.GIVE,
        cores=where.cores,
        threads=where.smt,
        compared=where.cores,
        speedup=best.speedup,
        at_least=True,
    )


def _without_answer(blank: SizeAnswer, series: Sequence[ScalingPoint]) -> SizeAnswer:
    """What stands in the way: the worst verdict, and what speaks most against that point."""
    worst = max(series, key=lambda point: point.verdict.severity)
    doubts = [doubt for doubt in worst.all_doubts if doubt.rule.verdict is not Verdict.OK]
    return replace(
        blank, verdict=worst.verdict, doubt=max(doubts, key=lambda doubt: doubt.rule.verdict.severity, default=None)
    )
