"""Sets of CPUs as the kernel writes them: lists ('0-3,8') and masks ('ff,00000000')."""

from collections.abc import Iterable

CpuSet = frozenset[int]

# Linux is built for at most 8192 CPUs; a range up to a much larger number would fill the memory.
HIGHEST_CPU = 65535

# A list may repeat CPUs up to this total.
MOST_NAMED = 16 * HIGHEST_CPU


def parse_list(text: str) -> CpuSet:
    """The CPUs of a list such as '0-3,8'; ValueError if it is not a list."""
    return frozenset(ordered_list(text))


def ordered_list(text: str) -> tuple[int, ...]:
    """The distinct CPUs of a list in written order."""
    cpus: dict[int, None] = {}
    named = 0
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or (last == "" and "-" not in part))):
            raise ValueError(f"'{part[:40]}' is neither a CPU number nor a range such as 0-3")
        low, high = int(first[-20:]), int((last or first)[-20:])
        if max(len(first), len(last)) > 20 or not low <= high <= HIGHEST_CPU:
            raise ValueError(f"'{part[:40]}' is not a range of CPU numbers up to {HIGHEST_CPU}")
        named += high - low + 1
        if named > MOST_NAMED:
            raise ValueError("it repeats CPUs too often")
        cpus.update(dict.fromkeys(range(low, high + 1)))
    return tuple(cpus)


def parse_mask(text: str) -> CpuSet:
    """The CPUs of a hexadecimal mask such as 'ff,00000000'."""
    digits = text.replace(",", "").lstrip("0") or "0"
    if len(digits) > (HIGHEST_CPU + 1) // 4:
        raise ValueError(f"a mask of {len(digits)} digits is for more than {HIGHEST_CPU + 1} CPUs")
    bits = int(digits, 16)
    return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def format_list(cpus: Iterable[int]) -> str:
    """A set of CPUs written the way the kernel does: '0-3,8'."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ",".join("-".join(map(str, part)) for part in parts)
