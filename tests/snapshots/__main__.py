"""Write the snapshots anew, all or those of the commands that are named: `python -m tests.snapshots show fit`."""

import sys

from tests.snapshots.cases import Case, files, read_cases, write_cases
from tests.snapshots.session import Session


def main(names: list[str]) -> None:
    """Write every file, or the named ones, and print the files that changed."""
    with Session() as session:
        for path in files():
            if names and path.stem not in names:
                continue
            before = path.read_text()
            write_cases(path, (Case(case.command, session.output(case.command)) for case in [*read_cases(path)]))
            if path.read_text() != before:
                print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
