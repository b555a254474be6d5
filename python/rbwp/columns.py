# SPDX-License-Identifier: Apache-2.0
"""Spans of files as NumPy columns, which are mapped rather than read.

The command reads, filters and pairs, and writes the columns into a file (`rbwp export --to npz`); Python maps that file,
so that no value is copied and nothing is held that nobody looks at."""

import json
import mmap
import os
import struct
import subprocess
import tempfile
import warnings
import zipfile
from typing import IO, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

from .groups import Groups, group_rows
from .native import RbwpError, checked_path, command

Path = Union[str, "os.PathLike[str]"]
Time = Union[str, int, np.integer, np.datetime64]
Names = Union[str, int, Sequence[Union[str, int]]]
Rows = Union[slice, Sequence[int], npt.NDArray[Any]]  # what chooses rows, as NumPy indexes

# Columns of texts, which are numbers of texts; and all others, with their type.
TEXT_COLUMNS = ("process", "track", "track_kind", "category", "name", "own_category", "args")
COLUMNS: Dict[str, str] = {
    "start": "<i8", "duration_ns": "<i8", "process": "<u4", "track": "<u4", "track_kind": "<u4", "category": "<u4",
    "name": "<u4", "depth": "<u4", "lane": "<u4", "item": "<u4", "id": "<u8", "parent": "<u8", "finished": "|b1",
    "instant": "|b1", "open": "|b1", "node": "<u4", "process_id": "<u8", "os_thread_id": "<u8", "thread_id": "<u8",
    "proc_id": "<u8", "stream": "<u8", "correlation": "<u8", "launch": "<i8", "launch_thread_id": "<u8",
    "launch_span": "<u8", "launch_inferred": "|b1", "start_uncertain_ns": "<u8", "stop_uncertain_ns": "<u8",
    "certain_ns": "<u8", "running_ns": "<u8", "runnable_ns": "<u8", "own_category": "<u4", "args": "<u4"
}
OPTIONAL = ("parent", "process_id", "os_thread_id", "thread_id", "proc_id", "stream", "correlation", "launch",
            "launch_thread_id", "launch_span", "launch_inferred", "start_uncertain_ns", "stop_uncertain_ns",
            "certain_ns", "running_ns", "runnable_ns", "own_category", "args")


class RbwpWarning(UserWarning):
    """What the command said of a file that it could read in part."""


def _of_files(paths: Sequence[str]) -> str:
    """For a repr: the first, and how many others."""
    return f" of {paths[0]}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''}" if paths else ""


def _split(blob: npt.NDArray[Any], ends: npt.NDArray[Any]) -> List[str]:
    """Texts that lie one behind the other. Bytes that are not UTF-8 are written as in all texts of the command."""
    whole, starts = blob.tobytes(), [0, *ends.tolist()]
    return [whole[a:b].decode("utf-8", "backslashreplace") for a, b in zip(starts, starts[1:])]


