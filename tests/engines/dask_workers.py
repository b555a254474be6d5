# SPDX-License-Identifier: Apache-2.0
"""dask_workers.py RBWP MAKE_JOB MAKE_MODEL MAKE_WINDOWS - rbwp.dask.spans over Dask's distributed scheduler and two worker processes.

What the workers count of the files of a job is what `rbwp stats` counts of all of them, to the last digit, from whole files
and from windows of them, with filters and without; both workers take part, and read no column that nobody asked for.
Without Dask it ends with 77 and says so."""

import dataclasses
import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings

NODES = 40
here = os.path.dirname(os.path.abspath(__file__))
if any(importlib.util.find_spec(name) is None for name in ("numpy", "dask", "distributed")):
    other = "/usr/bin/python3"
    if os.environ.get("RBWP_TEST_PYTHON") or not os.access(other, os.X_OK):
        print("skipped: no Python with NumPy and Dask here (Debian: python3-numpy python3-distributed)")
        sys.exit(77)
    os.environ["RBWP_TEST_PYTHON"] = other
    os.execv(other, [other, "-B", *sys.argv])
sys.path.insert(0, os.path.join(here, "..", "..", "python"))


def command_counts(rbwp, *arguments):
    """What rbwp stats counts, by category and name."""
    done = subprocess.run([rbwp, "stats", "--json", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    fields = ("count", "unfinished", "open", "total", "open_time", "mean", "min", "p50", "p90", "p99", "max")
    stats = json.loads(done.stdout)
    return {(row["category"], row["name"]): tuple(row[field] for field in fields)
            for table in ("work_items", "sub_items", "gpu_work", "ranges") for row in stats[table]}


def who(spans):
    return os.getpid(), spans.columns, len(spans)


def check(rbwp, make_job, make_model, folder):
    import dask
    import rbwp as package
    import rbwp.dask as rbwp_dask

    subprocess.run([make_job, "-r", "400", "-s", "8", "-o", "900000", "-d", "9000", folder, str(NODES)], check=True)
    pattern = os.path.join(folder, "bgwork_*.bin")

    def counted(spans):
        return {key: dataclasses.astuple(group) for key, group in spans.group_by("category", "name").compute().items()}

    spans = rbwp_dask.spans(pattern)
    assert spans.npartitions == NODES and len({part.path for part in spans.parts}) == NODES
    whole = command_counts(rbwp, folder)
    assert len(whole) >= 6 and sum(row[0] for row in whole.values()) > 100 * NODES, whole
    assert counted(spans) == whole

    # Each file alone is on the axis that all of them have together.
    starts = dask.compute(*(one["start"] for one in spans.to_delayed(["start"])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = package.spans([part.path for part in spans.parts], columns=["start", "node"])
    for part, start in zip(spans.parts, starts):
        node = int(part.path.rsplit("_", 1)[1].split(".")[0])
        assert sorted(start.tolist()) == sorted(together["start"][together["node"] == node].tolist()), part.path
    assert counted(rbwp_dask.spans(pattern, raw_times=True)) == command_counts(rbwp, "--raw-times", folder) != whole

    # Windows by the files' indices: more partitions, the same spans, each once.
    few = sorted({part.path for part in spans.parts})[:10]
    parts = rbwp_dask.spans(few, partition_records=200)
    assert parts.npartitions >= 2 * len(few), parts.npartitions
    assert counted(parts) == command_counts(rbwp, *few)

    # What is filtered out never reaches a worker's Python, nor do columns.
    some = {"kind": "coarse", "slot": "stencil", "min_duration": "1us"}
    options = ["--kind=coarse", "--slot=stencil", "--min-duration=1us"]
    assert counted(rbwp_dask.spans(pattern, **some)) == command_counts(rbwp, *options, folder)
    reports = dask.compute(*rbwp_dask.spans(pattern, columns=["start"], **some).map(who))
    assert {columns for _, columns, _ in reports} == {("start", )}
    assert sum(rows for _, _, rows in reports) == command_counts(rbwp, *options, folder)["bgwork", "stencil"][0]
    workers = {worker for worker, _, _ in reports}
    assert len(workers) == 2 and os.getpid() not in workers, workers

    # A file of all kinds of spans in windows: they overlap, nest, and lie on GPUs.
    model = os.path.join(folder, "model")
    subprocess.run([make_model, model, "rows"], check=True)
    ids = dask.compute(*(one["id"] for one in rbwp_dask.spans(model, partition_records=1).to_delayed()))
    assert len(ids) > 1 and sorted(i for part in ids for i in part.tolist()) == sorted(package.spans(model)["id"].tolist())

    # What fails on a worker is reported where it is computed; what is no file, before.
    with open(os.path.join(folder, "bgwork_text.bin"), "w") as file:
        file.write("no trace")
    try:
        rbwp_dask.spans(pattern).group_by("name").compute()
        raise SystemExit("a file that is no RBWP file was read")
    except package.RbwpError as error:
        assert "bgwork_text.bin" in str(error), error
    for wrong, error in ((os.path.join(folder, "none_*.bin"), FileNotFoundError), (7, TypeError)):
        try:
            rbwp_dask.spans(wrong)
            raise SystemExit(f"{wrong} was taken")
        except error:
            pass
    if importlib.util.find_spec("pandas"):
        frame = rbwp_dask.spans(few, columns=["name", "duration_ns", "launch", "parent"]).to_dataframe()
        sums = frame.groupby("name", observed=True).duration_ns.sum().compute().to_dict()
        groups = rbwp_dask.spans(few).group_by("name").compute()
        assert sums == {key[0]: group.total_ns for key, group in groups.items()} and frame.npartitions == len(few)


def check_parts(rbwp, make_windows, folder):
    """A recording in parts is one partition: calls that are open at a cut are one, whatever windows it is read in."""
    import rbwp.dask as rbwp_dask

    subprocess.run([make_windows, f"{folder}cut_%t.bin", "600", "0", "-bgworkprofile_rotate", "2M"], check=True, stdout=subprocess.DEVNULL)
    files = sorted(glob.glob(f"{folder}cut_*.bin"))
    whole = {key: row[:4] for key, row in command_counts(rbwp, *files).items()}
    assert len(files) > 2 and whole
    for records, least in ((None, 1), (100000, 4)):
        spans = rbwp_dask.spans(files, partition_records=records)
        assert (spans.npartitions == 1 if records is None else spans.npartitions >= least), spans
        assert all(sorted(part.paths) == files for part in spans.parts), spans.parts
        counted = {key: dataclasses.astuple(group)[:4] for key, group in spans.group_by("category", "name").compute().items()}
        assert {key: counted[key] for key in whole} == whole, (records, counted, whole)


def main():
    rbwp, make_job, make_model, make_windows = sys.argv[1:]
    os.environ["RBWP_COMMAND"] = rbwp
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])  # of the workers
    os.environ["DASK_DISTRIBUTED__SCHEDULER__DASHBOARD__ENABLED"] = "False"
    import distributed

    with tempfile.TemporaryDirectory() as folder, distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            local_directory=folder) as cluster, distributed.Client(cluster):
        check(rbwp, make_job, make_model, os.path.join(folder, ""))
        check_parts(rbwp, make_windows, os.path.join(folder, ""))
    print("dask: all passed")


if __name__ == "__main__":
    main()
