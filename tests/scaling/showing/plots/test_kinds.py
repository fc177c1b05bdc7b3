from scaling.showing.plots.kinds import KINDS, Nothing, Picture, pictures
from tests.scaling.showing.results import result


def test_every_kind_comes_as_a_picture_or_with_the_reason_why_not(tmp_path):
    found = list(pictures(result('cores = "doubling"\nlaunches = 3', tmp_path)))
    assert tuple(each.kind for each in found) == KINDS
    assert all(each.title for each in found)
    assert all(each.caption if isinstance(each, Picture) else isinstance(each, Nothing) for each in found)
