"""`scaling fit`: scaling laws, series by series."""

from typing import Annotated

import typer

from scaling.analysis.laws import BEST, LAW_CHOICES
from scaling.api.results import load
from scaling.cli.options import Columns, CoresFrom, Json, Physical, Source, parse_columns
from scaling.cli.printing import print_json, print_lines, print_notes, print_table
from scaling.reporting.fits import caution_lines, fit_facts, fit_sentences, fits_table, trace_lines, truth_lines


def fit(
    source: Source,
    law: Annotated[
        str,
        typer.Option("--law", metavar="|".join(LAW_CHOICES), help="One law, or the one the launches support."),
    ] = BEST,
    physical: Physical = None,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Fit Amdahl's law and the universal scalability law, with intervals and a verdict on whether they fit.

    Example: scaling fit results/minsky
    """
    results = load(source, physical=physical, cores_from=cores_from, columns=parse_columns(columns))
    fits = results.fit(law)
    print_notes([*results.table_notes, *fits.notes])
    if as_json:
        print_json({"series": [fit_facts(one) for one in fits.series_fits]})
        return
    print_lines(*fit_sentences(fits.series_fits))
    with_law = [one for one in fits.series_fits if not one.is_short]
    if with_law:
        print_lines("")
        print_table(fits_table(with_law))
    traces = [line for one in with_law for line in (*trace_lines(one), *truth_lines(one))]
    if traces:
        print_lines("", *traces)
    print_notes(caution_lines(fits.series_fits))
