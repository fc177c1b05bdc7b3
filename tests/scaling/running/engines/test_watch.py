import pytest

from scaling.errors import ClusterError
from scaling.results.cluster_folder import Journal
from scaling.running.engines.schedulers import Job
from scaling.running.engines.watch import NodeTypeError, Watch
from scaling.study.cluster import cluster_from_toml
from tests.scaling.running.engines.fake_pilots import FakePilots

DOWN = "ReqNodeNotAvail, UnavailableNodes:n1"


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def keys():
    """What the node type has besides its name and two nodes."""
    return ""


@pytest.fixture
def watch(tmp_path, clock, keys):
    journal = Journal(tmp_path)
    (node_type,) = cluster_from_toml(f'[[node_types]]\nname = "epyc"\nnodes = 2\n{keys}', "test").node_types
    notes: list[str] = []
    built = Watch(node_type, FakePilots(lambda *_: None), journal, 30, 100, notes.append, clock)
    built.notes = notes
    built.submit(2)
    yield built
    journal.close()


def pending(watch, reason):
    for number in watch.jobs:
        watch.pilots.jobs_there[number] = Job(number, "pending", "", reason)


def test_a_pilot_that_has_ended_is_replaced_while_there_is_work(watch):
    del watch.pilots.jobs_there["1"]
    watch.check_jobs(2)
    assert watch.jobs == ["2", "3"]


def test_no_more_pilots_are_submitted_than_there_is_work(watch):
    watch.pilots.jobs_there.clear()
    watch.check_jobs(1)
    assert watch.jobs == ["3"]


def test_a_pilot_that_is_ending_counts_as_gone(watch):
    watch.pilots.jobs_there["1"] = Job("1", "ending", "n1", "")
    watch.check_jobs(2)
    assert watch.jobs == ["2", "3"]


def test_pilots_that_come_and_go_without_making_a_run_are_given_up_with_the_tail_of_their_log(watch):
    watch.pilots.jobs_there.clear()
    watch.check_jobs(2)
    watch.pilots.jobs_there.clear()
    with pytest.raises(
        NodeTypeError, match="without making a run; the last one's log ends: python3: command not found"
    ):
        watch.check_jobs(2)


def test_a_run_that_was_made_shows_that_pilots_are_worth_having(watch):
    for _ in range(9):
        del watch.pilots.jobs_there[watch.jobs[0]]
        watch.check_jobs(2)
        watch.reset_failures()
    assert watch.pilots.submitted == 11


def test_waiting_in_the_queue_is_reported_once_and_has_no_limit(watch, clock):
    pending(watch, "Priority")
    for _ in range(10):
        clock.seconds += 50
        watch.check_jobs(2)
    assert watch.notes == ["no node yet: job 1 is pending (Priority)"]


def test_nodes_that_are_down_are_reported_with_the_reason_and_given_up_in_the_end(watch, clock):
    pending(watch, DOWN)
    watch.check_jobs(2)
    assert watch.notes == [f"no node yet: job 1 is pending ({DOWN})"]
    clock.seconds = 99
    watch.check_jobs(2)
    clock.seconds = 100
    with pytest.raises(NodeTypeError, match=f"none of its nodes can be had: job 1 is pending \\({DOWN}\\)"):
        watch.check_jobs(2)


def test_a_node_that_comes_back_starts_the_waiting_anew(watch, clock):
    pending(watch, DOWN)
    watch.check_jobs(2)
    clock.seconds = 99
    watch.pilots.jobs_there["2"] = Job("2", "running", "n2", "")
    watch.check_jobs(2)
    pending(watch, DOWN)
    clock.seconds = 150
    watch.check_jobs(2)


def test_a_scheduler_may_leave_queries_unanswered_for_a_while(watch):
    def silent(numbers):
        raise ClusterError("Slurm cannot be reached")

    watch.pilots.jobs = silent
    watch.check_jobs(2)
    watch.check_jobs(2)
    assert watch.notes == ["Slurm cannot be reached"]
    assert watch.jobs == ["1", "2"]


def takes_no_job(host):
    raise ClusterError("node type 'epyc': the scheduler refuses the job: Socket timed out on send/recv operation")


def test_a_job_that_the_scheduler_does_not_take_costs_no_healthy_pilot_and_is_asked_for_again(watch, monkeypatch):
    del watch.pilots.jobs_there["1"]
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(watch.pilots, "submit_job", takes_no_job)
        for _ in range(9):
            watch.check_jobs(2)
    assert watch.notes == ["node type 'epyc': the scheduler refuses the job: Socket timed out on send/recv operation"]
    assert (watch.jobs, watch.pilots.cancelled) == (["2"], [])
    watch.check_jobs(2)
    assert watch.jobs == ["2", "3"]


def test_a_scheduler_that_takes_no_job_again_and_again_is_given_up_when_no_pilot_is_left(watch, monkeypatch):
    watch.pilots.jobs_there.clear()
    monkeypatch.setattr(watch.pilots, "submit_job", takes_no_job)
    watch.check_jobs(2)
    watch.check_jobs(2)
    with pytest.raises(ClusterError, match="Socket timed out"):
        watch.check_jobs(2)


@pytest.mark.parametrize("keys", ['hosts = ["n1", "n2", "n3"]'])
def test_a_pilot_is_replaced_on_a_host_that_has_none_and_not_on_one_that_was_refused(watch):
    assert watch.pilots.hosts == ["n1", "n2"]
    del watch.pilots.jobs_there["1"]
    watch.check_jobs(2)
    assert watch.pilots.hosts == ["n1", "n2", "n1"]
    watch.exclude_node("2", "node n2: not like the first")
    watch.check_jobs(2)
    assert watch.pilots.hosts == ["n1", "n2", "n1", "n3"]
    watch.exclude_node("3", "node n1: no space")
    watch.check_jobs(2)
    assert (watch.pilots.hosts, watch.jobs) == (["n1", "n2", "n1", "n3"], ["4"])
    with pytest.raises(NodeTypeError, match="node n3: no space"):
        watch.exclude_node("4", "node n3: no space")
