"""Pilots that hold no node: every reply is decided by a test."""

from collections.abc import Callable
from concurrent.futures import Future

from benchmarks.shared.machines import row
from scaling.results.rows import row_to_json, run_from_json
from scaling.running.engines.schedulers import Job
from scaling.running.messages import DescribeRequest, NodeRefusal, NodeRow, NodeRunRequest, decode, encode

Request = DescribeRequest | NodeRunRequest

# What a test has a request answered with: a reply, an error, or nothing yet.
Verdict = Callable[[Request, int], str | Exception | None]


def row_reply(run: str, node: str = "n1", **outcome: object) -> str:
    """The reply of a node that has made a run."""
    return encode(NodeRow(node, "1", row_to_json(row(run_from_json(run), **outcome))))


def refusal(reason: str, job: str = "1", sick: bool = False) -> str:
    """The reply of a node that will not, or cannot because it is sick."""
    return encode(NodeRefusal(f"n{job}", job, reason, sick))


class FakePilots:
    """Answers every request as told, at once; `jobs_there` is what the scheduler knows."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.requests: list[Request] = []
        self.futures: list[Future[str]] = []
        self.jobs_there: dict[str, Job] = {}
        self.cancelled: list[str] = []
        self.submitted = 0
        self.hosts: list[str | None] = []

    def start(self) -> None:
        pass

    def submit_job(self, host: str | None) -> str:
        self.submitted += 1
        self.hosts.append(host)
        number = str(self.submitted)
        self.jobs_there[number] = Job(number, "running", f"n{number}", "")
        return number

    def jobs(self, numbers: list[str]) -> dict[str, Job]:
        return {number: job for number, job in self.jobs_there.items() if number in numbers}

    def cancel(self, numbers: list[str]) -> None:
        self.cancelled += numbers

    def submit(self, function: Callable[[str], str], request: str) -> "Future[str]":
        future: Future[str] = Future()
        self.requests.append(decode(request, DescribeRequest, NodeRunRequest))
        self.futures.append(future)
        verdict = self.verdict(self.requests[-1], len(self.requests))
        if isinstance(verdict, Exception):
            future.set_exception(verdict)
        elif verdict is not None:
            future.set_result(verdict)
        return future

    def log_tail(self) -> str:
        return "python3: command not found"

    def close(self) -> None:
        pass
