#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What documents and Python say of the known tables, from the lists of their columns in this folder.

tables.py write   puts it into SPEC.md (appendix A), docs/man/rbwp-tables.1 and python/rbwp/tables.py, and a new one into known_tables.h
tables.py check   exit status 1 where they say something else"""
import pathlib
import re
import sys
import textwrap
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ROLES = {"NONE": "", "START": "start", "STOP": "stop", "TRACK": "track", "LABEL": "name", "LINK_FROM": "key of a link that leaves",
         "LINK_TO": "key of a link that arrives", "COUNTER": "value of a counter", "START_BOUND": "bound on the start",
         "STOP_BOUND": "bound on the stop", "THREAD": "thread", "ID": "id of the row", "PARENT": "row that encloses it",
         "CATEGORY": "category", "LINK_KIND": "kind of link", "ITEM": "work item", "ARGUMENT": "argument"}
COLUMN = re.compile(r'COLUMN\((\w+), (\w+), (\w+), (\w+), "(\w*)", (\d+), "((?:[^"\\]|\\.)*)"\)')


class Column(NamedTuple):
    name: str
    type: str
    role: str
    unit: str
    since: int
    meaning: str


class Table(NamedTuple):
    name: str
    summary: str
    version: int
    columns: list


def read(path):
    text, name = path.read_text(), path.stem
    found = COLUMN.findall(text)
    version = int(re.search(rf"^#define VERSION_{name} (\d+)$", text, re.M)[1])
    columns = [Column(column, kind.lower(), role, unit, int(since), meaning) for _, column, kind, role, unit, since, meaning in found]
    if len(columns) != text.count("COLUMN(") or {one[0] for one in found} != {name} or version != max(c.since for c in columns):
        sys.exit(f"{path.name}: a column is not of this table or of its version, or not in the form that known_tables.h describes")
    return Table(name, re.search(rf"^/\* {name}: (.*)\. \*/$", text, re.M)[1], version, columns)


def spec_block(table):
    lines = [f"**`{table.name}`**, version {table.version}: {table.summary}.", "", "| column | type | role | |", "|---|---|---|---|"]
    for column in table.columns:
        kind = f'{column.type}, "{column.unit}"' if column.unit else column.type
        since = f"since version {column.since}: " if column.since > 1 else ""
        cells = [column.name, kind, ROLES[column.role], since + column.meaning]
        lines.append("| " + " | ".join(cells).replace("|  |", "| |").rstrip() + " |")
    return "\n".join(lines).replace("|  |", "| |") + "\n"


def man_block(tables):
    lines = []
    for table in tables:
        summary = re.sub("`", "", table.summary)
        lines += [f".It Li {table.name}", f"{summary[0].upper()}{summary[1:]}.",
                  f"Columns: {', '.join(column.name for column in table.columns)}."]
    return "\n".join(lines) + "\n"


def python_file(tables):
    lines = ['# SPDX-License-Identifier: Apache-2.0', '"""Tables with a name of their own (SPEC.md, appendix A), as `rbwp tables` shows them.',
             "", 'Made by format/schema/tables.py of the lists beside it."""', "", "from typing import Dict, NamedTuple, Tuple", "", "",
             "class Column(NamedTuple):", '    """A column. Times and durations are in nanoseconds; since: the version of the table that added it."""',
             "    name: str", "    type: str", "    role: str = \"\"", "    unit: str = \"\"", "    since: int = 1", "", "",
             "TABLES: Dict[str, Tuple[Column, ...]] = {"]
    for table in tables:
        lines.append(f'    "{table.name}": (')
        for column in table.columns:
            role = "" if column.role == "NONE" else column.role.lower().replace("_", " ")
            values = [column.name, column.type, role, column.unit]
            words = [f'"{value}"' for value in values]
            while len(words) > 2 and words[-1] == '""' and column.since == 1:
                words.pop()
            lines.append(f"        Column({', '.join(words + [str(column.since)] * (column.since > 1))}),")
        lines.append("    ),")
    return "\n".join(lines + ["}"]) + "\n"


def between(text, begin, end, block, name):
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        sys.exit(f"{name} has no block {begin.strip()}")
    return before + begin + block + end + after


def header_file(text, listed):
    """known_tables.h with all of them: their includes and the list. As it is where none is new."""
    if set(listed) == set(re.findall(r"TABLE\((\w+)\)", text)):
        return text
    includes = "".join(f'#include "../schema/{name}.def"\n' for name in sorted(listed))
    text = re.sub(r'(#include "\.\./schema/\w+\.def"\n)+', lambda _: includes, text, count=1)
    words = textwrap.wrap(" ".join(f"TABLE({name})" for name in listed), 94)
    lines = ["#define KNOWN_TABLES(TABLE)"] + ["    " + line for line in words]
    listing = "\n".join([f"{line:<98} \\" for line in lines[:-1]] + lines[-1:])
    return re.sub(r"#define KNOWN_TABLES\(TABLE\).*?(?=\n\n)", lambda _: listing, text, count=1, flags=re.S)


def made():
    """The files as they should be, by path. A new table comes last in the list and in SPEC.md, from where its block may be moved."""
    header = ROOT / "format" / "include" / "known_tables.h"
    listed = re.findall(r"TABLE\((\w+)\)", header.read_text())
    there = sorted(path.stem for path in HERE.glob("*.def"))
    listed = [name for name in listed if name in there] + [name for name in there if name not in listed]
    tables = [read(HERE / f"{name}.def") for name in listed]
    spec, man = ROOT / "SPEC.md", ROOT / "docs" / "man" / "rbwp-tables.1"
    text = spec.read_text()
    for table in tables:
        begin, end = f"<!-- {table.name}: begin -->\n", f"<!-- {table.name}: end -->\n"
        if begin not in text:
            last = re.search(r".*<!-- \w+: end -->\n(?:(?!#).*\n)*", text, re.S).end()
            text = text[:last].rstrip("\n") + f"\n\n{begin}{end}" + ("\n" + text[last:] if text[last:] else "")
        text = between(text, begin, end, spec_block(table), spec.name)
    page = between(man.read_text(), '.\\" known tables: begin\n', '.\\" known tables: end\n', man_block(tables), man.name)
    return {header: header_file(header.read_text(), listed), spec: text, man: page, ROOT / "python" / "rbwp" / "tables.py": python_file(tables)}


def main(what="", *others):
    if what not in ("write", "check") or others:
        sys.exit(__doc__)
    stale = {path: text for path, text in made().items() if not path.exists() or path.read_text() != text}
    if what == "check" and stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        sys.exit(f"{names}: not what format/schema says; run format/schema/tables.py write")
    for path, text in stale.items():
        path.write_text(text)


main(*sys.argv[1:])
