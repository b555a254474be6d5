#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of 1, 2 and 4 nodes do what was sent to them, once and in order, know each other's clocks, and leave files that
belong together: every message in one file has its handler's call in another, never before it was sent. What cannot be
a job is refused with a line that says why."""
import os
import re
import subprocess
import tempfile

import mpirun

SHORT, ERROR_NS, ZERO_S = 300, 2000, 1e-3


def check_lines(nodes, lines):
    for node in range(nodes):
        assert lines[node][0] == f"{nodes * SHORT} short, {nodes} long, {nodes * SHORT // 10} answers, 0 wrong", lines


def check_clocks(nodes, lines):
    """Offsets that were found, against those by the kernel's clock, which is one for all processes here."""
    found = {node: [tuple(map(int, re.findall(r"-?\d+", line))) for line in lines[node] if line.startswith("clock ")]
             for node in range(nodes)}
    for node in range(1, nodes):
        errors = []
        for (offset, bound, ahead), (_, _, ahead_of_0) in zip(found[node], found[0], strict=True):
            errors.append((bound, abs(offset - (ahead_of_0 - ahead))))
        assert all(error <= bound for bound, error in errors), (node, errors)
        # On a busy machine one way of a comparison may take as long as its bound; not of each.
        assert min(error for _, error in errors) <= ERROR_NS, (node, errors)


def check_files(nodes, folder):
    files = mpirun.files(folder)
    assert len(files) == nodes, files
    job_ids, zeros = set(), []
    for node, path in enumerate(files):
        mpirun.rbwp("check", path)
        info = mpirun.rbwp("info", path)
        assert f"rank {node}, ranks {nodes}, launcher MPI," in info, info
        job_ids.add(re.search(r"^job +job ([^,]+),", info, re.M)[1])
        zeros.append(float(re.search(r"^zero time +\S+ \d+:\d+:(\d+\.\d+) UTC", info, re.M)[1]))
    assert len(job_ids) == 1, job_ids
    # The one that all agreed on, each on its clock; their sessions started when they came to it.
    assert min((max(zeros) - min(zeros)) % 60, 60 - (max(zeros) - min(zeros))) < ZERO_S, zeros
    merged = mpirun.rbwp("merge", "-o", folder + "/merged.json", *files)
    assert "before it was sent" not in merged, merged
    return merged


def check_job(nodes):
    with tempfile.TemporaryDirectory() as folder:
        status, lines, text = mpirun.run(nodes, "all", folder)
        assert status == 0, text
        check_lines(nodes, lines)
        check_clocks(nodes, lines)
        check_files(nodes, folder)


def check_leaves():
    with tempfile.TemporaryDirectory() as folder:
        status, lines, text = mpirun.run(2, "leaves", folder)
        assert status == 0, text
        assert any(re.match(r"send says -\d+: .*node 1", line) for line in lines[0]), text


def check_refused(folder):
    status, lines, text = mpirun.run(1, "own", folder)
    assert status == 0 and "MPI_THREAD_MULTIPLE" in lines[0][0], text
    # Started by the other library's launcher.
    other = {"openmpi": ("PMI_RANK", "PMI_SIZE"), "mpich": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")}
    if mpirun.FLAVOUR in other:
        rank, size = other[mpirun.FLAVOUR]
        done = subprocess.run([os.environ["JOB"], "all", folder], capture_output=True, text=True, timeout=60,
                              env={**mpirun.ENVIRONMENT, rank: "0", size: "4"})
        assert done.returncode == 1 and "another MPI than its launcher's" in done.stdout, done


for count in 1, 2, 4:
    check_job(count)
check_leaves()
with tempfile.TemporaryDirectory() as nowhere:
    check_refused(nowhere)
