# SPDX-License-Identifier: Apache-2.0
"""Describes a machine by a record (repro/describe.py): runs the probes on virtual machines with the values that the search tries."""

import dataclasses
import pathlib
import tempfile

import describe
import host
import recording
import silicon

ROOT = pathlib.Path(__file__).resolve().parents[1]


def machine_path(name):
    """The file of a built-in machine, or of one named by its path."""
    return recording.file_of(name) or ROOT / "machines" / f"{name}.toml"


def check_file(build, path):
    """Fails unless the loader takes the file."""
    host.run([build / "bin/elision", "machines", path.resolve()])


@dataclasses.dataclass
class Description:
    """What a record says of a machine."""

    record: dict
    name: str  # of the record
    facts: dict
    chosen: list
    found: dict
    base: dict  # entries before the search

    def entries(self):
        return describe.with_found(self.base, self.chosen, self.found, self.record, self.name)

    def text(self, like):
        return describe.render(self.entries(), [
            f"Written by tools/describe-machine from the micro-probes of record {self.name}, like {like}; never edited.",
            f"Other sources, with their keys, are those of {like}."])

    def table(self):
        lines = []
        for row in self.chosen:
            one = self.found[row.parameter]
            target = row.figure.of_record(self.record)
            if one.slope is None:
                continue
            best, *ends = (describe.toml_value(describe.value_in_units(row.parameter, units))
                           for units in (one.value, *(() if row.words else describe.interval(row, one, target))))
            ends = " ({} to {})".format(*ends) if ends else ""
            state = "" if one.agrees else "  DIFFERS"
            lines.append(f"{row.parameter:42} {best}{ends}  from {row.figure}: {target[1]:g}, virtual {one.figure:g}{state}")
        lines += ["", "Not determined, as in the machine that the search started from:"]
        lines += [f"  {field}: {why}" for field, why in describe.undetermined(self.base, self.chosen, self.found, self.facts)]
        return lines


def describe_record(build, record, name, like, wanted=None, say=lambda text: None):
    """The Description; `wanted`: parameters, or None for all that the record determines."""
    entries = describe.entries_of(like)
    facts = describe.facts_of(record, entries)
    base = describe.with_facts(entries, facts, name)
    chosen = [row for row in describe.chosen_rows(record) if wanted is None or row.parameter in wanted]
    programs = {job.name: job for job in silicon.plan(False)}
    shown = {}  # (job, arguments, values): what the probe printed

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "machine.toml"

        def run(job, arguments, values):
            values = describe.consistent({field: describe.value_in_units(field, units) for field, units in values.items()}, base)
            key = (job, arguments, tuple(values.items()))
            if key not in shown:
                # A file, since values set one by one on the command line must be consistent after each of them.
                path.write_text(describe.render({**base, **{field: {"value": value, "source": "tried"}
                                                            for field, value in values.items()}}, []))
                target = recording.VirtualMachine(build, str(path))
                words = target.words(0, programs[job].program, *(programs[job].arguments if arguments is None else arguments))
                shown[key] = silicon.printed_values(host.run(words).stdout)
            return shown[key]

        start = {row.parameter: describe.units_of(row.parameter, describe.value_of(base[row.parameter])) for row in chosen}
        found = describe.fit(chosen, record, start, run, lambda turn, group: say(
            f"pass {turn + 1}: {group[0].figure.job}, for {', '.join(row.parameter for row in group)}"))
    return Description(record, name, facts, chosen, found, base)
