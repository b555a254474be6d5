# SPDX-License-Identifier: Apache-2.0
"""trees.py - copies of the source, built to be changed: which tests execute a line, and whether one fails.

A tree is a copy of the tracked files with a build beside it. The one for coverage is built with gcc's
--coverage and runs every test once; what each executed is kept as a table. The others, one for each job, are
changed line by line. They build only what the tests of a line need.
"""
import itertools
import json
import multiprocessing.pool
import os
import re
import resource
import shutil
import signal
import subprocess
import time

# Tests that no change of the code can be judged by, or that take too long for what they add.
LEFT_OUT = re.compile(r"^(install\.|viewers_|model$|python_reader$|gpu_device_(cuda|hip)$|gpu_channel_(cuda|hip)$)")
# Asked last about every line of a folder: killed programs leave no coverage, and where allocations fail
# one by one gcov's own fail too.
ALSO = {"runtime/jobs/mpi": ("mpi_lost_mpich", "mpi_lost_openmpi"), "runtime": ("crash_pairs", "crash_kill", "crash_disk"),
        "tools": ("cli_memory",)}
FAILED = re.compile(rb"Sanitizer|runtime error")


def run(command, **options):
    """stdout of a command that has to work."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"mutants: {' '.join(command)}: exit {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


class Test:
    """A test as ctest describes it."""

    def __init__(self, entry):
        properties = {item["name"]: item["value"] for item in entry.get("properties", [])}
        self.name, self.command = entry["name"], entry.get("command", [])
        self.folder = properties.get("WORKING_DIRECTORY")
        self.skip_code = properties.get("SKIP_RETURN_CODE")
        self.alone = bool(properties.get("RUN_SERIAL"))
        self.environment = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", []))

    def targets(self, build):
        """What of the build it starts, as ninja knows it."""
        words = self.command + list(self.environment.values())
        return sorted({os.path.relpath(word, build) for word in words
                       if word.startswith(build + os.sep) and os.path.isfile(word)})

    def run(self, limit_s, extra=None):
        """None if it passes or skips, else how it failed."""
        environment = {**os.environ, **self.environment, **(extra or {})}
        child = subprocess.Popen(self.command, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                                 preexec_fn=limit_process)
        try:
            output, _ = child.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            output = None
        end_group(child)
        if output is None:
            return f"no end after {limit_s:.0f} s"
        if child.returncode == self.skip_code:
            return None
        if child.returncode != 0:
            return f"exit {child.returncode}"
        return "sanitizer" if FAILED.search(output) else None


def limit_process():
    """A changed program may want all there is."""
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))


def end_group(child):
    """Ends what the test left running in its session."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.communicate()


class Tree:
    def __init__(self, source, folder, flags):
        self.source, self.build = os.path.join(folder, "source"), os.path.join(folder, "build")
        self.flags, self.origin = flags, source

    def update(self, jobs):
        """The source as it is tracked now, and all of it built."""
        files = run(["git", "ls-files", "-z"], cwd=self.origin).split("\0")[:-1]
        for name in files:
            target, origin = os.path.join(self.source, name), os.path.join(self.origin, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isfile(origin) and not same(origin, target):
                shutil.copy(origin, target)
        known = set(files)
        for parent, _, names in os.walk(self.source):
            for name in names:
                path = os.path.join(parent, name)
                if os.path.relpath(path, self.source) not in known and "__pycache__" not in path:
                    os.unlink(path)
        run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", "-DRBWP_BUILD_TESTS=ON",
             "-DRBWP_BUILD_EXAMPLES=ON", "-DCMAKE_BUILD_TYPE=None", *self.flags])
        run(["cmake", "--build", self.build, "-j", str(jobs)])
        listed = json.loads(run(["ctest", "--show-only=json-v1"], cwd=self.build))
        self.tests = {test.name: test for test in map(Test, listed["tests"])
                      if test.command and not LEFT_OUT.search(test.name)}
        self.targets = {name: test.targets(self.build) for name, test in self.tests.items()}

    def make(self, targets):
        """None, or the compiler's words."""
        done = subprocess.run(["ninja", "-C", self.build, "-j", "1", *targets], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return None if done.returncode == 0 else done.stdout[-2000:]

    def object_of(self, file):
        """What the compiler makes of a file with -O2, or None. Headers: of the first source that has it."""
        commands = json.load(open(os.path.join(self.build, "compile_commands.json")))
        path = os.path.join(self.source, file)
        entry = next((one for one in commands if one["file"] == path), None)
        if not entry:
            return None
        output = os.path.join(self.build, "equivalent.o")
        command = re.sub(r" -o \S+ ", f" -o {output} -O2 -g0 ", entry["command"]).replace("ccache ", "")
        command = re.sub(r" -MD -MT \S+ -MF \S+", "", command)
        if subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True).returncode != 0:
            return None
        return open(output, "rb").read()


