from pathlib import Path

from benchmarks.service import drive, serving


def test_a_service_answers_every_request_and_ends_with_its_block():
    with serving(1, 1, divisions=100.0) as servers:
        load = drive(servers, rate=200.0, seconds=0.2)
    assert load.responses
    assert all(seconds > 0.0 for seconds in load.responses)
    assert 0.0 < load.utilisation < 1.0
    assert not any(Path(f"/proc/{pid}").exists() for pid in servers.pids)
