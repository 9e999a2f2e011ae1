# SPDX-License-Identifier: Apache-2.0
"""Makes tables and docs/measured/api-costs.md from the output of apicost. Pure. `native` and
`virtual` are {name: [median, lower quartile, upper quartile]}."""

import lock_costs
import performance
from performance import paragraph

LOCKS = {"mutex": "mutex", "shared_mutex": "shared_mutex"}
LOCKSETS = {name: f"{name} locks" for name in ("2", "3", "4", "6", "8")}
COARSENING = {"elided": "each elided", **{name: name for name in ("1", "2", "4", "8", "16", "32", "64")}, "adapts": "adapts"}
MACHINE, THREADS = "xeon-e5-2697v4", 8  # of the virtual run


def rows(group, names, native, virtual):
    """A table: a row for each way to measure, a column an item."""
    places = [("natively", native), (f"virtual {MACHINE}", virtual)]
    return [["", *names.values()],
            *([f"{place}, {how}", *(lock_costs.ratio_text(values[f"{group} {name} {how}"]) for name in names)]
              for place, values in places for how in ("alone", "together"))]


def sections(native, virtual):
    """[(title, what it shows, cells)] of all tables."""
    return [
        ("Locks beside the standard's",
         "A section that adds to a counter under one of 64 locks; under a shared_mutex one section in 16 adds, the others read.",
         rows("lock", LOCKS, native, virtual)),
        ("Lock sets beside std::scoped_lock",
         "A section that adds to as many counters as it has locks, out of 64, under one lock set; beside std::scoped_lock of as many "
         "std::mutex.",
         rows("lockset", LOCKSETS, native, virtual)),
        ("Coarsening beside atomic additions",
         "Additions to 4,096 bins under one mutex, so many a transaction; beside an atomic addition each.",
         rows("coarsening", COARSENING, native, virtual)),
    ]


def document(origin, native, virtual):
    """The text of docs/measured/api-costs.md."""
    lines = [
        "# What libelision-api costs",
        "",
        f"Written by `tools/bench-api`{performance.of_full_size(origin)}, natively on the machine named here and on a virtual one.",
        "",
        *performance.markdown(performance.origin_cells(origin)),
        "",
        *paragraph(
            "Every number is a ratio of neighbouring rounds in one process: the median, ± half the distance of the quartiles. *Alone* "
            "is a ratio of times, while a second thread sleeps; less is better. *Together* is a ratio of throughputs, with one thread "
            f"per CPU natively and {THREADS} threads virtually; more is better."),
    ]
    for title, what, cells in sections(native, virtual):
        lines += [f"## {title}", "", *paragraph(what), *performance.markdown(cells), ""]
    return "\n".join([*lines, "## How to repeat", "", "    tools/bench-api            all of it, writes this page; also a part of make bench-locks",
                      "    build/workloads/apicost    natively, as it is", ""])
