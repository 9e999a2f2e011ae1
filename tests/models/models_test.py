# SPDX-License-Identifier: Apache-2.0
"""Every table of models.toml: a model, or a mutant or a probe of one."""

import models
import pytest

TABLES = models.read_tables()


@pytest.mark.parametrize("table", TABLES)
def test_table(table):
    try:
        models.check(table, *TABLES[table])
    except models.Failure as failure:
        pytest.fail(str(failure), pytrace=False)
