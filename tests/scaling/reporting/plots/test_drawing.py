from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest

from benchmarks.shared.machines import row
from scaling.reporting.plots import drawing as drawing_module
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_figures, page_svg, save, styles_to_attributes
from scaling.reporting.plots.registry import names
from scaling.reporting.plots.style import INK
from scaling.results.evaluation import evaluate
from scaling.results.store import read_folder
from tests.scaling.reporting.plots.artists import empty_panels, joined, outside, overlaps, picture
from tests.scaling.reporting.results import EIGHT, eight_by_twenty, folder_of, made, result

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"
HOSTILE = (
    "$x_1^2$ 100% {braces} \\alpha & <script>alert(1)</script>",
    "W" * 60,
    "a_very_long_name/with/a/path/to/some/program --and=options -x",
    "line\nbreak\ttab \x00\x1b[31m \ud800 \N{GRINNING FACE} 漢字",
    "$",
)
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE_NAMES = ("<script>x=1</script>&\"'", "]]> $a_1$ \\n", f'{INK} url(#p1) id="x"')
TOML = f"workloads = {list(EIGHT[:3])}\ncores = [1, 2, 4, 8]\nlaunches = 3"


def one_point():
    return made("cores = [1]\nlaunches = 1", 1)[:1], 1, 1


def all_failed():
    bad = {"status": "failed", "reason": "no", "step_seconds": ()}
    return [replace(measured, outcome=replace(measured.outcome, **bad)) for measured in made("")], 8, 1


def no_baseline():
    return [measured for measured in made("cores = [1, 2, 4]\nlaunches = 3") if measured.run.point.cores > 1], 8, 1


def equal_launches():
    return [row(measured.run) for measured in made("cores = [1, 2, 4]\nlaunches = 3")], 8, 1


def huge_ratios():
    def taken(run):
        return (10.0 ** (5 * run.launch - run.point.cores),) * 4

    rows = made("cores = [1, 2, 4, 8]\nlaunches = 3")
    return (
        [replace(measured, outcome=replace(measured.outcome, step_seconds=taken(measured.run))) for measured in rows],
        8,
        1,
    )


def study(toml, cores=8, smt=1, **making):
    return lambda: (made(toml, cores, smt, **making), cores, smt)


FOUR = "cores = [1, 2, 4, 8]\nlaunches = 3"
SHAPES = {
    "one point": one_point,
    "all failed": all_failed,
    "no baseline": no_baseline,
    "equal launches": equal_launches,
    "huge ratios": huge_ratios,
    "one workload, two counts": study("cores = [1, 2]\nlaunches = 3", 2),
    "128 cores": study('cores = "doubling"\nlaunches = 3', 128, 2),
    "all 128 cores": study('cores = "all"\nlaunches = 3', 128),
    "five hostile names": study(f"workloads = {list(EIGHT[:5])}\n{FOUR}", renamed=HOSTILE),
    "two hostile names": study(f"workloads = {list(EIGHT[:2])}\n{FOUR}", renamed=HOSTILE[2:]),
    "weak scaling": study('cores = "doubling"\nlaunches = 3\nscale = "weak"'),
    "modes and threads a core": study('launches = 3\nmodes = ["train", "infer"]\nsmt = "all"', 4, 2),
    "many threads": study('cores = [1, 4]\nlaunches = 3\nintra = [1, 2, 4, "auto"]\ninter = [1, 2]', 4),
    "three placements": study('placements = ["compact", "cpus:0-15", "cpus:8-15,0-7"]\nlaunches = 3', 16),
    "launches by the dozen": study("cores = [1, 2]\nlaunches = 30", 2, steps=400),
}

LARGE = ("five hostile names", "many threads")


def test_every_kind_comes_as_a_picture_or_with_the_reason_why_not(tmp_path):
    drawings = list(draw_figures(result('cores = "doubling"\nlaunches = 3', tmp_path)))
    assert tuple(drawing.kind for drawing in drawings) == names("rows")
    assert all(drawing.title for drawing in drawings)
    assert all(
        drawing.caption if isinstance(drawing, Drawing) else isinstance(drawing, NotDrawn) for drawing in drawings
    )


@pytest.mark.parametrize(
    "shape",
    [pytest.param(shape, marks=pytest.mark.slow if shape in LARGE else ()) for shape in SHAPES],
)
def test_a_study_of_any_shape_has_no_empty_panel_no_joined_marks_and_no_text_upon_text(tmp_path, shape):
    rows, cores, smt = SHAPES[shape]()
    understood = evaluate(folder_of(rows, tmp_path, cores, smt))
    for drawing in draw_figures(understood, target=100.0):
        if isinstance(drawing, NotDrawn):
            assert drawing.reason
            continue
        assert not empty_panels(drawing.figure), drawing.kind
        assert not [line for axes in drawing.figure.axes for line in joined(axes)], drawing.kind
        assert not overlaps(drawing.figure), drawing.kind
        assert not outside(drawing.figure), drawing.kind
        if "hostile" in shape:
            assert page_svg(drawing).startswith("<svg ")


@pytest.mark.slow
def test_eight_workloads_at_twenty_counts_are_drawn_without_text_upon_text_and_are_small_to_send(tmp_path):
    sent = 0
    for drawing in draw_figures(evaluate(folder_of(eight_by_twenty(), tmp_path, 20))):
        if isinstance(drawing, Drawing):
            assert not empty_panels(drawing.figure), drawing.kind
            assert not overlaps(drawing.figure), drawing.kind
            assert not outside(drawing.figure), drawing.kind
            sent += len(page_svg(drawing).encode())
    assert sent < 900_000


@pytest.mark.parametrize("name", ["minsky-sixteen", "sixteen-cores-calibrated"])
def test_the_examples_are_drawn(name):
    for drawing in draw_figures(evaluate(read_folder(EXAMPLES / name))):
        if isinstance(drawing, Drawing):
            assert not overlaps(drawing.figure), drawing.kind
            assert not outside(drawing.figure), drawing.kind


def test_a_folder_that_does_not_tell_its_machine_is_drawn_all_the_same(tmp_path):
    rows = made("cores = [1, 2, 4, 8]\nlaunches = 3")
    drawings = {
        drawing.kind: drawing for drawing in draw_figures(evaluate(folder_of(rows, tmp_path, with_machine=False)))
    }
    assert drawings["placement"].reason == "the folder has no file that describes its machine"
    assert isinstance(drawings["capacity"], Drawing)


def test_nothing_of_our_look_is_left_behind(tmp_path):
    before = dict(matplotlib.rcParams)
    for drawing in draw_figures(result("cores = [1, 2]\nlaunches = 3", tmp_path), ["efficiency", "capacity"]):
        assert dict(matplotlib.rcParams) == before
        save(drawing, tmp_path / "figures")
    assert dict(matplotlib.rcParams) == before


def test_of_very_many_series_a_page_draws_the_first_and_says_so(tmp_path, monkeypatch):
    three = result(f"workloads = {list(EIGHT[:3])}\ncores = [1, 2, 4]\nlaunches = 3", tmp_path)
    monkeypatch.setattr(drawing_module, "MOST_SERIES", 2)
    drawings = {drawing.kind: drawing for drawing in draw_figures(three, on_page=True)}
    assert len(drawings["capacity"].figure.axes) == 2
    assert drawings["capacity"].caption.endswith("The first 2 of 3 series; `scaling plot` draws all.")
    assert "series;" not in drawings["placement"].caption


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    understood = result(TOML, tmp_path_factory.mktemp("drawn"), renamed=HOSTILE_NAMES)
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
    for name in HOSTILE_NAMES:
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
