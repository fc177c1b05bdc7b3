"""How many cores to give each series: the answer to the usual question of a study. Pure.

Like all sizes it is read off the curve of the series or, without a curve, follows from the bound of a disturbed point.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from scaling.analysis import rules
from scaling.analysis.curves.fit import OneLaunchPerCount
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.series import series_settings, table_point
from scaling.analysis.sizing.question import MEASURED, Basis, ScalingLimits
from scaling.analysis.speedup import ScalingPoint
from scaling.study.planning import Point


class AnswerCode(StrEnum):
    """Whether a size is given and, if not, the reason; scripts match the value."""

    GIVE = "give"
    NO_ANSWER = "no-answer-yet"
    ONE_CORE_COUNT = "one-core-count"
    NOTHING_MEASURED = "nothing-measured"


@dataclass(frozen=True, slots=True)
class SizeAnswer:
    """How many cores to give a series, with `threads` per core; `cores` is None without an answer.

    `speedup` is over one core with one thread, for the recommended size or, if this is one core, for the `compared`
    cores, the most with usable points; it is measured, read off the curve (`by_curve`), or a lower bound (`at_least`).
    `left_out` are larger core counts that were disturbed or not valid. With `single_launches` no core count has two.
    `verdict` and `doubt` name the obstacle to an answer, `failure` the reason why nothing was measured.
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
        """Whether a size is given or, with a single core count, none is needed."""
        return self.code in (AnswerCode.GIVE, AnswerCode.ONE_CORE_COUNT)

    @property
    def efficiency(self) -> Estimate | None:
        """The speedup over its cores."""
        cores = self.compared
        return self.speedup.map(lambda speedup: speedup / cores) if self.speedup and cores else None


def size_answers(points: Iterable[ScalingPoint], limits: Iterable[ScalingLimits]) -> list[SizeAnswer]:
    """An answer for every series; points under a CPU quota and packs do not belong to any."""
    by_settings: dict[Point, list[ScalingPoint]] = {}
    for point in points:
        if point.summary.point.in_series:
            by_settings.setdefault(series_settings(point.summary.point), []).append(point)
    limits_by_settings = {limit.fit.series.key.settings: limit for limit in limits}
    return [_answer(settings, series, limits_by_settings.get(settings)) for settings, series in by_settings.items()]


def _answer(settings: Point, series: Sequence[ScalingPoint], limits: ScalingLimits | None) -> SizeAnswer:
    blank = SizeAnswer(limits.fit.series.sizing_label if limits else None, settings, AnswerCode.NO_ANSWER)
    if not any(point.summary.step for point in series):
        reasons = [reason for point in series for reason in point.summary.failures]
        return replace(blank, code=AnswerCode.NOTHING_MEASURED, failure=reasons[0] if reasons else None)
    counts = {point.summary.point.cores for point in series}
    if len(counts) == 1:
        return replace(blank, code=AnswerCode.ONE_CORE_COUNT, compared=counts.pop())
    answer = curve_answer(limits) if limits else _by_bound(blank, series)
    if answer.cores is None:
        return _without_answer(blank, series)
    answer = _as_measured(answer, series)
    most = max(point.summary.point.cores for point in series if point.summary.valid or answer.at_least)
    larger = sorted(cores for cores in counts if cores > most)
    return replace(answer, is_most=answer.cores == most, left_out=tuple(larger))


def _as_measured(answer: SizeAnswer, series: Sequence[ScalingPoint]) -> SizeAnswer:
    """The same answer with the speedup measured at its size, so that it agrees with the table."""
    for point in series:
        settings, speedup = point.summary.point, point.common_speedup
        is_here = (settings.cores, settings.smt) == (answer.compared, answer.threads)
        if is_here and answer.by_curve and point.valid and speedup and speedup.is_answer:
            return replace(answer, speedup=speedup, by_curve=False)
    return answer


def curve_answer(limits: ScalingLimits) -> SizeAnswer:
    """The size that a curve recommends, if any."""
    settings = limits.fit.series.key.settings or table_point(limits.fit.series.own_name)
    blank = SizeAnswer(limits.fit.series.sizing_label, settings, AnswerCode.NO_ANSWER)
    most = limits.fit.most_cores
    if limits.recommended is None:
        return blank
    return replace(
        blank,
        code=AnswerCode.GIVE,
        cores=limits.recommended,
        threads=limits.threads,
        compared=int(most) if limits.recommended == 1 else limits.recommended,
        speedup=limits.fit.speedup(most) if limits.recommended == 1 else limits.speedup,
        basis=limits.basis,
        single_launches=any(isinstance(one, OneLaunchPerCount) for one in limits.fit.cautions),
        by_curve=True,
    )


def _by_bound(blank: SizeAnswer, series: Sequence[ScalingPoint]) -> SizeAnswer:
    """The disturbed point with the largest lower bound of speedup times efficiency, if this is above 1."""

    def benefit(point: ScalingPoint) -> float:
        scattered = point.baseline and any(doubt.rule is rules.NO_ANSWER for doubt in point.baseline.doubts)
        return 0.0 if scattered else (point.at_least or 0.0) ** 2 / point.summary.point.cores

    best = max(series, key=benefit)
    if benefit(best) <= 1:
        return blank
    cores, threads = best.summary.point.cores, best.summary.point.smt
    given = replace(blank, code=AnswerCode.GIVE, cores=cores, threads=threads, compared=cores)
    return replace(given, speedup=best.speedup, at_least=True)


def _without_answer(blank: SizeAnswer, series: Sequence[ScalingPoint]) -> SizeAnswer:
    """The obstacle to an answer: the worst verdict, and the gravest doubt about that point."""
    worst = max(series, key=lambda point: point.verdict.severity)
    doubts = [doubt for doubt in worst.all_doubts if doubt.rule.verdict is not Verdict.OK]
    return replace(
        blank, verdict=worst.verdict, doubt=max(doubts, key=lambda doubt: doubt.rule.verdict.severity, default=None)
    )
