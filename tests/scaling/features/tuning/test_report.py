"""A search in words: the winner, what it gains by how many launches, and how to set it."""

import json
from dataclasses import replace

import pytest

from benchmarks.shared.machines import machine, row, study
from scaling.analysis.estimates import Estimate
from scaling.errors import StoreError
from scaling.features.tuning.grid import cpus_of, grid
from scaling.features.tuning.report import (
    TUNED,
    TUNING,
    Search,
    TunedAnswer,
    TunedSettings,
    environment_lines,
    paste_python,
    read_search,
    section,
    setting_words,
    settings_of,
    tuning_answer,
    tuning_table,
    write_search,
)
from scaling.features.tuning.search import CONFIRMATION, RACE, Competitor, Outcome, Standing
from scaling.reporting.page.page import page
from scaling.results.evaluation import evaluate
from scaling.results.store import folder_of
from scaling.study.planning import Cohort, plan
from scaling.study.spec import study_from_toml, study_to_toml
from tests.mentions import mentions

HOST = machine(4)
POOLS = 'workloads = "autoenc"\ncores = [4]\nintra = ["auto", 2, 4]\ninter = ["auto", 1, 2]\n'


def search_of(toml: str = POOLS) -> Search:
    made = study(toml)
    names = [*made.workloads, *(program.name for program in made.programs)]
    settings = grid(made, HOST, {name: {} for name in names})
    return Search(settings, tuple(cpus_of(made, HOST, point) for point in settings.points))


def outcome_of(search: Search, gain: Estimate | None, challenger: int = 2) -> Outcome:
    beaten = gain is not None and gain.low is not None and gain.low > 1
    winner = challenger if beaten else 0
    competitors = (
        Competitor(challenger, 9, Estimate(0.5, 0.4, 0.6), Standing.WINNER if beaten else Standing.IN_RACE),
        Competitor(0, 9, Estimate(1.0), Standing.DROPPED if beaten else Standing.WINNER),
        Competitor(3, 1, None, Standing.FAILED),
    )
    return Outcome(winner, challenger, beaten, gain, {1: Estimate(1.2, 1.1, 1.3)}, 8 if gain else 0, 0, competitors)


def test_disturbed_launches_of_the_confirmation_are_counted_and_the_remedy_is_a_quieter_machine():
    search = search_of()
    ended = replace(outcome_of(search, Estimate(1.3)), disturbed=5)
    assert mentions(
        tuning_answer(ended, search.grid, search.objective)[0],
        "only 3 of the 6 … done (disturbed: 5) … larger --budget on",
    )


def test_a_program_has_threads_as_many_as_cpus_where_it_is_not_told():
    toml = 'programs = [{name = "p", command = "echo {threads}"}]\ncores = [4]\nintra = ["auto", 1, 2]'
    settings = grid(study_from_toml(toml, "tuned"), HOST, {"p": {}})
    words = [setting_words(settings, setting) for setting in range(3)]
    assert words == ["threads 4 (default)", "threads 1", "threads 2"]


def test_a_large_parameter_keeps_its_digits():
    toml = 'programs = [{name = "a", command = "echo"}, {name = "b", command = "echo"}]\ncores = [1]'
    settings = grid(study_from_toml(toml, "tuned"), HOST, {"a": {"n": "10000000"}, "b": {"n": "10000001"}})
    assert [setting_words(settings, one) for one in (0, 1)] == ["n 10000000 (default)", "n 10000001"]


def test_an_interrupted_search_without_a_whole_cohort_is_not_a_failed_one():
    search = search_of()
    assert tuning_answer(search.outcome([]), search.grid, "latency") == [
        "no answer yet for latency: too few settings were launched; run the same command to continue"
    ]


def test_settings_that_only_follow_the_cores_are_not_named():
    search = search_of('workloads = "autoenc"\ncores = [2, 4]\nintra = ["auto", 2]\n')
    assert setting_words(search.grid, 0) == "cores 4, intra auto (default)"
    quota = search_of('workloads = "autoenc"\ncores = [4]\nquota = ["none", 2]\n')
    assert [setting_words(quota.grid, one) for one in (0, 1)] == ["quota none (default)", "quota 2"]


@pytest.mark.parametrize(
    ("objective", "header"),
    [("latency", ">time relative"), ("throughput", ">time per item"), ("throughput-per-core", ">core time per item")],
)
def test_the_table_names_the_quantity_of_the_objective(objective, header):
    search = search_of()
    assert tuning_table(outcome_of(search, None), search.grid, objective).headers[2].startswith(header)


