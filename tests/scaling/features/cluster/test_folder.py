import json

import pytest

from benchmarks.shared.machines import row
from scaling.errors import StoreError
from scaling.features.cluster.folder import (
    JobFolder,
    Request,
    Shard,
    Started,
    Submitted,
    job_folders,
    new_job_folder,
)
from scaling.results.rows import row_to_json


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_every_launch_belongs_to_one_shard_also_beyond_those_of_the_study(of):
    shards = [Shard(number, of) for number in range(1, of + 1)]
    for launch in range(1, 30):
        assert sum(shard.has(launch) for shard in shards) == 1
        for shard in shards:
            following = shard.next_after(launch)
            assert shard.has(following)
            assert launch < following <= launch + of


def test_jobs_are_numbered_and_listed_by_node_type_in_order(tmp_path):
    for name in ("a", *["a-1"] * 11):
        new_job_folder(tmp_path, Request(name, Shard(1, 1), ""))
    assert [job.path.name for job in job_folders(tmp_path, "a")] == ["a-1"]
    assert [job.path.name for job in job_folders(tmp_path, "a-1")] == [f"a-1-{number}" for number in range(1, 12)]


def test_a_request_is_read_as_it_was_written(tmp_path):
    request = Request("a", Shard(2, 3), 'name = "ä"\n', 90.0, True)
    assert new_job_folder(tmp_path, request).read(Request) == request


def test_whoever_is_first_decides_whether_a_job_runs(tmp_path):
    job = new_job_folder(tmp_path, Request("a", Shard(1, 1), ""))
    assert job.claim(Started("n1", "7"))
    assert not job.claim(Started())
    assert job.read(Started) == Started("n1", "7")
    assert not list(job.path.glob(".*"))


@pytest.mark.parametrize(
    "fact",
    [Submitted("42"), Submitted("42[7].head-1.site", "n_1.site"), Started("n-1", "42@site"), Started()],
)
def test_the_numbers_and_names_of_schedulers_are_read_as_they_were_written(tmp_path, fact):
    JobFolder(tmp_path).write(fact)
    assert JobFolder(tmp_path).read(type(fact)) == fact


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        (Submitted, {"job": "1'; touch x; '"}),
        (Submitted, {"job": "--me"}),
        (Submitted, {"job": ""}),
        (Submitted, {"job": "1\n"}),
        (Submitted, {"job": "1", "host": "n1 n2"}),
        (Started, {"job": "$(touch x)"}),
        (Started, {"node": "n1\n"}),
        (Started, {"node": "n1\n#SBATCH --wrap=x"}),
    ],
)
def test_what_a_shell_or_a_batch_script_would_take_for_more_is_not_read(tmp_path, kind, facts):
    path = tmp_path / f"{kind.__name__.lower()}.json"
    path.write_text(json.dumps(facts))
    with pytest.raises(StoreError, match=f"^{path} cannot be read: .*; remove {tmp_path}$"):
        JobFolder(tmp_path).read(kind)


def test_rows_are_read_as_far_as_they_are_whole_and_each_once(tmp_path):
    lines = [row_to_json(row(step_seconds=(seconds,))) + "\n" for seconds in (0.1, 0.2, 0.3)]
    job, path = JobFolder(tmp_path), tmp_path / "rows.jsonl"
    assert job.new_rows(0) == ([], 0)
    path.write_text(lines[0] + lines[1][:50])
    first, offset = job.new_rows(0)
    path.write_text("".join(lines))
    rest, offset = job.new_rows(offset)
    assert [one.outcome.step_seconds for one in (*first, *rest)] == [(0.1,), (0.2,), (0.3,)]
    assert job.new_rows(offset) == ([], offset)
