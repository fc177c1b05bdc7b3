"""Jobs and their scripts through Parsl's providers; those of LSF and PBS as documented, through stubs."""

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from scaling.features.cluster import jobs
from scaling.features.cluster.cluster import ClusterError, NodeType, cluster_from_toml
from scaling.features.cluster.jobs import Jobs
from tests.conftest import need


def stub(folder, name, printed="", status=0, error=""):
    """A program that notes how it was called, and prints what it is told."""
    path = folder / name
    code = (
        # The path of Python may have spaces, which no first line of a script can.
        f"#!/bin/sh\n'''exec' '{sys.executable}' \"$0\" \"$@\"\n' '''\nimport sys\n"
        f"open({str(folder / 'called')!r}, 'a').write(' '.join([{name!r}, *sys.argv[1:]]) + '\\n')\n"
        f"sys.stdout.write({printed!r})\nsys.stderr.write({error!r})\nsys.exit({status})\n"
    )
    path.write_text(code)
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    stub(tmp_path, "sacct", status=1)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    return tmp_path


def jobs_of(scheduler):
    need(find_spec("parsl") is not None, "Parsl, from pip install '.[cluster]'")
    return Jobs(NodeType(name="epyc", scheduler=scheduler))


@pytest.mark.parametrize(
    ("scheduler", "program", "output"),
    [
        ("slurm", "squeue", "101 R\n102 PD\n"),
        ("lsf", "bjobs", "101 RUN\n102 PEND\n103 DONE\n"),
        ("pbs", "qstat", '{"Jobs": {"101": {"job_state": "R"}, "102": {"job_state": "Q"}, "103": {"job_state": "F"}}}'),
    ],
)
def test_jobs_that_run_or_wait_are_alive_and_others_are_not(programs, scheduler, program, output):
    stub(programs, program, printed=output)
    assert jobs_of(scheduler).alive(["101", "102", "103"]) == {"101", "102"}


@pytest.mark.parametrize(
    ("scheduler", "program", "error"),
    [
        ("slurm", "squeue", "slurm_load_jobs error: Invalid job id specified"),
        ("lsf", "bjobs", "Job <101> is not found"),
        ("pbs", "qstat", "qstat: Unknown Job Id 101"),
    ],
)
def test_a_job_that_the_scheduler_has_forgotten_is_not_alive(programs, scheduler, program, error):
    stub(programs, program, status=1, error=error)
    assert jobs_of(scheduler).alive(["101"]) == set()


def test_every_job_is_taken_for_alive_while_the_scheduler_does_not_answer(programs):
    stub(programs, "squeue", status=1, error="slurm_load_jobs error: Unable to contact slurm controller\n")
    assert jobs_of("slurm").alive(["101", "102"]) == {"101", "102"}


@pytest.mark.parametrize(("scheduler", "program"), [("slurm", "scancel"), ("lsf", "bkill"), ("pbs", "qdel")])
def test_jobs_are_cancelled_by_number(programs, scheduler, program):
    stub(programs, program)
    jobs = jobs_of(scheduler)
    assert jobs.cancel(["4", "5"])
    assert jobs.cancel([])
    assert (programs / "called").read_text().splitlines()[-1] == f"{program} 4 5"


@pytest.mark.parametrize("scheduler", ["slurm", "lsf", "pbs"])
def test_a_machine_without_the_schedulers_programs_is_one_sentence(programs, scheduler):
    with pytest.raises(ClusterError) as refused:
        jobs_of(scheduler).submit(programs, None, ())
    assert str(refused.value).startswith("the scheduler refused")
    assert "\n" not in str(refused.value)


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


def submitted(tmp_path, monkeypatch, scheduler, answer, constraint="zen3", option="-V", walltime="4h", excluded=()):
    """The script that is written, the command it is submitted with, and the number that is understood."""
    need(find_spec("parsl") is not None, "Parsl, from pip install '.[cluster]'")
    program = {"slurm": "sbatch", "lsf": "bsub", "pbs": "qsub"}[scheduler]
    stub(tmp_path, program, printed=answer)
    stub(tmp_path, "sacct", status=1)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    toml = NODE_TYPE.format(scheduler=scheduler, constraint=constraint, option=option, walltime=walltime)
    (node_type,) = cluster_from_toml(toml, "test").node_types
    number = Jobs(node_type).submit(tmp_path, "n7", excluded)
    (script,) = [path for path in tmp_path.glob("scaling.epyc.*") if "std" not in path.name]
    command = (tmp_path / "called").read_text().splitlines()[-1]
    return _lines(script), command, number


