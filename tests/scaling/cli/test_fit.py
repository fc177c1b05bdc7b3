import pytest

from tests.published import CARPENTRY, RAYTRACER
from tests.scaling.cli.here import json_of, scaling


def test_a_file_has_room_for_every_interval_however_narrow_the_terminal(csv, monkeypatch):
    wide = scaling("fit", csv(RAYTRACER)).stdout
    monkeypatch.setenv("COLUMNS", "40")
    assert scaling("fit", csv(RAYTRACER)).stdout == wide
    assert wide.count(" to ") == 4


def test_fit_of_a_folder_finds_the_law_it_was_made_from(sixteen_cores):
    (series,) = json_of("fit", sixteen_cores)["series"]
    described = series["name"], series["law"], series["description"]
    assert described == ("calibrated train compact smt1", "amdahl", "exactly")
    serial = series["serial_fraction"]
    assert serial["low"] < 0.1 < serial["high"]
    assert serial["value"] == pytest.approx(0.1, abs=2e-3)  # its launches are 0.1 % apart
    assert [point["cores"] for point in series["curve"]] == list(range(1, 33))


def test_fit_with_threads_that_share_cores(csv):
    points = [(t, min(t, 8) + 0.25 * max(0, t - 8)) for t in (1, 2, 4, 6, 8, 10, 12, 14, 16)]
    (series,) = json_of("fit", csv([(t, n / (1 + 0.02 * (n - 1))) for t, n in points]), "--physical", 8)["series"]
    assert series["serial_fraction"]["value"] == pytest.approx(0.02, abs=2e-3)
    assert (series["measured"], series["caution_codes"][0]) == ([1, 2, 4, 6, 8], "cores-shared")


def test_known_truth_through_the_command(csv):
    (series,) = json_of("fit", csv(CARPENTRY, "seconds"))["series"]
    assert series["serial_fraction"]["value"] == pytest.approx(0.15, abs=0.005)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_an_export_is_read_as_the_folder_it_came_from(sixteen_cores, tmp_path, form):
    exported = tmp_path / f"rows.{form}"
    assert scaling("export", sixteen_cores, "--format", form, "-o", exported).returncode == 0
    assert json_of("show", exported) == json_of("show", sixteen_cores)
    assert json_of("fit", exported) == json_of("fit", sixteen_cores)
    assert json_of("capacity", exported, "--efficiency", 0.5)["answers"]
