#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs.py SOURCE PREFIX WORK PAGE... - what is typed on pages of the documentation does what they show.

Of each page, in a folder of its own: code blocks that open with a comment of a file's name become that
file, lines of console blocks that begin with $ are run, and the lines below them are what it says, on standard error first, in this order.
Numbers, units and bars may differ, '...' stands for any lines. A command succeeds, or ends with the N of '# exit N'. And no page links to what is not there.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

NUMBER = re.compile(r"[+-]?\d[\d,.]*(?: ?(?:ns|us|ms|s|%))?(?!\w)")
NAMED = re.compile(r"(?:/\*|#|//) ?(\S+\.\w+)(?: \*/)?$")

SYSTEM = "/usr/bin"  # whose python3 has Debian's NumPy, whatever comes before it


def blocks(text):
    """(language, lines) of each code block."""
    for language, body in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        yield language, body.splitlines()


def commands(lines):
    """(command, exit status, shown lines) of a console block."""
    found = []
    for line in lines:
        if found and found[-1][0].endswith("\\"):
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
    for command, shown in found:
        status = re.search(r"# exit (\d+)$", command)
        yield command, int(status[1]) if status else 0, shown


def pattern(line):
    """What a shown line may look like elsewhere."""
    if re.search("[▁-█]|[A-Z.]{40}", line):  # a row of a timeline: its name, a share
        return re.escape(line.split("  ")[0].strip()) + ".*"
    words = []
    for word in re.split(r"\s+", NUMBER.sub("\0", line.strip())):
        words.append(r"[-+]?[\d,.]*(?: ?(?:ns|us|ms|s|%))?".join(map(re.escape, word.split("\0"))))
    return r"\s*" + r"\s+".join(words)


def missing(shown, output):
    """The first shown line that the output lacks where it should be; a line after '...' may be anywhere below."""
    at, skip = 0, False
    for line in shown:
        if line.strip() == "...":
            skip = True
        elif line.strip():
            form = re.compile(pattern(line) + r"\s*$")
            places = [i for i in range(at, len(output)) if form.match(output[i])]
            if not places or places[0] != at and not skip:
                return line
            at, skip = places[0] + 1, False
    return None


def run_page(page, prefix, work):
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    library = prefix / os.environ["LIBDIR"]
    environment = dict(os.environ, PATH=f"{prefix / 'bin'}:{SYSTEM}:{os.environ['PATH']}", LD_LIBRARY_PATH=str(library),
                       PKG_CONFIG_PATH=str(library / "pkgconfig"), LC_ALL="C.UTF-8")
    environment.pop("RBWP_FLAGS", None)
    count, all_blocks = 0, list(blocks(page.read_text()))
    for _, lines in all_blocks:
        if named := NAMED.match(lines[0]):
            (work / named[1]).write_text("\n".join(lines) + "\n")
    for language, lines in all_blocks:
        if language == "console":
            for command, status, shown in commands(lines):
                done = subprocess.run(["bash", "-c", command], cwd=work, env=environment, text=True, timeout=100,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                said = done.stderr + done.stdout
                output = [line for line in said.splitlines() if line.strip()]
                lacks = missing(shown, output)
                count += 1
                if done.returncode != status or lacks:
                    wrong = f"does not say: {lacks}" if done.returncode == status else f"ended with {done.returncode}, not {status}"
                    sys.exit(f"{page.name}: $ {command}\n{wrong}\nit says:\n{said}")
    if not count:
        sys.exit(f"{page.name}: no commands")
    print(f"{page.name}: {count} commands")


def dead_links(source):
    """Links of all pages to files, or to headings of Markdown files, that are not there."""
    for page in (*source.glob("*.md"), *source.glob("docs/**/*.md"), *source.glob("examples/*.md")):
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, place = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if ":" in path:
                continue
            if not target.exists() or place and place not in {
                    re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", target.read_text(), re.M)}:
                yield f"{page.relative_to(source)}: {link} is not there"


def main(source, prefix, work, *pages):
    if dead := list(dead_links(pathlib.Path(source).resolve())):
        sys.exit("\n".join(dead))
    if not shutil.which("pkg-config"):
        print("skipped: no pkg-config")
        sys.exit(77)
    if any("rbwp-config --python" in pathlib.Path(page).read_text() for page in pages) and subprocess.run(
            [shutil.which("python3", path=f"{SYSTEM}:{os.environ['PATH']}"), "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: no Python with NumPy here (Debian: python3-numpy)")
        sys.exit(77)
    for page in map(pathlib.Path, pages):
        run_page(page, pathlib.Path(prefix).resolve(), pathlib.Path(work) / page.stem)


main(*sys.argv[1:])
