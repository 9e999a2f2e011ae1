# SPDX-License-Identifier: Apache-2.0
"""Which random sequences the tests take, and how many."""

import pathlib


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=5, metavar="N", help="the seed of random sequences")
    parser.addoption("--count", type=int, default=1000, metavar="N", help="how many random sequences")
    parser.addoption("--forms", type=pathlib.Path, metavar="FOLDER", help="forms of instructions that the corpus met")
