"""The step of `calibrated` for pyperf: `python -m benchmarks.pyperf_calibrated THREADS WORK [pyperf's options]`."""

import sys

import pyperf

from scaling.workloads.base import Setting
from scaling.workloads.calibrated import build


def main() -> None:
    """Let pyperf time the step."""
    threads, work = sys.argv.pop(1), sys.argv.pop(1)
    runner = pyperf.Runner(program_args=("-m", "benchmarks.pyperf_calibrated", threads, work))
    setting = Setting("train", "small", None, 1, int(threads), 1, int(threads), 1, 1)
    workload = build(setting, serial=0.1, work=float(work))
    if runner.parse_args().worker:
        workload.prepare()
    runner.bench_func("step", workload.step)


if __name__ == "__main__":
    main()
