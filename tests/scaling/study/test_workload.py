import pytest

from scaling.study.workload import Command, Named, OwnFile, workload


def test_a_name_is_followed_by_its_parameters():
    assert workload("calibrated serial=0.2 work=4 fast=true") == Named(
        "calibrated", (("serial", 0.2), ("work", 4), ("fast", True))
    )


def test_a_file_and_a_function_make_a_users_own_workload():
    assert workload("nets/mine.py:build width=64") == OwnFile("nets/mine.py", "build", (("width", 64),))


def test_the_value_of_an_option_may_have_spaces_in_quotes():
    assert workload("calibrated serial='0.2 or more' work=4") == Named(
        "calibrated", (("serial", "0.2 or more"), ("work", 4))
    )


@pytest.mark.parametrize("path", ["my nets/mine.py", "/a b/c  d/e.py", "a=b/mine.py", "my.python/mine.py"])
def test_the_path_of_a_file_may_have_spaces(path):
    assert workload(f"{path}:build") == OwnFile(path, "build")
    assert workload(f"{path}:build file=other.py") == OwnFile(path, "build", (("file", "other.py"),))


def test_a_command_is_split_without_a_shell():
    assert workload("command: ./prog --name 'a b' $HOME; -t {intra}") == Command(
        ("./prog", "--name", "a b", "$HOME;", "-t", "{intra}")
    )


def test_a_parameter_may_be_true_or_false_a_number_or_a_word():
    assert workload("net a=true b=false c=2 d=0.5 e=x").options == (
        *(("a", True), ("b", False)),
        *(("c", 2), ("d", 0.5), ("e", "x")),
    )
