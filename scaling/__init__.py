"""Measure how a program scales over CPU cores, and how many cores to give it.

`run` measures a study, `measure` a function or program, and `load` reads results; all return `Results`. `tune` finds
the best settings, and `pack` measures replicas running together. Names are imported on first use, so that `import
scaling` loads neither pandas nor matplotlib nor TensorFlow.
"""

from importlib import import_module

TYPE_CHECKING = False  # importing `typing` takes a few milliseconds

if TYPE_CHECKING:
    from scaling.analysis.estimates import Estimate
    from scaling.api.functions import measure
    from scaling.api.measuring import run
    from scaling.api.results import Results, load
    from scaling.features.packs.library import pack as pack
    from scaling.features.tuning.library import Tuned as Tuned
    from scaling.features.tuning.library import tune as tune
    from scaling.study.programs import Program
    from scaling.study.spec import Study

    __version__: str

__all__ = ["Estimate", "Program", "Results", "Study", "__version__", "load", "measure", "run"]

_MODULES = {
    "Estimate": "scaling.analysis.estimates",
    "Program": "scaling.study.programs",
    "Results": "scaling.api.results",
    "Study": "scaling.study.spec",
    "load": "scaling.api.results",
    "measure": "scaling.api.functions",
    "run": "scaling.api.measuring",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        # Imported here, since it takes longer than all imports of a run's process, which imports this module.
        from importlib.metadata import version

        return version("cpu-scaling")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if function := _names_of_features().get(name):
        return import_module("scaling.features").resolve(function)
    raise AttributeError(f"module 'scaling' has no attribute '{name}'")


def _names_of_features() -> dict[str, str]:
    features = import_module("scaling.features").features()
    return {name: function for feature in features for name, function in feature.library.items()}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_names_of_features()})
