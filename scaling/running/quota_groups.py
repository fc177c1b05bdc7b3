"""Control groups with a CPU quota: made for a run, joined by its process, removed after it.

In every period the threads of a group may use CPU time up to their quota, as with a container's CPU limit (bandwidth
control: Turner, Rao & Rao, Linux Symposium 2010). A group of either version is made below ours or, since version 2
allows no groups below a group with processes, beside it.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from scaling.errors import StudyError
from scaling.machine.kernel_files import quota_parents

# The period of the kernel's own default, and of container runtimes.
PERIOD_MICROSECONDS = 100_000
PREFIX = "scaling-quota-"


class QuotaGroups:
    """The groups of one sweep, below a folder that allows such groups; StudyError if no folder does."""

    def __init__(self, quotas: Sequence[float], mark: str, root: Path = Path("/")) -> None:
        self._mark = mark
        self._number, self._made = 0, list[Path]()
        self.parent = _parent(quotas, mark, root)

    def make(self, quota: float) -> str:
        """Make a group with a quota of this number of CPUs, and return its folder."""
        self._number += 1
        folder = self.parent / f"{PREFIX}{self._mark}-{self._number}"
        try:
            _make(folder, quota)
        except OSError as error:
            raise StudyError(f"no control group with a quota of {quota:g} CPUs can be created: {error}") from error
        self._made.append(folder)
        return str(folder)

    def remove(self) -> None:
        """Remove the groups whose processes have ended."""
        self._made = [folder for folder in self._made if not _remove(folder)]


def join(folder: str) -> None:
    """Move this process into a group."""
    (Path(folder) / "cgroup.procs").write_text("0")


def remove_all(mark: str, root: Path = Path("/")) -> None:
    """Remove the groups of a sweep, by its mark."""
    for parent in quota_parents(root):
        for folder in parent.glob(f"{PREFIX}{mark}-*"):
            _remove(folder)


def _parent(quotas: Sequence[float], mark: str, root: Path) -> Path:
    """The nearest group below which a group with a quota can be made, found by making one."""
    reason = "the cpu controller is not mounted, or not enabled for new groups"
    for parent in quota_parents(root):
        probe = parent / f"{PREFIX}{mark}-probe"
        try:
            _make(probe, max(quotas))
        except OSError as error:
            reason = f"{parent}: {error.strerror}"
        else:
            return parent
        finally:
            _remove(probe)
    wanted = ", ".join(f"{quota:g}" for quota in quotas)
    raise StudyError(
        f"quota is {wanted} CPUs, but no control group with a CPU quota can be created here ({reason}); run as "
        "root, have the cpu controller delegated to you, or leave quota out"
    )


def _make(folder: Path, quota: float) -> None:
    folder.mkdir()
    microseconds = round(quota * PERIOD_MICROSECONDS)
    if (folder / "cpu.cfs_quota_us").exists():
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS))
        (folder / "cpu.cfs_quota_us").write_text(str(microseconds))
    else:
        (folder / "cpu.max").write_text(f"{microseconds} {PERIOD_MICROSECONDS}")


def _remove(folder: Path) -> bool:
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()
