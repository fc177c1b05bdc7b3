"""Thousands of hostile inputs for every command: none may end in a traceback, hang, or change what is not its output.

    python -m benchmarks.fuzz [--cases 5000] [--seed 1] [--only NUMBER] [--seconds 120]

`benchmarks/shared/fuzz` says what the cases are and what must hold. A case is made again with --only.
"""

import argparse
import sys
import time
from collections import Counter

from benchmarks.shared.fuzz.cases import Case, case
from benchmarks.shared.fuzz.oracle import Verdict, import_commands, judge


def main() -> None:
    """Print what was found; status 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--seconds", type=float, default=120.0, help="a case that takes longer counts as a hang")
    options = parser.parse_args()
    import_commands()
    numbers = [options.only] if options.only else range(options.first, options.first + options.cases)
    start = time.monotonic()
    verdicts = []
    for number in numbers:
        verdicts.append(judge(case(options.seed, number), options.seconds))
        if verdicts[-1].faults or options.only:
            print(_words(verdicts[-1], bool(options.only)), flush=True)
    _print_table(verdicts, time.monotonic() - start)
    if any(verdict.faults for verdict in verdicts):
        sys.exit(1)


def _words(verdict: Verdict, whole: bool) -> str:
    one = verdict.case
    printed = verdict.printed if whole else "\n".join(verdict.printed.splitlines()[-4:])[-600:]
    return f"case {one.number}: {'; '.join(verdict.faults) or verdict.status}\n  {_command(one)}\n{printed}"


def _command(one: Case) -> str:
    return " ".join(("scaling", *(word[:60] for word in one.arguments))).encode(errors="backslashreplace").decode()


def _print_table(verdicts: list[Verdict], seconds: float) -> None:
    print("| kind | cases | status 0 | 1 | 2 | 3 | 130 | faults |\n|---|---|---|---|---|---|---|---|")
    for kind in sorted({verdict.case.kind for verdict in verdicts}):
        of_kind = [verdict for verdict in verdicts if verdict.case.kind == kind]
        statuses = Counter(verdict.status for verdict in of_kind)
        counts = " | ".join(str(statuses[status]) for status in (0, 1, 2, 3, 130))
        print(f"| {kind} | {len(of_kind)} | {counts} | {sum(bool(verdict.faults) for verdict in of_kind)} |")
    print(f"\n{len(verdicts)} cases in {seconds:.0f} s")


if __name__ == "__main__":
    main()
