"""Limits of what is read from files, which may come from anybody; every reader has these and no others. Pure.

They are far from what honest files hold. Times within them can be squared, divided and summed as floats.
"""

from typing import Annotated

from msgspec import Meta

# In bytes or characters: a file that is read in one piece, a line of `rows.jsonl`, which has all steps of a run, and a
# line of a table or of text.
LARGEST_FILE = 64 * 2**20
LONGEST_ROW = 256 * 2**20
LONGEST_LINE = 2**20
# Columns of a table, keys of a table in TOML, and characters of a name or another text.
MOST_COLUMNS = 1000
MOST_KEYS = 1000
LONGEST_TEXT = 10_000
# The parser of TOML needs the square of the number of parts of a dotted key.
LONGEST_TOML = 2**20
MOST_DOTS_PER_LINE = 2000
LONGEST_DURATION = 100

# Seconds of a step or a launch: no clock is as fine, and no sweep as long.
LEAST_SECONDS, MOST_SECONDS = 1e-12, 1e9
# Cores of another tool's file.
LEAST_CORES, MOST_CORES = 1e-6, 1e6
# Every other measured or requested amount, such as joules, instructions and prices.
LEAST_AMOUNT, MOST_AMOUNT = 1e-30, 1e30

Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
StepSeconds = Annotated[float, Meta(ge=LEAST_SECONDS, le=MOST_SECONDS)]
Seconds = Annotated[float, Meta(ge=0, le=MOST_SECONDS)]
Measured = Annotated[float, Meta(ge=-MOST_AMOUNT, le=MOST_AMOUNT)]


def is_time(seconds: float) -> bool:
    """Whether a clock could have measured it."""
    return LEAST_SECONDS <= seconds <= MOST_SECONDS


def is_amount(number: float) -> bool:
    """Whether it is zero, or of a size with which floats can calculate."""
    return number == 0 or LEAST_AMOUNT <= abs(number) <= MOST_AMOUNT


def is_plausible(value: float | str) -> bool:
    """Whether a value of a setting is within the limits."""
    return len(value) <= LONGEST_TEXT if isinstance(value, str) else is_amount(value)
