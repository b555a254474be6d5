# SPDX-License-Identifier: Apache-2.0
"""Wrong use: exit 2, one line on standard error with a hint, nothing on standard output. Help and version: standard output, exit 0. Guards
the conventions that scripts rely on."""
import os
import re
import shutil

import pytest


@pytest.fixture(scope="module")
def gaps(golden):
    return golden / "gaps.bin"


def wrong(command, text, *words):
    assert not command(*words, code=2).says(text, "--help").in_one_line().out


def test_commands(rbwp, gaps):
    """No word is suggested that nobody meant; a file in the place of a command is distinguished from a misspelt one."""
    wrong(rbwp, "no command given")
    wrong(rbwp, "unknown command 'dmp', did you mean 'dump'?", "dmp")
    wrong(rbwp, f"'{gaps}' is a file, a command comes first: rbwp info '{gaps}' tells what is in it", gaps)
    wrong(rbwp, "unknown command 'nothing' (", "nothing")


def test_no_file(rbwp, rbwp_dump):
    wrong(rbwp, "no FILE given", "dump")
    wrong(rbwp_dump, "no FILE given")
    wrong(rbwp, "no FILE given (see", "archive")
    wrong(rbwp, "no FILE given", "info", "--json")


def test_options(rbwp, rbwp_dump, gaps):
    wrong(rbwp_dump, "rbwp-dump: unknown option '--sapns', did you mean '--spans'?", "--sapns", gaps)
    wrong(rbwp, "rbwp dump: unknown option '-x'", "dump", "-x", gaps)
    wrong(rbwp_dump, "unknown option '--json'", "--json", gaps)
    wrong(rbwp, "unknown option '--sort' (", "timeline", "--sort", gaps)
    wrong(rbwp_dump, "option '--spans' takes no value", "--spans=1", gaps)
    wrong(rbwp_dump, "option '--from' needs a value: TIME", gaps, "--from")
    wrong(rbwp_dump, "option '-o' needs a value: FILE", gaps, "-o")
    wrong(rbwp_dump, "--min-duration needs --spans", "--min-duration", "1us", gaps)
    for command, table in (("processes", "processes"), ("info", "files"), ("tables", "tables"), ("check", "files"), ("repair", "files")):
        wrong(rbwp, "--csv does not go with --json", command, "--csv", table, "--json", gaps)
    wrong(rbwp, "--csv and --quiet exclude each other", "check", "--csv", "files", "--quiet", gaps)


def test_times(rbwp_dump, gaps):
    for time in ("x", "1.5", "+1.0000000001s", "5m", "-x", "+", "-", "99999999999999999999", "9999999999s", "1e3"):
        wrong(rbwp_dump, f"--from '{time}'", "--from", time, gaps)


def test_values_of_options(rbwp, rbwp_dump, gaps):
    wrong(rbwp_dump, "--slot '256' is no slot", "--slot", "256", gaps)
    wrong(rbwp_dump, "--kind 'cores' is no kind", "--kind", "cores", gaps)
    wrong(rbwp_dump, "--kind '' is no kind", "--kind=", gaps)
    wrong(rbwp_dump, "--thread '' is empty", "--thread=", gaps)
    wrong(rbwp, "--color 'red' is none of auto, always, never", "processes", "--color", "red", gaps)
    for command in ("processes", "info", "check", "repair"):
        wrong(rbwp, "--csv: 'trees' is no table that --json has", command, "--csv", "trees", gaps)


def helps(command, *words):
    text = command(*words).silent().text
    assert re.search("^Usage: ", text, re.M)
    assert all(len(line.encode()) <= 100 for line in text.splitlines())
    return text


def test_help(rbwp, rbwp_dump, gaps):
    for words in (["--help"], ["help"], ["-h"], ["dump", "--help"], ["help", "dump"], ["info", "--help"]):
        helps(rbwp, *words)
    helps(rbwp_dump, "--help")
    helps(rbwp_dump, "-h", gaps)


@pytest.mark.parametrize("command, words", [
    ("export", "chrome csv firefox folded kineto legion ndjson npz parquet perfetto speedscope sqlite tsv"),
    ("merge", "auto clocks monotonic zero realtime messages start"), ("stats", "slot sub-item thread node gpu kernel range counter message stack arg:")])
def test_help_has_the_words_that_an_option_takes(rbwp, command, words):
    assert f" {words} " in " ".join(helps(rbwp, command, "--help").split()) + " "


@pytest.mark.parametrize("command", ["export", "merge"])
def test_filters_in_the_help(rbwp, command):
    """They have no --to that is a format."""
    text = helps(rbwp, command, "--help")
    assert sum(" --to " in line for line in text.splitlines()) == 1
    assert re.search("--until TIME  *before TIME", text)


def test_version(rbwp, rbwp_dump):
    for done in rbwp("--version"), rbwp("version"), rbwp("dump", "--version"), rbwp_dump("--version"):
        assert re.fullmatch("rbwp [0-9]+\\.[0-9]+\\.[0-9]+\n", done.text)


def test_end_of_options(rbwp_dump, gaps, work):
    """"--" ends them, and options may follow operands."""
    shutil.copy(gaps, work / "--spans")
    assert '"file":"--spans"' in rbwp_dump("--", "--spans", cwd=work).text
    assert rbwp_dump(gaps, "--ndjson").text.startswith('{"file":')


def test_nothing_depends_on_the_locale(rbwp, gaps):
    assert rbwp("info", gaps, env={"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"}).out == rbwp("info", gaps).out


@pytest.mark.parametrize("command", ["dump", "export", "info"])
def test_every_option_is_in_the_manual(rbwp, command):
    with open(os.path.join(os.environ["MAN"], f"rbwp-{command}.1")) as file:
        manual = file.read()
    options = set(re.findall("--[a-z0-9-]*", rbwp(command, "--help").text))
    assert options
    for option in options:
        assert re.search(f"^\\.It Fl (. , )?{option[1:]}( |$)", manual, re.M), option
