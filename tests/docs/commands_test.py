# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md that `make test-readme` types on a bare Debian, and the times that it gives for them."""

import re
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


def test_targets_print_the_times_of_the_readme():
    """What stands behind a command in README.md, its target says when it begins."""
    said = re.findall(r"^    make ([\w-]+) +# (.*minutes.*)$", (ROOT / "README.md").read_text(), re.M)
    assert [target for target, _ in said] == ["demo", "test"]
    for target, words in said:
        assert f'echo "make {target}: {words}"' in printed(["make", "-n", "-C", ROOT, target])
