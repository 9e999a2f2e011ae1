# SPDX-License-Identifier: Apache-2.0
"""Seeds one violation at a time into a small clean tree and expects exactly that one to be found."""

import pathlib

import check_tree
import pytest

LIBRARY = check_tree.FREESTANDING_LIBRARIES["src/vm/cpu"]
LICENSE = "// SPDX-License-Identifier: Apache-2.0\n"


class Tree:
    """A small clean tree."""

    def __init__(self, root):
        self.root = root
        for part in ("base", "machine", "vm", "vm/cpu", "vm/engine", "locks", "cli", "cli/experiment", "cli/judge"):
            self.write(f"src/{part}/README.md", "# x\n")
        self.write("src/base/units.h", LICENSE)
        self.write("src/machine/model.h", LICENSE + '#include "base/units.h"\n')
        self.write("src/vm/engine/engine.cc", LICENSE + '#include <vector>\n#include "machine/model.h"\n')
        self.write("src/cli/vm.cc", LICENSE + '#include "vm/engine/engine.h"\n#include "cli/verbs.h"\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def violations(self):
        return [f"{path}:{line}: {what}" for path, line, what in check_tree.violations(self.root)]

    def expect(self, start):
        """One violation, which begins like this."""
        found = self.violations()
        assert len(found) == 1
        assert found[0].startswith(start)


@pytest.fixture
def tree(folder):
    return Tree(folder)


def test_clean_tree_is_clean(tree):
    assert tree.violations() == []


@pytest.mark.parametrize("part", check_tree.LAYERS)
def test_every_arrow_against_the_grain_is_found(tree, part):
    for folder in [part, *map(str, pathlib.PurePath(part).parents)][:-1]:
        tree.write(f"src/{folder}/README.md", "# x\n")
    others = sorted(set(check_tree.LAYERS) - check_tree.LAYERS[part] - {part})
    tree.write(f"src/{part}/seeded.h", LICENSE + "".join(f'#include "{other}/x.h"\n' for other in others))
    assert tree.violations() == [
        f"src/{part}/seeded.h:{line}: {part} must not include {other}/x.h: no arrow runs from {other} to {part}"
        for line, other in enumerate(others, 2)]


def test_print_past_the_console_is_found(tree):
    tree.write("src/cli/run.cc", LICENSE + 'void f() {\n  fmt::print(stderr, "x");\n}\n')
    tree.expect("src/cli/run.cc:3: prints past src/cli/host/console.cc")


def test_experiment_knows_neither_verbs_nor_judges(tree):
    tree.write("src/cli/judge/verdict.h", LICENSE + '#include "cli/experiment/sample.h"\n')
    tree.write("src/cli/compare.cc", LICENSE + '#include "cli/judge/verdict.h"\n')
    assert tree.violations() == []
    for target in ("cli/judge/verdict.h", "cli/verbs.h"):
        tree.write("src/cli/experiment/execute.cc", LICENSE + f'#include "{target}"\n')
        tree.expect(f"src/cli/experiment/execute.cc:2: cli/experiment must not include {target}")


def test_arrows_have_no_circle():
    for part, allowed in check_tree.LAYERS.items():
        for other in allowed:
            assert part not in check_tree.LAYERS[other]


def test_unknown_part(tree):
    tree.write("src/extra/README.md", "# x\n")
    tree.write("src/extra/x.h", LICENSE)
    tree.expect("src/extra/x.h:1: part 'extra'")


def test_file_of_a_part_with_rooms_lies_in_one(tree):
    tree.write("src/vm/engine.cc", LICENSE)
    tree.expect("src/vm/engine.cc:1: part 'vm'")


def test_include_of_a_file_in_no_room(tree):
    tree.write("src/vm/engine/a.cc", LICENSE + '#include "vm/engine.h"\n')
    tree.expect("src/vm/engine/a.cc:2: vm/engine must not include vm/engine.h")


def test_locks_know_no_pthreads(tree):
    tree.write("src/locks/tatas.h", LICENSE + "#include <pthread.h>\n")
    tree.expect("src/locks/tatas.h:2: locks must not include pthread.h")


def test_machine_knows_no_encodings(tree):
    tree.write("src/machine/a.cc", LICENSE + "#include <Zydis/Zydis.h>\n")
    tree.expect("src/machine/a.cc:2: machine must not include")


def test_freestanding_library_reaches_no_container(tree):
    tree.write("src/vm/cpu/CMakeLists.txt",
               f"# SPDX-License-Identifier: Apache-2.0\nadd_library({LIBRARY} STATIC helpers.cc\n  ordering.cc)\n")
    tree.write("src/vm/cpu/helpers.cc", LICENSE + "#include <cstdint>\n")
    tree.write("src/vm/cpu/ordering.cc", LICENSE + '#include "vm/cpu/ordering.h"\n')
    tree.write("src/vm/cpu/ordering.h", LICENSE + "#include <bit>\n")
    assert tree.violations() == []
    tree.write("src/vm/cpu/ordering.h", LICENSE + "#include <bit>\n#include <vector>\n")
    tree.expect(f"src/vm/cpu/ordering.h:3: {LIBRARY} is freestanding and must not reach <vector>")


def test_freestanding_library_without_units(tree):
    tree.write("src/vm/cpu/CMakeLists.txt", "# SPDX-License-Identifier: Apache-2.0\nadd_library(other STATIC helpers.cc)\n")
    tree.expect(f"src/vm/cpu/CMakeLists.txt:1: does not list the units of {LIBRARY}")


def test_public_header_knows_no_source(tree):
    tree.write("include/elision/elision.h", LICENSE + '#include "abi/counters.h"\n')
    tree.expect("include/elision/elision.h:2: a public header")


def test_missing_license(tree):
    tree.write("src/base/plain.h", "#pragma once\n")
    tree.expect("src/base/plain.h:1: the SPDX line")
    (tree.root / "src/base/plain.h").unlink()
    tree.write("tools/demo", "#!/bin/bash\ntrue\n")
    tree.write("tools/README.md", "# x\n")
    tree.expect("tools/demo:1: the SPDX line")


def test_machine_path(tree):
    tree.write("src/base/path.h", LICENSE + '// see /home/somebody/notes\n')
    tree.expect("src/base/path.h:2: names a path")


def test_unfinished(tree):
    tree.write("src/base/later.h", LICENSE + "// TODO\n")
    tree.expect("src/base/later.h:2: says that it is unfinished")


def test_missing_readme(tree):
    (tree.root / "src/vm/README.md").unlink()
    tree.expect("src/vm:0: the folder has no README.md")


def test_link_to_a_page_that_is_not_there(tree):
    tree.write("docs/guide/run.md", "# elision run\n\nSee [vm](vm.md), [the web](https://example.org) and `[code](none.md)`.\n")
    tree.expect("docs/guide/run.md:3: links to vm.md, which does not exist")
    tree.write("docs/guide/vm.md", "# elision vm\n")
    assert tree.violations() == []


def test_link_to_a_heading_that_is_not_there(tree):
    tree.write("docs/guide/vm.md", "# elision vm\n\n## What `--vary N` shows\n\n```\n# not a heading\n```\n")
    tree.write("README.md", "[vary](docs/guide/vm.md#what---vary-n-shows)\n")
    assert tree.violations() == []
    tree.write("README.md", "\n[vary](docs/guide/vm.md#not-a-heading)\n")
    tree.expect("README.md:2: links to docs/guide/vm.md#not-a-heading, which has no such heading")


def test_file_that_is_not_there_named_in_a_page(tree):
    tree.write("docs/guide/vm.md", "# x\n\n`src/base/units.h`, `src/base/*.h`, `src/base` and `build/bin/elision`\n")
    assert tree.violations() == []
    tree.write("docs/guide/vm.md", "# x\n\n`src/base/unit.h`\n")
    tree.expect("docs/guide/vm.md:3: names src/base/unit.h, which does not exist")


def test_file_that_is_not_there_named_in_a_readme(tree):
    tree.write("src/vm/engine/README.md", "`engine.*` and `engine.cc` run over `machine/model.h`.\n")
    assert tree.violations() == []
    tree.write("src/vm/engine/README.md", "\n`threads.cc` schedules.\n")
    tree.expect("src/vm/engine/README.md:2: names threads.cc, which does not exist")


def test_page_that_is_not_there_named_in_code(tree):
    tree.write("src/base/units.h", LICENSE + "// docs/design/units.md says why; others/docs/design.md is not ours\n")
    tree.expect("src/base/units.h:2: names docs/design/units.md, which does not exist")
