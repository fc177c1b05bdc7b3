"""Sentences asked for what they are about, not for their words."""

import re
from collections.abc import Iterable


def mentions(text: str | Iterable[str], pattern: str) -> bool:
    """Whether a text, or one of several, has these names, numbers and codes in this order; '…' is whatever is between.

    How it says so is tested once for all messages, in `tests/scaling/test_errors.py`.
    """
    wanted = re.compile(".*".join(map(re.escape, re.split(" ?… ?", pattern))), re.DOTALL)
    return any(map(wanted.search, [text] if isinstance(text, str) else text))
