import collections
import resource
import subprocess

import pytest

from scaling.errors import StoreError
from scaling.results.rows import row_to_json
from scaling.results.store import Store, read_rows
from scaling.study.planning import plan
from tests.conftest import need
from tests.pretend import machine, row, study

ROWS = [row(run) for run in plan(study(), machine(4)).runs]


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "results")
    yield made
    made.close()


def kept(store: Store) -> list[object]:
    return list(read_rows(store.folder))


def reopened(store: Store) -> Store:
    store.close()
    store.__init__(store.folder)
    return store


def test_rows_come_back_in_the_order_they_were_kept(store):
    for one in ROWS:
        store.append(one)
    assert kept(store) == ROWS


def test_an_empty_folder_has_no_rows(store):
    assert kept(store) == []
    assert not store.set_aside


@pytest.mark.parametrize("cut", [1, 2, 100, 1000])
def test_a_torn_last_line_is_set_aside_and_the_rest_is_kept(store, cut):
    store.append(ROWS[0])
    store.append(ROWS[1])
    path = store.folder / "rows.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert reopened(store).set_aside
    assert kept(store) == ROWS[:1]
    assert (store.folder / "rows.torn").read_bytes().rstrip(b"\n") in whole
    store.append(ROWS[1])
    assert kept(store) == ROWS[:2]


def test_a_last_line_of_zeros_is_set_aside(store):
    store.append(ROWS[0])
    with (store.folder / "rows.jsonl").open("ab") as file:
        file.write(b"\0" * 4096 + b"\n")
    assert reopened(store).set_aside
    assert kept(store) == ROWS[:1]


def test_a_torn_only_line_leaves_an_empty_file(store):
    (store.folder / "rows.jsonl").write_bytes(b'{"schema"')
    assert reopened(store).set_aside
    assert kept(store) == []


def test_a_last_line_longer_than_the_first_look_is_found(store):
    long = row(ROWS[0].run, step_seconds=(0.123456789,) * 50_000)
    store.append(ROWS[1])
    store.append(long)
    assert not reopened(store).set_aside
    assert kept(store) == [ROWS[1], long]


def test_a_bad_line_in_the_middle_is_refused_with_its_number(store):
    store.append(ROWS[0])
    with (store.folder / "rows.jsonl").open("a") as file:
        file.write("rubbish\n" + row_to_json(ROWS[1]) + "\n")
    with pytest.raises(StoreError, match=r"rows.jsonl line 2 is not a row: .*; take that line out"):
        kept(store)


def test_a_row_that_does_not_fit_is_not_there_at_all(store):
    store.append(ROWS[0])
    size = (store.folder / "rows.jsonl").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        with pytest.raises(StoreError, match="every earlier row is safe"):
            store.append(ROWS[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (store.folder / "rows.jsonl").stat().st_size == size
    store.append(ROWS[1])
    assert kept(store) == ROWS[:2]


def test_a_full_disk_loses_no_row(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], capture_output=True)
    need(mounted.returncode == 0, "the right to mount a small disk")
    try:
        store = Store(disk / "results")
        with pytest.raises(StoreError, match="No space left on device; every earlier row is safe"):
            collections.deque(map(store.append, ROWS * 10))
        kept_rows = kept(store)
        store.close()
    finally:
        subprocess.run(["umount", disk], check=True)
    assert kept_rows
    assert kept_rows == (ROWS * 10)[: len(kept_rows)]


def test_a_folder_is_written_by_one_sweep_at_a_time(store):
    with pytest.raises(StoreError, match="another sweep is writing"):
        Store(store.folder)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written: .*; choose another with -o"):
        Store(tmp_path / "file" / "results")


def test_failures_set_aside_are_kept_beside_the_rows(store):
    failed = row(ROWS[1].run, status="failed", reason="no", step_seconds=())
    for one in (ROWS[0], failed, ROWS[2]):
        store.append(one)
    assert store.set_failures_aside() == 1
    store.append(ROWS[1])
    assert kept(store) == [ROWS[0], ROWS[2], ROWS[1]]
    assert (store.folder / "rows.retried.jsonl").read_text() == row_to_json(failed) + "\n"


def test_a_folder_without_rows_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no results in"):
        list(read_rows(tmp_path))
