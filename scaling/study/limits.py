"""Limits of what is read from files, which may come from anybody; every reader has these and no others. Pure.

They are far from what honest files hold. Times within them can be squared, divided and summed as floats.
"""

from typing import Annotated

from msgspec import Meta

# A file that is read in one piece, and a line of others, in bytes or characters.
LARGEST_FILE = 64 * 2**20
LONGEST_LINE = 64 * 2**20
# A line of a plain table, its columns, and a name in it or in a row.
LONGEST_TABLE_LINE = 2**20
MOST_COLUMNS = 1000
LONGEST_NAME = 10_000
# The parser of TOML needs the square of the number of parts of a dotted key.
LONGEST_TOML = 2**20
MOST_DOTS_PER_LINE = 2000
LONGEST_DURATION = 100

# Seconds of a step or a launch: no clock is as fine, and no sweep as long.
LEAST_SECONDS, MOST_SECONDS = 1e-12, 1e9
# Every other measured or requested amount, such as joules, instructions and prices.
LEAST_AMOUNT, MOST_AMOUNT = 1e-30, 1e30

Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
StepSeconds = Annotated[float, Meta(ge=LEAST_SECONDS, le=MOST_SECONDS)]


def is_time(seconds: float) -> bool:
    """Whether a clock could have measured it."""
    return LEAST_SECONDS <= seconds <= MOST_SECONDS


def is_amount(number: float) -> bool:
    """Whether it is zero, or of a size with which floats can calculate."""
    return number == 0 or LEAST_AMOUNT <= abs(number) <= MOST_AMOUNT


def is_plausible(value: float | str) -> bool:
    """Whether a value of a setting is within the limits."""
    return len(value) <= LONGEST_NAME if isinstance(value, str) else is_amount(value)
