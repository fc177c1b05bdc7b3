"""Pilots that hold no node: every answer is decided by a test."""

import json
from collections.abc import Callable
from concurrent.futures import Future

from scaling.results.rows import row_to_json, run_from_json
from scaling.running.engines.queues import Job
from tests.pretend import row

# What a test says an order comes to: a row, an error, a refusal, or nothing yet.
Verdict = Callable[[dict, int], str | Exception | None]


def made(order: dict, node: str = "n1", **outcome: object) -> str:
    """The answer of a node that has made its run."""
    told = row_to_json(row(run_from_json(order["run"]), **outcome))
    return json.dumps({"node": node, "job": "1", "refused": None, "row": told})


def refused(why: str, job: str = "1", sick: bool = False) -> str:
    """The answer of a node that will not, or cannot because it is sick."""
    return json.dumps({"node": f"n{job}", "job": job, "refused": why, "sick": sick})


class PretendPilots:
    """Answers every order as told, at once; `jobs_there` is what the scheduler knows."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.orders: list[dict] = []
        self.futures: list[Future[str]] = []
        self.jobs_there: dict[str, Job] = {}
        self.dismissed: list[str] = []
        self.asked = 0
        self.hosts: list[str | None] = []

    def start(self) -> None:
        pass

    def ask(self, host: str | None) -> str:
        self.asked += 1
        self.hosts.append(host)
        number = str(self.asked)
        self.jobs_there[number] = Job(number, "running", f"n{number}", "")
        return number

    def jobs(self, numbers: list[str]) -> dict[str, Job]:
        return {number: job for number, job in self.jobs_there.items() if number in numbers}

    def dismiss(self, numbers: list[str]) -> None:
        self.dismissed += numbers

    def submit(self, function: Callable[[str], str], order: str) -> "Future[str]":
        future: Future[str] = Future()
        self.orders.append(json.loads(order))
        self.futures.append(future)
        verdict = self.verdict(self.orders[-1], len(self.orders))
        if isinstance(verdict, Exception):
            future.set_exception(verdict)
        elif verdict is not None:
            future.set_result(verdict)
        return future

    def last_words(self) -> str:
        return "python3: command not found"

    def close(self) -> None:
        pass
