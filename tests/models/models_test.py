# SPDX-License-Identifier: Apache-2.0
"""Every table of models.toml: a model, or a mutant or a probe of one. --soak takes the larger configurations of models."""

import models
import pytest

TABLES = models.read_tables()


@pytest.mark.parametrize("table", TABLES)
def test_table(table, soak):
    model, change = TABLES[table]
    if soak and (change or "soak" not in model):
        pytest.skip("it has no larger configurations")
    try:
        models.check(table, model, change, soak)
    except models.Failure as failure:
        pytest.fail(str(failure), pytrace=False)
