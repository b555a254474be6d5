# SPDX-License-Identifier: Apache-2.0
"""Runs programs with librbwp-threads.so preloaded, and reads what it wrote by the tests' own reader."""
import os
import pathlib
import subprocess

import rbwp_reader


def environment(file, **more):
    preload = " ".join(filter(None, [os.environ["THREADS"], os.environ.get("LD_PRELOAD")]))
    return {**os.environ, "LD_PRELOAD": preload, "RBWP_THREADS_FILE": str(file), **more}


def run(command, file, **more):
    """The program's standard output; it fails where the program does."""
    return subprocess.run(command, env=environment(file, **more), check=True, timeout=60, text=True,
                          stdout=subprocess.PIPE).stdout


class Recording:
    """waits: rows of the table `wait`, by thread and start; stretches: (thread, name, start, stop or None)."""

    def __init__(self, path):
        path = pathlib.Path(path)
        if path.with_name(path.name + ".live").exists():  # the program was killed, or left by _exit
            broken, path = path, path.with_suffix(".whole")
            subprocess.run([os.environ["RBWP"], "repair", broken, "-o", path], check=True, stdout=subprocess.DEVNULL)
        self.file = rbwp_reader.parse(path.read_bytes())
        assert not self.file["problems"], self.file["problems"]
        assert not self.file.get("losses"), self.file["losses"]
        self.threads = {thread["thread_id"]: thread for thread in self.file["threads"]}
        self.by_os_id = {thread["os_id"]: thread["thread_id"] for thread in self.threads.values()}
        self.waits = sorted(self.rows("wait"), key=lambda row: (row["thread"], row["start"]))
        self.stretches = sorted(self.calls(), key=lambda call: (call[0], call[2]))
        sample = self.file["samples"][0]
        self.from_monotonic = sample["ts"] - sample["monotonic"]

    def rows(self, table):
        for schema in self.file["schemas"]:
            if schema["name"] == table:
                names = [column["name"] for column in schema["columns"]]
                for row in schema["rows"]:
                    shown = dict(zip(names, row["values"]))
                    yield {**shown, "kind": self.file["names"][shown["kind"]]}

    def calls(self):
        names = {item["slot"]: item["name"] for item in self.file["work_items"]}
        opened = {}
        for block in sorted((b for b in self.file["blocks"] if "records" in b), key=lambda b: b["sequence"]):
            thread = block["thread_id"]
            for record in block["records"]:
                if record["type"] == "COARSE_BEGIN":
                    opened[thread] = (names[record["slot"]], record["ts"])
                elif record["type"] == "COARSE_END":
                    name, start = opened.pop(thread)
                    yield thread, name, start, record["ts"]
        for thread, (name, start) in opened.items():
            yield thread, name, start, None
