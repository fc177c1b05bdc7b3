import pytest

from scaling.features.cluster.cluster import ClusterError, cluster_from_toml
from tests.scaling.study.test_keys import ABSURD

NODE_TYPE = '[[node_types]]\nname = "epyc"\n'


def refusal(toml: str) -> str:
    with pytest.raises(ClusterError) as refused:
        cluster_from_toml(toml, "cluster.toml")
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_node_type_needs_only_a_name_and_has_defaults_for_the_rest():
    (node_type,) = cluster_from_toml(NODE_TYPE, "cluster.toml").node_types
    assert (node_type.name, node_type.scheduler, node_type.node_count, node_type.walltime, node_type.hosts) == (
        "epyc",
        "slurm",
        1,
        3600,
        (),
    )


def test_an_unknown_key_is_refused_with_the_nearest_one_and_its_kind():
    message = refusal(NODE_TYPE + '[[node_types]]\nname = "arm"\nwall_time = "1h"')
    assert message == "cluster cluster.toml: node type 2: unknown key 'wall_time'; did you mean 'walltime'?"


def test_an_unknown_key_of_the_cluster_is_refused_too():
    assert refusal(f"poll_second = 1\n{NODE_TYPE}").endswith("unknown key 'poll_second'; did you mean 'poll_seconds'?")
    assert refusal(f"shared = false\n{NODE_TYPE}").endswith("the keys are node_types, poll_seconds")


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("", "key 'node_types' is missing"),
        ("node_types = []", "at least one [[node_types]] table"),
        ("node_types = 3", "at least one [[node_types]] table"),
        ("x =", "not valid TOML"),
        ('[[node_types]]\nname = "two words"', "a word of letters"),
        ('[[node_types]]\nname = "../up"', "a word of letters"),
        ('[[node_types]]\nname = "jobs"', "name 'jobs' is reserved"),
        (NODE_TYPE + 'scheduler = "slrum"', "did you mean 'slurm'?"),
        (NODE_TYPE + "nodes = 0", "a number from 1"),
        (NODE_TYPE + 'walltime = "soon"', "a time such as"),
        (NODE_TYPE + f'walltime = "1h{" " * 300_000}x"', "a time such as"),
        (NODE_TYPE + f'walltime = "{"9" * 400}"', "a time such as"),
        (NODE_TYPE + 'walltime = "0s"', "a time such as"),
        (NODE_TYPE + 'partition = "a\\n#SBATCH --wrap=x"', "a partition or queue"),
        (NODE_TYPE + 'hosts = ["n1"]\nnodes = 2', "hosts names only 1"),
        (NODE_TYPE + NODE_TYPE, "types are called 'epyc'"),
        (NODE_TYPE + "nodes = true", "a number from 1"),
        (NODE_TYPE + "core_hour = 0", "above 0"),
        (NODE_TYPE + "hosts = [1]", "node names such as"),
        (NODE_TYPE + 'hosts = ["n1 --wrap=x"]', "node names such as"),
        ("poll_seconds = 0\n" + NODE_TYPE, "seconds from 0.2"),
    ],
)
def test_what_a_key_cannot_be_is_refused_with_what_it_takes(toml, message):
    assert message in refusal(toml)


@pytest.mark.parametrize(
    ("text", "seconds"), [('"4h"', 14400), ('"1h30m"', 5400), ('"01:30:05"', 5405), ("90", 90), ('"90s"', 90)]
)
def test_a_walltime_is_read_as_people_and_schedulers_write_it(text, seconds):
    (node_type,) = cluster_from_toml(f"{NODE_TYPE}walltime = {text}", "cluster.toml").node_types
    assert node_type.walltime == seconds


def test_named_hosts_are_as_many_nodes():
    (node_type,) = cluster_from_toml(f'{NODE_TYPE}hosts = ["n1", "n2"]', "cluster.toml").node_types
    assert node_type.node_count == 2
    (node_type,) = cluster_from_toml(f'{NODE_TYPE}hosts = ["n1", "n2", "n1"]', "cluster.toml").node_types
    assert (node_type.hosts, node_type.node_count) == (("n1", "n2"), 2)


@pytest.mark.parametrize("text", ABSURD.values(), ids=ABSURD)
def test_a_file_beyond_what_anybody_writes_is_refused_in_one_short_sentence(text):
    assert len(refusal(text)) < 500
    assert refusal(text).isprintable()
