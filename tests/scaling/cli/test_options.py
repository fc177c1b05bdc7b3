import pytest

from scaling.cli.options import program_variables, refuse_idle
from scaling.errors import ScalingError
from scaling.study.programs import FromShell


def test_a_variable_has_a_value_even_an_empty_one_or_comes_from_the_shell():
    assert program_variables(["A=", "B", "C=d=e"]) == (("A", ""), ("B", FromShell()), ("C", "d=e"))


@pytest.mark.parametrize("given", [0, 0.0, 2, "x"])
def test_an_option_that_changes_nothing_is_refused_whatever_its_value(given):
    refuse_idle("now", again=False, full=False, budget=None, where="")
    with pytest.raises(ScalingError, match=r"^--gpu-hour would change nothing now; leave it out$"):
        refuse_idle("now", again=False, gpu_hour=given, budget=None, where="")
