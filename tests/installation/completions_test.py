# SPDX-License-Identifier: Apache-2.0
"""The completions, in the shells themselves: bash and zsh get keys through a terminal, fish is asked for what it would offer."""

import os
import pty
import re
import select
import shutil
import time

import pytest
from support import printed, run

FIRST, LAST = "\036", "\037"  # around a line that a shell reports
LIMIT_SECONDS = 60


class Terminal:
    """An interactive shell that reports the line it has, after all completions went into it."""

    def __init__(self, words, environment, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        self.seen = ""

    def send(self, text):
        os.write(self.terminal, text.encode())

    def report(self):
        """The next line that the shell reports."""
        end = time.monotonic() + LIMIT_SECONDS
        while (found := re.search(f"{FIRST}(.*?){LAST}", self.seen, re.S)) is None:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            assert ready, f"the shell says nothing; so far it printed {self.seen!r}"
            self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        self.seen = self.seen[found.end():]
        return re.sub(r"\r*\n", "", found[1])

    def close(self):
        os.close(self.terminal)  # hangs up
        os.waitpid(self.process, 0)


class Bash:
    name = "bash"
    beforehand = ""

    def __init__(self, build, environment, folder):
        (folder / ".rc").write_text(
            f"PS1=; {self.beforehand}source {build}/texts/elision.bash\n"
            "bind 'set enable-bracketed-paste off'; bind 'set completion-query-items 0'\n"
            "report() { printf '\\036%s\\037\\n' \"$READLINE_LINE\"; READLINE_LINE=; }\n"
            "bind '\"\\C-xa\": insert-completions'; bind -x '\"\\C-xs\": report'\n"
            "printf '\\036ready\\037\\n'\n")
        self.shell = Terminal(["bash", "--noprofile", "--rcfile", ".rc", "-i"], environment, folder)
        assert self.shell.report() == "ready"
        self.close = self.shell.close

    def offered(self, line):
        self.shell.send(f"{line}\x18a\x18s")
        return self.shell.report()[line.rfind(" ") + 1:].split()


class BashWithLibrary(Bash):
    """Behind "--" the library of Debian's package completes."""

    library = "/usr/share/bash-completion/bash_completion"
    beforehand = f"source {library}; "


class Zsh:
    name = "zsh"

    def __init__(self, build, environment, folder):
        (folder / ".zshrc").write_text(
            f"PS1=; unsetopt prompt_sp zle_bracketed_paste beep; unset zle_bracketed_paste; fpath=({build}/texts $fpath)\n"
            "autoload -U compinit; compinit -u -D; bindkey -e\n"
            "insert_all() { compstate[insert]=all; compstate[list]= }\n"
            "complete_all() { comppostfuncs=(insert_all); zle complete-word }\n"
            "report() { print -r -- $'\\036'$BUFFER$'\\037'; BUFFER= }\n"
            "zle -N complete_all; zle -N report; bindkey '^Xa' complete_all; bindkey '^Xs' report\n"
            "say_ready() { print -r -- $'\\036ready\\037'; zle -D zle-line-init }; zle -N zle-line-init say_ready\n")
        self.shell = Terminal(["zsh", "-i"], environment | {"ZDOTDIR": str(folder)}, folder)
        assert self.shell.report() == "ready"
        self.close = self.shell.close

    def offered(self, line):
        self.shell.send(f"{line}\x18a\x18s")
        words = self.shell.report()[line.rfind(" ") + 1:].split()
        # zsh does not repeat the beginning of a list.
        before = line[line.rfind(" ") + 1:line.rfind(",") + 1]
        return [word if word.startswith(before) else before + word for word in words]


class Fish:
    name = "fish"

    def __init__(self, build, environment, folder):
        self.build, self.environment, self.folder = build, environment, folder

    def offered(self, line):
        text = printed(["fish", "--no-config", "-c", f"source {self.build}/texts/elision.fish; complete -C '{line}'"],
                       base=self.environment, cwd=self.folder)
        return [row.split("\t")[0] for row in text.splitlines()]

    def close(self):
        pass


@pytest.fixture(scope="module", params=[Bash, BashWithLibrary, Zsh, Fish])
def shell(request, build, tmp_path_factory):
    if not shutil.which(request.param.name):
        pytest.skip(f"{request.param.name} is not installed")
    if request.param is BashWithLibrary and not os.path.exists(BashWithLibrary.library):
        pytest.skip("bash-completion is not installed")
    folder = tmp_path_factory.mktemp("shell")
    for name in ("own.toml", "own-folder.txt"):
        (folder / name).touch()
    (folder / "own-folder").mkdir()
    programs = tmp_path_factory.mktemp("programs")
    (programs / "own-program").write_text("#!/bin/sh\n")
    (programs / "own-program").chmod(0o755)
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    started = request.param(build, environment, folder)
    yield started
    started.close()


def words_of(shell, line):
    return {word.rstrip("=/,") for word in shell.offered(line)}


@pytest.mark.parametrize("line, words", [
    ("elision ru", {"run"}),
    ("elision help doc", {"doctor"}),
    ("elision run --wai", {"--wait"}),
    ("elision run --wait ", {"park", "spin"}),
    ("elision run --wait=s", {"--wait=spin"}),
    ("elision run --lock htm-10", {"htm-10", "htm-10-fb-aahtm"}),
    ("elision vm --seed 3 --lock ticket", {"ticket", "ticket-aahtm"}),
    ("elision compare --locks tic", {"ticket", "ticket-aahtm"}),
    ("elision compare --locks tatas,ticket-aahtm,tick", {"tatas,ticket-aahtm,ticket"}),
    ("elision vm --machine core-i7-47", {"core-i7-4770"}),
    ("elision vm --machine own.", {"own.toml"}),
    ("elision compare --machine nat", {"native"}),
    ("elision machines xeon-e7", {"xeon-e7-4830v4"}),
    ("elision vm --stats own.", {"own.toml"}),
    ("elision vm --stats-directory own", {"own-folder"}),
    ("elision run --lock tatas -- own-pro", {"own-program"}),
    ("elision run --lock tatas -- own-program own.", {"own.toml"}),
])
def test_words_are_offered(shell, line, words):
    assert words_of(shell, line) == words


@pytest.mark.parametrize("line", ["elision vm -- own-program --mach", "elision doctor --lock", "elision vm --seed par"])
def test_words_of_another_place_are_not_offered(shell, line):
    # A shell that finds nothing leaves the word as it is.
    assert words_of(shell, line) <= {line.split()[-1]}


def test_all_verbs_are_offered(shell, elision):
    verbs = set(re.findall(r"^  ([a-z]+) ", printed([elision.binary, "help"]), re.M)) - {"elision"}
    assert verbs <= words_of(shell, "elision ")


@pytest.mark.parametrize("verb", ["compare", "doctor", "machines", "run", "vm"])
def test_all_options_are_offered(shell, elision, verb):
    options = set(re.findall(r"^ +(?:-h,)?(--[a-z-]+)", printed([elision.binary, verb, "--help"]), re.M))
    assert words_of(shell, f"elision {verb} --") - {"--"} == options


def test_scripts_are_correct_to_their_shells(build):
    for name, file in (("bash", "elision.bash"), ("zsh", "_elision"), ("fish", "elision.fish")):
        if shutil.which(name):
            assert run([name, "-n", build / "texts" / file]).status == 0
