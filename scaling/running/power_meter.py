"""Samples the meters of a machine while runs are measured, in a thread that avoids the measured CPUs.

The thread sleeps between samples, and throughout unless a metered run has its turn. Counters are read once more right
after a turn, so its energy does not depend on the time of the last sample.
"""

import os
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from scaling.analysis.energy import (
    LONGEST_STILL_SECONDS,
    MeterEnergy,
    PowerSeries,
    counted_joules,
    had_packages_alone,
    integrated_joules,
    meter_energy,
    power_trace,
    within,
)
from scaling.analysis.turns import WARMUP_ROUND, Turn, TurnSpan
from scaling.machine.power import Meter, MeterReading, Meters
from scaling.machine.topology import CpuSet
from scaling.results.traces import MeterTrace

# Ten samples per second of a counter, whose energy does not depend on their number, and twenty of a GPU, which updates
# its counter and its power about as often.
SECONDS_BETWEEN_SAMPLES = 0.1
SECONDS_BETWEEN_QUICK_SAMPLES = 0.05
# If all CPUs are measured, a sample takes time from the steps: a fifth of the samples is enough for a counter.
SECONDS_BETWEEN_SAMPLES_ON_MEASURED_CPUS = 0.5

# The duration of the measurement of idle power at the sweep's start.
IDLE_SECONDS = 2.0

# The delay after the last turn within which a counter is updated.
LAST_READING_SECONDS = 0.12

SHARED = "other processes used CPUs of this machine in every turn, so its energy is not this run's alone"
BESIDE = "another workload ran on the same packages, so their energy is not this run's alone"
GPU_SHARED = "other processes were on the GPU before the sweep began, so its energy is not this run's alone"

NOT_READ = MeterReading()


class Sample(NamedTuple):
    """The readings of all meters at one moment."""

    time: float
    readings: tuple[MeterReading, ...]


class MeteredRun(NamedTuple):
    """The CPUs and turns of a run, from which its energy is computed."""

    cpus: CpuSet
    turns: Sequence[Turn]
    spans: Sequence[TurnSpan]
    on_gpu: bool = False
    beside: bool = False


