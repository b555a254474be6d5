# SPDX-License-Identifier: Apache-2.0
"""What the tests of rbwp ptx share: the command, the corpus, a folder of their own."""
import json
import os
import pathlib
import subprocess
import tempfile

RBWP = os.environ["RBWP"]
CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
work = tempfile.TemporaryDirectory()
WORK = pathlib.Path(work.name)
failures = []


def check(what, got, expected):
    if got != expected:
        failures.append(what)
        print(f"FAILED: {what}\n  got      {got}\n  expected {expected}")


def rbwp(*words, code=0, stdin=b"", locale="C"):
    """Runs rbwp ptx; (standard output, standard error) as bytes and text."""
    run = subprocess.run([RBWP, "ptx", *map(str, words)], input=stdin, capture_output=True, timeout=120,
                         env={**os.environ, "LC_ALL": locale})
    errors = run.stderr.decode(errors="replace")
    if run.returncode != code:
        failures.append(str(words))
        print(f"FAILED: exit {run.returncode} instead of {code}: {words}\n{errors}")
    return run.stdout, errors


def rbwp_json(*words, **more):
    return json.loads(rbwp(*words, **more)[0])


def corpus():
    return sorted(CORPUS.glob("*.ptx"))


def finish():
    if failures:
        raise SystemExit(f"{len(failures)} failed")
    print("all passed")
