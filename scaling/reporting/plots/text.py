"""Names as a figure can carry them: on a few lines, of a width, and without characters that no file can hold. Pure."""

from unicodedata import east_asian_width

# Widths in ems of the font figures are measured with; others of its letters are narrower than USUAL.
WIDE, FULL, USUAL = "mwMWQG@%&—…", 1.02, 0.66


def printable(text: str) -> str:
    """A name in one line, with a sign in place of every character that cannot be printed."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in " ".join(text.split()))


def wrapped(text: str, ems: float, lines: int = 3) -> str:
    """A name on at most so many lines, broken at spaces where there are any; one that is longer loses its middle."""
    words = printable(text).split(" ")
    found = _lines(words, ems)
    if len(found) > lines:
        found = [*found[: lines - 1], "… " + _end(" ".join(words), ems - 1.5)]
    return "\n".join(found)


def ems(text: str) -> float:
    """About how wide a text is, rather too much than too little."""
    return sum(FULL if each in WIDE or east_asian_width(each) in "WF" else USUAL for each in text)


def _lines(words: list[str], most: float) -> list[str]:
    found = [""]
    for word in words:
        joined = f"{found[-1]} {word}" if found[-1] else word
        if ems(joined) <= most:
            found[-1] = joined
            continue
        pieces = _pieces(word, most)
        found += pieces if found[-1] else []
        if not found[0]:
            found = pieces
    return found


def _pieces(word: str, most: float) -> list[str]:
    """A word that is too long for a line, cut."""
    found = [""]
    for each in word:
        if ems(found[-1] + each) > most and found[-1]:
            found.append("")
        found[-1] += each
    return found


def _end(text: str, most: float) -> str:
    start = len(text)
    while start > 0 and ems(text[start - 1 :]) <= most:
        start -= 1
    return text[start:]
