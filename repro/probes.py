# SPDX-License-Identifier: Apache-2.0
"""Reads what the probes print. Pure."""


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
