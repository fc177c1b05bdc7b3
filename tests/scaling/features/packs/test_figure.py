from benchmarks.shared.packs import PackedMachine, model, pack_study
from scaling.reporting.page.page import page
from scaling.results.evaluation import evaluate
from tests.scaling.reporting.plots.artists import overlaps, panels, picture
from tests.scaling.reporting.results import folder_of


def test_every_division_of_all_cores_is_named_and_the_page_has_a_section(tmp_path):
    rows = PackedMachine().rows(pack_study(launches="3"))
    understood = evaluate(folder_of(rows, tmp_path, 8))
    (axes,) = panels(picture(understood, "packs"))
    assert [text.get_text() for text in axes.texts] == ["1 × 8", "2 × 4", "4 × 2", "8 × 1"]
    assert "give calibrated train " in page(understood, [])


def test_names_of_divisions_that_do_the_same_do_not_cover_each_other(tmp_path):
    rows = PackedMachine(serial=0.0, slowdown=model(0.0)).rows(pack_study(launches="3"))
    assert not overlaps(picture(evaluate(folder_of(rows, tmp_path, 8)), "packs").figure)
