"""Servers and load generators of the system's packages: what each prints is what its row has."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from scaling.features.services.service import Service
from tests.conftest import need
from tests.scaling.features.services.measured import figures_of, rows_of

NGINX = """
worker_processes {threads};
daemon off;
pid {folder}/pid;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server { listen 127.0.0.1:{port} reuseport; location / { return 200 "hello"; } }
}
"""
POSTGRES = max((str(path) for path in Path("/usr/lib/postgresql").glob("*/bin")), default="")
# PostgreSQL refuses root: as nobody, who may enter root's folders, with shared memory that goes with the server.
NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override "


def nginx(folder: Path) -> Service:
    (folder / "nginx.conf").write_text(NGINX)
    return Service(
        name="nginx",
        serve="nginx -e {folder}/errors -c {conf}",
        files={"conf": str(folder / "nginx.conf")},
        load="wrk -t1 -c{clients} -d1 --latency http://127.0.0.1:{port}/",
        throughput=r"Requests/sec:\s+(\S+)",
        latency={"p99": r"99%\s+(\S+)"},
        warmup=0,
    )


def redis(folder: Path) -> Service:
    return Service(
        name="redis",
        serve="redis-server --port {port} --bind 127.0.0.1 --save '' --dir {folder} --io-threads {threads}",
        load="redis-benchmark -p {port} -c {clients} -t get -n 5000 --csv",
        throughput=r'"GET","([\d.]+)"',
        latency={"p99": r'"GET",(?:"[\d.]+",){5}"([\d.]+)"'},
        warmup=0,
    )


def postgres(folder: Path) -> Service:
    as_user, own_memory = (NOBODY, "unshare --ipc ") if os.geteuid() == 0 else ("", "")
    data = "mkdir {folder}/data && chown nobody {folder}/data && " if as_user else ""
    client = f"{POSTGRES}/pgbench -h 127.0.0.1 -p {{port}} -U postgres -n postgres"
    percentile = """sort -nk3 {folder}/log.* | awk '{ t[NR] = $3 } END { print "p99 =", t[int(0.99 * NR)] / 1000 }'"""
    return Service(
        name="postgres",
        shell=True,
        setup=f"{data}{as_user}{POSTGRES}/initdb -D {{folder}}/data -A trust -U postgres --no-sync",
        serve=f"exec {own_memory}{as_user}{POSTGRES}/postgres -D {{folder}}/data -p {{port}} -k {{folder}}",
        ready="ready to accept connections",
        prepare=f"{client} -i -q",
        load=f"{client} -S -T 1 -c {{clients}} -l --log-prefix={{folder}}/log && {percentile}",
        throughput=r"tps = ([\d.]+)",
        latency={"p99": r"p99 = ([\d.]+)"},
        warmup=0,
    )


@pytest.mark.parametrize(
    ("make", "programs"),
    [
        (nginx, ["nginx", "wrk"]),
        (redis, ["redis-server", "redis-benchmark"]),
        (postgres, [f"{POSTGRES}/postgres", f"{POSTGRES}/pgbench"]),
    ],
    ids=["nginx", "redis", "postgres"],
)
def test_a_real_server_is_measured_on_one_core_and_on_two(make, programs, tmp_path):
    need(all(map(shutil.which, programs)), " and ".join(programs))
    log, made = tmp_path / "log", make(tmp_path)
    serve = f"exec {made.serve}" if not made.shell else made.serve
    loud = replace(made, shell=True, serve=serve, command=f"({made.command}) | tee -a {log}")
    rows = rows_of(loud, [2], cores=min(2, len(os.sched_getaffinity(0))))
    assert [row.outcome.reason for row in rows] == [None] * len(rows)
    printed = [float(number) for number in re.findall(made.throughput, log.read_text())]
    ours = [1 / seconds for row in rows for seconds in row.outcome.step_seconds]
    assert sorted(ours) == pytest.approx(sorted(printed))
    for row in rows:
        assert 0 < figures_of(row)["p99"][0] < 10
        assert figures_of(row)["server_cpus"][0] > 0
        assert row.witness.max_rss_bytes > 0
