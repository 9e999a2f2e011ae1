# SPDX-License-Identifier: Apache-2.0
"""Reads what the probes print and lays it beside figures of real machines. Pure."""


def parse(output):
    """{"name": [numbers]} of lines "name: number number"."""
    values = {}
    for line in output.splitlines():
        name, colon, rest = line.partition(":")
        if colon:
            try:
                values[name.strip()] = [float(word) for word in rest.split()]
            except ValueError:
                continue
    return values


def measured(figure, values):
    """The numbers that a figure of hardware.toml is about: all that the probe prints under the name, or the one at
    the position given; None if it printed none."""
    name, *position = figure["measures"]
    found = values.get(name)
    if not found:
        return None
    return [found[position[0]]] if position else found


def format_range(low, high):
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def table(figures, values_by_probe):
    """Lines: what is measured, on the virtual machine, on a real one, and which real one."""
    lines = ["  " + "probe".ljust(46) + "virtual".rjust(16) + "real".rjust(16) + "  measured on"]
    for figure in figures:
        numbers = measured(figure, values_by_probe.get(figure["probe"], {}))
        shown = format_range(min(numbers), max(numbers)) if numbers else "not measured"
        name, *position = figure["measures"]
        label = f"{figure['probe']}: {name}" + (f", CPU {position[0]}" if position else "")
        real = format_range(figure["low"], figure["high"])
        lines.append("  " + label.ljust(46) + shown.rjust(16) + real.rjust(16) + f"  {figure['machine']}")
    return lines