class Spans:
    """Spans as columns: spans["start"] is an array, a row a span, in the order of the tracks. It cannot be written to.

    Times are nanoseconds since 1970, lengths nanoseconds. A column of texts is the texts' numbers: texts() has the
    texts, text() one for each row. A column that no span has is 0 throughout; known() says which rows have it.
    Objects can be sliced and indexed (spans[rows]) with what NumPy indexes by, and pickled, which copies."""

    def __init__(self, arrays: Dict[str, npt.NDArray[Any]], columns: Sequence[str]) -> None:
        self._arrays = arrays
        self._texts: Dict[str, npt.NDArray[Any]] = {}
        self.columns: Tuple[str, ...] = tuple(columns)
        self._rows = max((len(arrays[name]) for name in self.columns if name in arrays), default=0)

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        files = [value for fact, value in self.facts.items() if fact.startswith("process.") and fact.endswith(".file")]
        return f"<rbwp.Spans: {len(self)} spans{_of_files(files)}{self._extent()}, {len(self.columns)} columns>"

    def _extent(self) -> str:
        """From when on, and how long."""
        if not len(self) or not {"start", "duration_ns"} <= set(self.columns):
            return ""
        first = int(self["start"].min())
        length_ns = int((self["start"] + self["duration_ns"]).max()) - first
        return f", {length_ns / 1e9:.9g} s from {np.datetime64(first, 'ns')}"

    def __contains__(self, name: object) -> bool:
        return name in self.columns or isinstance(name, str) and name.startswith("args.") and name[5:] in self.args

    @overload
    def __getitem__(self, key: str) -> npt.NDArray[Any]:
        ...

    @overload
    def __getitem__(self, key: Rows) -> "Spans":
        ...

    def __getitem__(self, key: Any) -> Any:
        """A column by its name ("args.NAME": an argument), or fewer rows."""
        if isinstance(key, str):
            return self._column(key)
        arrays = {name: array[key] if name.split(".")[0] in self.columns and not name.endswith((".texts", ".ends"))
                  else array for name, array in self._arrays.items()}
        rows = Spans(arrays, self.columns)
        rows._texts = self._texts
        rows._rows = len(np.empty(self._rows, np.bool_)[key])
        return rows

    def __getstate__(self) -> Dict[str, Any]:
        return {"_arrays": {name: np.array(array) for name, array in self._arrays.items()}, "_texts": {},
                "columns": self.columns, "_rows": self._rows}

    def _column(self, name: str) -> npt.NDArray[Any]:
        if name.startswith("args."):
            return _numbers(self.arg(name[5:]))
        if name not in self.columns:
            raise KeyError(f"{name}: no column that was asked for; there are {', '.join(self.columns)}")
        found = self._arrays.get(name)
        if found is None:  # which no span has
            found = np.broadcast_to(np.zeros((), COLUMNS[name]), (self._rows, ))
        return found

    def known(self, name: str) -> npt.NDArray[Any]:
        """Which rows have a value of that column."""
        if name.startswith("args."):
            return np.array([value is not None for value in self.arg(name[5:])], np.bool_)
        here = self._column(name)
        found = self._arrays.get(name + ".known")
        if found is None:
            found = np.broadcast_to(np.bool_(name in self._arrays or name not in OPTIONAL), here.shape)
        return found

    def texts(self, name: str) -> npt.NDArray[Any]:
        """All texts of a column, by number: an array of objects, str."""
        self._column(name)
        if name not in TEXT_COLUMNS:
            raise KeyError(f"{name}: not a column of texts; these are {', '.join(TEXT_COLUMNS)}")
        if name not in self._texts:
            made = np.array([""], object)
            if name in self._arrays:
                texts = _split(self._arrays[name + ".texts"], self._arrays[name + ".ends"])
                made = np.empty(len(texts), object)
                made[:] = texts
            made.flags.writeable = False
            self._texts[name] = made
        return self._texts[name]

    def text(self, name: str) -> npt.NDArray[Any]:
        """The text of each row: an array of objects, str, or None where there is none."""
        texts = self.texts(name)
        if not len(texts):
            return np.empty(0, object)
        found: npt.NDArray[Any] = texts[self._column(name)]
        known = self.known(name)
        if not known.all():
            found[~known] = None
        return found

    def arg(self, key: str) -> npt.NDArray[Any]:
        """An argument's value for each row, as in JSON: an array of objects, None where a row has none."""
        texts = self.texts("args")
        values = np.empty(len(texts), object)
        for number, text in enumerate(texts):
            values[number] = json.loads(text).get(key) if text else None
        found: npt.NDArray[Any] = values[self._column("args")] if len(texts) else np.empty(0, object)
        found[~self.known("args")] = None
        return found

    @property
    def args(self) -> Tuple[str, ...]:
        """Names of the arguments that these rows have: spans["args.NAME"] is an argument as a column, of numbers (0 where
        known("args.NAME") is not) or of objects. It is made anew each time."""
        used = np.unique(self._column("args")[self.known("args")])
        return tuple(dict.fromkeys(key for text in self.texts("args")[used] for key in json.loads(text or "{}")))

    @property
    def facts(self) -> Dict[str, str]:
        """What is known of the trace: "rbwp.version", "process.0.file", "alignment.method", "loss.0" ..."""
        texts = _split(self._arrays["facts.texts"], self._arrays["facts.ends"])
        return dict(zip(texts[::2], texts[1::2]))

    def group_by(self, *columns: str) -> Groups:
        """Counts and lengths by the values of these columns, as `rbwp stats` counts them; "args.NAME" is an argument.
        Waits in queues count where the column category is one of them, as that distinguishes them from calls."""
        if not columns:
            raise TypeError("group_by: a column is wanted")
        return group_rows(self, columns)

    def plot(self, axes: Any = None, color: str = "name") -> Any:
        """Draws them by matplotlib: a bar a span, on a row for each track and depth, in a colour for each value of a column of
        texts. Gives the axes (new ones, or those that were given), which plt.show() shows."""
        from .plots import plot_spans
        return plot_spans(self, axes, color)

    def to_pandas(self, args: Sequence[str] = ()) -> Any:
        """A DataFrame; texts are categories. Columns that some rows lack are masked ("Int64"). args: arguments that become
        columns, too: ["verb"] gives "args.verb", and spans.args all."""
        import pandas
        made: Dict[str, Any] = {}
        for name in (*self.columns, *(f"args.{key}" for key in args)):
            values, known = self[name], self.known(name)
            if name in TEXT_COLUMNS:
                codes = np.where(known, values.astype(np.int64), -1)
                made[name] = _categories(pandas, codes, self.texts(name))
            elif name in ("start", "launch"):
                times = values.view("M8[ns]") if values.flags.c_contiguous else values.astype("M8[ns]")
                made[name] = times if known.all() else np.where(known, times, np.datetime64("NaT"))
            elif (name in OPTIONAL or name.startswith("args.")) and values.dtype != np.object_:
                kinds = {"b": pandas.arrays.BooleanArray, "f": pandas.arrays.FloatingArray}
                made[name] = kinds.get(values.dtype.kind, pandas.arrays.IntegerArray)(np.array(values), ~known)
            else:
                made[name] = values
        return pandas.DataFrame(made, copy=False)


