"""The axes of a study as objects, and a point, which has a value on each of them. Pure.

An axis is a key of a study, whose values multiply into points, and a field of a point. Its object says how values are
read and named, in which points they mean something, how planning combines them, and what a value does: to the
environment of a process, to its thread pools, or to the machine.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, fields, replace
from typing import Annotated, Any, Literal

from msgspec import Meta

from scaling.machine.controls import CAPS, Control
from scaling.machine.placement import POLICIES
from scaling.machine.topology import Cpus
from scaling.study.frameworks import FRAMEWORKS, TENSORFLOW
from scaling.study.keys import Key, annotations_of, as_list, counts, quotas, rates
from scaling.study.limits import LEAST_AMOUNT, MOST_AMOUNT, Text
from scaling.study.programs import Amount

Count = Annotated[int, Meta(ge=1, le=65536)]
Items = Amount | Literal["default"]
Threads = Count | Literal["auto", "cpus", "cores"]
Data = Literal["fixed", "fresh", "pipeline"]
Device = Literal["cpu", "gpu"]
CPU: Device = "cpu"
GPU: Device = "gpu"
PROGRAM_MODE = "run"

# Checked when a run is read from a file.
PositiveCount = Annotated[int, Meta(ge=1)]
StepCount = Annotated[int, Meta(ge=0)]
PositiveNumber = Annotated[float, Meta(ge=LEAST_AMOUNT, le=MOST_AMOUNT)]
RunCpus = Annotated[tuple[Annotated[Cpus, Meta(min_length=1)], ...], Meta(min_length=1)]

# oneDNN's kernels are TensorFlow's default on x86-64 only; a choice in the shell is kept and recorded in the row.
ONEDNN_VARIABLE = "TF_ENABLE_ONEDNN_OPTS"
INTRA_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
INTER_VARIABLES = ("TF_NUM_INTEROP_THREADS",)

# How planning combines the values of an axis: with all values of every other axis, as far as code of its own finds
# them possible, or not all of them with all others, such as threads of a pipeline that some points lack.
Planned = Literal["freely", "if possible", "in part"]
# The points whose values of an axis may differ from the usual one.
Applies = Literal["all", "frameworks", "networks", "loads"]
# The controls that a point sets, each with its value; the machine keeps its own values of the others.
Controls = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The words for a setting of a point, and the usual value, which is not named."""

    usual: object = None
    form: str | Mapping[object, str] = "{}"

    def words(self, value: object) -> str:
        """A value in words; empty if the point has no value."""
        if value is None or value == "":
            return ""
        return self.form.format(value) if isinstance(self.form, str) else self.form.get(value, "")


def _no_variables(value: Any) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True, eq=False)
class Axis(Setting):
    """A setting that varies within a study, and what its value does to a run.

    `values` are the words for the values of its key, `read` reads them before their type is checked. Rows keep the
    words of an axis whose words become numbers (`resolved`) beside the numbers. Series need no name for a value that is
    `self_evident`. A search for the best settings varies what is `searched`; without a number, what `follows_cpus` is
    the number of CPUs. A value sets `variables` of the environment; `pool` has the variables for its number of threads.
    The `control` sets it on the whole machine; None leaves the machine as it is.
    """

    _: KW_ONLY
    values: str
    read: Callable[[Any], object] = as_list
    planned: Planned = "freely"
    applies: Applies = "all"
    resolved: bool = False
    self_evident: bool = False
    searched: bool = True
    follows_cpus: bool = False
    variables: Callable[[Any], Mapping[str, str]] = _no_variables
    pool: tuple[str, ...] = ()
    control: Control | None = None

    @property
    def key(self) -> Key:
        """Its key in a study."""
        return Key(self.values, self.read, axis=True)


_THREADS = "'auto', 'cpus', 'cores', a whole number above 0, or a list of them"
_WATTS = "'none', watts above 0, or a list of them"
_MHZ = "'none', a clock in MHz above 0, or a list of them"

