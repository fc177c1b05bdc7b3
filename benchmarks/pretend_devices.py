"""The studies of frameworks and devices on a pretend machine with a GPU, for looking at tables, figures and pages.

python -m benchmarks.pretend_devices DIR
python -m benchmarks.devices DIR/devices DIR/gpu-cores DIR/cores
"""

import argparse
from pathlib import Path

from benchmarks.shared.devices import write_folders


def main() -> None:
    """Write a results folder for every study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the results folders are written")
    print(*write_folders(parser.parse_args().folder), sep="\n")


if __name__ == "__main__":
    main()
