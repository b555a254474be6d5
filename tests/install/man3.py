#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""man3.py INCLUDE PAGE... - the synopses of the pages of section 3 are what the headers declare.

Guards: a page that shows a call which is gone or has other parameters, and a call of its header that
it does not show. (Forms of a call for special callers, NAME_sized and NAME_at, are the header's.)
"""
import pathlib
import re
import sys

OTHERS = {"rbwp_record.h": {"rbwp_ticks_per_second", "rbwp_ticks_from_ns", "rbwp_ns_from_ticks", "rbwp_now_ns",
                            "rbwp_now_ticks"}}  # the page names what a program calls that just records


def form(text):
    return " ".join(re.findall(r"\w+|[^\w\s]", text))


def declared(header):
    """{name: declaration} of its calls."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    text = text.partition("#else /* RBWP_DISABLE")[0]
    calls = {}
    for kind, name, parameters in re.findall(
            r"(?:RBWP_API|RBWP_DEV_FN_|static inline)\s+(?:RBWP_MUST_USE\s+)?([\w ]+?[\s*]+)(rbwp_\w+)\s*\(([^;{]*?)\)\s*[;{]", text):
        if not name.endswith("_"):
            calls[name] = form(f"{kind}{name}({parameters})")
    return calls


def shown(page):
    """(header, {name: declaration}) of the synopsis."""
    synopsis = page.read_text().partition(".Sh SYNOPSIS\n")[2].partition("\n.Sh ")[0]
    header = re.search(r"^\.In (\S+)", synopsis, re.M)[1]
    calls = {}
    for kind, line in re.findall(r"^\.Ft (.*)\n\.Fn (.*)", synopsis, re.M):
        name, *parameters = [quoted or word for quoted, word in re.findall(r'"([^"]*)"|(\S+)', line)]
        calls[name] = form(f"{kind.strip(chr(34))} {name}({', '.join(parameters)})")
    return header, calls


def main(include, *pages):
    wrong = []
    for page in map(pathlib.Path, pages):
        header, calls = shown(page)
        have = declared(pathlib.Path(include) / header)
        wrong += [f"{page.name}: {name}: '{calls[name]}' is '{have.get(name, 'not declared')}' in {header}"
                  for name in calls if calls[name] != have.get(name)]
        missing = have.keys() - calls.keys() - OTHERS.get(header, set())
        wrong += [f"{page.name}: does not show {name}" for name in missing if not re.search(r"_(sized|at)$", name)]
    if len(pages) < 6:
        wrong.append(f"only {len(pages)} pages")
    sys.exit("\n".join(wrong) or 0)


main(*sys.argv[1:])
