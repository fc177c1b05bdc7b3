"""What an examination of a machine comes to: findings, each with a state, and the verdict over all of them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["spoiler", "caution", "ok", "not available"]

# The worst first: the order in which findings are shown, and in which they make the verdict.
STATES: tuple[State, ...] = ("spoiler", "caution", "ok", "not available")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: how it stands, why it matters, and what to do where something is to be done."""

    name: str
    state: State
    value: str
    why: str
    remedy: str | None


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to look at, before it is known how it stands."""

    name: str
    why: str
    remedy: str

    def spoiler(self, value: str) -> Finding:
        """It stands so that figures would be wrong."""
        return Finding(self.name, "spoiler", value, self.why, self.remedy)

    def caution(self, value: str) -> Finding:
        """It stands so that figures hold, but not for everything one may take them for."""
        return Finding(self.name, "caution", value, self.why, self.remedy)

    def ok(self, value: str) -> Finding:
        """It stands as it should."""
        return Finding(self.name, "ok", value, self.why, None)

    def not_available(self, reason: str) -> Finding:
        """How it stands is not told here."""
        return Finding(self.name, "not available", reason, self.why, None)

    def graded(self, figure: float, caution_from: float, spoils_from: float, value: str) -> Finding:
        """Worse the higher the figure is."""
        if figure >= spoils_from:
            return self.spoiler(value)
        return self.caution(value) if figure >= caution_from else self.ok(value)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by state, otherwise in the order they came."""
    return sorted(findings, key=lambda finding: STATES.index(finding.state))


def verdict(findings: Iterable[Finding]) -> State:
    """The worst state there is; what is not available says nothing."""
    known = [finding for finding in findings if finding.state != "not available"]
    return worst_first(known)[0].state if known else "ok"
