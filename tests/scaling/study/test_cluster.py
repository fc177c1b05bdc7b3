import pytest

from scaling.errors import ClusterError
from scaling.study.cluster import cluster_from_toml

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
    assert refusal(f'adress = "10.0.0.1"\n{NODE_TYPE}').endswith("unknown key 'adress'; did you mean 'address'?")


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("", "key 'node_types' is missing"),
        ("node_types = []", "at least one [[node_types]] table"),
        ("node_types = 3", "at least one [[node_types]] table"),
        ("x =", "not valid TOML"),
        ('[[node_types]]\nname = "two words"', "a word of letters"),
        ('[[node_types]]\nname = "../up"', "a word of letters"),
        ('[[node_types]]\nname = "spool"', "it cannot be called 'spool'"),
        (NODE_TYPE + 'scheduler = "slrum"', "did you mean 'slurm'?"),
        (NODE_TYPE + "nodes = 0", "a number from 1"),
        (NODE_TYPE + 'walltime = "soon"', "a time such as"),
        (NODE_TYPE + 'walltime = "0s"', "a time such as"),
        (NODE_TYPE + 'partition = "a\\n#SBATCH --wrap=x"', "a partition or queue"),
        (NODE_TYPE + 'hosts = ["n1"]\nnodes = 2', "the hosts named are only 1"),
        (NODE_TYPE + NODE_TYPE, "two node types are called 'epyc'"),
        ('address = "login"\n' + NODE_TYPE, "the IP address"),
        ("ports = [80, 81]\n" + NODE_TYPE, "two port numbers"),
        ("ports = [55000, 54000]\n" + NODE_TYPE, "two port numbers such as [54000, 55000], the lower first"),
        ("ports = [54000, 54000]\n" + NODE_TYPE, "two port numbers such as [54000, 55000], the lower first"),
        ("heartbeat_seconds = 20\n" + NODE_TYPE, "healthy nodes would be called lost"),
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


def test_a_pilot_takes_no_run_that_its_time_limit_could_cut_off():
    (node_type,) = cluster_from_toml(f'{NODE_TYPE}walltime = "20m"', "cluster.toml").node_types
    assert node_type.drain_seconds(600) == 540
    with pytest.raises(ClusterError, match="leaves no room for a run that may take 1190 s"):
        node_type.drain_seconds(1190)


def test_the_walltime_that_is_advised_is_long_enough():
    (short,) = cluster_from_toml(f'{NODE_TYPE}walltime = "12m"', "cluster.toml").node_types
    with pytest.raises(ClusterError, match=r"a walltime of 12 minutes leaves no room .* ask for 13 minutes or more"):
        short.drain_seconds(630)
    (enough,) = cluster_from_toml(f'{NODE_TYPE}walltime = "13m"', "cluster.toml").node_types
    assert enough.drain_seconds(630) == 90
