"""The findings of the Fathom paper, on real profiles; where one does not come out, what is so instead.

`docs/reproductions/fathom.md` says why. All eight were trained on the paper's eight threads in three launches. Small
profiles have both modes on one and two threads, those of published size both on 1, 2, 4 and 16, in one or two launches.
The same command was given twice on two cores, to trace four networks on one thread until sure (`--reproducible-to 2`).
"""

from collections import defaultdict
from functools import cache
from itertools import combinations, product
from pathlib import Path

import pytest

from benchmarks.shared.fathom import FIGURE_3
from scaling.analysis.traces import Trace
from scaling.features.profiling.evaluation import LINKAGES, merges, shares_in, shares_of
from scaling.features.profiling.pairs import cumulative_shares, outside_ops, stationarity, types_for
from scaling.features.profiling.profile import Profile, irreproducible, profile, profiles
from scaling.results.traces import read_traces
from tests.scaling.features.profiling.test_evaluation import is_group

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"
SMALL, PUBLISHED, EIGHT = "profiles-small", "profiles-now-sixteen", "profiles-eight"
ONCE, TWICE = "profiles-once", "profiles-twice"
CONVOLUTIONAL = ("alexnet", "deepq", "residual", "vgg")
THREADS = {SMALL: 1, PUBLISHED: 1, EIGHT: 8, ONCE: 1, TWICE: 1}
in_training = pytest.mark.parametrize("folder", [SMALL, PUBLISHED, EIGHT])
in_both_modes = pytest.mark.parametrize("folder", [SMALL, PUBLISHED])
modes = pytest.mark.parametrize("mode", ["train", "infer"])
everywhere = pytest.mark.parametrize(
    ("folder", "mode"), [*product([SMALL, PUBLISHED], ["train", "infer"]), (EIGHT, "train")]
)


@cache
def kept_traces(folder: str) -> tuple[Trace, ...]:
    return tuple(read_traces(EXAMPLES / folder))


@cache
def published_profiles(folder: str) -> tuple[Profile, ...]:
    return tuple(profiles(kept_traces(folder)))


def networks(folder: str, mode: str = "train") -> dict[str, Profile]:
    """The profiles of all networks, on one thread or on eight."""
    return {
        profile.point.workload: profile
        for profile in published_profiles(folder)
        if profile.threads == THREADS[folder] and profile.point.mode == mode
    }


def launches(name: str, folder: str) -> list[Trace]:
    return [
        trace
        for trace in kept_traces(folder)
        if trace.threads == THREADS[folder] and trace.point.mode == "train" and trace.point.workload == name
    ]


def points_apart(one: Profile, other: Profile) -> float:
    """How far two profiles lie apart in the share that differs most."""
    return max(abs(one.share(op.type) - other.share(op.type)) for op in (*one.ops, *other.ops))


def largest_class(profile: Profile) -> str:
    return max(profile.class_shares, key=lambda op_class: profile.class_shares[op_class])


@everywhere
def test_all_eight_networks_are_there(folder, mode):
    assert len(networks(folder, mode)) == 8


@modes
def test_all_eight_were_traced_at_published_size_on_up_to_sixteen_threads(mode):
    traced = {
        (profile.point.workload, profile.threads)
        for profile in published_profiles(PUBLISHED)
        if profile.point.mode == mode
    }
    everything = {(name, threads) for name in networks(PUBLISHED) for threads in (1, 2, 4, 16)}
    assert traced == everything - {("alexnet", 2), ("alexnet", 4)}


@in_training
def test_no_op_is_without_a_class(folder):
    assert {op.type for profile in published_profiles(folder) for op in profile.ops if op.op_class == "other"} == set()


@everywhere
@pytest.mark.parametrize("name", CONVOLUTIONAL)
def test_convolution_is_the_largest_class_in_convolutional_networks_but_for_deepq_on_a_single_state(folder, mode, name):
    """Inference of one state, as in Fathom, reads all weights of the dense layer for one product of a vector."""
    single = (folder, mode, name) == (PUBLISHED, "infer", "deepq")
    assert largest_class(networks(folder, mode)[name]) == ("matrix" if single else "convolution")


@everywhere
def test_four_fifths_of_vgg_are_convolution(folder, mode):
    assert networks(folder, mode)["vgg"].class_share("convolution") >= 0.8


