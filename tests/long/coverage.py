#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage.py SOURCE BUILD [FILE...]: lines of format, runtime, gpu and tools that were executed, by folder. BUILD is one
with gcc's --coverage, whose programs have run. FILE: the lines of those that were not."""
import collections
import json
import pathlib
import subprocess
import sys


def lines_of(source, build):
    """{path: {line: how often}} of all objects; what is compiled more than once was executed where one was."""
    counts = collections.defaultdict(collections.Counter)
    notes = [str(path) for path in build.rglob("*.gcno")]
    for at in range(0, len(notes), 50):
        done = subprocess.run(["gcov", "--json-format", "--stdout", *notes[at : at + 50]], capture_output=True, text=True, cwd=build, check=True)
        for text in done.stdout.splitlines():
            for file in json.loads(text)["files"]:
                path = pathlib.Path(build, file["file"]).resolve()
                if source in path.parents and path.relative_to(source).parts[0] in ("format", "runtime", "gpu", "tools"):
                    for line in file["lines"]:
                        counts[str(path.relative_to(source))][line["line_number"]] += line["count"]
    return counts


def main(source, build, *files):
    counts = lines_of(pathlib.Path(source).resolve(), pathlib.Path(build).resolve())
    if files:
        for path in files:
            print(path, *(line for line, count in sorted(counts[path].items()) if not count))
        return
    rooms = collections.defaultdict(lambda: [0, 0])
    for path, lines in counts.items():
        parts = path.split("/")
        for name in (parts[0] if len(parts) < 3 or parts[1] == "include" else "/".join(parts[:2]), "all"):
            rooms[name][0] += len(lines)
            rooms[name][1] += sum(count > 0 for count in lines.values())
    print("| folder | lines | executed | % |\n|---|---|---|---|")
    for name, (total, executed) in sorted(rooms.items()):
        print(f"| {name} | {total} | {executed} | {100 * executed / total:.1f} |")


main(*sys.argv[1:])
