"""Run with: python naps.py --processes 5 --values 3 --warmups 0 --loops 1 -o pyperf.json"""

import time
from concurrent.futures import ThreadPoolExecutor

import pyperf


def naps(threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(time.sleep, [0.01] * 4))


runner = pyperf.Runner()
for count in (1, 2, 4):
    runner.bench_func(f"naps[threads={count}]", naps, count)