@pytest.mark.parametrize(("folder", "least"), [(PUBLISHED, 0.75), (EIGHT, 0.74)])
def test_three_quarters_of_residual_are_convolution_and_batch_normalisation_most_of_the_rest(folder, least):
    """Four fifths in the paper, whose network had no batch normalisation; and in ours where it is small or infers."""
    residual = networks(folder)["residual"]
    assert least <= residual.class_share("convolution") < 0.8
    assert residual.class_share("elementwise") + residual.class_share("reduction") > 0.17
    for folder, mode in ((SMALL, "train"), (SMALL, "infer"), (PUBLISHED, "infer")):
        assert networks(folder, mode)["residual"].class_share("convolution") >= 0.8


@everywhere
@pytest.mark.parametrize("name", ["autoenc", "speech"])
def test_matrix_products_dominate_speech_and_autoenc(folder, name, mode):
    assert networks(folder, mode)[name].class_share("matrix") > 0.5


@everywhere
def test_in_memnet_everything_else_outweighs_matrix_products(folder, mode):
    memnet = networks(folder, mode)["memnet"]
    rest = sum(memnet.class_share(op_class) for op_class in ("elementwise", "reduction", "data movement"))
    assert rest > 0.9 > memnet.class_share("matrix")


@everywhere
@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_convolutional_networks_form_one_cluster_before_others_join(folder, mode, linkage):
    """But for deepq on a single state, most of which is the product of its dense layer."""
    joined = merges(shares_of(networks(folder, mode)), linkage)
    single = (folder, mode) == (PUBLISHED, "infer")
    assert is_group(joined, set(CONVOLUTIONAL) - ({"deepq"} if single else set()))
    assert is_group(joined, {"residual", "vgg"})


@pytest.mark.parametrize(
    ("folder", "few"),
    [(SMALL, {"residual", "vgg"}), (PUBLISHED, {"autoenc", "speech", "vgg"}), (EIGHT, {"speech", "vgg"})],
)
def test_at_most_fifteen_op_types_make_ninety_percent_of_training_and_fewer_than_five_in_some(folder, few):
    """The paper says five to fifteen; in its own table three are enough for residual and vgg, two for speech."""
    counts = {name: types_for(profile) for name, profile in networks(folder).items()}
    assert max(counts.values()) <= 15
    assert {name for name, count in counts.items() if count < 5} == few
    assert all(sum(sorted(FIGURE_3[name].values())[-3:]) >= 90 for name in ("residual", "speech", "vgg"))


@in_both_modes
def test_two_op_types_are_nearly_all_of_inference_in_convolutional_networks(folder):
    for name in ("deepq", "residual", "vgg"):
        assert cumulative_shares(networks(folder, "infer")[name])[1] > 0.9


@pytest.mark.parametrize(
    ("folder", "falling"),
    [
        (SMALL, {"alexnet", "deepq", "memnet", "vgg"}),
        (PUBLISHED, {"deepq", "memnet", "seq2seq", "speech"}),
    ],
    ids=["two", "sixteen"],
)
def test_the_shares_of_optimiser_and_loss_rise_with_threads_in_half_of_the_networks(folder, falling):
    """Speech has 1 % of both; of other networks before their change see the next tests."""

    def update_and_loss(profile: Profile) -> float:
        """By scope; where the traces do not tell, the class of updates alone."""
        by_scope = (profile.purpose_share("optimizer"), profile.purpose_share("loss"))
        return profile.class_share("optimisation") if None in by_scope else sum(by_scope)

    rising = set()
    for name, one in networks(folder).items():
        most = max(
            (other for other in published_profiles(folder) if other.subject == one.subject),
            key=lambda other: other.threads,
        )
        rising |= {name} if update_and_loss(most) > update_and_loss(one) else set()
    assert set(networks(folder)) - rising == falling


@pytest.mark.parametrize(
    ("folder", "mode"), [(SMALL, "train"), (PUBLISHED, "train"), (PUBLISHED, "infer"), (EIGHT, "train")]
)
@pytest.mark.parametrize("name", ["alexnet", "residual", "vgg"])
def test_hardly_any_time_of_large_convolutional_networks_lies_outside_ops(folder, mode, name):
    overhead, unexplained = outside_ops(networks(folder, mode)[name])
    assert overhead + unexplained < 0.03


@everywhere
def test_ops_overhead_and_unexplained_add_up_to_the_step_and_a_twentieth_at_most_is_unexplained(folder, mode):
    for one in networks(folder, mode).values():
        parts = one.op_seconds + one.overhead_seconds + one.unexplained_seconds
        assert parts - one.overlap_seconds == pytest.approx(one.wall_seconds)
        assert 0 <= outside_ops(one)[1] <= 0.05


