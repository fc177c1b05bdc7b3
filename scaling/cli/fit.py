"""`scaling fit`: scaling laws, series by series."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from scaling.cli.options import Json
from scaling.cli.printing import print_json, print_note, print_table
from scaling.cli.sources import IncludeInvalid, Physical, Source, read_series
from scaling.errors import FitError

if TYPE_CHECKING:
    from scaling.analysis.fits.law_figures import LawFigures
    from scaling.analysis.fits.rivals import Method as Rival
    from scaling.analysis.fitting import SeriesFit
    from scaling.analysis.series import Series

    Fitted = tuple[SeriesFit, tuple[LawFigures, ...]]


class Law(StrEnum):
    """Which law to fit."""

    best = "best"
    amdahl = "amdahl"
    usl = "usl"


class Method(StrEnum):
    """How to fit it."""

    log = "log"
    ls = "ls"
    linearised = "linearised"
    normalised = "normalised"
    reciprocal = "reciprocal"


def fit(
    source: Source,
    law: Annotated[Law, typer.Option("--law", help="One law, or the one the launches speak for.")] = Law.best,
    method: Annotated[
        Method, typer.Option("--method", help="log is ours; the others are how other tools fit, to compare with.")
    ] = Method.log,
    physical: Physical = None,
    include_invalid: IncludeInvalid = False,
    as_json: Json = False,
) -> None:
    """Fit Amdahl's law and the universal scalability law, with intervals and a verdict on whether they fit.

    Example: scaling fit results/minsky
    """
    fits = _fits(read_series(source, physical, include_invalid), law, method)
    if as_json:
        from scaling.reporting.fits import fit_facts

        print_json({"series": [fit_facts(each, figures, method.value) for each, figures in fits]})
    else:
        _print(fits, method)


def _fits(found: "list[Series]", law: Law, method: Method) -> "list[Fitted]":
    """Every series that can be fitted; one that cannot is left out with a note, unless it is the only one."""
    from scaling.analysis.fits.rivals import rival_figures
    from scaling.analysis.fitting import fit as fit_series

    fits: list[Fitted] = []
    complaints: list[FitError] = []
    for series in found:
        try:
            each = fit_series(series, law.value)
            laws = tuple(one.law for one in each.laws)
            ours = tuple(one.figures for one in each.laws)
            fits.append(
                (each, ours if method is Method.log else rival_figures(each.series, cast("Rival", method.value), laws))
            )
        except FitError as error:
            complaints.append(error)
    if not fits and complaints:
        raise complaints[0]
    for complaint in complaints:
        print_note(str(complaint))
    return fits


def _print(fits: "list[Fitted]", method: Method) -> None:
    from scaling.reporting.fits import caution_lines, fit_sentence, fits_table, trace_lines

    print(*(fit_sentence(each, figures) for each, figures in fits), "", sep="\n")
    print_table(fits_table(fits))
    traces = [line for each, _ in fits for line in trace_lines(each)]
    if traces:
        print("", *traces, sep="\n")
    if method is not Method.log:
        print_note(
            f"figures are by --method {method.value}, to compare with other tools; choice and verdict are by log"
        )
    for line in caution_lines([each for each, _ in fits]):
        print_note(line)
