"""Which points fits and answers rest on: valid ones, unless all are asked for. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from scaling.analysis.summary import Launch, Summary


@dataclass(frozen=True, slots=True)
class Trusted:
    """The points that fits rest on, and those that were measured and left out as not valid."""

    taken: tuple[Summary, ...]
    left_out: tuple[Summary, ...]

    @property
    def launches(self) -> list[Launch]:
        """The launches that count of the points taken."""
        return [launch for summary in self.taken for launch in summary.used]


def trusted(summaries: Iterable[Summary], include_invalid: bool = False) -> Trusted:
    """Valid points, or all that were measured."""
    measured = [summary for summary in summaries if summary.step is not None]
    return Trusted(
        tuple(summary for summary in measured if summary.valid or include_invalid),
        tuple(summary for summary in measured if not (summary.valid or include_invalid)),
    )
