"""Every kind of figure: name, title, description, its data, and the function that draws it.

A new kind of figure is one function and one entry here. Help, errors, pages and `scaling plot` follow from this list,
which imports no plotting library.
"""

from scaling.features import FigureKind, Needs, features


def _kind(function: str, title: str, description: str, *, needs: Needs = "rows", **more: bool) -> FigureKind:
    """A kind that is named like its function, `module:name` in this package."""
    name = function.partition(":")[2].replace("_", "-")
    return FigureKind(name, title, description, needs, f"{__package__}.{function}", **more)


CORE: tuple[FigureKind, ...] = (
    _kind("over_cores:efficiency", "Parallel efficiency", "parallel efficiency with its curves"),
    _kind(
        "over_cores:together",
        "Parallel efficiency of all series",
        "parallel efficiency of all series in one plot",
    ),
    _kind("over_cores:speedup", "Speedup with its curves", "speedup with its curves and bands"),
    _kind("losses:losses", "Why it stops scaling", "efficiency lost to idle cores and to slower computation"),
    _kind("steps:steps", "Step times by launch", "step times launch by launch"),
    _kind("over_cores:smt", "Yield of SMT threads", "throughput gained by a core's further threads"),
    _kind(
        "threads:threads",
        "Threads within and between operations",
        "throughput for every number of intra and inter threads",
    ),
    _kind("sections:sections", "Where the time of a run goes", "parts of a run's wall time"),
    _kind("over_cores:karp_flatt", "Serial fraction by core count", "Karp–Flatt serial fraction by core count"),
    _kind("over_cores:modes", "Training and inference", "parallel efficiency in training and in inference"),
    _kind("placement:placement", "Which CPUs were used", "the CPUs each placement used", per_series=False),
    _kind(
        "capacity:capacity",
        "How many cores to give",
        "throughput of new launches and the recommended size",
        takes_target=True,
    ),
    _kind(
        "roofline:roofline",
        "Networks below the roofline",
        "achieved FLOP/s against the machine's ceilings",
        needs="ceilings",
    ),
)


def all_kinds() -> tuple[FigureKind, ...]:
    """Every kind of figure, of the core and then of features."""
    return (*CORE, *(kind for feature in features() for kind in feature.figures))


def kinds(*needs: Needs) -> tuple[FigureKind, ...]:
    """The kinds of figure with these needs, in the order of drawing."""
    return tuple(kind for kind in all_kinds() if kind.needs in needs)


def names(*needs: Needs) -> tuple[str, ...]:
    """The names of kinds of figure, of all or with these needs."""
    return tuple(dict.fromkeys(kind.name for kind in (kinds(*needs) if needs else all_kinds())))


def help_text() -> str:
    """The figures of `scaling plot`, for its help."""
    points, traces = (", ".join(names(needs)) for needs in ("rows", "traces"))
    ceilings = ", ".join(names("ceilings"))
    return f"{points}; from a profile: {traces}; with ceilings: {ceilings}. Default: all that the folder has data for."
