"""How a program scales on a CPU, and so how many cores it should get.

`run` measures a study, `measure` a function or a program, `load` reads; all return `Results`. `tune` finds the best
settings, `pack` measures replicas beside each other. Names are imported when they are first used, so that `import
scaling` loads neither pandas nor matplotlib nor TensorFlow.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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
        # Only here: it takes longer to import than all that a run's process needs, and each of those imports this.
        from importlib.metadata import version

        return version("cpu-scaling")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name in _names_of_features():
        return import_module("scaling.features").resolve(_names_of_features()[name])
    raise AttributeError(f"module 'scaling' has no attribute '{name}'")


def _names_of_features() -> dict[str, str]:
    listed = import_module("scaling.features").features()
    return {name: where for feature in listed for name, where in feature.library.items()}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_names_of_features()})
