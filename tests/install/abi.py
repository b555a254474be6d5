#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""abi.py COMPILER INCLUDE LIST [--write] - what programs are compiled against is what the list says.

Guards: nothing that a compiled program goes by changes unnoticed. That is the declaration of every
exported function and variable (symbols.py compares their names with the libraries), the layout of
every public struct, the values of enumerations and constants, and the calls that are inlined. The
list is of one minor version, which its first line names. While that version is being made,
--write writes the list anew; once it is released the version has to be raised first (docs/design/abi.md).

The list is of x86-64, where the layouts are looked at; elsewhere nothing is compared (exit status 77).
"""
import difflib
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zlib

ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:2]))}:\n{done.stderr}")
    return done.stdout


def own_text(preprocessed, include):
    """What stands in our headers, without that of the headers which they include."""
    lines, ours = [], False
    for line in preprocessed.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = pathlib.Path(marker[1]).parent == include
        elif ours:
            lines.append(line)
    return "\n".join(lines)


def declarations(text):
    """Top-level declarations: (text before a brace, text inside it or None)."""
    text = re.sub(r'extern\s+"C"\s*\{', "", text)
    at = begin = 0
    while at < len(text):
        if text[at] == ";":
            yield text[begin:at], None
            begin = at + 1
        elif text[at] == "{":
            end, depth = at + 1, 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            yield text[begin:at], text[at + 1 : end - 1]
            if "(" not in text[begin:at]:  # a struct or enum: up to its ";"
                end = text.index(";", end) + 1
            at, begin = end - 1, end
        at += 1


def plain(text):
    """Without attributes, and whatever blanks a compiler's preprocessor leaves, in one form."""
    words = " ".join(re.findall(r"\w+|[^\w\s]", ATTRIBUTE.sub("", text)))
    return re.sub(r"(?<=[(\[*]) | (?=[)\],\[])", "", words).replace(" (", "(")


def field_names(body):
    """Names of a struct's fields, those of anonymous unions in it too."""
    body = re.sub(r"\b(?:union|struct)\s*\{([^{}]*)\}\s*;", r"\1", body)
    for declaration in filter(None, (plain(part) for part in body.split(";"))):
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration)
        if pointer:
            yield pointer[1], declaration
            continue
        for part in declaration.split(","):
            yield re.findall(r"\w+", re.sub(r"\[[^\]]*\]", "", part))[-1], declaration


def constants(include):
    """Macros that are a value, as they are written; the version is the list's own."""
    for header in sorted(include.glob("rbwp_*.h")):
        text = header.read_text().replace("\\\n", " ")
        for name, value in re.findall(r"^#define (RBWP_\w+)[ \t]+([^\n/]+)", text, re.M):
            if not re.match(r"RBWP_(VERSION_|API$|MUST_USE$|C_BEGIN_$|C_END_$|TLS_|TSAN_|HAVE_TSC_|STORE_ORDER_|LOAD_ORDER_)", name):
                yield f"constant {name} {value.strip()}"


def look(compiler, include):
    """The lines of the list."""
    headers = "".join(f"#include <{h.name}>\n" for h in sorted(include.glob("rbwp_*.h")))
    text = own_text(run(compiler, "-std=c11", "-E", "-I", include, "-x", "c", "-", text=headers), include)
    lines, probe = list(constants(include)), []
    for head, body in declarations(text):
        head = plain(head)
        name = re.match(r"(struct|enum) (\w+)$", head)
        if body is None:
            if ("(" in head or "extern" in head or "typedef" in head) and not head.startswith("static inline "):
                lines.append("declared " + head)
        elif name and name[1] == "struct":
            probe.append(f'printf("struct {name[2]} %zu\\n", sizeof(struct {name[2]}));')
            for field, declaration in field_names(body):
                probe.append(f'printf("struct {name[2]} {field} %zu %zu: {declaration}\\n", '
                             f"offsetof(struct {name[2]}, {field}), sizeof(((struct {name[2]} *)0)->{field}));")
        elif name:
            for value in re.findall(r"(?:^|,)\s*(\w+)", body):
                probe.append(f'printf("enum {name[2]} {value} %lld\\n", (long long){value});')
        elif head.startswith("static inline"):
            function = re.search(r"(\w+)\s*\(", head)[1]
            lines.append(f"inlined {function} {zlib.crc32(plain(head + body).encode()):08x}")
    with tempfile.TemporaryDirectory() as work:
        program = f'{headers}#include <stdio.h>\nint main(void) {{ {chr(10).join(probe)} return 0; }}'
        run(compiler, "-I", include, "-x", "c", "-", "-o", f"{work}/probe", text=program)
        lines += run(f"{work}/probe").splitlines()
    return sorted(lines)


def version(include):
    text = (include / "rbwp_format.h").read_text()
    return ".".join(re.search(rf"#define RBWP_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR"))


def main(compiler, include, stored, write=""):
    if platform.machine() != "x86_64" or sys.maxsize < 2**32:
        print("skipped: the list is of x86-64")
        sys.exit(77)
    include, stored = pathlib.Path(include).resolve(), pathlib.Path(stored)
    now = version(include)
    have = look(compiler, include)
    if len(have) < 400:
        sys.exit(f"only {len(have)} lines are made of {include}: this test reads the headers wrongly")
    first, *listed = stored.read_text().splitlines()
    of, _, state = first.partition(", ")
    if have == listed and of == f"rbwp {now}":
        return
    if state == "released" and of == f"rbwp {now}":
        print(f"the ABI of {now}, which is released, has changed: raise RBWP_VERSION_MINOR, then --write")
    elif write == "--write":
        stored.write_text("\n".join([f"rbwp {now}, being made", *have]) + "\n")
        return
    else:
        print(f"the list is of {of}; where the change to this ABI of rbwp {now} is meant: abi.py ... --write")
    sys.exit("\n".join(difflib.unified_diff(listed, have, str(stored), "what is installed", n=0, lineterm="")))


main(*sys.argv[1:])
