# SPDX-License-Identifier: Apache-2.0
"""Spans of many files over Dask's workers: one partition a recording, or a range of one.

Each partition is an rbwp.Spans that the worker makes when it is computed; filters, windows and the choice of columns go
along, so that a worker reads no more than is asked for. The workers need this package, the command rbwp, and the
files under the same names. Dask and NumPy are enough; to_dataframe wants pandas."""

import glob as globs
import json
import os
import subprocess
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import dask
import numpy as np

from .columns import COLUMNS, OPTIONAL, TEXT_COLUMNS, Names, Path, Spans, Time, _chosen, _of_files, export_spans, filter_options
from .groups import Groups
from .native import RbwpError, checked_path, command


# A node's clock is compared with another's in its own file, so one file alone comes onto the job's axis.
_ON_ONE_CLOCK = ("merge", "--align=clocks")
_SLACK_NS = 1000  # windows of the command are on the clocks of nodes, and may be rounded


class Part(NamedTuple):
    """What one partition reads: the spans of a file that begin in a window; None: without a bound. more: the other files
    of its recording, which was cut while it was made, dumped again, or split: calls are open where it was cut."""
    path: str
    from_ns: Optional[int]
    until_ns: Optional[int]
    more: Tuple[str, ...] = ()

    @property
    def paths(self) -> List[str]:
        return [self.path, *self.more]


def read_part(part: Part, options: Sequence[str], columns: Tuple[str, ...]) -> Spans:
    """On a worker. The command gives what reaches into the window; a span is of the one that it begins in."""
    options = list(options)
    if part.from_ns is None and part.until_ns is None:
        return export_spans(_ON_ONE_CLOCK, part.paths, options, columns)
    wanted = columns if "start" in columns else _chosen([*columns, "start"])
    spans = export_spans(_ON_ONE_CLOCK, part.paths, [*options, *_window(part, options)], wanted)
    begins = np.ones(len(spans), np.bool_)
    if part.from_ns is not None:
        begins &= spans["start"] >= part.from_ns
    if part.until_ns is not None:
        begins &= spans["start"] < part.until_ns
    made = spans if begins.all() else spans[begins]
    made.columns = columns
    return made


def _window(part: Part, options: Sequence[str]) -> List[str]:
    """The window as the command takes it. A bound of the user's own stays: what that leaves too much is no part's."""
    bounds = (("--from", part.from_ns, -_SLACK_NS), ("--until", part.until_ns, _SLACK_NS))
    return [f"{name}={bound + slack}" for name, bound, slack in bounds
            if bound is not None and not any(option.startswith(name + "=") for option in options)]


def _group(spans: Spans, columns: Sequence[str]) -> Groups:
    return spans.group_by(*columns)


def _merge(groups: Sequence[Groups]) -> Groups:
    whole = Groups(groups[0].columns)
    for one in groups:
        whole.add(one)
    return whole


