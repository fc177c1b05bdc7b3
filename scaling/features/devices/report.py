"""CPU and GPU as tables: execution relative to the CPU alone, and what a step has the device do."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean

from scaling.analysis.device_profile import DeviceProfile, DriverCall
from scaling.analysis.summary import table_order
from scaling.errors import count
from scaling.features.devices.pairs import DevicePair, device_pairs
from scaling.reporting.answers import MORE_LAUNCHES, StudyAnswer
from scaling.reporting.points import setting_cells, unusual_settings
from scaling.reporting.words import Block, Section, Table, duration, figure, share, with_interval
from scaling.results.evaluation import Evaluation
from scaling.results.rows import Row, launch_seconds
from scaling.study.planning import Point

# The longest calls of the driver that are named.
NAMED_CALLS = 3


PAIRS_HINT = (
    "The step on the most cores that were measured without the GPU, and on the GPU with the host cores with which it "
    "is fastest; intervals are 95 % confidence intervals over launches."
)
PROFILES_HINT = (
    "Per step, from a few profiled steps after those that were measured, means over launches: the time in which the "
    "device is busy with kernels and with copies, the share of its busy time that is copies, the share of the step in "
    "which it has nothing to do, and what the host spends in calls of the driver."
)


def section(result: Evaluation) -> Section | None:
    """What a page says of steps on the CPU alone and on a GPU; None where nothing was measured on one."""
    pairs = pairs_table(result.subject(device_pairs))
    profiles = profiles_table(result.folder.rows)
    blocks = [
        Block(table=pairs, caption="Step time on the CPU alone and on the GPU", hint=PAIRS_HINT),
        Block(table=profiles, caption="What a step has the GPU do", hint=PROFILES_HINT),
    ]
    told = [block for block in blocks if block.table and block.table.rows]
    return Section("devices", "CPU and GPU", "CPU and GPU", told) if told else None


def study_answers(result: Evaluation) -> list[StudyAnswer]:
    """Which device is faster, for everything that was measured on both."""
    return [StudyAnswer("device", _name(one), *_verdict(one)) for one in result.subject(device_pairs)]


def _name(pair: DevicePair) -> str:
    return f"{pair.cpu.point.subject} under {pair.cpu.point.framework}"


def _verdict(pair: DevicePair) -> tuple[str, str, bool]:
    """The code, the sentence, and whether one device is shown to be faster."""
    gain = pair.gain
    if gain.contains(1.0):
        sentence = f"no answer yet for {_name(pair)}: neither device is shown to be faster; {MORE_LAUNCHES}"
        return "no-answer-yet", sentence, False
    cores, launches = count(pair.cpu.point.cores, "core"), count(len(pair.gpu.launches), "launch")
    device, other, times = ("GPU", cores, gain) if gain.value > 1.0 else ("CPU", "the GPU", pair.relative)
    few = f", from {launches} of each" if gain.low is None else ""
    return (
        "give",
        f"give {_name(pair)} the {device}: {with_interval(times, figure)} times as fast as {other}{few}",
        True,
    )


def pairs_table(pairs: Sequence[DevicePair]) -> Table:
    """A step on the CPU alone and on the GPU, and the GPU's over the CPU's."""
    points = [replace(pair.cpu.point, device="") for pair in pairs]
    unusual = [name for name in unusual_settings(points) if name != "device"]
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
    headers = ("workload", *unusual, ">CPU, cores", ">GPU, host cores", ">GPU over CPU", ">times faster")
    return Table(headers, rows)


def profiles_table(rows: Iterable[Row]) -> Table:
    """What a step has the device do, and what the host spends in calls of the driver: means over launches.

    Of several numbers of host cores, the most: what the device does is the same on fewer.
    """
    by_point: dict[Point, list[tuple[DeviceProfile, float]]] = {}
    for row in rows:
        if (profile := row.outcome.device_profile) is not None:
            by_point.setdefault(row.run.point, []).append((profile, launch_seconds(row) or profile.step_seconds))
    most = {replace(point, cores=1): point for point in sorted(by_point, key=lambda point: point.cores)}
    points = sorted(most.values(), key=table_order)
    unusual = [name for name in unusual_settings(points) if name != "device"]
    lines = [(*setting_cells(point, unusual), *_profile_cells(by_point[point])) for point in points]
    device = (">kernels", ">copies", ">copies of busy", ">idle", ">kernels per step")
    headers = ("workload", *unusual, ">host cores", *device, ">API calls", ">of these waiting", "longest calls")
    return Table(headers, lines)


def _profile_cells(launches: Sequence[tuple[DeviceProfile, float]]) -> tuple[str, ...]:
    """What is told of profiles, each beside the time of a step that was not profiled."""
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
    """The calls of the driver, means over profiles, the longest first."""
    named: dict[str, list[DriverCall]] = {}
    for profile in profiles:
        for call in profile.calls:
            named.setdefault(call.name, []).append(call)
    means = [
        DriverCall(
            name, sum(call.calls for call in calls) / len(profiles), sum(call.seconds for call in calls) / len(profiles)
        )
        for name, calls in named.items()
    ]
    return sorted(means, key=lambda call: -call.seconds)