COMMANDS = [
    "exec > DIR/log 2>&1",
    "cd DIR",
    "module load python",
    'export JOBNAME="JOB"',
    f"exec {shlex.quote(sys.executable)} -P -m scaling.features.cluster.node DIR",
]


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
        *COMMANDS,
    ]
    assert not [line for line in script if "srun" in line]


def test_a_walltime_is_rounded_up_to_the_minutes_that_schedulers_know(tmp_path, monkeypatch):
    script, _, _ = submitted(tmp_path, monkeypatch, "slurm", "Submitted batch job 42\n", walltime="119m30s")
    assert "#SBATCH --time=120" in script


def test_nodes_that_were_refused_are_excluded_where_the_scheduler_can(tmp_path, monkeypatch):
    script, _, _ = submitted(tmp_path, monkeypatch, "slurm", "Submitted batch job 42\n", excluded={"n2", "n1"})
    assert "#SBATCH --exclude=n1,n2" in script
    for path in tmp_path.glob("scaling.epyc.*"):
        path.unlink()
    script, _, _ = submitted(tmp_path, monkeypatch, "lsf", "Job <42> is submitted to queue <long>.\n", excluded={"n1"})
    assert "#BSUB -R \"select[hname!='n1']\"" in script


def test_an_environment_below_a_folder_with_a_space_can_be_used(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "sys", SimpleNamespace(executable="/my envs/bin/python"))
    script, _, _ = submitted(tmp_path, monkeypatch, "slurm", "Submitted batch job 42\n")
    assert script[-1] == "exec '/my envs/bin/python' -P -m scaling.features.cluster.node DIR"


def test_a_job_imports_nothing_from_the_folder_of_the_sweep(tmp_path, monkeypatch):
    for name in ("json", "scaling"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the folder')")
    submitted(tmp_path, monkeypatch, "slurm", "Submitted batch job 42\n")
    (script,) = tmp_path.glob("scaling.epyc.*")
    subprocess.run(["/bin/bash", script], check=False)
    assert "of the folder" not in (tmp_path / "log").read_text()
    assert (tmp_path / "started.json").exists()


def test_lsf_is_asked_for_a_host_for_itself_that_is_never_started_anew(tmp_path, monkeypatch):
    answer = "Job <42> is submitted to queue <long>.\n"
    script, command, number = submitted(tmp_path, monkeypatch, "lsf", answer, option="-app x")
    assert (number, command) == ("42", "bsub")
    assert script == [
        "#!/bin/bash",
        *("#BSUB -W 240", "#BSUB -J JOB", "#BSUB -o DIR/JOBsubmit.stdout", "#BSUB -e DIR/JOBsubmit.stderr"),
        *("#BSUB -x", "#BSUB -rn", '#BSUB -R "select[zen3]"', "#BSUB -m n7", "#BSUB -app x"),
        *("#BSUB -P physics", "#BSUB -q long", "#BSUB -n 1", '#BSUB -R "span[ptile=1]"'),
        *COMMANDS,
    ]


def test_pbs_is_asked_for_a_node_for_itself_that_is_never_started_anew(tmp_path, monkeypatch):
    script, command, number = submitted(tmp_path, monkeypatch, "pbs", "42.server\n", constraint="cpu=zen3")
    assert number == "42.server"
    assert command.startswith("qsub -q long -A physics ")
    assert script == [
        *("#!/bin/bash", "#PBS -S /bin/bash", "#PBS -N JOB", "#PBS -m n", "#PBS -l walltime=04:00:00"),
        *("#PBS -l select=1:ncpus=1:cpu=zen3:host=n7", "#PBS -o DIR/JOBstdout", "#PBS -e DIR/JOBstderr"),
        *("#PBS -l place=excl", "#PBS -r n", "#PBS -V"),
        *COMMANDS,
    ]
