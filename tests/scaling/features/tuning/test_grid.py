import pytest

from benchmarks.shared.machines import machine, study
from scaling.errors import StudyError
from scaling.features.tuning.grid import (
    DEFAULT,
    RECIPE,
    doublings,
    grid,
    parse_parameters,
    program_variants,
    workload_variants,
)
from scaling.study.programs import Program

POOLS = 'workloads = ["autoenc"]\nintra = ["auto", 1, 2, 4, 8]\ninter = ["auto", 1, 2, 4]\n'


def grid_of(toml: str, cores: int = 4, smt: int = 1):
    made = study(toml)
    return grid(made, machine(cores, smt), {name: {} for name in made.workloads})


def test_the_default_leaves_everything_to_the_framework_and_the_recipe_is_cores_and_sockets():
    made = grid_of(f"cores = [4]\nsmt = [1, 2]\n{POOLS}", smt=2)
    default, recipe = made.points[0], made.points[1]
    assert made.names == {0: DEFAULT, 1: RECIPE}
    assert (default.intra, default.inter, default.smt, default.cores) == ("auto", "auto", 2, 4)
    assert (recipe.intra, recipe.inter, recipe.smt) == (4, 1, 1)
    assert made.values[0]["intra"] == made.values[0]["inter"] == 8


def test_no_pool_has_more_threads_than_cpus_and_core_counts_are_those_named():
    made = grid_of(f"cores = [4]\n{POOLS}")
    assert {point.cores for point in made.points} == {4}
    assert len(made.points) == 1 + 3 * 3
    assert all(point.intra <= 4 and point.inter <= 4 for point in made.points[1:])


def test_onednn_is_a_setting_beside_the_frameworks_choice():
    made = grid_of(f'cores = [4]\nonednn = ["auto", false]\n{POOLS}')
    assert made.points[0].onednn is made.points[1].onednn is None
    assert [value["onednn"] for value in made.values].count("False") == 3 * 3
    torch = grid_of(f'cores = [4]\nonednn = ["auto", false]\nframework = "torch"\n{POOLS}')
    assert {point.onednn for point in torch.points} == {None}


def test_placements_that_come_to_the_same_cpus_are_one():
    both = 'placements = ["compact", "scatter"]\n'
    assert len(grid_of(f"cores = [4]\n{both}{POOLS}").points) == len(grid_of(f"cores = [4]\n{POOLS}").points)


def test_without_pools_as_many_threads_as_cpus_are_the_default():
    made = grid_of('cores = [4]\nintra = ["auto", 1, 2, 4]\n')
    assert [point.intra for point in made.points] == ["auto", 1, 2]
    assert made.names == {0: DEFAULT}


def test_a_workload_without_inter_op_threads_has_one_pool():
    made = grid_of('cores = [4]\nintra = ["auto", 1, 2, 4]\ninter = ["auto", 1, 2]\n')
    assert [(point.intra, point.inter) for point in made.points] == [("auto", "auto"), (1, "auto"), (2, "auto")]


def test_parameters_are_options_of_a_workload_or_words_of_a_program():
    parameters = parse_parameters(["block=16,32", "mode=a"])
    assert parameters == {"block": ("16", "32"), "mode": ("a",)}
    assert [*workload_variants("calibrated", {"work": ("1", "2")})] == ["calibrated work=1", "calibrated work=2"]
    words = ["./prog", "-b{block}", "{mode}", "{threads}", "{{block}}"]
    variants = program_variants(Program(name="prog", command=("true",)), parameters, words)
    assert [(one.name, one.command[1:]) for one in variants] == [
        ("prog+block.16+mode.a", ("-b16", "a", "{threads}", "{{block}}")),
        ("prog+block.32+mode.a", ("-b32", "a", "{threads}", "{{block}}")),
    ]


def test_a_search_of_too_many_settings_is_refused_with_its_size():
    values = tuple(map(str, range(1500)))
    with pytest.raises(StudyError, match="--param a, b: 1500 × 1500 values make 2,250,000 settings,"):
        workload_variants("calibrated", {"a": values, "b": values})


def test_a_value_without_neighbours_is_a_word():
    made = study("cores = [1]", workloads='["calibrated work=1", "calibrated work=nan"]')
    values = grid(made, machine(1), {name: {"work": name.rpartition("=")[2]} for name in made.workloads}).values
    assert {one["work"] for one in values} == {1.0, "nan"}


def test_counts_double_up_to_the_most():
    assert doublings(1) == (1,)
    assert doublings(6) == (1, 2, 4, 6)
