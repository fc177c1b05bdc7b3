"""`scaling fit`: the curve and the law of every series."""

import shutil
import sys

from scaling.api.results import load
from scaling.api.sizing import refuse_none
from scaling.cli.options import Columns, CoresFrom, Json, Physical, Source, Verbose, Where, parse_columns
from scaling.cli.printing import print_json, print_most_important, print_notes, print_table
from scaling.reporting.fits import caution_lines, fit_facts, fit_sentence, fits_table, karp_flatt_line, truth_lines


def fit(
    source: Source,
    physical: Physical = None,
    cores_from: CoresFrom = None,
    columns: Columns = None,
    where: Where = "",
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Fit a curve and a law to every series: speedup, serial fraction, limit, and how well the law fits.

    Each line shows the speedup on the most cores, the serial fraction, the limit and the rate on one core, all from the
    curve, then the law and the largest distance of the curve from it. -v adds a sentence and the Karp-Flatt values.

    Example: scaling fit results/minsky
    """
    results = load(source, physical=physical, cores_from=cores_from, columns=parse_columns(columns)).where(where)
    fits = refuse_none(results.fits)
    notes = [*results.table_notes, *fits.notes]
    if as_json:
        print_notes(notes)
        print_json({"series": [fit_facts(one) for one in fits.series_fits]})
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() and not verbose else None
    print_table(fits_table(fits.series_fits, width))
    explanations = [fit_sentence, karp_flatt_line] if verbose else []
    lines = [words(one) for words in explanations for one in fits.series_fits]
    truths = [line for one in fits.series_fits for line in truth_lines(one)]
    print_most_important([*notes, *truths, *lines, *caution_lines(fits.series_fits)], verbose)
