import pytest

from scaling.errors import ClusterError
from scaling.study.cluster import cluster_from_toml

KIND = '[[kinds]]\nname = "epyc"\n'


def refusal(toml: str) -> str:
    with pytest.raises(ClusterError) as refused:
        cluster_from_toml(toml, "cluster.toml")
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_kind_needs_only_a_name_and_has_defaults_for_the_rest():
    (kind,) = cluster_from_toml(KIND, "cluster.toml").kinds
    assert (kind.name, kind.scheduler, kind.nodes, kind.walltime_seconds, kind.hosts) == ("epyc", "slurm", 1, 3600, ())


def test_an_unknown_key_is_refused_with_the_nearest_one_and_its_kind():
    told = refusal(KIND + '[[kinds]]\nname = "arm"\nwall_time = "1h"')
    assert told == "cluster cluster.toml: kind 2: unknown key 'wall_time'; did you mean 'walltime'?"


def test_an_unknown_key_of_the_cluster_is_refused_too():
    assert refusal(f'adress = "10.0.0.1"\n{KIND}').endswith("unknown key 'adress'; did you mean 'address'?")


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("", "key 'kinds' is missing"),
        ("kinds = []", "at least one [[kinds]] table"),
        ("kinds = 3", "at least one [[kinds]] table"),
        ("x =", "not valid TOML"),
        ('[[kinds]]\nname = "two words"', "a word of letters"),
        ('[[kinds]]\nname = "../up"', "a word of letters"),
        ('[[kinds]]\nname = "spool"', "no kind can be called 'spool'"),
        (KIND + 'scheduler = "slrum"', "did you mean 'slurm'?"),
        (KIND + "nodes = 0", "a number from 1"),
        (KIND + 'walltime = "soon"', "a time such as"),
        (KIND + 'walltime = "0s"', "a time such as"),
        (KIND + 'partition = "a\\n#SBATCH --wrap=x"', "a partition or queue"),
        (KIND + 'hosts = ["n1"]\nnodes = 2', "only 1 hosts are named"),
        (KIND + KIND, "two kinds are called 'epyc'"),
        ('address = "login"\n' + KIND, "the IP address"),
        ("ports = [80, 81]\n" + KIND, "two port numbers"),
        ("ports = [55000, 54000]\n" + KIND, "two port numbers such as [54000, 55000], the lower first"),
        ("ports = [54000, 54000]\n" + KIND, "two port numbers such as [54000, 55000], the lower first"),
        ("heartbeat_seconds = 20\n" + KIND, "healthy nodes would be called lost"),
    ],
)
def test_what_a_key_cannot_be_is_refused_with_what_it_takes(toml, told):
    assert told in refusal(toml)


@pytest.mark.parametrize(
    ("text", "seconds"), [('"4h"', 14400), ('"1h30m"', 5400), ('"01:30:05"', 5405), ("90", 90), ('"90s"', 90)]
)
def test_a_walltime_is_read_as_people_and_schedulers_write_it(text, seconds):
    (kind,) = cluster_from_toml(f"{KIND}walltime = {text}", "cluster.toml").kinds
    assert kind.walltime_seconds == seconds


def test_named_hosts_are_as_many_nodes():
    (kind,) = cluster_from_toml(f'{KIND}hosts = ["n1", "n2"]', "cluster.toml").kinds
    assert kind.nodes == 2
    (kind,) = cluster_from_toml(f'{KIND}hosts = ["n1", "n2", "n1"]', "cluster.toml").kinds
    assert (kind.hosts, kind.nodes) == (("n1", "n2"), 2)


def test_a_pilot_takes_no_run_that_its_time_limit_could_cut_off():
    (kind,) = cluster_from_toml(f'{KIND}walltime = "20m"', "cluster.toml").kinds
    assert kind.drain_seconds(600) == 540
    with pytest.raises(ClusterError, match="leaves no room for a run that may take 1190 s"):
        kind.drain_seconds(1190)


def test_the_walltime_that_is_advised_is_long_enough():
    (short,) = cluster_from_toml(f'{KIND}walltime = "12m"', "cluster.toml").kinds
    with pytest.raises(ClusterError, match=r"a walltime of 12 minutes leaves no room .* ask for 13 minutes or more"):
        short.drain_seconds(630)
    (enough,) = cluster_from_toml(f'{KIND}walltime = "13m"', "cluster.toml").kinds
    assert enough.drain_seconds(630) == 90
