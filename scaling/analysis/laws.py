"""How speedup depends on cores: Amdahl, Gustafson, Sun and Ni, and the universal scalability law. Pure.

Plain arithmetic, so that every function takes a number or an array of them alike, and so that nobody who only wants
a Karp-Flatt value has to load an array library. The way back, from a wish to a core count, is in `inverses`.

    Amdahl, AFIPS 1967 · Gustafson, CACM 31(5), 1988 · Karp and Flatt, CACM 33(5), 1990 · Sun and Ni, JPDC 19(1), 1993 ·
    Gunther, Guerrilla Capacity Planning, 2007
"""

from typing import Any

# A float, or an array of floats of any shape.
Numbers = Any


def amdahl(cores: Numbers, serial: Numbers) -> Numbers:
    """Speedup of a fixed amount of work, a share of which only one core can do: Amdahl's law.

    S(n) = n / (1 + serial (n - 1))
    """
    return cores / (1.0 + serial * (cores - 1.0))


def amdahl_seconds(cores: Numbers, serial: Numbers, one_core_seconds: Numbers) -> Numbers:
    """The time of that work.

    T(n) = T(1) (1/n + serial (1 - 1/n))
    """
    return one_core_seconds * (1.0 / cores + serial * (1.0 - 1.0 / cores))


def usl(cores: Numbers, contention: Numbers, coherency: Numbers) -> Numbers:
    """Speedup that may turn down again: Gunther's universal scalability law; Amdahl's where coherency is 0.

    S(n) = n / (1 + contention (n - 1) + coherency n (n - 1))
    """
    return cores / (1.0 + contention * (cores - 1.0) + coherency * cores * (cores - 1.0))


def usl_seconds(cores: Numbers, contention: Numbers, coherency: Numbers, one_core_seconds: Numbers) -> Numbers:
    """The time of a fixed amount of work under it.

    T(n) = T(1) (1/n + contention (1 - 1/n) + coherency (n - 1))
    """
    return one_core_seconds * (1.0 / cores + contention * (1.0 - 1.0 / cores) + coherency * (cores - 1.0))


def gustafson(cores: Numbers, serial: Numbers) -> Numbers:
    """Speedup of work that grows with the cores: Gustafson's law; the serial share is of the time on n cores.

    S(n) = serial + (1 - serial) n
    """
    return serial + (1.0 - serial) * cores


def gustafson_seconds(cores: Numbers, serial: Numbers, one_core_seconds: Numbers) -> Numbers:
    """The time of a piece of work that n cores share, where n pieces are handled at once.

    T(n) = T(1) / (serial + (1 - serial) n)
    """
    return one_core_seconds / gustafson(cores, serial)


def sun_ni(cores: Numbers, serial: Numbers, growth: Numbers) -> Numbers:
    """Speedup of work whose parallel part is `growth` times as large on n cores: Sun and Ni's memory-bounded law.

    S(n) = (serial + (1 - serial) G) / (serial + (1 - serial) G / n); G = 1 is Amdahl's law, G = n is Gustafson's
    """
    parallel = (1.0 - serial) * growth
    return (serial + parallel) / (serial + parallel / cores)


def karp_flatt(speedup: Numbers, cores: Numbers) -> Numbers:
    """The serial fraction one measured speedup would mean: flat over cores under Amdahl's law, rising with overhead.

    f = (1/S - 1/n) / (1 - 1/n); negative where the speedup is above n
    """
    return (1.0 / speedup - 1.0 / cores) / (1.0 - 1.0 / cores)


def efficiency(cores: Numbers, contention: Numbers, coherency: Numbers = 0.0) -> Numbers:
    """Speedup over cores: S(n) / n."""
    return 1.0 / (1.0 + contention * (cores - 1.0) + coherency * cores * (cores - 1.0))


def marginal(cores: Numbers, contention: Numbers, coherency: Numbers = 0.0) -> Numbers:
    """What one more core adds, in cores: dS/dn = (1 - contention - coherency n²) / (n/S)²; negative past the peak."""
    return (1.0 - contention - coherency * cores**2) * efficiency(cores, contention, coherency) ** 2
