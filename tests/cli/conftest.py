# SPDX-License-Identifier: Apache-2.0
"""What the modules share. CMake's ctest runs each module by a pytest of its own and says in the environment where the programs
are: RBWP (the command), GOLDEN (the folder of golden files), MAKE_EXTENDED and others that write files.

rbwp(...) runs the command, run(...) any; both check the exit status and give what was printed. `work` is a folder of the case's
own, `shared` one of the module's. A case without the program that it wants is skipped; ctest then counts its module as skipped."""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python"), str(HERE.parent / "oracle")]
SKIPPED = 77  # as ctest knows it


class Done:
    """What a program printed, as bytes (out, err) and as text."""

    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr

    @property
    def text(self):
        return self.out.decode("utf-8", "surrogateescape")

    @property
    def error(self):
        return self.err.decode("utf-8", "surrogateescape")

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return self.text.splitlines()

    def says(self, *texts):
        """Each of the texts is on standard error."""
        for text in texts:
            assert text in self.error
        return self

    def in_one_line(self):
        assert self.error.count("\n") == 1 and self.error.endswith("\n")
        return self

    def silent(self):
        assert self.error == ""
        return self


def run_program(*command, code=0, stdin=b"", env=None, timeout=250, **more):
    """Runs it with `stdin` (bytes, or an open file) and the environment with `env` added; its exit status must be `code`, or one of
    several, or anything if that is None."""
    given = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    process = subprocess.run([os.fspath(word) for word in command], capture_output="stdout" not in more, env={**os.environ, **env} if env else None,
                             timeout=timeout, **given, **more)
    assert not process.stderr or (b"Sanitizer" not in process.stderr and b"runtime error: " not in process.stderr), process
    assert code is None or process.returncode in (code if isinstance(code, tuple) else (code,)), (process.args, process.returncode, process.stderr)
    return Done(process)


def place(name):
    """Of a program or folder of this build; None if it has none."""
    return os.environ.get(name) or None


@pytest.fixture(scope="session")
def run():
    return run_program


@pytest.fixture(scope="session")
def rbwp():
    """rbwp("stats", "--json", path, code=0): as run does; rbwp.path is the command."""
    path = os.environ["RBWP"]

    def command(*words, **options):
        return run_program(path, *words, **options)

    command.path = path
    return command


@pytest.fixture(scope="session")
def rbwp_dump(rbwp):
    """rbwp dump under its other name."""
    path = pathlib.Path(rbwp.path).with_name("rbwp-dump")
    return lambda *words, **options: run_program(path, *words, **options)


@pytest.fixture(scope="session")
def golden():
    return pathlib.Path(os.environ["GOLDEN"])


@pytest.fixture(scope="session")
def program():
    """program("LIVE_VICTIM"): the path of a program of this build; the case is skipped where there is none."""

    def find(name):
        path = place(name)
        if not path or not os.access(path, os.X_OK):
            pytest.skip(f"this build has no {name}")
        return path

    return find


def new_folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="rbwp-test-"))
    yield path
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o700)
    shutil.rmtree(path)


@pytest.fixture
def work():
    yield from new_folder()


@pytest.fixture(scope="module")
def shared():
    yield from new_folder()


@pytest.fixture(scope="session")
def on_full_disk(rbwp):
    """on_full_disk("export", path): its standard output is a disk without room."""

    def command(*words):
        with open("/dev/full", "wb") as full:
            return rbwp(*words, code=1, stdout=full, stderr=subprocess.PIPE).says("cannot be written")

    return command


@pytest.fixture(scope="session")
def small_files():
    """rbwp(..., **small_files(512)): no file that it writes becomes larger."""

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    return lambda size: {"preexec_fn": lambda: limit(size)}


@pytest.fixture(scope="module")
def extended(program, shared):
    """A file with opaque blocks, losses and a trailer."""
    run_program(program("MAKE_EXTENDED"), shared / "extended.bin")
    return shared / "extended.bin"


@pytest.fixture(scope="session")
def second_reader(rbwp):
    """second_reader(path, "--good"): it finds in a file what the dump prints of it (tests/python/compare.py)."""
    dump = pathlib.Path(rbwp.path).with_name("rbwp-dump")
    return lambda path, *options: run_program(sys.executable, "-B", HERE.parent / "python" / "compare.py", *options, dump, path)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter.stats.get("skipped"):
        session.exitstatus = SKIPPED