MODE = Axis(
    "train",
    values="'train', 'infer' or both in a list, or 'run' for a workload that does neither",
    planned="in part",
    searched=False,
)
PLACEMENT = Axis(
    "compact",
    values=f'{", ".join(POLICIES)}, or a list such as "cpus:0,2,4"',
    planned="in part",
)
REPLICAS = Axis(
    1,
    "replicas {}",
    values="'fill' or counts above 0 such as [1, 2, 4]",
    read=counts,
    planned="in part",
    searched=False,
)
BESIDE = Axis(
    None,
    "beside {}",
    values="names of workloads or programs of the study",
    planned="in part",
    searched=False,
)
FRAMEWORK = Axis(
    TENSORFLOW,
    values=f"{', '.join(map(repr, FRAMEWORKS))}, or a list of them",
    planned="if possible",
    applies="frameworks",
    self_evident=True,
    variables=lambda name: {"KERAS_BACKEND": name, **FRAMEWORKS[name].variables},
    searched=False,
)
DEVICE = Axis(
    CPU,
    values="'cpu', 'gpu', or both in a list",
    applies="frameworks",
    self_evident=True,
    searched=False,
)
SCALE = Setting("strong", "{} scaling")
SMT = Axis(
    1,
    "smt {}",
    values="'doubling', 'all' or counts above 0 such as [1, 2]",
    read=counts,
    planned="in part",
)
QUOTA = Axis(
    None,
    "quota {:g}",
    values="'none', at least 0.01 CPUs such as 1.5 or \"1500m\", or a list of them",
    read=quotas,
    planned="if possible",
    follows_cpus=True,
)
CLIENTS = Axis(
    None,
    "clients {}",
    values='counts above 0 such as "1,2,4" or [1, 8, 64]',
    read=counts,
    planned="if possible",
    applies="loads",
    searched=False,
)
RATE = Axis(
    None,
    "rate {:.12g}",
    values='rates above 0 such as "100,2000" or [100, 2000]',
    read=rates,
    planned="if possible",
    applies="loads",
    searched=False,
)
ITEMS = Axis(
    "default",
    "items {}",
    values="'default', a number of items above 0, or a list of them",
    planned="if possible",
    resolved=True,
)
DATA = Axis(
    "fixed",
    "data {}",
    values="'fixed', 'fresh', 'pipeline', or a list of them",
    planned="in part",
    applies="networks",
    self_evident=True,
)
PIPELINE_THREADS = Axis(
    "auto",
    "pipeline threads {}",
    values=_THREADS,
    planned="in part",
    applies="networks",
    resolved=True,
    follows_cpus=True,
)
INTRA = Axis(
    "auto",
    "intra {}",
    values=_THREADS,
    planned="if possible",
    resolved=True,
    pool=INTRA_VARIABLES,
    follows_cpus=True,
)
INTER = Axis(
    "auto",
    "inter {}",
    values=_THREADS,
    planned="if possible",
    resolved=True,
    pool=INTER_VARIABLES,
    follows_cpus=True,
)
JIT = Axis(
    False,
    {True: "jit"},
    values="true or false, or both in a list",
    applies="frameworks",
)
ONEDNN = Axis(
    None,
    {True: "oneDNN on", False: "oneDNN off"},
    values="'auto', true, false, or a list of them",
    applies="frameworks",
    variables=lambda on: {} if on is None else {ONEDNN_VARIABLE: str(int(on))},
)
CPU_POWER_WATTS = Axis(
    None,
    "CPU ≤ {:g} W",
    values=_WATTS,
    control=CAPS["cpu_power_watts"],
)
CPU_MAX_MHZ = Axis(
    None,
    "CPU ≤ {:g} MHz",
    values=_MHZ,
    control=CAPS["cpu_max_mhz"],
)
GPU_POWER_WATTS = Axis(
    None,
    "GPU ≤ {:g} W",
    values=_WATTS,
    control=CAPS["gpu_power_watts"],
)
GPU_MAX_MHZ = Axis(
    None,
    "GPU ≤ {:g} MHz",
    values=_MHZ,
    control=CAPS["gpu_max_mhz"],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One combination of the axes of a study.

    With several `replicas` it is a pack: several processes at once, each on its own `cores`. With a workload `beside`
    it is a pack of two, and only the first is measured. If `onednn` is None, TensorFlow or the shell decides. The same
    processes measure points that differ in their controls only.

    A field with a `Setting` is part of the point's name, in this order, and a column if any value is not usual.
    """

    workload: Text
    mode: Annotated[str, MODE]
    size: str
    cores: PositiveCount
    placement: Annotated[str, PLACEMENT]
    replicas: Annotated[PositiveCount, REPLICAS] = 1
    beside: Annotated[Text | None, BESIDE] = None
    framework: Annotated[str, FRAMEWORK]
    device: Annotated[str, DEVICE]
    scale: Annotated[str, SCALE]
    smt: Annotated[PositiveCount, SMT]
    quota: Annotated[PositiveNumber | None, QUOTA] = None
    clients: Annotated[PositiveCount | None, CLIENTS] = None
    rate: Annotated[PositiveNumber | None, RATE] = None
    items: Annotated[Items, ITEMS]
    data: Annotated[Data, DATA] = "fixed"
    pipeline_threads: Annotated[Threads | None, PIPELINE_THREADS] = None
    intra: Annotated[Threads, INTRA]
    inter: Annotated[Threads, INTER]
    jit: Annotated[bool, JIT]
    onednn: Annotated[bool | None, ONEDNN] = None
    cpu_power_watts: Annotated[PositiveNumber | None, CPU_POWER_WATTS] = None
    cpu_max_mhz: Annotated[PositiveNumber | None, CPU_MAX_MHZ] = None
    gpu_power_watts: Annotated[PositiveNumber | None, GPU_POWER_WATTS] = None
    gpu_max_mhz: Annotated[PositiveNumber | None, GPU_MAX_MHZ] = None
    memory: str

    @property
    def workloads(self) -> set[str]:
        """Its workload and the one beside it, if any."""
        return {self.workload, self.beside or self.workload}

    @property
    def subject(self) -> str:
        """The workload and, unless it is a program, its mode."""
        return self.workload if self.mode == PROGRAM_MODE else f"{self.workload} {self.mode}"

    @property
    def baseline(self) -> "Point":
        """The reference of its speedup: one replica on one core without a quota, otherwise the same."""
        return self if self.is_baseline else replace(self, cores=1, quota=None, replicas=1, beside=None)

    @property
    def is_baseline(self) -> bool:
        """Whether it is the reference of speedups."""
        return self.cores == 1 and self.in_series

    @property
    def in_series(self) -> bool:
        """Whether it is in a series over cores: one replica, without a quota."""
        return self.replicas == 1 and self.quota is None

    @property
    def lone(self) -> "Point":
        """The same point with a single replica."""
        return self if self.replicas == 1 else replace(self, replicas=1, beside=None)

    @property
    def measured_replicas(self) -> int:
        """The number of replicas that are measured: all, or 1 beside another workload."""
        return self.replicas if self.beside is None else 1

    @property
    def controls(self) -> Controls:
        """The controls that it sets."""
        values = ((name, getattr(self, name)) for name in CONTROLS)
        return tuple((name, value) for name, value in values if value is not None)

    @property
    def without_controls(self) -> "Point":
        """The same point on the machine as it is."""
        return self._without(CONTROLS) if self.controls else self

    @property
    def caps(self) -> Controls:
        """The controls that it sets and that cap power or clocks."""
        return tuple((name, value) for name, value in self.controls if name in CAPS)

    @property
    def without_caps(self) -> "Point":
        """The same point without caps."""
        return self._without(CAPS) if self.caps else self

    def _without(self, names: Iterable[str]) -> "Point":
        machine: dict[str, Any] = dict.fromkeys(names)
        return replace(self, **machine)

    @property
    def usable_cores(self) -> float:
        """The CPU time it may use, in cores: all cores of its replicas, or their quota."""
        return self.measured_replicas * (self.cores if self.quota is None else min(float(self.cores), self.quota))

    @property
    def thread_counts(self) -> dict[str, int | None]:
        """The threads of its pools by their axis, 0 if the framework decides; None without a pipeline."""
        words = {name: getattr(self, name) for name in POOLS}
        return {name: None if word is None else self.threads(word) for name, word in words.items()}

    def threads(self, setting: Threads) -> int:
        """The number of threads that a setting means; 0 leaves it to the framework."""
        if isinstance(setting, int):
            return setting
        return {"auto": 0, "cores": self.cores, "cpus": self.cores * self.smt}[setting]


SETTINGS = annotations_of(Point, Setting)
AXES = annotations_of(Point, Axis)
CONTROLS = {name: axis.control for name, axis in AXES.items() if axis.control}
REQUIRED = [one.name for one in fields(Point) if one.default is MISSING]
# Axes whose words become numbers, those of every point first; `items` becomes what a workload reports, others threads.
RESOLVED = tuple(sorted((name for name, axis in AXES.items() if axis.resolved), key=lambda name: name not in REQUIRED))
POOLS = tuple(name for name in RESOLVED if AXES[name] is not ITEMS)
LOADS = tuple(name for name, axis in AXES.items() if axis.applies == "loads")


def settings_words(point: Point, names: Iterable[str] = SETTINGS) -> list[str]:
    """The settings of a point that are not usual, in words."""
    values = ((SETTINGS[name], getattr(point, name)) for name in names)
    return [words for setting, value in values if value != setting.usual and (words := setting.words(value))]


def axis_variables(point: Point, names: Iterable[str] = AXES) -> dict[str, str]:
    """The variables that the values of a point set in the environment of a process."""
    variables: dict[str, str] = {}
    for name in names:
        variables |= AXES[name].variables(getattr(point, name))
    return variables


def thread_variables(point: Point) -> dict[str, str]:
    """The variables for the number of threads of a point, as far as it is set."""
    variables: dict[str, str] = {}
    for name, axis in AXES.items():
        if axis.pool and (threads := point.threads(getattr(point, name))):
            variables |= dict.fromkeys(axis.pool, str(threads))
    return variables
