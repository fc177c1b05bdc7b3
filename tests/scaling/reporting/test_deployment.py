import pytest
import yaml

from scaling.reporting.deployment import FORMATS, Deployment, deployment_lines
from tests.mentions import mentions

PLAIN = Deployment("net train", "give net train 3 cores", 3, memory_bytes=1000 * 2**20 + 1, launches=25)
SHARED = Deployment("net train", "give net train 3 cores", 3, threads=2, core_threads=2, memory_bytes=2**30, launches=5)
IDLE = Deployment("net train", "give net train 3 cores", 3, core_threads=2)
NO = Deployment("net train", "net train, 9 items/s: no", None)


def lines(deployment, form):
    return [line for line in deployment_lines([deployment], form) if not line.startswith("# ")]


def test_kubernetes_gets_millicores_and_mebibytes():
    (container,) = yaml.safe_load_all("\n".join(deployment_lines([PLAIN], "kubernetes")))
    assert container["resources"] == {
        "requests": {"cpu": "3000m", "memory": "1001Mi"},
        "limits": {"cpu": "3000m", "memory": "1251Mi"},
    }
    assert {"name": "OMP_NUM_THREADS", "value": "3"} in container["env"]


def test_kubernetes_counts_the_threads_of_a_core_even_where_one_is_used():
    (container,) = yaml.safe_load_all("\n".join(deployment_lines([IDLE], "kubernetes")))
    assert container["resources"] == {"requests": {"cpu": "6000m"}, "limits": {"cpu": "6000m"}}
    assert {"name": "OMP_NUM_THREADS", "value": "3"} in container["env"]


def test_several_sizes_are_several_documents():
    text = "\n".join(deployment_lines([PLAIN, NO, SHARED], "kubernetes"))
    first, no, second = yaml.safe_load_all(text)
    assert first["resources"]["requests"]["cpu"] == "3000m"
    assert no is None
    assert second["resources"]["requests"]["cpu"] == "6000m"


def test_slurm_counts_cores_unless_their_further_threads_are_used():
    assert lines(PLAIN, "slurm")[:4] == [
        "#SBATCH --ntasks=1",
        "#SBATCH --cpus-per-task=3",
        "#SBATCH --hint=nomultithread",
        "#SBATCH --mem=1251M",
    ]
    assert lines(SHARED, "slurm")[1:3] == ["#SBATCH --cpus-per-task=6", "#SBATCH --hint=multithread"]
    some = Deployment("net", "give net 3 cores", 3, threads=2, core_threads=8)
    assert lines(some, "slurm")[1:3] == ["#SBATCH --cpus-per-task=6", "#SBATCH --threads-per-core=2"]


def test_systemd_has_quota_and_memory_in_a_service():
    assert lines(PLAIN, "systemd")[:4] == ["[Service]", "CPUQuota=300%", "MemoryHigh=1001M", "MemoryMax=1251M"]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_what_it_rests_on(form):
    text = "\n".join(deployment_lines([PLAIN, NO], form))
    assert mentions(text, "train 3 cores\n# memory: at most 1001 MiB … 25 runs; … 25 %")
    assert text.endswith("# net train, 9 items/s: no")


def test_replicas_are_named():
    several = Deployment("net", "together: 4 replicas", 2, replicas=4)
    assert yaml.safe_load("\n".join(deployment_lines([several], "kubernetes")))["replicas"] == 4
    assert "#SBATCH --array=1-4" in lines(several, "slurm")


def test_a_name_with_a_line_break_stays_in_its_comment():
    odd = Deployment("odd", "give odd\nreplicas: 9", 1)
    assert "replicas" not in yaml.safe_load("\n".join(deployment_lines([odd], "kubernetes")))