def _numbers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values of JSON as numbers, where all that are there can be without a loss, 0 where none is; else as they are."""
    known = np.array([value is not None for value in values], np.bool_)
    kinds = {type(value) for value in values[known]}
    if kinds and (kinds <= {int, float} or kinds == {bool}):
        exact = values[known].tolist()
        numbers = np.array(exact)
        if numbers.dtype != np.object_ and numbers.tolist() == exact:
            values = np.zeros(len(values), numbers.dtype)
            values[known] = numbers
    return values


def _categories(pandas: Any, codes: npt.NDArray[Any], texts: npt.NDArray[Any]) -> Any:
    """Texts of tracks may be the same: categories may not."""
    unique: Dict[str, int] = {}
    places = np.array([unique.setdefault(text, len(unique)) for text in texts] or [0], np.int64)
    return pandas.Categorical.from_codes(np.where(codes < 0, -1, places[codes]), categories=list(unique))


# ---- an .npz file, mapped ------------------------------------------------------------------


def _stored_members(file: IO[bytes]) -> Iterator[Tuple[str, int, int]]:
    """Arrays of the archive, and where their bytes begin and end."""
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or not member.filename.endswith(".npy"):
                raise RbwpError(f"{member.filename}: not stored as it is, so it cannot be mapped")
            file.seek(member.header_offset + 26)
            name_bytes, extra_bytes = struct.unpack("<HH", file.read(4))
            begin = member.header_offset + 30 + name_bytes + extra_bytes
            yield member.filename[:-len(".npy")], begin, begin + member.file_size


def _map(file: IO[bytes]) -> Dict[str, npt.NDArray[Any]]:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    arrays: Dict[str, npt.NDArray[Any]] = {}
    form: Any = np.lib.format
    for name, begin, end in list(_stored_members(file)):
        file.seek(begin)
        if form.read_magic(file) != (1, 0):
            raise RbwpError(f"{name}: an array of another version")
        shape, _, dtype = form.read_array_header_1_0(file)
        if len(shape) != 1 or dtype.hasobject or file.tell() + shape[0] * dtype.itemsize != end or end > len(mapped):
            raise RbwpError(f"{name}: no array of one dimension, or not all of it")
        # An empty array may lie at the end of the file.
        arrays[name] = np.frombuffer(mapped, dtype, shape[0], file.tell()) if shape[0] else np.empty(0, dtype)
    return arrays


def _open_npz(file: IO[bytes], what: str) -> Spans:
    try:
        arrays = _map(file)
    except (zipfile.BadZipFile, struct.error, ValueError) as problem:
        raise RbwpError(f"{what}: no file of columns: {problem}") from None
    unknown = [name for name in ("facts.texts", "facts.ends") if name not in arrays]
    columns = [name for name in COLUMNS if name in arrays]
    rows = {len(arrays[name]) for name in arrays if name.split(".")[0] in COLUMNS and name.split(".")[-1] in
            (name, "known")}
    if unknown or len(rows) > 1:
        raise RbwpError(f"{what}: not what rbwp export --to npz writes")
    return Spans(arrays, columns)


# ---- the command ---------------------------------------------------------------------------


def _time(name: str, value: Time) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, np.datetime64):
        return str(int(value.astype("M8[ns]").astype(np.int64)))
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(int(value))
    raise TypeError(f"{name}: a time is wanted: nanoseconds since 1970, '+1.5s' since the zero time, or a datetime64")


def _several(value: Names) -> List[str]:
    return [str(one) for one in ([value] if isinstance(value, (str, int)) else value)]


def filter_options(since: Optional[Time] = None, until: Optional[Time] = None, thread: Optional[Names] = None,
                   slot: Optional[Names] = None, kind: Optional[Names] = None,
                   min_duration: Optional[Union[str, int]] = None) -> List[str]:
    """What spans() is asked for, as the command takes it."""
    options = []
    if since is not None:
        options.append(f"--from={_time('since', since)}")
    if until is not None:
        options.append(f"--until={_time('until', until)}")
    for name, given in (("thread", thread), ("slot", slot)):
        options += [f"--{name}={one}" for one in ([] if given is None else _several(given))]
    if kind is not None:
        options.append(f"--kind={','.join(_several(kind))}")
    if min_duration is not None:
        options.append(f"--min-duration={min_duration}")
    return options


def _chosen(columns: Optional[Sequence[str]]) -> Tuple[str, ...]:
    if columns is None:
        return tuple(COLUMNS)
    chosen = (columns, ) if isinstance(columns, str) else tuple(columns)
    for name in chosen:
        if name not in COLUMNS:
            raise ValueError(f"columns: {name!r} is none of {', '.join(COLUMNS)}")
    if not chosen:
        raise ValueError("columns: one at least is wanted")
    return tuple(name for name in COLUMNS if name in chosen)


def export_spans(words: Sequence[str], paths: Sequence[str], options: Sequence[str], columns: Tuple[str, ...],
                 folder: Optional[str] = None) -> Spans:
    """The columns of these files by `rbwp WORDS ...`, export or merge."""
    if len(columns) < len(COLUMNS):
        options = [*options, f"--columns={','.join(columns)}"]
    with tempfile.TemporaryFile(dir=folder) as file:
        done = subprocess.run([command(), *words, "--to=npz", "--no-progress", *options, "--output=-", "--", *paths],
                              stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode(errors="replace").strip()
        if done.returncode not in (0, 3) or not os.fstat(file.fileno()).st_size:
            raise RbwpError(said or f"rbwp {words[0]} ended with {done.returncode}", done.returncode)
        if done.returncode:
            warnings.warn(said, RbwpWarning, stacklevel=3)
        made = _open_npz(file, ", ".join(paths))
    made.columns = columns
    return made


def spans(path: Union[Path, Sequence[Path]], *, columns: Optional[Sequence[str]] = None,
          since: Optional[Time] = None, until: Optional[Time] = None, thread: Optional[Names] = None,
          slot: Optional[Names] = None, kind: Optional[Names] = None,
          min_duration: Optional[Union[str, int]] = None, live: bool = False, raw_times: bool = False,
          folder: Optional[Path] = None) -> Spans:
    """Spans of a file, or of several as one, as NumPy columns that are mapped from a file, not copied.

    What is filtered out never reaches Python: since and until (spans that end at or after, that begin before; "+1.5s"
    counts from the zero time), thread, slot, kind ("coarse", "fine", "gpu"), min_duration; so it is with columns.
    A file that `rbwp export --to npz` wrote is mapped as it is, and takes none of these but columns.
    folder is where the columns lie until the last array is gone: without it, where temporary files do.
    RbwpError if nothing can be read; RbwpWarning says what is wrong with a file of which a part was."""
    paths = [checked_path("path", one) for one in ([path] if isinstance(path, (str, os.PathLike)) else path)]
    if not paths:
        raise ValueError("path: one at least is wanted")
    options = filter_options(since, until, thread, slot, kind, min_duration)
    options += ["--live"] * live + ["--raw-times"] * raw_times
    if len(paths) == 1 and paths[0].endswith(".npz"):
        if options:
            raise ValueError(f"path: {paths[0]} has its columns already: filter when it is made")
        with open(paths[0], "rb") as file:
            made = _open_npz(file, paths[0])
        if columns is not None:
            made.columns = tuple(name for name in _chosen(columns) if name in made.columns or name in OPTIONAL)
        return made
    place = None if folder is None else checked_path("folder", folder)
    made = export_spans(["export"], paths, options, _chosen(columns), place)
    if not len(made) and (thread is not None or slot is not None):
        asked = ", ".join(f"{name}={given!r}" for name, given in (("thread", thread), ("slot", slot)) if given is not None)
        warnings.warn(f"{', '.join(paths)}: no span is of {asked}", RbwpWarning, stacklevel=2)
    return made
