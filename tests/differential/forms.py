#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every form of instruction that the programs of the corpus executed occurs in random sequences, or is tested elsewhere.

    forms.py ELISION DIFFERENTIAL FOLDER [--count N]

FOLDER holds what tests/corpus/corpus.py --forms left there. The sequences are made from these forms, compared natively and
virtually, and counted; forms_elsewhere.toml says what cannot be had in them.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tomllib

import compare

HERE = pathlib.Path(__file__).resolve().parent


def read_forms(folder):
    """form -> bytes of an instruction that has it."""
    forms = {}
    for file in sorted(folder.glob("*.forms")):
        for line in file.read_text().splitlines():
            form, code = line.split("\t")
            forms.setdefault(form, code)
    return forms


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elision")
    parser.add_argument("differential")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000)
    options = parser.parse_args()
    met = read_forms(options.folder)
    if not met:
        sys.exit(f"{options.folder}: no forms; run the corpus first")
    examples = options.folder / "examples"
    examples.write_text("".join(f"{form}\t{code}\n" for form, code in sorted(met.items())))
    status = compare.run_all(options.elision, options.differential, seed=options.seed, count=options.count,
                             examples=examples)
    listed = subprocess.run([options.differential, "--seed", str(options.seed), "--count", str(options.count), "--examples",
                             examples, "--list-forms"], capture_output=True, text=True, check=True)
    elsewhere = [re.compile(pattern) for pattern in tomllib.loads((HERE / "forms_elsewhere.toml").read_text())]
    missing = met.keys() - set(listed.stdout.splitlines())
    open_ones = sorted(form for form in missing if not any(pattern.fullmatch(form) for pattern in elsewhere))
    for form in open_ones:
        print(f"in programs, but neither in sequences nor in forms_elsewhere.toml: {form} ({met[form]})")
    for pattern in elsewhere:
        if not any(pattern.fullmatch(form) for form in met):
            print(f"note: no program here needs {pattern.pattern} in forms_elsewhere.toml")
    print(f"{len(met)} forms in programs: {len(met) - len(missing)} in sequences, {len(missing) - len(open_ones)} elsewhere, "
          f"{len(open_ones)} nowhere")
    return 1 if status != 0 or open_ones else 0


if __name__ == "__main__":
    sys.exit(main())
