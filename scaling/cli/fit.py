"""`scaling fit`: the curve and the law of every series."""

from scaling.api.results import load
from scaling.cli.options import Columns, CoresFrom, Json, Physical, Source, parse_columns
from scaling.cli.printing import print_json, print_lines, print_notes, print_table
from scaling.reporting.fits import caution_lines, fit_facts, fit_sentence, fits_table, karp_flatt_line, truth_lines


def fit(
    source: Source,
    physical: Physical = None,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Say of every series how its curve runs, which serial fraction describes it, and how well.

    Example: scaling fit results/minsky
    """
    results = load(source, physical=physical, cores_from=cores_from, columns=parse_columns(columns))
    fits = results.fits
    print_notes([*results.table_notes, *fits.notes])
    if as_json:
        print_json({"series": [fit_facts(one) for one in fits.series_fits]})
        return
    print_lines(*map(fit_sentence, fits.series_fits), "")
    print_table(fits_table(fits.series_fits))
    print_lines("", *(line for one in fits.series_fits for line in (karp_flatt_line(one), *truth_lines(one))))
    print_notes(caution_lines(fits.series_fits))
