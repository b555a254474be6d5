#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job that knows nothing of the library (late_rank.c), under the MPI library that the environment names: rank 0 waits for
rank 1, which is late before each call, and each wait says in which call, for whom, and for how many bytes; rank 1 waits
once. Calls that did not wait have no row. The same of a job that is killed while it waits; the late rank is named by stats."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "mpi"))
import mpirun  # noqa: E402
import recorded  # noqa: E402

LATE_NS = 90_000_000
RECORD = ["env", f"LD_PRELOAD={os.environ['THREADS']}"]
FOR_RANK_0 = [("MPI_Recv", 1, 8000), ("MPI_Recv", 1, 4), ("MPI_Wait", 1, 24), ("MPI_Waitany", 1, 24), ("MPI_Waitall", 1, 48),
              ("MPI_Bcast", 1, 8000), ("MPI_Allreduce", -1, 80), ("MPI_Alltoall", -1, 0), ("MPI_Reduce", -1, 40),
              ("MPI_Sendrecv", 1, 32), ("MPI_Probe", 1, 0)]


def run(folder, *words):
    return mpirun.launch(2, [*RECORD, f"RBWP_THREADS_FILE={folder}/%p.bin", os.environ["LATE_RANK"], *words])


def long_waits(path):
    rows = [row for row in recorded.Recording(path).rows("mpi_wait") if row["stop"] - row["start"] >= LATE_NS]
    return [(row["kind"], row["peer"], row["bytes"], row["outcome"]) for row in sorted(rows, key=lambda row: row["start"])
            if row["kind"] != "MPI_Barrier"]


def test_late(folder):
    status, _, text = run(folder)
    assert status == 0, text
    found = {path: long_waits(path) for path in folder.glob("*.bin")}
    assert sorted(found.values(), key=len) == [[("MPI_Recv", 0, 8000, 0)], [(*wait, 0) for wait in FOR_RANK_0]], found
    shown = subprocess.run([os.environ["RBWP"], "stats", "--json", "--by", "arg:peer", *found], capture_output=True, text=True, check=True)
    peers = {row["name"]: row["total"] for row in json.loads(shown.stdout)["arguments"]["values"]}
    assert peers["1"] > 7 * LATE_NS > 3 * LATE_NS > peers["0"], peers


def test_killed(folder):
    """Rank 0 receives from rank 1, which never sends: what it waits for is in its file."""
    run(folder, "never")
    found = [row for path in folder.glob("*.bin") for row in recorded.Recording(path).rows("open_call") if row["kind"] == "MPI_Recv"]
    assert found and {row["object"] for row in found} == {2}, found


for test in (test_late, test_killed):
    with tempfile.TemporaryDirectory() as name:
        test(pathlib.Path(name))
print("threads mpi: all passed")
