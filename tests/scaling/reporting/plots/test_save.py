from xml.etree import ElementTree

import pytest

from scaling.reporting.plots.drawing import Drawing, draw_figures
from scaling.reporting.plots.save import page_svg, save, styles_to_attributes
from scaling.reporting.plots.style import INK
from tests.scaling.reporting.plots.artists import picture
from tests.scaling.reporting.results import EIGHT, result

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ("<script>x=1</script>&\"'", "]]> $a_1$ \\n", f'{INK} url(#p1) id="x"')
TOML = f"workloads = {list(EIGHT[:3])}\ncores = [1, 2, 4, 8]\nlaunches = 3"


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    understood = result(TOML, tmp_path_factory.mktemp("drawn"), renamed=HOSTILE)
    return [drawing for drawing in draw_figures(understood) if isinstance(drawing, Drawing)]


def test_a_page_gets_an_element_that_scales_and_says_what_it_shows(drawings):
    for drawing in drawings:
        svg = page_svg(drawing)
        root = ElementTree.fromstring(svg)
        assert svg.startswith("<svg ")
        assert root.get("role") == "img"
        assert root.get("viewBox")
        assert root.get("width") is root.get("height") is None
        assert root.find(f"{SVG}title").text == drawing.title
        assert root.find(f"{SVG}desc").text == drawing.caption


def test_names_from_the_results_are_text_and_nothing_else(drawings):
    for drawing in drawings:
        root = ElementTree.fromstring(page_svg(drawing))
        tags = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert tags <= {"svg", "title", "desc", "g", "path", "defs", "use", "text", "clipPath", "rect", "tspan"}
    titles = "".join(text for text in ElementTree.fromstring(page_svg(drawings[1])).itertext())
    for name in HOSTILE:
        assert name.replace(" ", "") in titles.replace("\n", "").replace(" ", "")


def test_ink_is_the_pages_own_on_a_page_and_dark_on_white_in_a_file(drawings, tmp_path):
    for drawing in drawings:
        page = page_svg(drawing)
        elements = list(ElementTree.fromstring(page).iter())
        colours = {element.get(name) for element in elements for name in ("fill", "stroke")}
        assert INK not in colours
        assert "currentColor" in colours
        (path,) = save(drawing, tmp_path, ["svg"])
        assert "currentColor" not in path.read_text()
        assert ElementTree.parse(path).getroot().find(f"{SVG}rect").get("fill") == "#ffffff"


def test_declarations_of_a_style_become_attributes_and_texts_stay():
    text = '<text style="fill:red;opacity:.5"> style="x"</text>'
    root = ElementTree.fromstring(f'<svg style="font-family: a, b">{text}</svg>')
    styles_to_attributes(root)
    changed = '<svg font-family="a, b"><text fill="red" opacity=".5"> style="x"</text></svg>'
    assert ElementTree.tostring(root, encoding="unicode") == changed


def test_ids_belong_to_the_picture_and_every_reference_is_answered(drawings):
    seen = set()
    for drawing in drawings:
        elements = list(ElementTree.fromstring(page_svg(drawing)).iter())
        ids = [element.get("id") for element in elements if element.get("id")]
        assert len(ids) == len(set(ids))
        assert all(name.startswith(f"{drawing.kind}-") for name in ids)
        assert not seen & set(ids)
        seen |= set(ids)
        used = {element.get("href", "#")[1:] for element in elements}
        used |= {element.get("clip-path", "url(#)")[5:-1] for element in elements}
        assert used - {""} <= set(ids)
        assert any(element.tag == f"{SVG}clipPath" for element in elements) or drawing.kind == "placement"


def test_nothing_is_loaded_from_elsewhere_and_no_style_reaches_out(drawings):
    for drawing in drawings:
        page = page_svg(drawing).replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "http" not in page
        assert "<style" not in page
        assert "data:" not in page


def test_files_are_written_in_every_format_and_are_the_same_every_time(tmp_path):
    for folder in ("one", "other"):
        save(picture(result(TOML, tmp_path), "efficiency"), tmp_path / folder)
    for name in ("efficiency.png", "efficiency.svg", "efficiency.pdf"):
        first = (tmp_path / "one" / name).read_bytes()
        assert len(first) > 1000
        assert first == (tmp_path / "other" / name).read_bytes()
