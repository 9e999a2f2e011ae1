# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md that `make test-install` types on a bare Debian."""

import sys

import examples
from support import ROOT, printed

PAGE = """# A page

    make demo     # builds, then runs
    make test QUICK=1

```console
$ build/bin/elision compare \\
    -- true
It prints this.
$ build/bin/elision machines
```

    build/bin/elision compare -- yourprogram

Words.
"""


def test_commands_come_in_the_order_of_the_page_without_comments_and_output():
    assert examples.commands_of("page.md", PAGE) == [
        "make demo", "make test QUICK=1", "build/bin/elision compare -- true", "build/bin/elision machines"]


def test_readme_builds_before_it_runs_anything():
    commands = printed([sys.executable, "-B", ROOT / "tests" / "docs" / "examples.py"]).splitlines()
    assert commands[:2] == ["make demo", "make test"]
    assert len(commands) > 2
    assert all(command.startswith(("make ", "build/bin/elision ")) for command in commands[2:])
