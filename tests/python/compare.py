#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what rbwp-dump prints with what the independent reader finds in the same files.

The keys of the golden JSON must all be there and agree, records one by one. Of the extensions, every key that
both print is compared, wherever rbwp-dump puts the section; the summary names those that it does not print, so
that nothing passes unseen. Each good file is read by the strict reader as well, which must find the same blocks.

usage: compare.py [--good] RBWP-DUMP FILE...   --good: a problem in a file is a difference; exit status 0, 1, 2 usage
"""

import json
import pathlib
import subprocess
import sys

import rbwp_archive
import rbwp_reader

REQUIRED = ("file_size", "header", "finalized", "work_items", "sub_items", "block_count", "opaque_block_count",
            "record_count", "incomplete_tail", "blocks")
EXTENSIONS = ("session", "host", "command", "writer", "threads", "losses", "clock", "samples", "slot_uses", "gpus",
              "left_out", "processes", "job", "node_clocks", "kept", "sub_item_kinds", "unknown_sections", "tables", "index", "trailer")


# Rules that no reader needs to go on: rbwp-dump may leave them to "rbwp check".
CHECK_ONLY = {"R6", "R20", "R21", "R22", "R32", "R33", "R34", "R60", "R61", "R62", "R63", "R64", "R67", "R68",
              "R69", "R70", "R71", "R72"}


class Difference(Exception):
    """One sentence: where, and both values."""


class Comparison:
    """Counts what was compared, so that a summary can show that something was."""

    def __init__(self):
        self.values = 0

    def same(self, path, dumped, expected):
        self.values += 1
        if type(dumped) is not type(expected) or dumped != expected:
            raise Difference(f"{path}: rbwp-dump has {dumped!r:.200}, the reader {expected!r:.200}")

    def tree(self, path, dumped, expected, every_key):
        """Everything that the reader found; every_key: rbwp-dump may not leave any of it out."""
        if isinstance(expected, dict) and isinstance(dumped, dict):
            for key, value in expected.items():
                if key + "_hex" in dumped:  # bytes that are not UTF-8
                    raw = bytes.fromhex(dumped[key + "_hex"])
                    self.same(f"{path}.{key}", rbwp_reader.name_of(raw), value)
                elif key in dumped:
                    self.tree(f"{path}.{key}", dumped[key], value, every_key)
                elif every_key:
                    raise Difference(f"{path}: rbwp-dump has no {key}")
        elif isinstance(expected, list) and isinstance(dumped, list):
            self.same(f"number of {path}", len(dumped), len(expected))
            for index, (left, right) in enumerate(zip(dumped, expected)):
                self.tree(f"{path}[{index}]", left, right, every_key)
        else:
            self.same(path, dumped, expected)


def object_with(document, key):
    """The object, this one or one inside it, that has the key; None if there is none."""
    if key in document:
        return document
    inner = (object_with(value, key) for value in document.values() if isinstance(value, dict))
    return next((found for found in inner if found is not None), None)


def run_dump(dump, path):
    done = subprocess.run([dump, path], capture_output=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise Difference(f"rbwp-dump ends with status {done.returncode}: {done.stderr.decode(errors='replace')!r:.200}")
    try:
        return done.returncode, json.loads(done.stdout.decode("utf-8", "surrogateescape")) if done.stdout else None
    except ValueError as error:
        raise Difference(f"rbwp-dump does not print one JSON document: {error}") from None


def problem_text(problem):
    return "{rule} at offset {offset}: {text}".format(**problem)


def check_status(status, result):
    """A cut file is no damage, yet partly read: either status is right for it."""
    needed = [problem for problem in result["problems"] if problem["rule"] not in CHECK_ONLY]
    if needed and status == 0:
        raise Difference(f"rbwp-dump finds nothing wrong, the reader {problem_text(needed[0])}")
    if status != 0 and not result["problems"] and not result["incomplete_tail"]:
        raise Difference(f"rbwp-dump ends with status {status}, the reader finds nothing wrong")


def check_strict(file, result, comparison):
    try:
        strict = rbwp_reader.parse_strict(file)
    except rbwp_reader.Refused as refused:
        raise Difference(f"the strict reader refuses: {refused}") from None
    comparison.tree("strict", result, strict, True)


def compare_file(dump, path, must_be_good=False):
    """The summary of one file. Raises Difference."""
    file = pathlib.Path(path).read_bytes()
    if rbwp_archive.is_archive(file):
        file = rbwp_archive.plain(file, rbwp_reader.crc32c)
    result = rbwp_reader.parse(file)
    if must_be_good and result["problems"]:
        raise Difference(f"not a good file: {problem_text(result['problems'][0])}")
    status, dumped = run_dump(dump, path)
    check_status(status, result)
    if result["refused"]:
        return f"refused by both: {result['refused']}"
    if not isinstance(dumped, dict):
        raise Difference("rbwp-dump prints no JSON object for a file that can be read")
    comparison = Comparison()
    comparison.tree("file", dumped, {key: result[key] for key in REQUIRED}, True)
    unseen = compare_extensions(dumped, result, comparison)
    header_was_set = result["header"]["descriptor_offset"] != 0 or not result["trailer"]
    if header_was_set and not result["problems"] and not result["incomplete_tail"]:
        check_strict(file, result, comparison)
    return "".join((f"{result['block_count']} blocks, {result['record_count']} records; ",
                    f"{comparison.values} values agree",
                    f"; not printed: {', '.join(unseen)}" if unseen else "",
                    f"; {len(result['problems'])} problems, first {problem_text(result['problems'][0])}"
                    if result["problems"] else ""))


def compare_extensions(dumped, result, comparison):
    unseen = []
    for key in EXTENSIONS:
        if not result[key]:
            continue
        holder = object_with(dumped, key)
        before = comparison.values
        if holder is not None:
            comparison.tree("trailer", holder, {key: result[key]}, False)
        if comparison.values == before:
            unseen.append(key)
    return unseen


def main(arguments):
    must_be_good = arguments[:1] == ["--good"]
    arguments = arguments[must_be_good:]
    if len(arguments) < 2:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    dump, *paths = arguments
    different = 0
    for path in paths:
        try:
            print(f"{path}: {compare_file(dump, path, must_be_good)}")
        except (Difference, OSError) as difference:
            print(f"{path}: DIFFERENT: {difference}")
            different += 1
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
