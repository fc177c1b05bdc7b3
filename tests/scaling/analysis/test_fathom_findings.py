"""The findings of the Fathom paper, on real profiles; where one does not come out, what is so instead.

`docs/fathom.md` says why. The small profiles have both modes on one and two threads; those of published size have
training on up to sixteen.
"""

from functools import cache
from pathlib import Path

import pytest

from scaling.analysis.operations import cumulative_shares, loss_share, outside_ops, types_for
from scaling.analysis.ops.profile import Profile, profiles
from scaling.analysis.ops.similarity import LINKAGES, joined_before, merges, shares_in, shares_of
from scaling.results.traces import read_traces
from tests.fathom import FIGURE_3

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
SMALL, PUBLISHED = "profiles-small", "profiles-sixteen"
CONVOLUTIONAL = ("alexnet", "deepq", "residual", "vgg")
everywhere = pytest.mark.parametrize("folder", [SMALL, PUBLISHED])


@cache
def kept(folder: str) -> tuple[Profile, ...]:
    return tuple(profiles(read_traces(EXAMPLES / folder)))


def one_thread(folder: str, mode: str = "train") -> dict[str, Profile]:
    return {each.point.workload: each for each in kept(folder) if each.threads == 1 and each.point.mode == mode}


def largest_class(profile: Profile) -> str:
    return max(profile.class_shares, key=lambda kind: profile.class_shares[kind])


def test_all_eight_networks_are_there():
    assert len(one_thread(SMALL)) == len(one_thread(SMALL, "infer")) == len(one_thread(PUBLISHED)) == 8


@everywhere
def test_no_op_is_without_a_class(folder):
    assert {op.type for each in kept(folder) for op in each.ops if op.op_class == "other"} == set()


@pytest.mark.parametrize(
    ("folder", "name"), [*((SMALL, name) for name in CONVOLUTIONAL), *((PUBLISHED, name) for name in CONVOLUTIONAL[1:])]
)
def test_convolution_is_the_largest_class_in_training_convolutional_networks(folder, name):
    assert largest_class(one_thread(folder)[name]) == "convolution"


@pytest.mark.parametrize("name", CONVOLUTIONAL)
def test_convolution_is_the_largest_class_in_inference_of_all_four(name):
    assert largest_class(one_thread(SMALL, "infer")[name]) == "convolution"


def test_convolution_was_the_largest_class_in_alexnet_but_for_the_gradient_of_slices():
    """When these were traced its normalisation added up slices of channels; it has split and joined them since."""
    alexnet = one_thread(PUBLISHED)["alexnet"]
    rest = alexnet.class_share("data movement") - alexnet.share("StridedSliceGrad")
    others = [rest, *(alexnet.class_share(kind) for kind in ("elementwise", "matrix", "reduction", "optimisation"))]
    assert alexnet.class_share("convolution") > max(others)


@everywhere
def test_four_fifths_of_vgg_are_convolution(folder):
    assert one_thread(folder)["vgg"].class_share("convolution") >= 0.8


def test_three_quarters_of_residual_are_convolution_at_published_size_and_batch_normalisation_most_of_the_rest():
    """Four fifths in the paper, whose network had no batch normalisation; and four fifths of ours where it is small."""
    residual = one_thread(PUBLISHED)["residual"]
    assert 0.75 <= residual.class_share("convolution") < 0.8
    assert residual.class_share("elementwise") + residual.class_share("reduction") > 0.18
    assert one_thread(SMALL)["residual"].class_share("convolution") >= 0.8


modes = pytest.mark.parametrize(("folder", "mode"), [(SMALL, "train"), (SMALL, "infer"), (PUBLISHED, "train")])


@modes
@pytest.mark.parametrize("name", ["autoenc", "speech"])
def test_matrix_products_dominate_speech_and_autoenc(folder, name, mode):
    assert one_thread(folder, mode)[name].class_share("matrix") > 0.5


@modes
def test_in_memnet_everything_else_outweighs_matrix_products(folder, mode):
    memnet = one_thread(folder, mode)["memnet"]
    rest = sum(memnet.class_share(kind) for kind in ("elementwise", "reduction", "data movement"))
    assert rest > 0.9 > memnet.class_share("matrix")


@everywhere
@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_convolutional_networks_form_one_cluster_before_others_join(folder, linkage):
    found = merges(shares_of(one_thread(folder)), linkage)
    assert joined_before(found, set(CONVOLUTIONAL))
    assert joined_before(found, {"residual", "vgg"})


@pytest.mark.parametrize(("folder", "few"), [(SMALL, {"residual", "vgg"}), (PUBLISHED, {"autoenc", "speech", "vgg"})])
def test_at_most_fifteen_op_types_make_ninety_percent_of_training_and_fewer_than_five_in_some(folder, few):
    """The paper says five to fifteen; in its own table three are enough for residual and vgg, two for speech."""
    counts = {name: types_for(profile) for name, profile in one_thread(folder).items()}
    assert max(counts.values()) <= 15
    assert {name for name, count in counts.items() if count < 5} == few
    assert all(sum(sorted(FIGURE_3[name].values())[-3:]) >= 90 for name in ("residual", "speech", "vgg"))


def test_two_op_types_are_nearly_all_of_inference_in_convolutional_networks():
    for name in ("deepq", "residual", "vgg"):
        assert cumulative_shares(one_thread(SMALL, "infer")[name])[1] > 0.9


@pytest.mark.parametrize(
    ("folder", "falling"),
    [(SMALL, {"alexnet", "deepq", "memnet", "vgg"}), (PUBLISHED, {"speech"})],
    ids=["two", "sixteen"],
)
def test_the_shares_of_optimiser_and_loss_rise_with_threads_in_most_networks(folder, falling):
    """From one thread to sixteen in all but speech, which was traced up to four and has little of either."""

    def update_and_loss(profile: Profile) -> float:
        return profile.class_share("optimisation") + loss_share(profile)

    rising = set()
    for name, one in one_thread(folder).items():
        most = max((each for each in kept(folder) if each.subject == one.subject), key=lambda each: each.threads)
        rising |= {name} if update_and_loss(most) > update_and_loss(one) else set()
    assert set(one_thread(folder)) - rising == falling


@everywhere
@pytest.mark.parametrize("name", ["alexnet", "residual", "vgg"])
def test_hardly_any_time_of_large_convolutional_networks_lies_outside_ops(folder, name):
    overhead, unexplained = outside_ops(one_thread(folder)[name])
    assert overhead + unexplained < 0.03


@everywhere
def test_our_profiles_are_like_the_papers_for_the_networks_that_were_built_alike(folder):
    """Cosine distance to the row of the paper's Figure 3: near for convolutions and products, far for memnet."""
    distances = {}
    for name, profile in one_thread(folder).items():
        ours = {op.type: op.share for op in profile.ops}
        distances[name] = shares_in({"ours": ours, "theirs": FIGURE_3[name]}).distance(0, 1)
    assert max(distances[name] for name in ("residual", "vgg", "autoenc", "speech")) < 0.1
    assert distances["memnet"] > 0.3