def same(a, b):
    return os.path.isfile(b) and open(a, "rb").read() == open(b, "rb").read()


# ---- coverage ---------------------------------------------------------------------------------------------

def mmap_for_gcov(folder):
    """An object for tests that wrap mmap: gcov's own call of it is wrapped with theirs."""
    source, made = os.path.join(folder, "wrap_mmap.c"), os.path.join(folder, "wrap_mmap.o")
    with open(source, "w") as out:
        out.write("#include <sys/syscall.h>\n#include <unistd.h>\n#include <stddef.h>\n"
                  "void *__wrap_mmap(void *a, size_t n, int p, int f, int fd, long o) __attribute__((weak));\n"
                  "void *__wrap_mmap(void *a, size_t n, int p, int f, int fd, long o)\n"
                  "{ return (void *)syscall(SYS_mmap, a, n, p, f, fd, o); }\n")
    run(["cc", "-D_GNU_SOURCE", "-w", "-c", source, "-o", made])
    return made


def executed_lines(folder, tree):
    """{file: lines that ran} and {file: lines that can run}, out of one test's counts."""
    counts = [os.path.join(parent, name) for parent, _, names in os.walk(folder)
              for name in names if name.endswith(".gcda")]
    for path in counts:
        notes = path[:-5] + ".gcno"
        if not os.path.exists(notes):
            os.symlink(notes[len(folder):], notes)
    ran, can_run = {}, {}
    for first in range(0, len(counts), 40):
        text = subprocess.run(["gcov", "-j", "-t", *counts[first:first + 40]], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, cwd=tree.build).stdout
        for line in text.splitlines():
            for file in json.loads(line)["files"]:
                path = os.path.realpath(os.path.join(tree.build, file["file"]))  # installed headers: of the build's links
                name = os.path.relpath(path, os.path.realpath(tree.source))
                if name.startswith(("..", "tests", "examples")):
                    continue
                can_run.setdefault(name, set()).update(one["line_number"] for one in file["lines"])
                ran.setdefault(name, set()).update(one["line_number"] for one in file["lines"] if one["count"])
    return ran, can_run


def learn(tree, folder, jobs, say):
    """{"seconds": {test: s}, "lines": {file: {line: tests}}, "can_run": {file: lines}}."""
    def ask(name):
        counts = os.path.join(folder, "counts", name)
        shutil.rmtree(counts, ignore_errors=True)
        begin = time.monotonic()
        failed = tree.tests[name].run(600, {"GCOV_PREFIX": counts})
        seconds = time.monotonic() - begin
        lines = ({}, {}) if failed else executed_lines(counts, tree) # a failing one would kill everything
        shutil.rmtree(counts, ignore_errors=True)
        return name, seconds, failed, lines

    seconds, lines, can_run = {}, {}, {}
    names = sorted(tree.tests, key=lambda name: (tree.tests[name].alone, name))
    together = [name for name in names if not tree.tests[name].alone]
    with multiprocessing.pool.ThreadPool(jobs) as pool:
        answers = itertools.chain(pool.imap_unordered(ask, together), map(ask, names[len(together):]))
        for number, (name, took, failed, (ran, known)) in enumerate(answers):
            seconds[name] = took
            say(f"coverage {number + 1}/{len(names)} {name} {took:.1f} s {failed or ''}")
            for file, numbers in known.items():
                can_run.setdefault(file, set()).update(numbers)
            for file, numbers in ran.items():
                for line in numbers:
                    lines.setdefault(file, {}).setdefault(str(line), []).append(name)
    return {"seconds": seconds, "lines": lines, "can_run": {file: sorted(found) for file, found in can_run.items()}}


def tests_of(table, site):
    """The tests that execute a line, quickest first. A line in the middle of a statement is its first one's."""
    can_run = set(table["can_run"].get(site.file, []))
    line = next((at for at in range(site.line, max(site.line - 15, 0), -1) if at in can_run), None)
    tests = set(table["lines"].get(site.file, {}).get(str(line), []))
    ordered = sorted(tests, key=lambda name: table["seconds"][name])
    also = [name for folder, names in ALSO.items() if site.file.startswith(folder + "/") for name in names]
    return ordered + [name for name in also if name in table["seconds"] and name not in tests]
