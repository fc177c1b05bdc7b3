"""JAX has no setting for its threads, and a server in which it has started forks nothing."""

import pytest

from scaling.running.frameworks.base import FrameworkError
from scaling.running.frameworks.jax import Jax
from tests.runs import row_of


@pytest.mark.parametrize(("intra", "inter"), [(1000, 0), (0, 1000)])
def test_threads_that_it_cannot_have_are_refused(intra, inter):
    with pytest.raises(FrameworkError, match=f"intra = {intra} and inter = {inter} cannot be set; leave both out"):
        Jax(intra, inter, seed=1)


def test_a_server_in_which_it_has_started_refuses_to_fork(tmp_path, monkeypatch):
    from scaling.running import local

    (tmp_path / "planted.py").write_text("import jax\njax.numpy.ones(3)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(local, "modules_for", lambda text, framework: ("planted",))
    row = row_of("fcn", size="small", framework="jax", start="fork", in_company=True)
    assert "JAX's runtime has started" in row.outcome.reason
