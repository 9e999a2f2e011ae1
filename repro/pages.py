# SPDX-License-Identifier: Apache-2.0
"""Numbers and tables of the pages that hold the virtual machine against other machines. Pure."""


def number_text(value):
    """Three digits, but whole numbers whole: 0.125, 12.3, 252, 1250."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(head, rows):
    """Markdown, all columns left-aligned."""
    return [line_of(head), "|---|" + "---|" * (len(head) - 1), *map(line_of, rows)]


def line_of(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
