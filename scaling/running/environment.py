"""The interpreter of a run, and its environment: an allow-list of the user's variables, and the run's own settings."""

import os
import random
import re
import subprocess
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path, PurePath

from scaling.errors import StudyError
from scaling.running.marks import MARK
from scaling.study.axes import GPU, ONEDNN_VARIABLE, axis_variables, thread_variables
from scaling.study.frameworks import FRAMEWORKS
from scaling.study.planning import Point, Run
from scaling.study.privacy import LOCALE_VARIABLES

ENVIRONMENT_NAMES = ("VIRTUAL_ENV", "CONDA_PREFIX")

# The variables that a program needs to find itself, its libraries and its language. Other variables, above all for
# threads, would make a run depend on the shell that started it.
INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ"),
    *("LD_LIBRARY_PATH", "PYTHONPATH", *ENVIRONMENT_NAMES),
)
# Their decimals have points; LC_ALL = C also keeps Python from choosing UTF-8.
POINTED_LOCALES = ("C", "POSIX", "C.UTF-8", "C.utf8")
VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"
QUIET_CPU = {"TF_CPP_MIN_LOG_LEVEL": "3", VISIBLE_GPUS: "-1"}

PADDING = "SCALING_PADDING"

# The folder for temporary files, which a run leaves behind: each process has its own, empty at its start.
SCRATCH = "TMPDIR"

# The size of the environment shifts the stack, and with it cache and alignment effects by several percent. A different
# length in every launch turns that bias into noise between launches, which intervals include.
LONGEST_PADDING = 4096
PACKAGE = "cpu-scaling"
CODE = f"from importlib.metadata import version; import scaling.running.worker; print(version('{PACKAGE}'))"
# Starting an interpreter and importing takes a second, and longer on a machine that is busy or swaps.
CHECK_SECONDS = 60.0


def environment(
    run: Run, inherited: Mapping[str, str], marks: str, arch: str, scratch: str, generation: int | None = None
) -> dict[str, str]:
    """The variables of a run's process; forked processes of a generation have their server's."""
    shell = {name: value for name, value in inherited.items() if name in INHERITED or name.startswith("LC_")}
    shell |= {} if run.python is None else _of_interpreter(run.python, shell)
    shell = _with_decimal_points(shell)
    seed = run.key if generation is None else generation
    length = random.Random(repr(seed) + str(run.seed)).randrange(LONGEST_PADDING)
    return {
        **shell,
        **QUIET_CPU,
        ONEDNN_VARIABLE: inherited.get(ONEDNN_VARIABLE, "1" if arch == "x86_64" else "0"),
        **axis_variables(run.point),
        **_device_variables(run.point, inherited),
        **thread_variables(run.point),
        MARK: marks,
        SCRATCH: scratch,
        PADDING: "x" * length,
    }


def _with_decimal_points(shell: Mapping[str, str]) -> dict[str, str]:
    """The variables of a shell with its locale except for numbers, since patterns cannot read decimal commas.

    LC_ALL overrides the other variables of a locale, so LANG replaces it, which all of them default to.
    """
    locale = shell.get("LC_ALL")
    if not locale or locale in POINTED_LOCALES:
        return {**shell, "LC_NUMERIC": "C"}
    kept = {name: value for name, value in shell.items() if name not in LOCALE_VARIABLES}
    return {**kept, "LANG": locale, "LC_NUMERIC": "C"}


def _device_variables(point: Point, inherited: Mapping[str, str]) -> dict[str, str]:
    """Variables that show a run on a GPU the first GPU of the shell, or of the machine."""
    if point.device != GPU:
        return {}
    first = inherited.get(VISIBLE_GPUS, "0").partition(",")[0]
    return {**FRAMEWORKS[point.framework].gpu_variables, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", VISIBLE_GPUS: first}


def server_variables(variables: Mapping[str, str], point: Point, is_program: bool) -> dict[str, str]:
    """The variables of a run that its server needs before it imports; the run sets the others itself.

    TensorFlow reads its number of threads when its runtime starts, torch's OpenMP when it is loaded. A program
    reads all of its variables when it is executed.
    """
    if is_program:
        late = {*thread_variables(point), PADDING}
    elif FRAMEWORKS[point.framework].reads_threads_when_loaded:
        late = set()
    else:
        late = set(thread_variables(point))
    return {name: value for name, value in variables.items() if name not in late}


# Variables of a terminal or a desktop, which do not affect measured programs.
OF_A_SESSION = re.compile(
    "_|PWD|OLDPWD|SHLVL|HOSTNAME|TERM.*|COLORTERM|LS_COLORS|LESS.*|EDITOR|VISUAL|PAGER|MAIL|HIST.*|PS[0-9]|COLUMNS|LINES|"
    "DISPLAY|WINDOWID|WAYLAND.*|DEBIAN_FRONTEND|INVOCATION_ID|JOURNAL_STREAM|"
    "(SSH|XDG|DBUS|GPG|GNOME|GTK|QT|KDE|VSCODE|TMUX|SYSTEMD|SUDO)(_.*)?"
)


def variables_not_passed(inherited: Mapping[str, str], known: Collection[str]) -> list[str]:
    """Variables of the shell that a program does not get although it may need them, except known ones."""
    kept = {*INHERITED, *known, ONEDNN_VARIABLE, *QUIET_CPU, "KERAS_BACKEND", SCRATCH}
    return sorted(
        name
        for name in inherited
        if name not in kept and not name.startswith(("LC_", "SCALING_")) and not OF_A_SESSION.fullmatch(name)
    )


def _of_interpreter(python: str, shell: Mapping[str, str]) -> dict[str, str]:
    """Variables of another interpreter's environment instead of the shell's: its programs come first in the path."""
    folder = PurePath(python).parent
    path = {"PATH": os.pathsep.join(filter(None, (str(folder), shell.get("PATH"))))}
    return path | {name: str(folder.parent) for name in ENVIRONMENT_NAMES if name in shell}


def row_variables(variables: Mapping[str, str], left_out: Collection[str] = ()) -> tuple[tuple[str, str], ...]:
    """The variables as a row keeps them: the padding by its length, without variables that are unique to this sweep."""
    values = {**variables, PADDING: f"{len(variables[PADDING])} characters"}
    return tuple((name, values[name]) for name in sorted(values) if name not in (MARK, SCRATCH, *left_out))


def find_interpreter(name: str) -> str:
    """The absolute path of an interpreter or of a virtual environment's; StudyError if it cannot be used."""
    # Not Path.resolve: the interpreter of a virtual environment is a link, which must not be followed.
    given = Path(os.path.abspath(name))  # noqa: PTH100
    python = given / "bin" / "python" if given.is_dir() else given
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise StudyError(
            f"python = {name}: there is no interpreter {python}; use the path of an interpreter or a virtual "
            "environment"
        )
    theirs, ours = _version_there(name, python), version(PACKAGE)
    if theirs != ours:
        raise StudyError(
            f"python = {name}: {python} has {PACKAGE} {theirs}, but this version is {ours}; install {ours} there"
        )
    return str(python)


def _version_there(name: str, python: Path) -> str:
    try:
        checked = subprocess.run(
            [python, "-P", "-c", CODE], capture_output=True, text=True, timeout=CHECK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StudyError(f"python = {name}: {python} cannot be started: {error}") from error
    if checked.returncode:
        why = (checked.stderr.strip().splitlines() or ["no message"])[-1]
        raise StudyError(
            f"python = {name}: {python} cannot run this package ({why}); install it there: "
            f"{python} -m pip install {PACKAGE}=={version(PACKAGE)}"
        )
    return checked.stdout.strip()
