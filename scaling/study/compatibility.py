"""Whether the rows of one study may be joined by those of another: only where that one asks for more runs. Pure."""

from collections.abc import Iterable
from dataclasses import fields

from scaling.study.planning import Run
from scaling.study.spec import AXES, Study

# Keys that are only words, and the one that only adds launches.
FREE = ("name", "question", "launches")


def incompatibility(old: Study, new: Study, old_runs: Iterable[Run], new_runs: Iterable[Run]) -> str | None:
    """What stands in the way of going on with `new` where `old` was begun; None where nothing does."""
    changed = [field.name for field in fields(Study) if getattr(old, field.name) != getattr(new, field.name)]
    fixed = [key for key in changed if key not in AXES and key not in FREE]
    if fixed:
        return _differences(old, new, fixed)
    dropped = {run.key for run in old_runs} - {run.key for run in new_runs}
    if dropped:
        axes = [key for key in changed if key in AXES or key == "launches"]
        return f"{_differences(old, new, axes)}, which drops {len(dropped)} of its runs"
    return None


def incompatibility_anywhere(old: Study, new: Study) -> str | None:
    """What stands in the way on every machine; what words such as "doubling" come to is known only on one."""
    dropped = [key for key in AXES if _is_shorter(getattr(old, key), getattr(new, key), key)]
    dropped += ["launches"] if new.launches < old.launches else []
    return incompatibility(old, new, (), ()) or (
        f"{_differences(old, new, dropped)}, which drops some of its runs" if dropped else None
    )


def _is_shorter(old: object, new: object, key: str) -> bool:
    """Whether a list of values has lost one; one core is measured whether it is listed or not."""
    if not (isinstance(old, tuple) and isinstance(new, tuple)):
        return False
    return bool({*old} - {*new} - ({1} if key == "cores" else set()))


def _differences(old: Study, new: Study, keys: list[str]) -> str:
    return ", ".join(f"{key} was {_shown(getattr(old, key))} and is now {_shown(getattr(new, key))}" for key in keys)


def _shown(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else repr(value)