class PowerMeter:
    """The meters of a sweep; samples between `begin` and `end`."""

    def __init__(self, meters: Meters, packages: dict[int, CpuSet], gpu_shared: bool = False) -> None:
        self.meters = meters.meters
        self.problems = list(meters.problems)
        self._packages = packages
        self._gpu_shared = gpu_shared
        self._seconds_between = SECONDS_BETWEEN_SAMPLES
        self._samples: list[Sample] = []
        self._lock = threading.Lock()
        self._wake, self._closed = threading.Event(), False
        self._idle: dict[str, float] = {}
        self._thread = threading.Thread(target=self._run, name="power meter", daemon=True)
        self._thread.start()
        if self.meters:
            self._measure_idle()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._wake.set()
        self._thread.join()

    def move_to(self, cpus: Iterable[int], measured: bool = False) -> None:
        """Run the thread on these CPUs, which may be measured ones."""
        self._seconds_between = SECONDS_BETWEEN_SAMPLES_ON_MEASURED_CPUS if measured else SECONDS_BETWEEN_SAMPLES
        with suppress(OSError):
            os.sched_setaffinity(self._thread.native_id or 0, cpus)

    def begin(self) -> None:
        """Start sampling."""
        if self.meters:
            self._sample()
            self._wake.set()

    def end(self) -> None:
        """Sample once more and stop."""
        if self._wake.is_set() and not self._closed:
            self._wake.clear()
            self._sample()

    def finish(self) -> None:
        """Take the last samples of a launch, after the delay of counters."""
        if self.meters:
            self._sample()
            time.sleep(LAST_READING_SECONDS)
            self._sample()

    def forget(self) -> None:
        """Drop the samples of earlier launches."""
        with self._lock:
            self._samples.clear()

    def energies(self, run: MeteredRun) -> tuple[MeterEnergy, ...]:
        """The energy of a run by each meter."""
        counted = [pair for pair in zip(run.turns, run.spans, strict=True) if pair[0].round != WARMUP_ROUND]
        alone = [pair for pair in counted if had_packages_alone(pair[0], len(run.cpus))]
        energies = []
        for index, meter in self._meters_of(run):
            on_cpu = meter.domain != "gpu"
            used = (alone or counted) if on_cpu else counted
            if on_cpu:
                problem = BESIDE if run.beside else None if alone else SHARED
            else:
                problem = GPU_SHARED if self._gpu_shared else None
            windows = [window for _, span in used for window in span.counted]
            steps = sum(turn.steps - turn.unsettled for turn, _ in used)
            idle = self._idle.get(meter.name)
            energies.append(meter_energy(meter.name, meter.domain, self._series(index), windows, steps, idle, problem))
        return tuple(energies)

    def traces(self, run: MeteredRun) -> tuple[MeterTrace, ...]:
        """The power of a run over time, from the beginning to the end of each turn, without warm-up."""
        pairs = zip(run.turns, run.spans, strict=True)
        windows = [(span.began, span.ended) for turn, span in pairs if turn.round != WARMUP_ROUND]
        start = windows[0][0] if windows else 0.0
        traces = []
        for index, meter in self._meters_of(run):
            moments = within(power_trace(self._series(index)), windows)
            seconds = tuple(round(moment - start, 3) for moment, _ in moments)
            traces.append(MeterTrace(meter.name, meter.domain, seconds, tuple(round(watts, 2) for _, watts in moments)))
        return tuple(traces)

    def cpu_seconds(self) -> float:
        """The CPU time that the thread has used."""
        return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident or 0))

    def _meters_of(self, run: MeteredRun) -> list[tuple[int, Meter]]:
        """The meters of a run's packages, of the board, and of the GPU if the run uses it."""
        used = {package for package, cpus in self._packages.items() if cpus & run.cpus}
        return [
            (index, meter)
            for index, meter in enumerate(self.meters)
            if (run.on_gpu if meter.domain == "gpu" else meter.package is None or meter.package in used)
        ]

    def _series(self, index: int) -> PowerSeries:
        with self._lock:
            samples = list(self._samples)
        readings = [sample.readings[index] for sample in samples]
        return PowerSeries(
            [sample.time for sample in samples],
            [reading.joules for reading in readings],
            [reading.watts for reading in readings],
            self.meters[index].range_joules,
            [reading.mean_watts for reading in readings],
            self.meters[index].averaged_seconds,
        )

    def _measure_idle(self) -> None:
        """Measure the idle power, and drop meters whose counter does not move."""
        self.begin()
        start = time.perf_counter()
        time.sleep(IDLE_SECONDS)
        self.end()
        window = (start, self._samples[-1].time)
        still = []
        for index, meter in enumerate(self.meters):
            series = self._series(index)
            known = [joules for joules in series.joules if joules is not None]
            duration = window[1] - window[0]
            if len(known) > 1 and len(set(known)) == 1 and duration >= LONGEST_STILL_SECONDS:
                still.append(meter)
                self.problems.append(
                    f"the energy counter of {meter.name} has not changed for {IDLE_SECONDS:g} s, so it is not used"
                )
            else:
                joules = counted_joules(series, [window])
                joules = integrated_joules(series, [window]) if joules is None else joules
                if joules is not None:
                    self._idle[meter.name] = joules / duration
        self.meters = tuple(meter for meter in self.meters if meter not in still)
        self.forget()

    def _run(self) -> None:
        while self._wake.wait() and not self._closed:
            self._sample()
            if any(meter.quick for meter in self.meters):
                time.sleep(SECONDS_BETWEEN_QUICK_SAMPLES)
                self._sample(quick=True)
                time.sleep(SECONDS_BETWEEN_QUICK_SAMPLES)
            else:
                time.sleep(self._seconds_between)

    def _sample(self, *, quick: bool = False) -> None:
        """Read all meters, or only the quick ones."""
        with self._lock:
            readings = (meter.read() if meter.quick or not quick else NOT_READ for meter in self.meters)
            self._samples.append(Sample(time.perf_counter(), tuple(readings)))
