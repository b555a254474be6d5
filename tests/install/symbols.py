#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""symbols.py COMPILER SOURCE INCLUDE LIB [MPI...] - the libraries export what the headers declare.

Every function and variable that an installed header marks RBWP_API is there, in the shared library
under its version, and nothing else is: a declared call without code and an internal one that leaks
both fail. What leaks from the static library can meet a function of the program that links it. What
the headers of channels, partitioning and messages declare is in librbwp-jobs, what rbwp_mpi.h declares in
librbwp-mpi, and only that. What librbwp-jobs has of librbwp beyond that is called rbwp_extend_* and stands in headers
that are not installed.

And no code of theirs calls getenv: in a program with more rights than its caller the environment is
the caller's, so only secure_getenv may be used. Nor what waits by the wall clock, which may be set back.
"""
import pathlib
import re
import subprocess
import sys


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


ATTRIBUTE = r'__attribute__\(\(visibility\("default"\)\)\)'
EARLIER = {"rbwp_own_places_0_2"}  # what programs look for that were compiled against earlier headers: none names it any more
JOBS = "runtime/jobs/channel", "runtime/jobs/partition", "runtime/jobs/message", "gpu/channel"


def own_text(compiler, include, headers):
    """What stands in these headers, preprocessed."""
    included = "".join(f"#include <{name}>\n" for name in sorted(headers))
    text, ours = [], False
    for line in run(compiler, "-E", "-I", str(include), "-x", "c", "-", text=included).splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = pathlib.Path(marker[1]).name in headers
        elif ours:
            text.append(line)
    return "\n".join(text)


def declared(source):
    """Names after the export attribute."""
    names = set()
    for declaration in re.findall(ATTRIBUTE + r"([^;{]*)", source):
        plain = re.sub(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", "", declaration)
        label = re.search(r"__asm__\(([^()]*)\)", plain)
        if label:  # its name in the object, of several strings
            names.add("".join(re.findall(r'"([^"]*)"', label[1])))
            continue
        function = re.search(r"\b(rbwp_\w+)\s*\(", plain)
        names.add(function[1] if function else re.findall(r"\w+", plain)[-1])
    return names


def exported(shared):
    """Names of the dynamic symbols, and their versions."""
    names, versions = set(), set()
    for line in run("nm", "-D", "--defined-only", "--with-symbol-versions", shared).splitlines():
        kind, symbol = line.split()[-2:]
        if kind == "A":  # the version itself
            continue
        name, version = re.fullmatch(r"(\w+)@+([\w.]+)", symbol).groups()
        names.add(name)
        versions.add(version)
    return names, versions


def global_names(static):
    """Names of the archive that other objects can see."""
    lines = run("nm", "--extern-only", "--defined-only", static).splitlines()
    return {line.split()[-1] for line in lines if len(line.split()) == 3}


def used(static):
    """Names that the archive's objects take from others."""
    return {line.split()[-1] for line in run("nm", "--undefined-only", static).splitlines() if line}


def compare(library, want, have):
    """Prints what is wrong with a library; true if nothing is."""
    for name in sorted(want - have):
        print(f"{library}: declared but not exported: {name}")
    for name in sorted(have - want):
        print(f"{library}: exported but not declared: {name}")
    for name in sorted(n for n in have if not n.startswith("rbwp_")):
        print(f"{library}: without the prefix: {name}")
    return want == have


def headers_of(source, rooms):
    return {header.name for room in rooms for header in (source / room / "include").glob("rbwp_*.h")}


def extensions(source):
    """What is for librbwp-jobs alone."""
    texts = [header.read_text() for wing in ("runtime", "gpu") for header in (source / wing).glob("*/include/*.h")]
    return {name for text in texts for name in re.findall(r"^RBWP_API [^;]*?\b(rbwp_extend_\w+)\(", text, re.M)}


def main(compiler, source, include, lib, *mpi):
    source, include, lib = pathlib.Path(source), pathlib.Path(include), pathlib.Path(lib)
    of_jobs, of_mpi = headers_of(source, JOBS), headers_of(source, ["runtime/jobs/mpi"])
    of_librbwp = {header.name for header in include.glob("rbwp_*.h")} - of_jobs - of_mpi
    want, want_jobs, want_mpi = (declared(own_text(compiler, include, headers)) for headers in (of_librbwp, of_jobs, of_mpi))
    want |= extensions(source) | EARLIER
    if len(want) < 20 or len(want_jobs) < 20:
        sys.exit(f"only {len(want)} and {len(want_jobs)} declarations found in {include}: this test reads them wrongly")
    shared, static = str(lib / "librbwp.so"), str(lib / "librbwp.a")
    have, versions = exported(shared)
    good = compare("shared", want, have) & compare("static", want, global_names(static))
    good &= compare("jobs-static", want_jobs, global_names(str(lib / "librbwp-jobs.a")))
    for library, its in [(str(lib / "librbwp-jobs.so"), want_jobs), *((library, want_mpi) for library in mpi)]:
        names, its_versions = exported(library)
        good &= compare(library, its, names)
        versions |= its_versions
    if len(versions) != 1 or not re.fullmatch(r"RBWP_\d+\.\d+", next(iter(versions))):
        sys.exit(f"versions of the symbols: {sorted(versions)}")
    if "getenv" in used(static) or "secure_getenv" not in used(static):
        sys.exit("the environment is not read by secure_getenv alone")
    by_wall_clock = used(static) & {"sem_timedwait", "pthread_mutex_timedlock", "mtx_timedlock", "cnd_timedwait"}
    if by_wall_clock or "pthread_condattr_setclock" not in used(static):
        sys.exit(f"waits by the wall clock: {sorted(by_wall_clock)}")
    if not good:
        sys.exit(1)


main(*sys.argv[1:])
