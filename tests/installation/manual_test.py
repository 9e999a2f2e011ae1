# SPDX-License-Identifier: Apache-2.0
"""The manual pages: understood by man without a warning, and true to the command's own help."""

import re
import shlex
import shutil

import pytest
from support import printed, run

PAGES = ("elision", "elision-compare", "elision-doctor", "elision-machines", "elision-run", "elision-vm")
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]


@pytest.fixture(params=PAGES)
def page(request, build):
    return build / "texts" / f"{request.param}.1"


def verb_of(page):
    return page.stem.removeprefix("elision-")


def shown(page):
    """What man prints, without bold letters."""
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    text = printed(["groff", "-man", "-Tascii", "-P-c", "-rLL=400n", page])
    return re.sub(r".\x08", "", text)


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


@pytest.mark.parametrize("command", [["groff", "-ww", "-man", "-z"], ["man", "--warnings", "-l"], ["mandoc", "-Tlint", "-Wwarning"]],
                         ids=lambda command: command[0])
def test_page_has_no_warnings(page, command):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    ending = run([*command, page], environment={"LC_ALL": "C.UTF-8"})
    assert (ending.status, ending.stderr) == (0, "")
    assert command[0] != "mandoc" or ending.stdout == ""


def test_page_of_a_verb_has_all_sections(page):
    sections = re.findall(r"^\.SH (.*)", page.read_text(), re.M)
    if page.stem == "elision":
        assert [name for name in SECTIONS if name != "OPTIONS"] == [name for name in sections if name not in ("VERBS", "ENVIRONMENT")]
    else:
        assert sections == SECTIONS


def test_options_of_the_page_are_those_of_help(elision, page):
    if page.stem == "elision":
        pytest.skip("no verb")
    of_help = set(re.findall(r"^ +(?:-h,)?(--[a-z-]+)", printed([elision.binary, verb_of(page), "--help"]), re.M))
    section = shown(page).split("\nOPTIONS\n")[1].split("\nEXIT STATUS\n")[0]
    of_page = set(re.findall(r"^ {7}(?:-h, )?(--[a-z-]+)", section, re.M))
    assert of_page == of_help


def test_examples_use_options_that_exist(elision, page):
    section = shown(page).split("\nEXAMPLES\n")[1].split("\nSEE ALSO\n")[0]
    commands = re.findall(r"^ +(elision .*)", section, re.M)
    assert commands
    for command in commands:
        words = shlex.split(command)
        own = words[2:words.index("--")] if "--" in words else words[2:]
        assert options_in(" ".join(own)) <= options_in(printed([elision.binary, words[1], "--help"])), command


def test_main_page_lists_every_verb(elision, build):
    verbs = set(re.findall(r"^  ([a-z]+) ", printed([elision.binary, "help"]), re.M)) - {"elision"}
    listed = shown(build / "texts" / "elision.1").split("\nVERBS\n")[1].split("\nEXIT STATUS\n")[0]
    assert set(re.findall(r"^ {7}([a-z]+)", listed, re.M)) == verbs
    assert len(verbs) > 4
