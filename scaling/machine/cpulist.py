"""Sets of CPUs as the kernel writes them: lists ('0-3,8') and masks ('ff,00000000')."""

from collections.abc import Iterable

CpuSet = frozenset[int]

# Linux is built for at most 8192 CPUs; a larger number is a slip of the pen, and would eat memory as a range.
HIGHEST_CPU = 65535


def parse_list(text: str) -> CpuSet:
    """The CPUs of a list such as '0-3,8'; ValueError where it is none."""
    return frozenset(ordered_list(text))


def ordered_list(text: str) -> tuple[int, ...]:
    """The CPUs of a list in the order they were written, each once."""
    cpus: dict[int, None] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or (last == "" and "-" not in part))):
            raise ValueError(f"'{part}' is neither a CPU number nor a range such as 0-3")
        low, high = int(first), int(last or first)
        if not low <= high <= HIGHEST_CPU:
            raise ValueError(f"'{part}' is not a range of CPU numbers up to {HIGHEST_CPU}")
        cpus.update(dict.fromkeys(range(low, high + 1)))
    return tuple(cpus)


def parse_mask(text: str) -> CpuSet:
    """The CPUs of a hexadecimal mask such as 'ff,00000000'."""
    bits = int(text.replace(",", ""), 16)
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
