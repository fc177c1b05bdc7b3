"""Controls of the machine: set for a run, read back, and restored in any case.

The sweep restores the state before it or, if it is killed, its reaper does. One sweep at a time holds the controls of a
machine.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from scaling.errors import BusyError, MachineError, StudyError
from scaling.machine.controls import State
from scaling.machine.sysfs import HERE
from scaling.running.lock import MachineLock
from scaling.study.axes import CONTROLS, Controls

LOCK = "tmp/cpu-scaling-caps.lock"

# The time that a device may take to follow.
READ_BACK_SECONDS = 1.0

# The time after a change of controls in which steps do not count and no program begins: RAPL averages over about a
# second.
SETTLE_SECONDS = 1.0


class HeldControls:
    """Controls of the machine, held by one sweep; StudyError if one cannot be set to a value that is wanted."""

    def __init__(self, wanted: Mapping[str, Sequence[float]], root: Path = HERE) -> None:
        """`wanted` has the values of controls by axis."""
        try:
            self._lock = MachineLock(False, lambda sentence: None, root / LOCK)
        except BusyError as error:
            raise BusyError(f"another sweep is using the controls of this machine: {error}") from error
        self._now: dict[str, float] = {}
        self.before: dict[str, State] = {}
        """The states before the sweep, by axis, for their restoration."""
        try:
            for name, values in wanted.items():
                self.before[name] = _prepare(name, values, root)
        except BaseException:
            self._lock.release()
            raise

    @property
    def lock_fd(self) -> int:
        """The descriptor of the lock; the reaper shares it, so other sweeps wait until it has restored the machine."""
        return self._lock.fd

    def apply(self, controls: Controls) -> bool:
        """Set exactly these controls; returns whether any changed. StudyError if a value does not hold."""
        wanted = dict(controls)
        changed = [name for name in self.before if wanted.get(name) != self._now.get(name)]
        for name in changed:
            if name in wanted:
                self._set(name, wanted[name])
            else:
                self._restore(name)
        return bool(changed)

    def close(self) -> list[str]:
        """Restore the earlier states and release the lock; returns a sentence for each value not restored."""
        problems = restore(self.before)
        self._lock.release()
        return problems

    def _set(self, name: str, value: float) -> None:
        control, parts = CONTROLS[name], self.before[name]
        try:
            for part in parts:
                control.apply(part, value)
        except OSError as error:
            raise StudyError(f"{name} = {_words(value)} was refused: {error.strerror or error}") from error
        self._now[name] = value
        deadline = time.monotonic() + READ_BACK_SECONDS
        while wrong := [read for read in map(control.value, parts) if not control.holds(value, read)]:
            if time.monotonic() > deadline:
                raise StudyError(
                    f"{name} = {_words(value)} was set, but {_words(wrong[0])} was read back; leave {name} out, or "
                    "choose a value that the machine keeps"
                )
            time.sleep(READ_BACK_SECONDS / 20)

    def _restore(self, name: str) -> None:
        problems = restore({name: self.before[name]})
        if problems:
            raise StudyError(problems[0])
        self._now.pop(name)


def _prepare(name: str, values: Sequence[float], root: Path) -> State:
    """The state of a control; StudyError unless it can be set, which setting the present state again shows."""
    control = CONTROLS[name]
    try:
        before = control.read(root)
        if not before:
            raise StudyError(f"{name} cannot be set here: there is no {control.subject}; leave {name} out")
        for part, value in before.items():
            control.restore(part, value)
        lowest, highest = control.range(root)
    except MachineError as error:
        raise StudyError(f"{name} cannot be set here: {error}") from error
    except PermissionError as error:
        raise StudyError(f"only root may set {name} here; run as root, or leave {name} out") from error
    except OSError as error:
        raise StudyError(f"{name} cannot be set here: {error.strerror or error}; leave {name} out") from error
    outside = [value for value in values if not (lowest or 0.0) <= value <= (highest or value)]
    if outside:
        ends = f"from {lowest or 0.0:g}" + (f" to {highest:g}" if highest else "")
        raise StudyError(
            f"{name} = {outside[0]:g} was requested, but this machine accepts {ends}; choose a value in this range"
        )
    return before


def restore(before: Mapping[str, State]) -> list[str]:
    """Restore the states of controls, by axis; returns a sentence for each part that could not be restored."""
    problems = []
    for name, state in before.items():
        for part, value in state.items():
            try:
                CONTROLS[name].restore(part, value)
            except (OSError, MachineError) as error:
                where = f" in {part}" if part else ""
                problems.append(f"{name} could not be set back to {value}{where}: {error}; set it by hand")
    return problems


def _words(value: float | None) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else f"{value:g}"
