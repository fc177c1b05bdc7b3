"""Published scaling measurements, as their sources print them, and series made of them."""

from scaling.analysis.series import Observation, Series

# SPEC SDM91 on a Sun SPARCcenter 2000, scripts an hour against users (Gunther 2007).
SDM91 = [(1, 64.9), (18, 995.9), (36, 1652.4), (72, 1853.2), (108, 1828.9), (144, 1775.0), (216, 1702.2)]
# BRL-CAD ray tracer on an SGI Origin 2000 (Gunther 2007, table 5.1).
RAYTRACER = [(1, 20), (4, 78), (8, 130), (12, 170), (16, 190), (20, 200), (24, 210), (28, 230), (32, 260)]
RAYTRACER += [(48, 280), (64, 310)]
# From the tests of R's usl package: made with s = k = 0.02, and one without a measurement on one core.
EXACT = [(1, 1), (2, 1.8868), (4, 3.0769), (6, 3.5294), (8, 3.5398), (10, 3.3557)]
NO_SINGLE = [(2, 22.7), (4, 45.4), (8, 76.9), (12, 109.3), (16, 100.0), (20, 137.6), (24, 143.2), (30, 145.3)]
# A MySQL benchmark on a Cisco server (Schwartz, Practical Scalability Analysis with the Universal Scalability Law).
CISCO_RATES = [955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61, 8278.71]
CISCO_RATES += [8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63]
CISCO_RATES += [11806, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39]
CISCO = list(enumerate(CISCO_RATES, 1))

# Linpack of order 1000 (Karp and Flatt 1990, table I): cores, seconds, and f as printed.
Y_MP = [(1, 2.17, None), (2, 1.11, 0.024), (3, 0.754, 0.021), (4, 0.577, 0.021), (8, 0.312, 0.021)]
FX_40 = [(1, 66.1, None), (2, 34.8, 0.053), (3, 24.9, 0.066), (4, 20.5, 0.080)]
# A program whose serial fraction is 0.15 by construction (HPC Carpentry).
CARPENTRY = [(1, 30.033), (4, 10.888), (8, 7.697)]


def rates(name: str, points: list[tuple[float, float]]) -> Series:
    """A series of throughputs, one a count."""
    return Series(name, tuple(Observation(float(n), (1.0 / rate,)) for n, rate in points), "units")


def times(name: str, points: list[tuple[float, ...]]) -> Series:
    """A series of seconds, one a count."""
    return Series(name, tuple(Observation(float(n), (seconds,)) for n, seconds, *_ in points), "runs")
