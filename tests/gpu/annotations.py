#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""annotations.py RBWP FILE... - what rbwp shows of ranges on GPUs is what the kernels in the file say.

For each range and each stream of a GPU the union of the work that was launched in it, or in a range inside it, is computed
from the tables gpu_activity and range alone, by the tests' own reader; rbwp export's annotations must be these and no others.
Prints how many there are, and fails with the first that differ."""
import collections
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import rbwp_reader  # noqa: E402


def tables(path):
    """{table: rows as dicts}; names are texts."""
    parsed = rbwp_reader.parse(pathlib.Path(path).read_bytes())
    assert not parsed["problems"], parsed["problems"]
    found = collections.defaultdict(list)
    for schema in parsed["schemas"]:
        columns = [column["name"] for column in schema["columns"]]
        for row in schema["rows"]:
            shown = dict(zip(columns, row["values"]))
            if "name" in shown:
                shown["name"] = parsed["names"].get(shown["name"], "") if shown["name"] else ""
            found[schema["name"]].append(shown)
    return found


def unions(found):
    """{(processor, stream, range): [start, stop, works]}"""
    parents, made = {}, {}
    for row in found["range"]:
        if row["kind"] != 2:
            parents[row["range"]] = row["parent"]
    for work in found["gpu_activity"]:
        number, met = work["range"], set()
        while number in parents and number not in met:
            met.add(number)
            key = (work["processor"], work["stream"], number)
            one = made.setdefault(key, [work["start"], work["stop"], 0])
            one[0], one[1], one[2] = min(one[0], work["start"]), max(one[1], work["stop"]), one[2] + 1
            number = parents[number]
    return made


def rows_of(rbwp, path):
    done = subprocess.run([rbwp, "export", "--to", "ndjson", path], capture_output=True, check=True)
    spans = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted((span["args"]["range"], int(span["track"].split()[1]), span["start_ns"], span["start_ns"] + span["duration_ns"],
                   span["args"]["works"]) for span in spans if span["category"] == "annotation")


def check(rbwp, path):
    expected = sorted((number, stream, *one) for (_, stream, number), one in unions(tables(path)).items())
    got = rows_of(rbwp, path)
    for left, right in zip(expected, got):
        assert left == right, f"{path}: (range, stream, start, stop, works) should be {left} and is {right}"
    assert len(expected) == len(got), f"{path}: {len(expected)} annotations by the kernels, {len(got)} told"
    return len(got)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        print(f"{name}: {check(sys.argv[1], name)} annotations, all as the kernels say")
