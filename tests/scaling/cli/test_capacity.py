import json
import re
from dataclasses import replace
from math import ceil

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.study.planning import plan
from tests.mentions import mentions
from tests.published import NO_SINGLE, RAYTRACER
from tests.scaling.cli.folders import folder_of
from tests.scaling.cli.here import json_of, scaling
from tests.scaling.cli.scaling import complaint
from tests.scaling.cli.scaling import scaling as program
from tests.scaling.reporting.page.invented import laws, write_folder


def test_capacity_answers_in_counts_the_machine_has(sixteen_cores):
    completed = scaling("capacity", sixteen_cores, "--throughput", 4.9)
    assert completed.returncode == 0, completed.stderr
    assert mentions(completed.stdout, "train 9 cores: … 99 % … 4.9 items/s")
    (answer,) = json_of("capacity", sixteen_cores, "--throughput", 7)["answers"]
    assert (answer["status"], answer["cores"]) == ("not reachable", None)


def test_capacity_where_the_answer_is_no_ends_with_one(csv):
    completed = program("capacity", csv(NO_SINGLE), "--throughput", 1000)
    assert completed.returncode == 1
    assert "not reachable" in completed.stdout
    assert scaling("capacity", csv(NO_SINGLE), "--throughput", 100).returncode == 0
    assert scaling("capacity", csv(RAYTRACER), "--throughput", 5000).returncode == 1


def test_capacity_without_a_question_shows_the_landmarks(csv):
    completed = scaling("capacity", csv(RAYTRACER))
    assert completed.returncode == 0, completed.stderr
    assert "knee" in completed.stdout
    assert json_of("capacity", csv(RAYTRACER))["limits"][0]["speedup_limit"]["value"] == pytest.approx(19, rel=0.1)


def test_launches_that_scatter_have_no_size_in_any_form(csv):
    path = csv([(1, 10), (1, 40), (2, 6), (2, 20), (4, 3), (4, 12)], "seconds")
    completed = scaling("capacity", path)
    assert completed.returncode == 1
    assert completed.stdout.startswith("no answer yet for mine: ")
    (limits,) = json_of("capacity", path)["limits"]
    assert limits["recommended_cores"] is None
    deployed = scaling("capacity", path, "--format", "slurm")
    assert deployed.returncode == 1
    assert "--cpus-per-task" not in deployed.stdout


def test_a_recommended_size_is_deployed_with_its_threads_per_core(tmp_path):
    runs = plan(study("cores = [1, 2, 4]\nsmt = [1, 2]"), machine(4, smt=2)).runs
    rows = list(AmdahlMachine().execute(runs))
    folder = folder_of(tmp_path / "threads", (_times(row, 0.6 if row.run.point.smt == 2 else 1.0) for row in rows))
    completed = scaling("capacity", folder, "--format", "slurm")
    assert mentions(completed.stdout, "give … × 2 threads")
    assert mentions(completed.stdout, "#SBATCH --hint=multithread")
    assert "OMP_NUM_THREADS=8" in completed.stdout


def _times(row, factor):
    seconds = tuple(factor * second for second in row.outcome.step_seconds)
    return replace(row, outcome=replace(row.outcome, step_seconds=seconds))


def test_several_series_make_a_table(tmp_path):
    path = tmp_path / "both.csv"
    rows = "".join(f"rays,{n},{x}\nodd,{n + 1},{y}\n" for (n, x), (_, y) in zip(RAYTRACER[:8], NO_SINGLE, strict=True))
    path.write_text("series,cores,throughput\n" + rows)
    completed = scaling("capacity", path, "--throughput", 100)
    assert completed.stdout.splitlines()[0].startswith("give rays ")
    one_of_two = scaling("capacity", path, "--throughput", 200, "--json")
    assert one_of_two.returncode == 1
    assert [one["status"] for one in json.loads(one_of_two.stdout)["answers"]] == ["ok", "not reachable"]
    assert len(json.loads(scaling("fit", path, "--json").stdout)["series"]) == 2


@pytest.mark.parametrize(
    ("form", "size"),
    [("kubernetes", "    cpu: 9000m"), ("slurm", "#SBATCH --cpus-per-task=9"), ("systemd", "CPUQuota=900%")],
)
def test_capacity_prints_limits_to_deploy(sixteen_cores, form, size):
    completed = scaling("capacity", sixteen_cores, "--throughput", 4.9, "--format", form)
    assert completed.returncode == 0, completed.stderr
    assert mentions(completed.stdout, "train 9 cores: … 99 % … 4.9 items/s")
    assert size in completed.stdout.splitlines()
    assert scaling("capacity", sixteen_cores, "--throughput", 7000, "--format", form).returncode in (0, 1)


def test_a_replica_has_its_price_beside_its_cores_and_a_gpu_only_if_it_uses_one(sixteen_cores):
    question = ("capacity", sixteen_cores, "--throughput", 4.9, "--core-hour", 0.5, "--replica-hour", 2)
    (size,) = (one["allocation"] for one in json_of(*question, "--gpu-hour", 7)["answers"])
    price = 2 + 0.5 * size["cores"]
    assert size["cost_per_million"] == pytest.approx(size["cpu_hours_per_million"] * price / size["cores"])


def test_limits_to_deploy_need_no_question_and_no_folder(csv):
    completed = scaling("capacity", csv(RAYTRACER), "--format", "slurm")
    assert completed.returncode == 0, completed.stderr
    assert "memory was not measured," in completed.stdout
    assert "--mem" not in completed.stdout