def test_every_traced_step_of_a_network_runs_the_same_ops_as_often_on_any_number_of_threads():
    by_network = defaultdict(set)
    for trace in kept_traces(PUBLISHED):
        counts = (frozenset((op.type, op.executions) for op in step.ops) for step in trace.steps)
        by_network[trace.point.workload, trace.point.mode].update(counts)
    assert {len(executions) for executions in by_network.values()} == {1}


def op_share(profile: Profile) -> float:
    return profile.op_seconds / profile.wall_seconds


@pytest.mark.parametrize("name", [*CONVOLUTIONAL, "speech", "seq2seq"])
def test_ops_are_nine_tenths_of_training_in_every_launch_of_all_but_the_shortest_steps(name):
    assert min(op_share(profile([trace])) for trace in launches(name, EIGHT)) >= 0.9


@pytest.mark.parametrize("folder", [ONCE, TWICE])
@pytest.mark.parametrize("name", ["alexnet", "autoenc", "deepq", "memnet"])
def test_ops_are_nine_tenths_of_these_four_since_the_runtime_is_asked_directly(name, folder):
    assert op_share(networks(folder)[name]) >= 0.9


def test_ops_are_nine_tenths_of_all_but_one_of_these_launches():
    single = [op_share(profile([trace])) for folder in (ONCE, TWICE) for trace in kept_traces(folder)]
    assert len(single) == 62
    below, *others = sorted(single)
    assert min(others) >= 0.9 > below > 0.8995


@pytest.mark.parametrize("name", ["alexnet", "autoenc", "deepq", "memnet"])
def test_profiles_traced_until_sure_differ_by_less_than_two_points_in_any_share_when_made_again(name):
    first, second = (launches(name, folder) for folder in (ONCE, TWICE))
    assert not irreproducible([*first], 0.02)
    assert not irreproducible([*second], 0.02)
    assert points_apart(profile(first), profile(second)) < 0.009


@pytest.mark.parametrize("name", sorted(FIGURE_3))
def test_tracing_makes_a_training_step_at_published_size_a_fifth_longer_at_most(name):
    """Launches taken together; single ones may be told otherwise, and `scaling profile` does so."""
    assert networks(EIGHT)[name].stretch <= 1.2
    assert networks(PUBLISHED)[name].stretch <= 1.21


def test_three_launches_on_eight_threads_differ_by_three_points_in_any_share():
    apart = {}
    for name in networks(EIGHT):
        single = [profile([trace]) for trace in launches(name, EIGHT)]
        assert len(single) == 3
        apart[name] = max(points_apart(one, other) for one, other in combinations(single, 2))
    assert max(apart.values()) < 0.035
    assert max(apart, key=lambda name: apart[name]) == "alexnet"


@in_training
def test_our_profiles_are_like_the_papers_for_the_networks_that_were_built_alike(folder):
    """Cosine distance to the row of the paper's Figure 3: near for convolutions and products, far for memnet."""
    distances = {}
    for name, one in networks(folder).items():
        ours = {op.type: op.share for op in one.ops}
        distances[name] = shares_in({"ours": ours, "theirs": FIGURE_3[name]}).distance(0, 1)
    assert max(distances[name] for name in ("residual", "vgg", "autoenc", "speech")) < 0.1
    assert distances["memnet"] > 0.3


@pytest.mark.parametrize(("folder", "nearer"), [(SMALL, 1), (PUBLISHED, 0), (EIGHT, 0)])
def test_speech_and_seq2seq_are_alike_here_and_far_apart_in_the_paper(folder, nearer):
    """Both are loops of products and sums of gradients here; the paper's seq2seq multiplies elementwise and tiles."""
    names = list(networks(folder))
    pair = (names.index("speech"), names.index("seq2seq"))
    ours, theirs = shares_of(networks(folder)), shares_in({name: FIGURE_3[name] for name in names})
    closer = [other for other in combinations(range(8), 2) if ours.distance(*other) < ours.distance(*pair) - 1e-9]
    assert len(closer) == nearer
    assert ours.distance(*pair) < 0.02
    assert theirs.distance(*pair) == pytest.approx(0.353, abs=0.001)
    assert ours.distance(names.index("memnet"), names.index("seq2seq")) > 0.5


@in_both_modes
def test_hardly_any_launch_has_steps_enough_to_be_called_steady(folder):
    verdicts = [stationarity(trace).stationary for trace in kept_traces(folder)]
    assert verdicts.count(None) > 0.75 * len(verdicts)
    assert all(stationarity(trace).stationary is None for trace in kept_traces(folder) if len(trace.steps) < 6)
