import numpy as np

from scaling.analysis.sizing.tables import _step_table


def test_a_step_table_says_where_the_share_at_or_above_a_value_reaches_each_level():
    values = np.array([3.0, 1.0, 2.0, 2.0])
    table = _step_table(values)
    assert table.assurances == (2.0, 1.0, 1.0, 1.0, 1.0)
    assert (table.percents[24], table.percents[25], table.percents[74], table.percents[75]) == (3.0, 2.0, 2.0, 1.0)
    assert _step_table(values, unmet=True).assurances == (2.0, 3.0, 3.0, 3.0, 3.0)
