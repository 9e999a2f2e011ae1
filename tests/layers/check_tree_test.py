#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeds one violation at a time into a small clean tree and expects exactly that one to be found."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_tree

LICENSE = "// SPDX-License-Identifier: Apache-2.0\n"


class CheckTree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for part in ("base", "machine", "vm", "vm/cpu", "vm/engine", "locks", "cli", "cli/experiment", "cli/judge"):
            self.write(f"src/{part}/README.md", "# x\n")
        self.write("src/base/units.h", LICENSE)
        self.write("src/machine/model.h", LICENSE + '#include "base/units.h"\n')
        self.write("src/vm/engine/engine.cc", LICENSE + '#include <vector>\n#include "machine/model.h"\n')
        self.write("src/cli/vm.cc", LICENSE + '#include "vm/engine/engine.h"\n#include "cli/verbs.h"\n')

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def found(self):
        return [f"{path}:{line}: {what}" for path, line, what in check_tree.violations(self.root)]

    def assert_found(self, start):
        found = self.found()
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(start), found)

    def test_clean_tree_is_clean(self):
        self.assertEqual(self.found(), [])

    def test_every_arrow_against_the_grain_is_found(self):
        for part, allowed in check_tree.LAYERS.items():
            for other in set(check_tree.LAYERS) - allowed - {part}:
                with self.subTest(part=part, other=other):
                    for folder in [part, *map(str, pathlib.PurePath(part).parents)][:-1]:
                        self.write(f"src/{folder}/README.md", "# x\n")
                    self.write(f"src/{part}/seeded.h", LICENSE + f'#include "{other}/x.h"\n')
                    self.assert_found(f"src/{part}/seeded.h:2: {part} must not include {other}/x.h")
                    (self.root / f"src/{part}/seeded.h").unlink()

    def test_print_past_the_console_is_found(self):
        self.write("src/cli/run.cc", LICENSE + 'void f() {\n  fmt::print(stderr, "x");\n}\n')
        self.assert_found("src/cli/run.cc:3: prints past src/cli/host/console.cc")

    def test_experiment_knows_neither_verbs_nor_judges(self):
        self.write("src/cli/judge/verdict.h", LICENSE + '#include "cli/experiment/sample.h"\n')
        self.write("src/cli/compare.cc", LICENSE + '#include "cli/judge/verdict.h"\n')
        self.assertEqual(self.found(), [])
        for target in ("cli/judge/verdict.h", "cli/verbs.h"):
            self.write("src/cli/experiment/execute.cc", LICENSE + f'#include "{target}"\n')
            self.assert_found(f"src/cli/experiment/execute.cc:2: cli/experiment must not include {target}")

    def test_arrows_have_no_circle(self):
        for part, allowed in check_tree.LAYERS.items():
            for other in allowed:
                self.assertNotIn(part, check_tree.LAYERS[other])

    def test_unknown_part(self):
        self.write("src/extra/README.md", "# x\n")
        self.write("src/extra/x.h", LICENSE)
        self.assert_found("src/extra/x.h:1: part 'extra'")

    def test_file_of_a_part_with_rooms_lies_in_one(self):
        self.write("src/vm/engine.cc", LICENSE)
        self.assert_found("src/vm/engine.cc:1: part 'vm'")

    def test_include_of_a_file_in_no_room(self):
        self.write("src/vm/engine/a.cc", LICENSE + '#include "vm/engine.h"\n')
        self.assert_found("src/vm/engine/a.cc:2: vm/engine must not include vm/engine.h")

    def test_locks_know_no_pthreads(self):
        self.write("src/locks/tatas.h", LICENSE + "#include <pthread.h>\n")
        self.assert_found("src/locks/tatas.h:2: locks must not include pthread.h")

    def test_machine_knows_no_encodings(self):
        self.write("src/machine/a.cc", LICENSE + "#include <Zydis/Zydis.h>\n")
        self.assert_found("src/machine/a.cc:2: machine must not include")

    def test_freestanding_library_reaches_no_container(self):
        self.write("src/vm/cpu/CMakeLists.txt", "# SPDX-License-Identifier: Apache-2.0\nadd_library(elision_vm_light STATIC light_path.cc\n  ordering.cc)\n")
        self.write("src/vm/cpu/light_path.cc", LICENSE + "#include <cstdint>\n")
        self.write("src/vm/cpu/ordering.cc", LICENSE + '#include "vm/cpu/ordering.h"\n')
        self.write("src/vm/cpu/ordering.h", LICENSE + "#include <bit>\n")
        self.assertEqual(self.found(), [])
        self.write("src/vm/cpu/ordering.h", LICENSE + "#include <bit>\n#include <vector>\n")
        self.assert_found("src/vm/cpu/ordering.h:3: elision_vm_light is freestanding and must not reach <vector>")

    def test_freestanding_library_without_units(self):
        self.write("src/vm/cpu/CMakeLists.txt", "# SPDX-License-Identifier: Apache-2.0\nadd_library(other STATIC light_path.cc)\n")
        self.assert_found("src/vm/cpu/CMakeLists.txt:1: does not list the units of elision_vm_light")

    def test_public_header_knows_no_source(self):
        self.write("include/elision/elision.h", LICENSE + '#include "abi/counters.h"\n')
        self.assert_found("include/elision/elision.h:2: a public header")

    def test_missing_license(self):
        self.write("src/base/plain.h", "#pragma once\n")
        self.assert_found("src/base/plain.h:1: the SPDX line")
        (self.root / "src/base/plain.h").unlink()
        self.write("tools/demo", "#!/bin/bash\ntrue\n")
        self.write("tools/README.md", "# x\n")
        self.assert_found("tools/demo:1: the SPDX line")

    def test_machine_path(self):
        self.write("src/base/path.h", LICENSE + '// see /home/somebody/notes\n')
        self.assert_found("src/base/path.h:2: names a path")

    def test_unfinished(self):
        self.write("src/base/later.h", LICENSE + "// TODO\n")
        self.assert_found("src/base/later.h:2: says that it is unfinished")

    def test_missing_readme(self):
        (self.root / "src/vm/README.md").unlink()
        self.assert_found("src/vm:0: the folder has no README.md")

    def test_link_to_a_page_that_is_not_there(self):
        self.write("docs/guide/run.md", "# elision run\n\nSee [vm](vm.md), [the web](https://example.org) and `[code](none.md)`.\n")
        self.assert_found("docs/guide/run.md:3: links to vm.md, which does not exist")
        self.write("docs/guide/vm.md", "# elision vm\n")
        self.assertEqual(self.found(), [])

    def test_link_to_a_heading_that_is_not_there(self):
        self.write("docs/guide/vm.md", "# elision vm\n\n## What `--vary N` shows\n\n```\n# not a heading\n```\n")
        self.write("README.md", "[vary](docs/guide/vm.md#what---vary-n-shows)\n")
        self.assertEqual(self.found(), [])
        self.write("README.md", "\n[vary](docs/guide/vm.md#not-a-heading)\n")
        self.assert_found("README.md:2: links to docs/guide/vm.md#not-a-heading, which has no such heading")

    def test_file_that_is_not_there_named_in_a_page(self):
        self.write("docs/guide/vm.md", "# x\n\n`src/base/units.h`, `src/base/*.h`, `src/base` and `build/bin/elision`\n")
        self.assertEqual(self.found(), [])
        self.write("docs/guide/vm.md", "# x\n\n`src/base/unit.h`\n")
        self.assert_found("docs/guide/vm.md:3: names src/base/unit.h, which does not exist")

    def test_file_that_is_not_there_named_in_a_readme(self):
        self.write("src/vm/engine/README.md", "`engine.*` and `engine.cc` run over `machine/model.h`.\n")
        self.assertEqual(self.found(), [])
        self.write("src/vm/engine/README.md", "\n`threads.cc` schedules.\n")
        self.assert_found("src/vm/engine/README.md:2: names threads.cc, which does not exist")

    def test_page_that_is_not_there_named_in_code(self):
        self.write("src/base/units.h", LICENSE + "// docs/design/units.md says why; others/docs/design.md is not ours\n")
        self.assert_found("src/base/units.h:2: names docs/design/units.md, which does not exist")


if __name__ == "__main__":
    unittest.main()
