"""How a program scales on a CPU, and so how many cores it should get. Importing this imports no heavy library."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str

__all__ = ["__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("cpu-scaling")
    raise AttributeError(f"module 'scaling' has no attribute '{name}'")
