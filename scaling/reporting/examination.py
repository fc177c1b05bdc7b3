"""An examination of a machine in words: the answer first, then what to do something about, then the rest in brief."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from textwrap import wrap

from scaling.machine.doctor.findings import Finding, verdict, worst_first


def examination_facts(findings: Sequence[Finding]) -> dict[str, object]:
    """The verdict and every finding, for JSON."""
    return {"verdict": verdict(findings), "findings": [asdict(finding) for finding in worst_first(findings)]}


def headline(findings: Sequence[Finding]) -> str:
    """The answer in a few sentences; that nothing was found says little where little could be seen."""
    spoilers, cautions, unseen = (_names(findings, state) for state in ("spoiler", "caution", "not available"))
    nothing = "Nothing that can be seen" if unseen else "Nothing"
    things = {0: nothing, 1: "1 thing"}.get(len(spoilers), f"{len(spoilers)} things")
    answer = f"{things} here would spoil a measurement{_listed(spoilers)}."
    answer += f" {len(cautions)} to know about{_listed(cautions)}." if cautions else ""
    return answer + (f" {len(unseen)} of {len(findings)} cannot be seen." if unseen else "")


def examination_lines(findings: Sequence[Finding], width: int) -> list[str]:
    """Every finding, the worst first: a block each where there is something to do, a line each where not."""
    ordered = worst_first(findings)
    lines = _wrapped("", headline(findings), width)
    for finding in ordered:
        if finding.remedy is not None:
            lines += ["", *_block(finding, finding.remedy, width)]
    return [*lines, "", *_brief([finding for finding in ordered if finding.remedy is None], width)]


def _block(finding: Finding, remedy: str, width: int) -> list[str]:
    return [
        *_wrapped(f"{finding.state}  ", f"{finding.name}: {finding.value}", width),
        *_wrapped("    why     ", finding.why, width),
        *_wrapped("    remedy  ", remedy, width),
    ]


def _brief(findings: Sequence[Finding], width: int) -> Iterator[str]:
    states, names = (
        max((len(text) for text in texts), default=0)
        for texts in ([finding.state for finding in findings], [finding.name for finding in findings])
    )
    for finding in findings:
        yield from _wrapped(f"{finding.state:<{states}}  {finding.name:<{names}}  ", finding.value, width)


def _wrapped(label: str, text: str, width: int) -> list[str]:
    """A text beside its label. Commands and paths in it stay whole, so that they can be copied."""
    return wrap(
        text,
        width,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _names(findings: Sequence[Finding], state: str) -> list[str]:
    return [finding.name for finding in findings if finding.state == state]


def _listed(names: Sequence[str]) -> str:
    return f": {', '.join(names)}" if names else ""
