# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody wrote for this project behave the same natively and on the virtual machine.

The filter of a program is tested by the same comparison between two native runs. --seed changes the seed of the virtual ones. --forms
leaves in NAME.forms the forms of instructions that the program executed virtually, each with the bytes of one.
"""

import corpus
import pytest

PROGRAMS = corpus.read_programs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(elision, folder, request, name):
    program, forms = PROGRAMS[name], request.config.option.forms
    assert corpus.missing_packages(program) == []
    native = corpus.behaviour(program)
    assert native.endswith(f"--- status {program.get('status', 0)}\n"), native
    again = corpus.difference(native, corpus.behaviour(program), "native", "native again")
    assert not again, f"two native runs differ, which the mask must allow for:\n{again}"
    recording = ["--instruction-forms", "--stats-directory", str(folder)] if forms else []
    seed = request.config.option.seed
    prefix = [str(elision.binary), "vm", "--crash-reports", "none", "--seed", str(1 if seed is None else seed), *program.get("options", []),
              *recording, "--"]
    virtual = corpus.behaviour(program, prefix)
    if forms:
        corpus.write_forms(folder, forms / f"{name}.forms")
    if differs := corpus.difference(native, virtual, "native", "virtual"):
        pytest.fail(differs, pytrace=False)
