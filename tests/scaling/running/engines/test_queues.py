"""What schedulers print, understood; LSF's and PBS's as their documents show it, through stubs, not the real thing."""

import json
import sys

import pytest

from scaling.errors import ClusterError
from scaling.running.engines.queues import Job, cancel_jobs, lsf_jobs, pbs_jobs, read_jobs, slurm_jobs


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
    told = "7|PENDING||ReqNodeNotAvail, UnavailableNodes:n[1-2]\n8|RUNNING|n3|None\n9|COMPLETING|n4|None\n5|FAILED||x\n"
    assert slurm_jobs(told) == [
        Job("7", "pending", "", "ReqNodeNotAvail, UnavailableNodes:n[1-2]"),
        Job("8", "running", "n3", ""),
        Job("9", "ending", "n4", ""),
    ]


def test_a_job_that_waits_for_nodes_that_are_down_is_hopeless_and_one_in_the_queue_is_not():
    down, queued = slurm_jobs("1|PENDING||ReqNodeNotAvail, UnavailableNodes:n1\n2|PENDING||Priority\n")
    assert (down.hopeless, queued.hopeless) == (True, False)


def test_lsfs_jobs_are_read_with_node_and_reason():
    told = "101|RUN|host1|-\n102|PEND|-|Not enough hosts\n103|DONE|host1|-\n"
    assert lsf_jobs(told) == [Job("101", "running", "host1", ""), Job("102", "pending", "", "Not enough hosts")]


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
