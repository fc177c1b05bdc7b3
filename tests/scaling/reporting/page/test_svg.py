from scaling.reporting.page.svg import embed_figures, styles_to_attributes
from scaling.reporting.plots.drawing import draw_figures
from tests.scaling.reporting.results import result


def test_declarations_of_a_style_become_attributes_and_texts_stay():
    text = '<text style="fill:red;opacity:.5"> style="x"</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" style="font-family: a, b">{text}</svg>'
    assert styles_to_attributes(svg) == '<svg font-family="a, b"><text fill="red" opacity=".5"> style="x"</text></svg>'


def test_every_figure_is_drawn_without_styles_or_says_why_it_is_not(tmp_path):
    drawn, undrawn = embed_figures(draw_figures(result("cores = [1, 2, 4, 8]\nlaunches = 3", tmp_path)))
    assert "efficiency" in [each.kind for each in drawn]
    assert all("style=" not in each.svg and each.svg.startswith("<svg ") and each.caption for each in drawn)
    assert all(each.reason for each in undrawn)