def test_the_table_and_the_facts_have_every_setting_that_was_measured():
    search = search_of()
    outcome = outcome_of(search, Estimate(2.0, 1.9, 2.1))
    rows = tuning_table(outcome, search.grid).rows
    assert [(row[0], row[-1]) for row in rows] == [
        ("intra 2, inter 1", "winner"),
        ("intra auto, inter auto (default)", "dropped, clearly slower"),
        (setting_words(search.grid, 3), "failed"),
    ]
    facts = TUNED.of(TunedAnswer(outcome, search.grid, search.objective, None))
    assert [one["standing_code"] for one in facts["settings"]] == ["winner", "dropped", "failed"]
    assert facts["settings"][0]["values"]["intra"] == 2


def test_a_winner_can_be_pasted_into_a_shell_and_into_python():
    made = study(POOLS + "jit = true\nonednn = true\n")
    point = next(run.point for run in plan(made, HOST).runs if (run.point.intra, run.point.inter) == (2, 1))
    settings = settings_of(point, made, (0, 1, 2, 3))
    lines = environment_lines(settings)
    assert lines[-1] == "taskset --cpu-list 0-3 python …"
    assert {"export TF_NUM_INTRAOP_THREADS=2", "export TF_ENABLE_ONEDNN_OPTS=1"} <= {*lines}
    text = paste_python(settings)
    compile(text, "pasted", "exec")
    assert text.index("TF_ENABLE_ONEDNN_OPTS") < text.index("import tensorflow")
    assert "jit_compile=True" in text


def test_a_variable_with_a_name_that_a_shell_cannot_assign_is_one_quoted_word():
    names = ("BLOCK", "A;touch x", "a.b", "A\n", "1A", "é")
    settings = TunedSettings(tuple((name, "1 2") for name in names), "0", 0, 0, False, ("echo",))
    *assignments, last = environment_lines(settings)
    assert assignments == ["export BLOCK='1 2'"]
    assert last == "env 'A;touch x=1 2' 'a.b=1 2' 'A\n=1 2' '1A=1 2' 'é=1 2' taskset --cpu-list 0 echo"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda facts: facts["grid"]["values"][1].pop("intra"), "differ in their axes"),
        (lambda facts: facts["grid"]["values"].pop(), "differ in length"),
        (lambda facts: facts["grid"]["values"][0].update(intra=10**40), "too large"),
        (lambda facts: facts["grid"]["values"][0].update(intra="a" * 20_000), "too long"),
        (lambda facts: facts["grid"]["names"].update({"99": "x"}), "names a setting that it does not have"),
        (lambda facts: facts["cpus"].__setitem__(0, [-1]), "a CPU number"),
        (lambda facts: facts["cpus"].__setitem__(0, [10**30]), "a CPU number"),
    ],
)
def test_a_search_that_contradicts_itself_is_refused_in_a_sentence(tmp_path, change, problem):
    write_search(tmp_path, search_of())
    facts = json.loads((tmp_path / TUNING).read_text())
    assert read_search(tmp_path).grid.points
    change(facts)
    (tmp_path / TUNING).write_text(json.dumps(facts))
    with pytest.raises(StoreError, match=f"is not a valid search: .*{problem}.*; remove it"):
        read_search(tmp_path)


def test_a_search_over_a_program_that_its_study_lacks_is_refused():
    made = study_from_toml('cores = [4]\nprograms = [{name = "p", command = "echo"}]', "tuned")
    other = study_from_toml('cores = [4]\nprograms = [{name = "q", command = "echo"}]', "tuned")
    point = plan(made, HOST).runs[0].point
    with pytest.raises(StoreError, match="a program 'p', which its study lacks"):
        settings_of(point, other, (0,))


def test_the_page_of_a_folder_that_a_search_has_made_has_its_section_escaped():
    program = '{name = "p", command = ["echo", "<b>&{threads}"]}'
    made = study_from_toml(f'cores = [4]\nprograms = [{program}]\nintra = ["auto", 1, 2]', "tuned")
    settings = grid(made, HOST, {"p": {}})
    search = Search(settings, tuple(cpus_of(made, HOST, point) for point in settings.points))
    runs = {run.point: run for run in plan(made, HOST).runs}
    rows = [
        row(replace(runs[point], launch=number, cohort=Cohort(f"{name}{number}", 2)), step_seconds=(seconds,) * 5)
        for name, numbers in ((RACE, (1,)), (CONFIRMATION, range(2, 10)))
        for number in numbers
        for point, seconds in ((settings.points[0], 0.02 + 0.0001 * number), (settings.points[1], 0.01))
    ]
    folder = replace(folder_of("tuned", rows), study_toml=study_to_toml(made, "tuning"), of_features={TUNING: search})
    _, to_paste = section(evaluate(folder)).blocks
    assert "taskset --cpu-list 0-3 echo '<b>&1'" in to_paste.texts[0]
    html = page(evaluate(folder), [])
    assert "&lt;b&gt;&amp;1" in html
    assert "<b>&" not in html