def test_limits_to_deploy_have_the_memory_that_launches_had(tmp_path):
    rows = [
        replace(row, witness=replace(row.witness, max_rss_bytes=(100 + row.run.launch) * 2**20))
        for row in laws()
        if row.run.point.workload == "amdahl"
    ]
    folder = write_folder(rows, tmp_path / "mine")
    completed = scaling("capacity", folder, "--efficiency", 0.6, "--format", "kubernetes")
    most = 100 + max(row.run.launch for row in rows)
    assert f"    memory: {most}Mi" in completed.stdout.splitlines()
    assert f"    memory: {ceil(1.25 * most)}Mi" in completed.stdout.splitlines()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--format", "docker"], "'docker'; choose from kubernetes,"),
        (["--format", "slurm", "--json"], "--format slurm and --json are"),
        (["--throughput", 1, "--latency", 1], "--throughput and --latency are different questions"),
        (["--throughput", -1], "--throughput is -1, … above 0"),
        (["--throughput", 1e308], "--throughput is 1e+308, … above 0, at most 1e+30"),
        (["--latency", 1e-300], "--latency is 1e-300, … above 0, at most 1e+30"),
        (["--throughput", 1, "--core-hour", 1e308], "a price must be from 1e-30 to 1e+30"),
        (["--work", 1e20, "--epochs", 1e20], "--work times --epochs is 1e+40; use"),
        (["--efficiency", 1.5], "--efficiency is 1.5, but … between 0 and 1"),
        (["--throughput", 1, "--assurance", 1], "--assurance is 1"),
        (["--hourly-budget", 1, "--core-hour", 0], "core-hour must cost more"),
        (["--hourly-budget", -3], "--hourly-budget is -3, … above 0"),
        (["--throughput", 1, "--quantile", 0.9], "--quantile needs --latency; use both"),
        (["--latency", 1, "--quantile", 1], "--quantile is 1, but … between 0 and 0.999"),
        (["--epochs", 3], "--epochs needs --work; use both"),
        (["--assurance", 0.9, "--gpu-hour", 2], "--assurance and --gpu-hour would change nothing without a target"),
        (["--throughput", 1, "--ceilings", "1,2"], "--ceilings would change nothing without --objective energy"),
        (["--objective", "energy", "--quantile", 0.9], "--quantile would change nothing without --latency"),
        (["--objective", "energy", "--work", 5], "--work would change nothing with --objective energy; leave it out"),
        (["--deadline", "8h"], "--deadline needs --work; use both"),
        (["--work", 10, "--deadline", "soon"], "deadline 'soon' … 90s, 45m or 8h"),
        (["--work", 10, "--throughput", 3], "--throughput and --work are different questions"),
    ],
)
def test_questions_that_make_no_sense_are_refused(csv, options, words):
    assert mentions(complaint(scaling("capacity", csv(RAYTRACER), *options)), words)


def test_promises_are_made_for_the_host_as_it_was(tmp_path):
    folder = write_folder([row for row in laws() if row.run.point.workload == "busy host"], tmp_path / "busy")
    question = ("capacity", folder, "--throughput", 3000)
    (here,) = json_of(*question)["answers"]
    assert here["levels"].endswith("; the assurance allows for this")
    assert here["levels"] in scaling(*question).stderr


def test_how_long_turns_took_on_a_measured_size_is_said(tmp_path):
    folder = write_folder([row for row in laws() if row.run.point.workload == "busy host"], tmp_path / "busy")
    (answer,) = json_of("capacity", folder, "--efficiency", 0.465)["answers"]
    assert answer["cores"] == 12
    assert re.fullmatch(
        r"busy host train on 12 cores: by the curve 5\.[67]\d? times one core \(± [\d.]+ %\), "
        r"\d+ of 50 turns quiet; "
        r"turns took \d\.\d\d to 1\.\d\d times the step time \(median \d\.\d\d\)",
        answer["levels"],
    )


def test_a_latency_may_be_promised_of_a_quantile_of_steps(sixteen_cores, csv):
    completed = scaling("capacity", sixteen_cores, "--latency", 0.5, "--quantile", 0.95)
    assert completed.returncode == 0, completed.stderr
    assert re.match(r"give calibrated train 3 cores: .* % sure of 95 % of steps within 500 ms", completed.stdout)
    (answer,) = json_of("capacity", sixteen_cores, "--latency", 0.5, "--quantile", 0.99)["answers"]
    assert (answer["status_code"], answer["reason_codes"]) == ("refused", ["too-few-steps"])
    (answer,) = json_of("capacity", csv(RAYTRACER), "--latency", 0.5, "--quantile", 0.9)["answers"]
    assert (answer["status_code"], answer["reason_codes"]) == ("refused", ["steps-unknown"])


def test_a_deadline_is_for_all_epochs_of_a_job(sixteen_cores):
    job = ("capacity", sixteen_cores, "--work", 3600, "--epochs", 10)
    completed = scaling(*job, "--deadline", "3h")
    assert completed.returncode == 0, completed.stderr
    first = completed.stdout.splitlines()[0]
    assert re.match(r"give calibrated train 5 cores: .* sure of 36000 items within 3.0 h; they take 2.8 h", first)
    assert "job time" in completed.stdout
    (answer,) = json_of(*job)["answers"]
    assert (answer["question"], answer["items"]) == ("work", 36000)
    assert answer["allocation"]["job_seconds"]["value"] == pytest.approx(
        36000 * (0.1 + 0.9 / answer["cores"]), rel=0.01
    )