class DaskSpans:
    """Spans in partitions. Nothing is read before something of it is computed."""

    def __init__(self, parts: Sequence[Part], options: Sequence[str], columns: Tuple[str, ...]) -> None:
        self.parts: Tuple[Part, ...] = tuple(parts)
        self.columns = columns
        self._options = tuple(options)

    @property
    def npartitions(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        files = [path for part in self.parts for path in part.paths]
        return f"<rbwp.dask.DaskSpans: {self.npartitions} partitions{_of_files(files)}, {len(self.columns)} columns>"

    def to_delayed(self, columns: Optional[Sequence[str]] = None) -> List[Any]:
        """A dask.delayed of an rbwp.Spans for each partition."""
        chosen = self.columns if columns is None else _chosen(columns)
        read = dask.delayed(read_part, pure=True)
        return [read(part, self._options, chosen) for part in self.parts]

    def map(self, function: Callable[..., Any], *arguments: Any) -> List[Any]:
        """A dask.delayed of function(spans, *arguments) for each partition."""
        call = dask.delayed(function)
        return [call(spans, *arguments) for spans in self.to_delayed()]

    def group_by(self, *columns: str, split_every: int = 16) -> Any:
        """A dask.delayed of rbwp.Groups: what `rbwp stats` counts, by these columns. Workers read only the columns that
        this takes, and pass on what they counted, split_every at a time."""
        if not columns:
            raise TypeError("group_by: a column is wanted")
        if split_every < 2:
            raise ValueError("split_every: at least 2")
        group, merge = dask.delayed(_group), dask.delayed(_merge)
        read = [name.split(".")[0] for name in columns]
        level = [group(spans, columns)
                 for spans in self.to_delayed([*read, "duration_ns", "finished", "open", "category"])]
        while len(level) > 1:
            level = [merge(level[i:i + split_every]) for i in range(0, len(level), split_every)]
        return level[0]

    def to_bag(self) -> Any:
        """A dask.bag of the rbwp.Spans."""
        import dask.bag
        return dask.bag.from_delayed([dask.delayed(lambda spans: [spans])(one) for one in self.to_delayed()])

    def to_dataframe(self) -> Any:
        """A dask.dataframe, a row a span; texts are categories, which each partition has of its own."""
        import dask.dataframe
        return dask.dataframe.from_delayed(self.map(Spans.to_pandas), meta=self._meta(), verify_meta=False)

    def _meta(self) -> Any:
        """An empty frame of the same columns."""
        import pandas
        from dask.dataframe.utils import clear_known_categories
        made: Dict[str, Any] = {}
        for name in self.columns:
            if name in TEXT_COLUMNS:
                made[name] = pandas.Categorical([])
            elif name in ("start", "launch"):
                made[name] = np.empty(0, "M8[ns]")
            elif name in OPTIONAL:
                kind = "boolean" if COLUMNS[name] == "|b1" else "UInt64"
                made[name] = pandas.array([], dtype=kind)
            else:
                made[name] = np.empty(0, COLUMNS[name])
        return clear_known_categories(pandas.DataFrame(made))


def _files(pattern: Union[Path, Sequence[Path]]) -> List[str]:
    """Sorted, and each once; a name without * ? [ is taken as it is."""
    found: List[str] = []
    for one in [pattern] if isinstance(pattern, (str, os.PathLike)) else pattern:
        name = checked_path("glob", one)
        fits = sorted(globs.glob(name, recursive=True)) if globs.has_magic(name) else [name]
        if not fits:
            raise FileNotFoundError(f"no file fits {name}")
        found += fits
    return list(dict.fromkeys(found))


def _refuse_copies(paths: Sequence[str], live: bool) -> None:
    """Each partition is read alone, so nothing else would see that two files are of one recording (a file and its
    repaired copy) and count it twice. The command compares all of them, and reads no span before 1970."""
    done = subprocess.run([command(), *_ON_ONE_CLOCK, *["--live"] * live, "--to=npz", "--columns=id", "--until=0",
                           "--no-progress", "--output=-", "--files0-from=/dev/stdin"], input="\0".join(paths).encode(),
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    for line in done.stderr.decode(errors="replace").splitlines():
        if "is it given twice?" in line:
            raise RbwpError(line)


def _told(paths: Sequence[str], *words: str) -> List[Dict[str, Any]]:
    """What `rbwp info` says of each file that it can read."""
    done = subprocess.run([command(), "info", "--json", "--quick", *words, "--files0-from=/dev/stdin"],
                          input="\0".join(paths).encode(), capture_output=True, check=False)
    told = json.loads(done.stdout or "[]")
    return told if isinstance(told, list) else [told]


def _recordings(paths: Sequence[str]) -> List[List[str]]:
    """Files of one recording together, in the place of the first."""
    keys: Dict[str, Any] = {}
    for one in _told(paths) if len(paths) > 1 else []:
        session = one.get("session")
        if session and one.get("kept"):
            keys[one["file"]] = (session["host"], session["process_id"], session["start"], one["header"]["node_id"])
    made: Dict[Any, List[str]] = {}
    for path in paths:
        made.setdefault(keys.get(path, path), []).append(path)
    return list(made.values())


def _ranges(paths: Sequence[str], records: int) -> List[Part]:
    """Windows of about so many records, as the files' indices divide them. A file without an index is one."""
    bounds: List[Optional[int]] = [None]
    count = 0
    told = [block for one in _told(paths, "--index") for block in one["index"] if block["records"]]
    for one in sorted(told, key=lambda one: int(one["first"])):
        if count >= records and (bounds[-1] is None or one["first"] > bounds[-1]):
            bounds.append(one["first"])
            count = 0
        count += one["records"]
    return [Part(paths[0], *pair, tuple(paths[1:])) for pair in zip(bounds, [*bounds[1:], None])]


def spans(glob: Union[Path, Sequence[Path]], *, partition_records: Optional[int] = None,
          columns: Optional[Sequence[str]] = None, since: Optional[Time] = None, until: Optional[Time] = None,
          thread: Optional[Names] = None, slot: Optional[Names] = None, kind: Optional[Names] = None,
          min_duration: Optional[Union[str, int]] = None, live: bool = False, raw_times: bool = False) -> DaskSpans:
    """Spans of all files that fit a pattern, or several: a partition each, in the order of their names; files of one
    recording (cut while it was made, dumped again and again, split) are one partition, and nothing counts twice.

    With partition_records a recording that has more records than that becomes several partitions, windows of time that its
    index has; each span is in the one that it begins in. All else is as in rbwp.spans. Nodes that
    compared their clocks with another's are on its clock (raw_times: each on its own); of others each file has its own
    axis, and what brings those together is `rbwp merge`. A file and its copy are refused."""
    options = filter_options(since, until, thread, slot, kind, min_duration)
    options += ["--live"] * live + ["--raw-times"] * raw_times
    files = _files(glob)
    if len(files) > 1:
        _refuse_copies(files, live)
    if partition_records is None:
        parts = [Part(paths[0], None, None, tuple(paths[1:])) for paths in _recordings(files)]
    elif partition_records < 1:
        raise ValueError("partition_records: at least 1")
    else:
        parts = [part for paths in _recordings(files) for part in _ranges(paths, partition_records)]
    return DaskSpans(parts, options, _chosen(columns))
