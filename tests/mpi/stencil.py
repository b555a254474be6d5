#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/stencil on 1, 2 and 4 nodes: its result is right, it leaves a file for each node, they merge, and every piece
that one file says was sent another says was handled, not before by more than the clocks' bound. The same with the cells on
GPUs, where pieces go straight into memory that the other process shared. Of a job that lost a
node the others' files are whole, and its own can be repaired."""
import os
import pathlib
import tempfile

import mpirun
import rbwp_reader

STENCIL, ITERATIONS = os.environ["STENCIL"], 12


def stencil(nodes, folder, *words, **options):
    return mpirun.launch(nodes, [STENCIL, "--side", "96", "-bgworkprofile", "2", "-bgworkprofile_logfile",
                                 folder + "/bgwork_%.bin", *words], **options)


def rows_of(parsed, name):
    """[{column: value}], with times moved onto the clock of node 0 by the last comparison, and how far that may be off."""
    clock = parsed["node_clocks"][-1] if parsed["node_clocks"] else {"offset": 0, "bound": 0}
    schema = next(s for s in parsed["schemas"] if s["name"] == name)
    columns = {"message_sent": ("time", "stop", "thread", "name", "key", "peer", "bytes"),
               "message_handled": ("arrived", "start", "stop", "thread", "name", "key", "peer", "bytes")}[name]
    rows = [dict(zip(columns, row["values"], strict=True)) for row in schema["rows"]]
    for row in rows:
        for column in ("time", "arrived", "start", "stop"):
            if column in row:
                row[column] += clock["offset"]
    return rows, max([c["bound"] for c in parsed["node_clocks"]], default=0)


def check_messages(files, messages):
    """Every key once at either end, between the nodes that both ends name, and never handled before it was sent."""
    sent, handled = {}, {}
    for node, path in enumerate(files):
        parsed = rbwp_reader.parse(path.read_bytes())
        assert not parsed["problems"], (path, parsed["problems"])
        assert len(parsed["node_clocks"]) >= (2 if node else 0), (path, parsed["node_clocks"])
        for rows, name in ((sent, "message_sent"), (handled, "message_handled")):
            found, bound = rows_of(parsed, name)
            rows.update({row["key"]: (node, bound, row) for row in found})
    assert len(sent) == len(handled) == messages and sent.keys() == handled.keys(), (len(sent), len(handled), messages)
    for key, (node, bound, row) in sent.items():
        peer, peer_bound, end = handled[key]
        assert (row["peer"], end["peer"], row["bytes"]) == (peer, node, end["bytes"]), (key, row, end)
        # Comparisons are some ms apart, and clocks of one machine do not drift: both ends' bounds, twice.
        assert end["arrived"] + 2 * (bound + peer_bound) >= row["time"], (key, row, end, bound, peer_bound)
        assert end["start"] >= end["arrived"], end


def check_job(nodes, pieces):
    with tempfile.TemporaryDirectory() as folder:
        status, said, text = stencil(nodes, folder, "--iterations", str(ITERATIONS))
        assert status == 0 and "norm      26, wanted 26: solution validates" in said, text
        assert f"{pieces} of them messages" in said, text
        files = mpirun.files(folder, "bgwork_*.bin")
        assert [file.name for file in files] == [f"bgwork_{node}.bin" for node in range(nodes)], files
        mpirun.rbwp("check", *files)
        check_messages(files, pieces * (ITERATIONS + 1) + nodes)
        merged = mpirun.rbwp("merge", "-o", folder + "/merged.json", *files)
        assert "before it was sent" not in merged, merged
        assert merged.count("aligned by comparing clocks") + merged.count("aligned by MONOTONIC pairs") == nodes - 1, merged


def check_gpus():
    """A driver that computes on the processor plays the GPUs. Told beside the pieces: where each of them is put; and if
    that memory cannot be had the pieces themselves, on both nodes with the reason."""
    for refused, said_of_pieces in (("", "4 within one, 4 into another process's memory"),
                                    ("memory_map", "4 within one, 4 through memory of the host")):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.environ["FAKE_GPU"], folder + "/libcuda.so.1")
            paths = ":".join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH")]))
            mpirun.ENVIRONMENT.update(RBWP_FAKE_GPUS="2", RBWP_FAKE_REFUSES=refused, LD_LIBRARY_PATH=paths)
            status, said, text = stencil(2, folder, "--side", "31", "--iterations", "5", "--tiles", "2", "--gpu", "cuda")
            assert status == 0 and "norm      12, wanted 12: solution validates" in said, text
            assert said_of_pieces in said, text
            assert text.count("pieces between processes go through the host: cuda: ") == (2 if refused else 0), text
            files = mpirun.files(folder, "bgwork_*.bin")
            mpirun.rbwp("check", *files)
            check_messages(files, 4 * (5 + 1) + 4 + 2)
            merged = mpirun.rbwp("merge", "-o", folder + "/merged.json", *files)
            assert "before it was sent" not in merged, merged


def check_lost_node():
    nodes, dies = 3, 1
    with tempfile.TemporaryDirectory() as folder:
        _, said, text = stencil(nodes, folder, "--iterations", "300", "--kill", str(dies), keep_launcher_blind=True)
        assert said.count("status 1\n") == nodes - 1 and said.count("status 137\n") == 1, text
        assert text.count(f"node {dies}") >= nodes - 1, text
        files = mpirun.files(folder, "bgwork_?.bin")
        assert len(files) == nodes, files
        for node, path in enumerate(files):
            if node == dies:
                assert pathlib.Path(f"{path}.live").exists()
                files[node] = pathlib.Path(folder, "repaired.bin")
                mpirun.rbwp("repair", path, "-o", files[node])
            mpirun.rbwp("check", files[node])
        mpirun.rbwp("merge", "-o", folder + "/merged.json", *files)


check_job(1, 0)
check_job(2, 2)
check_job(4, 8)
if mpirun.FLAVOUR == "openmpi":
    check_gpus()
check_lost_node()
