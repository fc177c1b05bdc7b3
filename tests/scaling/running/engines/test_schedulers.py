"""What schedulers print, parsed, and the scripts of pilots; LSF's and PBS's as documented, through stubs."""

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from scaling.errors import ClusterError
from scaling.running.engines.schedulers import Job, cancel_jobs, lsf_jobs, pbs_jobs, provider, read_jobs, slurm_jobs
from scaling.study.cluster import cluster_from_toml
from tests.conftest import need


def stub(folder, name, printed="", status=0, error=""):
    """A program that notes how it was called, and prints what it is told."""
    path = folder / name
    code = (
        f"#!{sys.executable}\nimport sys\n"
        f"open({str(folder / 'called')!r}, 'a').write(' '.join([{name!r}, *sys.argv[1:]]) + '\\n')\n"
        f"sys.stdout.write({printed!r})\nsys.stderr.write({error!r})\nsys.exit({status})\n"
    )
    path.write_text(code)
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_slurms_jobs_are_read_with_node_and_reason():
    output = (
        "7|PENDING||ReqNodeNotAvail, UnavailableNodes:n[1-2]\n8|RUNNING|n3|None\n9|COMPLETING|n4|None\n5|FAILED||x\n"
    )
    assert slurm_jobs(output) == [
        Job("7", "pending", "", "ReqNodeNotAvail, UnavailableNodes:n[1-2]"),
        Job("8", "running", "n3", ""),
        Job("9", "ending", "n4", ""),
    ]


def test_a_job_that_waits_for_nodes_that_are_down_is_hopeless_and_one_in_the_queue_is_not():
    down, queued = slurm_jobs("1|PENDING||ReqNodeNotAvail, UnavailableNodes:n1\n2|PENDING||Priority\n")
    assert (down.hopeless, queued.hopeless) == (True, False)


def test_lsfs_jobs_are_read_with_node_and_reason():
    output = "101|RUN|host1|-\n102|PEND|-|Not enough hosts\n103|DONE|host1|-\n"
    assert lsf_jobs(output) == [Job("101", "running", "host1", ""), Job("102", "pending", "", "Not enough hosts")]


def test_pbss_jobs_are_read_with_node_and_reason():
    jobs = {
        "1.server": {"job_state": "R", "exec_host": "n1/0*2"},
        "2.server": {"job_state": "Q", "comment": "Not Running: Insufficient amount of resource: vnode"},
        "3.server": {"job_state": "F"},
    }
    assert pbs_jobs(json.dumps({"Jobs": jobs})) == [
        Job("1.server", "running", "n1", ""),
        Job("2.server", "pending", "", "Insufficient amount of resource: vnode"),
    ]
    assert pbs_jobs("") == []


@pytest.mark.parametrize(
    ("scheduler", "program", "called"),
    [
        ("lsf", "bjobs", "bjobs -noheader -o jobid stat exec_host pend_reason delimiter='|' 101"),
        ("pbs", "qstat", "qstat -f -F json 101"),
    ],
)
def test_stubs_of_other_schedulers_are_asked_as_their_documents_say(programs, scheduler, program, called):
    stub(programs, program)
    assert read_jobs(scheduler, ["101"]) == {}
    assert (programs / "called").read_text().strip() == called


@pytest.mark.parametrize(("scheduler", "program"), [("slurm", "scancel"), ("lsf", "bkill"), ("pbs", "qdel")])
def test_jobs_are_cancelled_by_number(programs, scheduler, program):
    stub(programs, program, status=1, error="already finished")
    cancel_jobs(scheduler, ["4", "5"])
    cancel_jobs(scheduler, [])
    assert (programs / "called").read_text() == f"{program} 4 5\n"


def test_jobs_that_have_ended_are_none_and_no_error(programs):
    stub(programs, "bjobs", status=255, error="Job <101> is not found\n")
    assert read_jobs("lsf", ["101"]) == {}


def test_a_scheduler_that_cannot_be_reached_is_one_sentence_with_its_words(programs):
    stub(programs, "squeue", status=1, error="slurm_load_jobs error: Unable to contact slurm controller\n")
    with pytest.raises(ClusterError) as refused:
        read_jobs("slurm", [])
    assert str(refused.value) == (
        "Slurm cannot be reached: squeue says 'slurm_load_jobs error: Unable to contact slurm controller'; "
        "give this command on a machine that may submit jobs"
    )


def test_a_machine_without_the_schedulers_programs_is_one_sentence(programs):
    with pytest.raises(ClusterError, match="PBS cannot be reached: there is no program 'qstat' here"):
        read_jobs("pbs", [])


# The batch scripts that are written for each scheduler. LSF and PBS by stubs, never on the real thing.
NODE_TYPE = """
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


def submitted(tmp_path, monkeypatch, scheduler, answer, constraint="zen3", option="-V", shared=True, walltime="4h"):
    """The script a provider writes, the command it submits it with, and the number it understands."""
    need(find_spec("parsl") is not None, "Parsl, from pip install 'cpu-scaling[cluster]'")
    program = {"slurm": "sbatch", "lsf": "bsub", "pbs": "qsub"}[scheduler]
    stub(tmp_path, program, printed=answer)
    stub(tmp_path, "sacct", status=1)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    toml = NODE_TYPE.format(scheduler=scheduler, constraint=constraint, option=option, walltime=walltime)
    (node_type,) = cluster_from_toml(toml, "test").node_types
    made = provider(node_type, shared, "n7")
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
