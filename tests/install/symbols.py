#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""symbols.py COMPILER INCLUDE SHARED STATIC [MPI...] - the libraries export what the headers declare.

Every function and variable that an installed header marks RBWP_API is there, in the shared library
under its version, and nothing else is: a declared call without code and an internal one that leaks
both fail. What leaks from the static library can meet a function of the program that links it. What
rbwp_mpi.h declares is in the libraries of their own, librbwp-mpi, and only that.

And no code of theirs calls getenv: in a program with more rights than its caller the environment is
the caller's, so only secure_getenv may be used. Nor what waits by the wall clock, which may be set back.
"""
import pathlib
import re
import subprocess
import sys


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def declared(compiler, include):
    """Names after the export attribute, from the preprocessed headers."""
    headers = "".join(f"#include <{h.name}>\n" for h in sorted(include.glob("rbwp_*.h")))
    source = run(compiler, "-E", "-P", "-I", str(include), "-x", "c", "-", text=headers)
    names = set()
    for declaration in re.findall(r'__attribute__\(\(visibility\("default"\)\)\)([^;{]*)', source):
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


def main(compiler, include, shared, static, *mpi):
    every = declared(compiler, pathlib.Path(include))
    of_mpi = {name for name in every if name.startswith("rbwp_mpi_")}
    want = every - of_mpi
    if len(want) < 20:
        sys.exit(f"only {len(want)} declarations found in {include}: this test reads them wrongly")
    have, versions = exported(shared)
    good = compare("shared", want, have) & compare("static", want, global_names(static))
    for library in mpi:
        names, mpi_versions = exported(library)
        good &= compare(library, of_mpi, names)
        versions |= mpi_versions
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
