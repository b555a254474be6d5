#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arrows.py SOURCE BUILD - a wrong include does not compile.

For each folder, takes the command by which one of its files is really compiled, and compiles with
it, in that folder, a single #include of each header of each other folder. It must work for the
installed headers of the folders that the arrow allows, and for no others.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

# tools -> format <- runtime <- gpu
ARROWS = {"format": set(), "runtime": {"format"}, "tools": {"format"}, "gpu": {"format", "runtime"}}


def compile_flags(folder, build):
    """The command of any file of the folder, without its input and outputs."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]).parent != folder:
            continue
        words = shlex.split(entry["command"])
        while "-o" in words:
            at = words.index("-o")
            del words[at : at + 2]
        return [word for word in words if word not in ("-c", entry["file"])]
    sys.exit(f"compile_commands.json has no file of {folder}")


def compiles(flags, folder, header):
    """Whether #include "header" gets that header; one of the system's of the same name is none."""
    run = subprocess.run(
        flags + ["-Wno-unused", "-fsyntax-only", "-H", "-x", "c", "-"],
        cwd=folder, input=f'#include "{header.name}"\n', capture_output=True, text=True,
    )
    found = re.search(r"^\. (.*)", run.stderr, re.M)  # -H: the first file that is included
    if not found or not pathlib.Path(found[1]).resolve() == header:
        return False
    if run.returncode:
        sys.exit(f"{folder}: {header} is found but does not compile:\n{run.stderr}")
    return True


def paths_out_of_the_folder(folder):
    """Includes that go round the include path."""
    for file in folder.rglob("*.[ch]"):
        for line in re.findall(r'^\s*#\s*include\s*["<].*/.*', file.read_text(), re.M):
            if re.search(r'["<](\.\./|/|format/|runtime/|tools/|gpu/)', line):
                yield f"{file}: {line}"


def main(source, build):
    source, build = pathlib.Path(source).resolve(), pathlib.Path(build)
    wrong, tried = [], 0
    for name, allowed in ARROWS.items():
        folder = source / name
        flags = compile_flags(folder, build)
        wrong += paths_out_of_the_folder(folder)
        for other in ARROWS.keys() - {name}:
            for header in sorted((source / other).glob("*.h")):
                should = other in allowed and header.name.startswith("rbwp_")
                tried += 1
                if compiles(flags, folder, header) != should:
                    wrong.append(f"{name}/ including {other}/{header.name}: "
                                 f"should {'' if should else 'not '}compile")
    print(f"{tried} includes tried")
    sys.exit("\n".join(wrong) or 0)


main(*sys.argv[1:])
