"""Every kind of figure: its name, title, one-line description, what it needs, and the function that draws it.

A new kind of figure is one function and one entry here. Command help, errors, pages and `scaling plot` are made from
this list. It imports no plotting library, so that reading it is cheap.
"""

from scaling.features import FigureKind, Needs, features

_HERE = __package__

CORE: tuple[FigureKind, ...] = (
    FigureKind(
        "efficiency",
        "Parallel efficiency",
        "parallel efficiency with its curves",
        "rows",
        f"{_HERE}.over_cores:efficiency",
    ),
    FigureKind(
        "together",
        "Parallel efficiency of all series",
        "parallel efficiency of all series in one pair of axes",
        "rows",
        f"{_HERE}.over_cores:together",
    ),
    FigureKind(
        "speedup", "Speedup with its curves", "speedup with its curves and bands", "rows", f"{_HERE}.over_cores:speedup"
    ),
    FigureKind(
        "losses",
        "Why it stops scaling",
        "efficiency lost to idle cores and to slower computation",
        "rows",
        f"{_HERE}.losses:losses",
    ),
    FigureKind("steps", "Step times by launch", "step times launch by launch", "rows", f"{_HERE}.steps:steps"),
    FigureKind(
        "smt",
        "Yield of SMT threads",
        "throughput gained by a core's further threads",
        "rows",
        f"{_HERE}.over_cores:smt",
    ),
    FigureKind(
        "threads",
        "Threads within and between operations",
        "throughput for every number of intra and inter threads",
        "rows",
        f"{_HERE}.threads:threads",
    ),
    FigureKind(
        "sections", "Where the time of a run goes", "parts of a run's wall time", "rows", f"{_HERE}.sections:sections"
    ),
    FigureKind(
        "karp-flatt",
        "Serial fraction by core count",
        "Karp–Flatt serial fraction by core count",
        "rows",
        f"{_HERE}.over_cores:karp_flatt",
    ),
    FigureKind(
        "modes",
        "Training and inference",
        "parallel efficiency in training and in inference",
        "rows",
        f"{_HERE}.over_cores:modes",
    ),
    FigureKind(
        "placement",
        "Which CPUs were used",
        "the CPUs each placement used",
        "rows",
        f"{_HERE}.placement:placement",
        per_series=False,
    ),
    FigureKind(
        "capacity",
        "How many cores to give",
        "throughput of new launches and the recommended size",
        "rows",
        f"{_HERE}.capacity:capacity",
        takes_target=True,
    ),
    FigureKind(
        "roofline",
        "Networks below the roofline",
        "achieved FLOP/s against the machine's ceilings",
        "ceilings",
        f"{_HERE}.roofline:roofline",
    ),
)


def all_kinds() -> tuple[FigureKind, ...]:
    """Every kind of figure, those of features last."""
    return (*CORE, *(kind for feature in features() for kind in feature.figures))


def kinds(*needs: Needs) -> tuple[FigureKind, ...]:
    """The kinds of figure that need one of these, in the order they are drawn."""
    return tuple(kind for kind in all_kinds() if kind.needs in needs)


def names(*needs: Needs) -> tuple[str, ...]:
    """The names of the kinds of figure that need one of these; without any, every name once."""
    return tuple(dict.fromkeys(kind.name for kind in (kinds(*needs) if needs else all_kinds())))


def help_text() -> str:
    """What `scaling plot` can draw, for its help."""
    points, traces = (", ".join(names(needs)) for needs in ("rows", "traces"))
    return f"{points}; of a profile {traces}; {', '.join(names('ceilings'))}. Default: all that the folder has."
