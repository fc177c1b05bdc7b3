"""The batch scripts that are written for each scheduler. LSF and PBS by stubs, never on the real thing."""

import re
from pathlib import Path

import pytest

from scaling.running.engines.providers import provider
from scaling.study.cluster import cluster_from_toml
from tests.conftest import need
from tests.scaling.running.engines.test_queues import stub

KIND = """
[[node_types]]
name = "epyc"
scheduler = "{scheduler}"
constraint = "{constraint}"
partition = "long"
account = "physics"
hosts = ["n7"]
options = ["{option}"]
walltime = "{walltime}"
setup = "module load python"
"""


@pytest.fixture(autouse=True)
def parsl():
    try:
        import parsl  # noqa: F401
    except ImportError:
        need(False, "Parsl, from pip install 'cpu-scaling[cluster]'")


def submitted(tmp_path, monkeypatch, scheduler, answer, constraint="zen3", option="-V", shared=True, walltime="4h"):
    """The script a provider writes, the command it submits it with, and the number it understands."""
    program = {"slurm": "sbatch", "lsf": "bsub", "pbs": "qsub"}[scheduler]
    stub(tmp_path, program, printed=answer)
    stub(tmp_path, "sacct", status=1)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    toml = KIND.format(scheduler=scheduler, constraint=constraint, option=option, walltime=walltime)
    (kind,) = cluster_from_toml(toml, "test").node_types
    made = provider(kind, shared, "n7")
    made.script_dir = str(tmp_path)
    number = made.submit("exec pool", 1, "scaling.epyc")
    (script,) = [path for path in tmp_path.glob("scaling.epyc.*") if "std" not in path.name]
    command = (tmp_path / "called").read_text().splitlines()[-1]
    return _lines(script), command, number


def _lines(script: Path) -> list[str]:
    """Its lines, without what differs from one script to the next."""
    text = re.sub(r"scaling\.epyc\.[\d.]+", "JOB", script.read_text())
    return [line for line in text.replace(str(script.parent), "DIR").splitlines() if line]


def test_slurm_is_asked_for_a_node_for_itself_that_is_never_started_anew(tmp_path, monkeypatch):
    script, command, number = submitted(tmp_path, monkeypatch, "slurm", "Submitted batch job 42\n", option="-q debug")
    assert number == "42"
    assert command.startswith("sbatch ")
    assert script == [
        "#!/bin/bash",
        *("#SBATCH --job-name=JOB", "#SBATCH --output=DIR/JOBstdout", "#SBATCH --error=DIR/JOBstderr"),
        *("#SBATCH --nodes=1", "#SBATCH --time=240", "#SBATCH --ntasks-per-node=1"),
        *("#SBATCH --mem=0", "#SBATCH --no-requeue", "#SBATCH --nodelist=n7", "#SBATCH -q debug"),
        *("#SBATCH --exclusive", "#SBATCH --partition=long", "#SBATCH --account=physics", "#SBATCH --constraint=zen3"),
        "module load python",
        'export JOBNAME="JOB"',
        "exec pool",
    ]
    assert not [line for line in script if "srun" in line]


def test_a_walltime_is_rounded_up_to_the_minutes_that_schedulers_know(tmp_path, monkeypatch):
    script, _, _ = submitted(tmp_path, monkeypatch, "slurm", "Submitted batch job 42\n", walltime="119m30s")
    assert "#SBATCH --time=120" in script


def test_without_a_shared_folder_slurm_writes_no_log_where_the_node_has_none(tmp_path, monkeypatch):
    script, _, _ = submitted(tmp_path, monkeypatch, "slurm", "Submitted batch job 42\n", shared=False)
    assert [line for line in script if "output" in line][-1] == "#SBATCH --output=/dev/null"


def test_lsf_is_asked_for_a_host_for_itself_that_is_never_started_anew(tmp_path, monkeypatch):
    answer = "Job <42> is submitted to queue <long>.\n"
    script, command, number = submitted(tmp_path, monkeypatch, "lsf", answer, option="-app x")
    assert (number, command) == ("42", "bsub")
    assert script == [
        "#!/bin/bash",
        *("#BSUB -W 240", "#BSUB -J JOB", "#BSUB -o DIR/JOBsubmit.stdout", "#BSUB -e DIR/JOBsubmit.stderr"),
        *("#BSUB -x", "#BSUB -rn", '#BSUB -R "select[zen3]"', "#BSUB -m n7", "#BSUB -app x"),
        *("#BSUB -P physics", "#BSUB -q long", "#BSUB -n 1", '#BSUB -R "span[ptile=1]"'),
        "module load python",
        'export JOBNAME="JOB"',
        "exec pool",
    ]


def test_pbs_is_asked_for_a_node_for_itself_that_is_never_started_anew(tmp_path, monkeypatch):
    script, command, number = submitted(tmp_path, monkeypatch, "pbs", "42.server\n", constraint="cpu=zen3")
    assert number == "42.server"
    assert command.startswith("qsub -q long -A physics ")
    assert script == [
        *("#!/bin/bash", "#PBS -S /bin/bash", "#PBS -N JOB", "#PBS -m n", "#PBS -l walltime=04:00:00"),
        *("#PBS -l select=1:ncpus=1:cpu=zen3:host=n7", "#PBS -o DIR/JOBstdout", "#PBS -e DIR/JOBstderr"),
        *("#PBS -l place=excl", "#PBS -r n", "#PBS -V"),
        "module load python",
        'export JOBNAME="JOB"',
        "exec pool",
    ]
