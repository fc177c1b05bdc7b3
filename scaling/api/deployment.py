"""Sizes to deploy, with the peak memory of launches and the effects of quotas."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scaling.analysis.answers import curve_answer
from scaling.analysis.curves.fit import SeriesFit
from scaling.analysis.series import series_key
from scaling.analysis.sizing.levels import levels_of
from scaling.analysis.sizing.question import Answer, ScalingLimits
from scaling.api.sources import Source
from scaling.reporting.answers import size_sentence
from scaling.reporting.capacity import answer_sentence
from scaling.reporting.deployment import Deployment
from scaling.reporting.words import count, percent, share
from scaling.study.planning import Point


def deployments(sources: Sequence[Source], sized: Sequence[Answer | ScalingLimits]) -> list[Deployment]:
    """The size of every series, in order; for limits, the recommended one."""
    by_node_type = {source.node_type: source for source in sources}
    return [_deployment(by_node_type[one.fit.series.key.node_type], one) for one in sized]


def _deployment(source: Source, sized: Answer | ScalingLimits) -> Deployment:
    cores, threads, replicas = _size(sized)
    peaks = list(_peak_memory(source, sized.fit))
    return Deployment(
        name=sized.fit.series.label,
        sentence=answer_sentence(sized) if isinstance(sized, Answer) else size_sentence(curve_answer(sized)),
        cores=cores,
        threads=threads,
        core_threads=source.sizes.threads if source.sizes else 1,
        replicas=replicas,
        memory_bytes=max(peaks, default=None),
        launches=len(peaks),
        quotas=tuple(_quota_words(source, sized.fit)),
    )


def _size(sized: Answer | ScalingLimits) -> tuple[int | None, int, int | None]:
    """Cores, threads per core, and replicas if a single instance is not enough."""
    if isinstance(sized, ScalingLimits):
        return sized.recommended, 1, None
    if sized.allocation is not None:
        return sized.allocation.cores, sized.allocation.threads, None
    return (sized.replicas.cores, 1, sized.replicas.replicas) if sized.replicas else (None, 1, None)


def _peak_memory(source: Source, fit: SeriesFit) -> Iterator[int]:
    for summary in () if source.is_table else source.summaries:
        if _belongs(summary.point, fit):
            launches = (*summary.used, *summary.disturbed)
            yield from (launch.peak_memory_bytes for launch in launches if launch.peak_memory_bytes is not None)


def _belongs(point: Point, fit: SeriesFit) -> bool:
    return series_key(point) in [one.series.key.on_any_node_type for one in levels_of(fit)]


def _quota_words(source: Source, fit: SeriesFit) -> Iterator[str]:
    """Sentences about points with the same settings under a CPU quota."""
    for point in () if source.is_table else source.points:
        settings = point.summary.point
        if settings.quota is not None and _belongs(replace(settings, quota=None), fit) and point.efficiency:
            throttled = point.summary.throttled_share
            periods = "" if throttled is None else f", throttled in {share(throttled)} of the periods"
            quota = f"a quota of {1000 * settings.quota:.0f}m on {count(settings.cores, 'core')}"
            yield f"{quota}: efficiency {percent(point.efficiency.value)}{periods}"
