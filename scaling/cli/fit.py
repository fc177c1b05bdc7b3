"""`scaling fit`: scaling laws, series by series."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.cli.sources import IncludeInvalid, Physical, Source, read_series

if TYPE_CHECKING:
    from scaling.analysis.fitting import SeriesFit
    from scaling.analysis.series import Series


class Law(StrEnum):
    """Which law to fit."""

    best = "best"
    amdahl = "amdahl"
    usl = "usl"


def fit(
    source: Source,
    law: Annotated[Law, typer.Option("--law", help="One law, or the one the launches speak for.")] = Law.best,
    physical: Physical = None,
    include_invalid: IncludeInvalid = False,
    as_json: Json = False,
) -> None:
    """Fit Amdahl's law and the universal scalability law, with intervals and a verdict on whether they fit.

    Example: scaling fit results/minsky
    """
    fits = _fits(read_series(source, physical, include_invalid), law)
    if as_json:
        from scaling.reporting.fits import fit_facts

        print_json({"series": [fit_facts(each) for each in fits]})
    else:
        _print(fits)


def _fits(series: "list[Series]", law: Law) -> "list[SeriesFit]":
    """Every series that can be fitted; one that cannot is left out with a note, unless it is the only one."""
    from scaling.analysis.fitting import fit_each

    fits, complaints = fit_each(series, law.value)
    if not fits and complaints:
        raise complaints[0]
    for complaint in complaints:
        print_note(str(complaint))
    return fits


def _print(fits: "list[SeriesFit]") -> None:
    from scaling.reporting.fits import caution_lines, fit_sentence, fits_table, trace_lines

    print(*(fit_sentence(each) for each in fits), "", sep="\n")
    print_table(fits_table(fits))
    traces = [line for each in fits for line in trace_lines(each)]
    if traces:
        print("", *traces, sep="\n")
    for line in caution_lines(fits):
        print_note(line)
