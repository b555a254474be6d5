# SPDX-License-Identifier: Apache-2.0
"""The script of docs/ci.md, run in a repository of its own, fails where the change is slower and leaves page, test cases and
recordings; the files of the CI systems are what these read, and call it."""
import os
import pathlib
import subprocess
import xml.etree.ElementTree as xml

import pytest
import yaml

CI = pathlib.Path(__file__).resolve().parents[2] / "examples" / "ci"
WHO = {f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture
def project(program, run, work):
    """A repository whose program takes 2 ms a call, and 80 ms in its second commit."""
    git = lambda *words: run("git", "-c", "init.defaultBranch=main", *words, cwd=work / "project", env=WHO).text.strip()
    (work / "project").mkdir()
    git("init", "-q")
    for ms in 2, 80:
        (work / "project" / "bench.in").write_text(f"#!/bin/sh\nexec {program('COMPARE_VICTIM')} {ms}\n")
        git("add", ".")
        git("commit", "-q", "-m", f"{ms} ms")
    return git


@pytest.fixture
def gate(rbwp, run, work):
    path = f"{os.path.dirname(rbwp.path)}:{os.environ['PATH']}"

    def command(*words, code, **more):
        env = {"PATH": path, "GATE_BUILD": "cp bench.in bench; chmod +x bench", "GATE_RUN": "./bench", "GATE_RUNS": "5", "GATE_THRESHOLD": "50",
               "GATE_OPTIONS": "--what work", **more}
        return run(CI / "gate.sh", *words, cwd=work / "project", env=env, code=code)

    return command


def test_slower_change_fails(project, gate, work):
    done = gate("HEAD~1", code=4)
    out = work / "project" / "rbwp-gate"
    assert "slower" in done.text and (out / "slower.txt").read_text() == done.text and (out / "slower.html").stat().st_size
    suite, = xml.parse(out / "slower.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert sorted(os.listdir(out)) == ["runs", "slower.html", "slower.txt", "slower.xml"] and len(os.listdir(out / "runs" / "b")) == 5
    project("checkout", "-q", "HEAD~1")
    gate("main", code=0)  # again, and the other way round


def test_what_does_not_build_or_run(project, gate):
    gate("HEAD~1", GATE_BUILD="exit 9", code=9)
    gate("HEAD~1", GATE_RUN="./none", code=1).says("nothing is judged")
    gate("nothing", code=128)
    gate(code=2).says("usage: gate.sh BASE")
    gate("HEAD~1", GATE_RUN="", code=2).says("a command to be compared")
    assert project("worktree", "list").count("\n") == 0


def steps(name):
    """The commands that a CI system's file runs, the variables that it sets for them, what it keeps."""
    jobs = yaml.safe_load((CI / name).read_text())
    if name == "gitlab.yml":
        job = jobs["slower"]
        return job["before_script"] + job["script"], job["variables"], job["artifacts"]["paths"] + [job["artifacts"]["reports"]["junit"]]
    list_of = jobs["jobs"]["slower"]["steps"]
    kept, = (step["with"]["path"].split() for step in list_of if "upload-artifact" in step.get("uses", ""))
    return [step["run"] for step in list_of if "run" in step], {key: value for step in list_of for key, value in step.get("env", {}).items()}, kept


@pytest.mark.parametrize("name", ["github.yml", "gitlab.yml"])
def test_files_of_ci_systems(name):
    """What they set is what the script takes, its values are words, and they keep what it leaves."""
    commands, variables, kept = steps(name)
    assert "examples/ci/gate.sh \"$" in commands[-1]
    taken = (CI / "gate.sh").read_text()
    assert all(isinstance(value, str) and (f"#   {key} " in taken or not key.startswith("GATE")) for key, value in variables.items())
    assert {path.rpartition("/")[2] for path in kept} == {"slower.html", "slower.xml", "slower.txt", "runs"}
    for command in commands:
        subprocess.run(["sh", "-n"], input=command.replace("${{", "${").replace("github.event.pull_request.base.sha }}", "base}"), text=True, check=True)
