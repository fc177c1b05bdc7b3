"""CPU and GPU as tables: step times relative to the CPU alone, and the profile of the GPU.

The relative execution time is a ratio of step times, with the interval of both over launches.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from scaling.analysis import estimates
from scaling.analysis.device_profile import DeviceProfile, DriverCall
from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Summary, table_order
from scaling.errors import count
from scaling.reporting.answers import MORE_LAUNCHES, StudyAnswer
from scaling.reporting.points import names_among, setting_cells, unusual_settings
from scaling.reporting.words import Block, Section, Table, duration, figure, share, with_interval
from scaling.results.evaluation import Evaluation
from scaling.results.rows import Row, launch_seconds
from scaling.study.axes import CPU, GPU
from scaling.study.planning import Point

# Number of driver calls that a profile names, the longest first.
NAMED_CALLS = 3
PAIRS_HINT = (
    "Step times without the GPU are on the largest number of cores measured, step times with the GPU on its fastest "
    "number of host cores. Intervals are 95 % confidence intervals across launches."
)
PROFILES_HINT = (
    "Values per step, averaged across launches, from a few profiled steps after the measured ones: the time that the "
    "GPU runs kernels, the time that it copies, the share of copies in the sum of both, the share of the step in which "
    "the GPU is idle, and the time that the host spends in driver calls."
)


@dataclass(frozen=True, slots=True)
class DevicePair:
    """The same step on the CPU alone, with the most measured cores, and on a GPU with its fastest host cores.

    `relative` is the time on the GPU over the time on the CPU.
    """

    cpu: Summary
    gpu: Summary
    relative: Estimate

    @property
    def gain(self) -> Estimate:
        """How many times faster the GPU is."""
        return self.relative.map(lambda ratio: 1 / ratio)


def device_pairs(summaries: Iterable[Summary]) -> list[DevicePair]:
    """A pair for every workload with valid points on both devices, whatever the host cores."""
    by_settings: dict[Point, dict[str, list[Summary]]] = {}
    for summary in summaries:
        if summary.step is not None and summary.valid and summary.point.in_series:
            settings = replace(summary.point, device="", cores=1, placement="")
            by_settings.setdefault(settings, {}).setdefault(summary.point.device, []).append(summary)
    return [_pair(devices[CPU], devices[GPU]) for devices in by_settings.values() if devices.keys() >= {CPU, GPU}]


def _pair(on_cpu: Sequence[Summary], on_gpu: Sequence[Summary]) -> DevicePair:
    cpu, gpu = max(on_cpu, key=lambda one: one.point.cores), min(on_gpu, key=_seconds)
    return DevicePair(cpu, gpu, estimates.ratio(gpu.launches, cpu.launches))


def _seconds(summary: Summary) -> float:
    assert summary.step is not None
    return summary.step.value


@dataclass(frozen=True, slots=True)
class RelativeExecution:
    """The time of a step over training on the CPU alone in the same framework; without training, over the same mode."""

    summary: Summary
    ratio: Estimate


def relative_executions(pairs: Sequence[DevicePair]) -> list[RelativeExecution]:
    """The relative execution times of every mode and device (Adolf et al., IISWC 2016, Fig. 5)."""
    training = {_without_mode(pair): pair.cpu for pair in pairs if pair.cpu.point.mode == "train"}
    return [
        RelativeExecution(one, Estimate(1.0) if one is base else estimates.ratio(one.launches, base.launches))
        for pair in pairs
        for base in (training.get(_without_mode(pair), pair.cpu),)
        for one in (pair.cpu, pair.gpu)
    ]


def _without_mode(pair: DevicePair) -> Point:
    return replace(pair.cpu.point, mode="", cores=1)


def section(result: Evaluation) -> Section | None:
    """The section on steps on the CPU alone and on a GPU; None without measurements on a GPU."""
    pairs = pairs_table(result.subject(device_pairs))
    tables = {
        "Step time on the CPU alone and on the GPU": (pairs, PAIRS_HINT),
        "Profile of the GPU during a step": (profiles_table(result.folder.rows), PROFILES_HINT),
    }
    blocks = [Block(table=table, caption=text, hint=hint) for text, (table, hint) in tables.items() if table.rows]
    return Section("devices", "CPU and GPU", "CPU and GPU", blocks) if blocks else None


def study_answers(result: Evaluation) -> list[StudyAnswer]:
    """The faster device for every workload that was measured on both."""
    return device_answers(result.subject(device_pairs))


def device_answers(pairs: Sequence[DevicePair]) -> list[StudyAnswer]:
    """The faster device of every pair, with the settings in which the pairs differ."""
    settings = [replace(pair.cpu.point, framework="", cores=1, placement="") for pair in pairs]
    names = names_among(settings)
    return [_answer(pair, names[one]) for pair, one in zip(pairs, settings, strict=True)]


def _answer(pair: DevicePair, workload: str) -> StudyAnswer:
    name, gain = f"{workload} under {pair.cpu.point.framework}", pair.gain
    on_cpu, on_gpu = len(pair.cpu.launches), len(pair.gpu.launches)
    wide = gain.low is None and min(on_cpu, on_gpu) > 1
    if wide or gain.contains(1.0):
        sentence = f"no answer yet for {name}: neither device is shown to be faster; {MORE_LAUNCHES}"
        return StudyAnswer("device", name, "no-answer-yet", sentence, is_answer=False)
    cores = count(pair.cpu.point.cores, "core")
    device, other, times = ("GPU", cores, gain) if gain.value > 1.0 else ("CPU", "the GPU", pair.relative)
    few = ", from one launch" + (" of each" if on_cpu == on_gpu else f" on the {'CPU' if on_cpu == 1 else 'GPU'}")
    sentence = f"give {name} the {device}: {with_interval(times, figure)} times as fast as {other}"
    return StudyAnswer("device", name, "give", sentence + (few if gain.low is None else ""), is_answer=True)


def pairs_table(pairs: Sequence[DevicePair]) -> Table:
    """Step times on the CPU alone and on the GPU, and their ratio."""
    points = [replace(pair.cpu.point, device="") for pair in pairs]
    unusual = _unusual(points)
    rows = [
        (
            *setting_cells(point, unusual)[:-1],
            f"{duration(pair.cpu.step.value)} on {pair.cpu.point.cores}",
            f"{duration(pair.gpu.step.value)} on {pair.gpu.point.cores}",
            with_interval(pair.relative, share),
            figure(pair.gain.value),
        )
        for point, pair in sorted(zip(points, pairs, strict=True), key=lambda one: table_order(one[0]))
        if pair.cpu.step and pair.gpu.step
    ]
    headers = ("workload", *unusual, ">CPU, cores", ">GPU, host cores", ">GPU / CPU time", ">times faster")
    return Table(headers, rows)


def profiles_table(rows: Iterable[Row]) -> Table:
    """Means over launches of what the device does in a step, and of the host's time in driver calls.

    Each workload has its profile on the most host cores: the device does the same on fewer.
    """
    by_point: dict[Point, list[tuple[DeviceProfile, float]]] = {}
    for row in rows:
        if (profile := row.outcome.device_profile) is not None:
            by_point.setdefault(row.run.point, []).append((profile, launch_seconds(row) or profile.step_seconds))
    most = {replace(point, cores=1): point for point in sorted(by_point, key=lambda point: point.cores)}
    points = sorted(most.values(), key=table_order)
    unusual = _unusual(points)
    lines = [(*setting_cells(point, unusual), *_profile_cells(by_point[point])) for point in points]
    device = (">kernels", ">copies", ">copies, share of busy", ">idle", ">kernels per step")
    headers = ("workload", *unusual, ">host cores", *device, ">API calls", ">of these waiting", "longest calls")
    return Table(headers, lines)


def _unusual(points: Sequence[Point]) -> list[str]:
    return [name for name in unusual_settings(points) if name != "device"]


def _profile_cells(launches: Sequence[tuple[DeviceProfile, float]]) -> tuple[str, ...]:
    """Cells of a table from profiles, each with the time of a step without profiling."""
    profiles = [profile for profile, _ in launches]
    return (
        duration(fmean(one.kernel_seconds for one in profiles)),
        duration(fmean(one.copy_seconds for one in profiles)),
        share(fmean(one.copy_share for one in profiles)),
        share(fmean(profile.idle_share(step_seconds) for profile, step_seconds in launches)),
        f"{fmean(one.kernels for one in profiles):.0f}",
        duration(fmean(one.api_seconds for one in profiles)),
        duration(fmean(one.waiting_seconds for one in profiles)),
        ", ".join(
            f"{call.name} ({figure(call.calls)} ×, {duration(call.seconds)})"
            for call in mean_calls(profiles)[:NAMED_CALLS]
        ),
    )


def mean_calls(profiles: Sequence[DeviceProfile]) -> list[DriverCall]:
    """The driver calls of a step, means over profiles, the longest first."""
    totals: dict[str, list[float]] = {}
    for call in (call for profile in profiles for call in profile.calls):
        calls, seconds = totals.get(call.name, (0.0, 0.0))
        totals[call.name] = [calls + call.calls, seconds + call.seconds]
    means = [DriverCall(name, *(total / len(profiles) for total in both)) for name, both in totals.items()]
    return sorted(means, key=lambda call: -call.seconds)
