#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flags.py COMPILER SOURCE PREFIX - the FLAGS of the manual pages say what the library does.

They have every flag of the tables in the source and no other. The ends of the values that they give
are taken, what lies beyond them is refused, and their default changes nothing.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PAGES = ("rbwp_session.3", "rbwp_work.3")
TABLES = ("runtime/flags/flag_tables.c",)
# What 0 in the session config stands for.
OWN = ("runtime/record/drain/session_config.c", "format/failure.c", "runtime/record/base/settings_file.c")
# What 0 in the work config stands for is known to the manager alone.
WORK_DEFAULTS = {"bgwork": ("work.workers", "WORKERS_DEFAULT"), "bgspin": ("work.spin_ns", "SPIN_DEFAULT_NS"),
                 "bgslice": ("work.slice_ns", "SLICE_DEFAULT_NS")}


def rows(page):
    """(name, values, default) of each flag of a page: the line below its name has both, or only the default of a text."""
    flag = r"^\.It Fl (bg\w+) Ar .*\n(?:Values (.+); default|Default) (.+)\.$"
    found = re.findall(flag, page, re.M)
    assert len(found) == page.count("\n.It Fl bg"), f"flags without a line of values: {page.count(chr(10) + '.It Fl bg') - len(found)}"
    return [(name, values or "text", default) for name, values, default in found]


def ends(values):
    """First and last of '0, 1, 2' or '1..9'; None for what is not a number."""
    numbers = [int(n) for n in re.findall(r"\d+", values)]
    listed = re.fullmatch(r"\d+(, \d+)+", values)
    if listed and numbers == list(range(numbers[0], numbers[-1] + 1)) or re.fullmatch(r"\d+\.\.\d+", values):
        return numbers[0], numbers[-1]
    return None


def main(compiler, source, prefix):
    source, prefix = pathlib.Path(source), pathlib.Path(prefix)
    table = [row for page in PAGES for row in rows((source / "docs/man" / page).read_text())]
    wrong = []
    environment = {k: v for k, v in os.environ.items() if k != "RBWP_FLAGS"}
    with tempfile.TemporaryDirectory() as work:
        own = [source / file for file in OWN]
        subprocess.run([compiler, "-D_GNU_SOURCE", "-I", prefix / "include", "-I", source / "format/include",
                        "-I", source / "runtime/record/include", "-I", source / "runtime/record/base/include", "-I", source / "runtime/record/drain/include", "flags.c", *own, prefix / os.environ["LIBDIR"] / "librbwp.a",
                        "-lz", "-pthread", "-o", f"{work}/flags"], check=True)

        def config(*words):
            """What these flags make; None if they are refused."""
            run = subprocess.run([f"{work}/flags", *words], capture_output=True, text=True, env=environment)
            return None if run.returncode else dict(line.split(" ", 1) for line in run.stdout.splitlines())

        in_source = [name for file in TABLES for name in re.findall(r'\{"(\w+)", FLAG_', (source / file).read_text())]
        in_pages = [name for name, _, _ in table]
        if sorted(in_source) != sorted(in_pages) or len(in_source) < 16:
            wrong.append(f"flags of the source {sorted(in_source)}, of the pages {sorted(in_pages)}")
        manager = (source / "runtime/work/work.c").read_text()
        for name, values, default in table:
            flag, plain = f"-{name}", config()
            if range_ := ends(values):
                low, high = range_
                made = [config(flag, str(low)), config(flag, str(high))]
                if None in made or config(flag, str(low - 1)) or config(flag, str(high + 1)):
                    wrong.append(f"{flag}: {values} are not just the values that are taken")
                elif made[0] == made[1]:
                    wrong.append(f"{flag} changes nothing that flags.c shows")
            elif values != "text":
                wrong.append(f"{flag}: values '{values}'")
            if name in WORK_DEFAULTS:
                field, macro = WORK_DEFAULTS[name]
                value = int(re.search(rf"#define {macro} (?:UINT64_C\()?(\d+)", manager)[1])
                if int(config(flag, default)[field]) != value or plain[field] != "0":
                    wrong.append(f"{flag}: the default is not {default}")
            elif re.fullmatch(r"\d+|\S+\.bin", default):
                if config(flag, default) != plain:
                    wrong.append(f"{flag}: the default is not {default}")
            elif default not in ("the launcher's, else 0", "the system's", "while it records", "none", "all", "60s"):
                wrong.append(f"{flag}: default '{default}'")
    sys.exit("\n".join(wrong) or 0)


main(*sys.argv[1:])
