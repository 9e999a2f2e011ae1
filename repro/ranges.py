# SPDX-License-Identifier: Apache-2.0
"""Several runs' numbers as one."""

import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Range:
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values):
        values = list(values)
        return cls(statistics.median(values), min(values), max(values))

    def text(self, unit):
        """The median, with its unit, and the range."""
        return f"{self.median:.3g}{unit} [{self.low:.3g} - {self.high:.3g}]"
