"""Sweeps killed with SIGKILL at random times and resumed: every run must be stored exactly once.

    python -m benchmarks.killed [--rounds 50] [--seed 1] [--start spawn] [--design turns] [--packs] [--command sweep]

`benchmarks/shared/kills.py` says who is killed and what must hold afterwards.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.shared.kills import COMMANDS, LONGEST_WAIT_SECONDS, VICTIMS, kill_and_resume


def main() -> None:
    """Print what came of it; status 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", choices=VICTIMS, default="spawn")
    parser.add_argument("--design", choices=LONGEST_WAIT_SECONDS, default="turns")
    parser.add_argument("--packs", action="store_true", help="include runs of several replicas")
    parser.add_argument("--command", choices=COMMANDS, default="sweep")
    arguments = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        options = arguments.start, arguments.design, arguments.packs, arguments.command
        tally = kill_and_resume(arguments.rounds, arguments.seed, Path(folder), *options)
    print(f"| kills | {tally.kills.total()} ({', '.join(f'{k} {n}' for k, n in sorted(tally.kills.items()))}) |")
    print(f"| folders completed | {tally.folders} |\n| rows, exactly one per planned run | {tally.rows} |")
    print(f"| of these, failed because their child was killed | {tally.failed_rows} |")
    print(f"| torn lines set aside | {tally.torn_lines} |\n| problems | {len(tally.problems)} |")
    print(*tally.problems, f"({time.monotonic() - start:.0f} s)", sep="\n")
    sys.exit(bool(tally.problems))


if __name__ == "__main__":
    main()
