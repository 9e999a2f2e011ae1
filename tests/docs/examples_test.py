# SPDX-License-Identifier: Apache-2.0
"""Every example of README.md and docs/ prints what its page shows. With --soak as many variations as the page takes, otherwise two.

The commands see the build folder as build/, and build/bin is on their PATH.
"""

import os
import subprocess

import examples
import pytest
from support import run

EXAMPLES = examples.all_examples()


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.page}:{example.line}")
def test_example(example, build, folder, soak):
    (folder / "build").symlink_to(build)
    # Nothing of the caller's environment that moves a guest's stack.
    base = {"PATH": f"{build}/bin:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    hidden = {name: value for name, value in os.environ.items() if name == "ELISION_HIDE_RTM"}
    command = example.command if soak else examples.quicker(example.command)
    ending = run(["bash", "-c", command], base=base, environment=hidden, cwd=folder, stderr=subprocess.STDOUT)
    status = ending.status if ending.status >= 0 else 128 - ending.status  # bash executes a last command in its own place
    difference = examples.judge(example, status, ending.stdout.replace(str(build), "build"))
    if difference:
        pytest.fail(difference, pytrace=False)
