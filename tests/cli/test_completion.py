# SPDX-License-Identifier: Apache-2.0
"""Completions and manual pages know every option that --help knows, and what they offer is what the
commands take. Each completion is parsed by its own shell, and texts with quotes come through whole."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

SHELLS = ("bash", "zsh", "fish")
COMPLETE = """. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_rbwp "$1"; [ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\\n" "${COMPREPLY[@]}"
"""


def shell_or_skip(name):
    if not shutil.which(name):
        pytest.skip(f"no {name} here to parse the completion")
    return name


@pytest.fixture(scope="module")
def scripts(rbwp, shared):
    """{shell: the file of its completion}"""
    for shell in SHELLS:
        (shared / shell).write_bytes(rbwp("help", "--completion", shell).silent().out)
        assert (shared / shell).stat().st_size
    return {shell: shared / shell for shell in SHELLS}


@pytest.fixture(scope="module")
def commands(rbwp):
    """{name: summary} of --help."""
    found = dict(re.findall(r"^  ([a-z]*)  *([^ ].*)", rbwp("--help").text, re.M))
    assert len(found) > 10
    return found


@pytest.fixture(scope="module")
def summaries(commands):
    """Of those that completions describe."""
    return {name: text for name, text in commands.items() if not name.startswith(("help", "version"))}


@pytest.fixture(scope="module")
def offers(run, scripts):
    """What bash offers for the last word."""
    bash = shell_or_skip("bash")
    return lambda *words: run(bash, "-c", COMPLETE, "-", scripts["bash"], *words).lines


@pytest.mark.parametrize("shell", SHELLS)
def test_own_shell_parses_it(run, scripts, shell):
    run(shell_or_skip(shell), "-n", scripts[shell])


def test_fish_shows_the_summaries(run, scripts, summaries, work):
    """Summaries and help texts, as fish shows them, are those of --help."""
    script = f"source {scripts['fish']}; complete -C 'rbwp '; complete -C 'rbwp top --'"
    shown = run(shell_or_skip("fish"), "-c", script, env={"HOME": str(work)}).lines
    assert {f"{name}\t{text}" for name, text in summaries.items()} <= set(shown)


def test_zsh_offers_the_commands(scripts, summaries):
    assert sorted(re.findall(r"^ *'([a-z]*)\[.*\]' .$", scripts["zsh"].read_text(), re.M)) == sorted(summaries)


def test_texts_with_quotes(scripts, summaries):
    assert any("'" in text for text in summaries.values())
    assert any(line.endswith("seen_subcommand_from dump' -l help -s h -d 'show this help and exit'") for line in scripts["fish"].read_text().splitlines())


def test_bash_offers_the_commands(offers, commands):
    assert sorted(offers("rbwp", "")) == sorted(commands)


def test_options(rbwp, offers, scripts, commands):
    """Those of --help are in each completion, in help --man and in the manual page."""
    zsh, fish = scripts["zsh"].read_text(), scripts["fish"].read_text()
    for command in sorted(set(commands) - {"help", "version"}):
        options = set(re.findall(r"^ *(?:-., )? *(--[a-z0-9-]*)", rbwp(command, "--help").text, re.M))
        assert set(offers("rbwp", command, "--")) == options
        pages = rbwp("help", "--man", command).text, (pathlib.Path(os.environ["MAN"]) / f"rbwp-{command}.1").read_text()
        for option in options:
            assert all(re.search(rf"^\.It Fl (. , )?{option[1:]}( |$)", page, re.M) for page in pages), (command, option)
            assert f"'*{option}=" in zsh or f"'*{option}[" in zsh
            assert f"seen_subcommand_from {command}' -l {option[2:]} " in fish


def test_bash_offers_values(offers):
    assert offers("rbwp", "diff", "--by", "p") == ["p50", "p99"]
    assert offers("/usr/bin/rbwp-dump", "--nd") == ["--ndjson"]
    assert offers("rbwp", "dump", "--output", "x") == []  # where a file is wanted


def test_refused(rbwp):
    assert rbwp("help", "--completion", "tcsh", code=2).says("bash, zsh, fish").out == b""
    rbwp("help", "--man", "nothing", code=2)
