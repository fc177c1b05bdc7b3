import pytest

from scaling.errors import StudyError
from scaling.features.services.service import Service
from scaling.machine.sysfs import read_topology
from scaling.study.catalogue import check_workloads, read_catalogue
from scaling.study.planning import plan
from scaling.study.spec import Study, study_from_toml, study_to_toml, turns_of

TOML = r"""
clients = [1, 8]
[[services]]
name = "echo"
serve = "server --port {port} --threads {threads} --conf {conf}"
load = "generator -c {clients} {port}"
throughput = '([\d.]+)/s'
latency = { p99 = 'p99 (\S+)' }
files = { conf = "server.conf" }
"""


def service(**keys: object) -> Service:
    usual = {"name": "echo", "serve": "server {port}", "load": "generator {port}", "throughput": "(.*)"}
    return Service(**{**usual, **keys})


def test_a_service_is_a_table_of_a_study_and_reads_back_to_the_same():
    study = study_from_toml(TOML, "x.toml")
    (made,) = study.programs
    assert isinstance(made, Service)
    assert (made.command, made.latency, made.warmup) == ("generator -c {clients} {port}", (("p99", r"p99 (\S+)"),), 1)
    written = study_to_toml(study, "comment")
    assert "load = " in written
    assert study_from_toml(written, "x.toml") == study


def test_a_file_that_is_not_there_is_refused_before_anything_is_measured():
    made = service(serve="true {port} {conf}", load="true", files={"conf": "/nowhere/server.conf"})
    with pytest.raises(StudyError, match=r"there is no file /nowhere/server\.conf to fill in"):
        check_workloads(Study(programs=[made]), read_catalogue())


def test_clients_are_an_axis_of_services_alone():
    study = study_from_toml(TOML.replace("[[s", '[[programs]]\nname = "p"\ncommand = "true"\n[[s'), "x.toml")
    points = {run.point for run in plan(study, read_topology()).runs}
    assert {(point.workload, point.clients) for point in points} == {("p", None), ("echo", 1), ("echo", 8)}


@pytest.mark.parametrize("rate", [[100.0, 2e6], "100,2e6"])
def test_a_rate_is_an_axis_where_the_load_keeps_one(rate):
    study = Study(programs=[service(load="generator {rate}")], rate=rate, cores=[1])
    assert [run.point.rate for run in plan(study, read_topology()).runs][:2] in ([100.0, 2e6], [2e6, 100.0])


def test_a_service_takes_its_loads_in_rounds_and_a_program_does_not():
    study = Study(programs=[service()], rounds=3)
    assert turns_of(study, study.programs[0]).rounds == 3
