# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the MPI library that the environment names (MPI, MPIRUN; JOB is tests/mpi/mpi_job), on this machine
alone, as root or not, with more processes than CPUs."""
import os
import pathlib
import re
import subprocess
import sys

FLAVOUR, RBWP = os.environ["MPI"], os.environ["RBWP"]
OPTIONS = {
    # One machine, no ssh, no network card, and no reading of other processes' memory, which containers forbid.
    "openmpi": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "plm", "isolated", "--mca", "btl",
                "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none", "--mca", "oob_tcp_if_include", "lo"],
    "mpich": ["-launcher", "fork"],
}
# What MPI libraries keep until the end is theirs. Where the host's name stands in no file they ask for it, and not each
# time is there an answer: they wait for one second then, not for five.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""),
               "RES_OPTIONS": "timeout:1 attempts:1", "UCX_MEM_MMAP_HOOK_MODE": "none"}


def launch(nodes, command, *, keep_launcher_blind=False, seconds=60):
    """(exit status, what it wrote to stdout, and with that to stderr). A launcher that is kept blind does not see how a
    process ended, and so does not end the others: what they do by themselves can be seen."""
    if keep_launcher_blind:
        command = ["sh", "-c", '"$@"; echo "status $?"; sleep 0.5; exit 0', "sh", *command]
    done = subprocess.run([os.environ["MPIRUN"], *OPTIONS.get(FLAVOUR, []), "-n", str(nodes), *command],
                          capture_output=True, text=True, timeout=seconds, env=ENVIRONMENT)
    text = done.stdout + done.stderr
    if "Sanitizer" in text or "runtime error" in text:
        sys.exit(text)
    return done.returncode, done.stdout, text


def run(nodes, mode, folder, **options):
    """(exit status, {node: [its lines]}, all it wrote) of mpi_job."""
    status, said, text = launch(nodes, [os.environ["JOB"], mode, str(folder)], **options)
    lines = {}
    for node, line in re.findall(r"^node (\d+): (.*)$", said, re.M):
        lines.setdefault(int(node), []).append(line)
    return status, lines, text


def rbwp(*words, status=0):
    done = subprocess.run([RBWP, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, (words, done)
    return done.stdout + done.stderr


def files(folder, pattern="node_*.bin"):
    return sorted(pathlib.Path(folder).glob(pattern))
