# SPDX-License-Identifier: Apache-2.0
"""librbwp.so and the command rbwp: where they are, and the library's calls as ctypes sees them.

RBWP_LIBRARY and RBWP_COMMAND in the environment name others. Without them: what lies in the tree that this package was
installed or built in, in the prefix of pkg-config's rbwp, then where the system looks: PATH, and the loader (ldconfig)."""

import contextlib
import ctypes
import ctypes.util
import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence

# The library's ABI is its minor version's, and the structs below are those of this one.
ABI = "0.2"


class RbwpError(Exception):
    """The library or the command refused; the text says why."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class CError(ctypes.Structure):
    """struct rbwp_error."""
    _fields_ = [("status", ctypes.c_int), ("offset", ctypes.c_uint64), ("section", ctypes.c_char_p),
                ("rule", ctypes.c_uint), ("os_errno", ctypes.c_int), ("text", ctypes.c_char * 256)]


class CLanesLayout(ctypes.Structure):
    """struct rbwp_lanes_layout."""
    _fields_ = [("size", ctypes.c_size_t), ("dialect", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("num_blocks", ctypes.c_uint32), ("num_groups", ctypes.c_uint32), ("stride", ctypes.c_uint32),
                ("max_records", ctypes.c_uint32), ("clock_hz", ctypes.c_uint64), ("anchor_device", ctypes.c_uint64),
                ("anchor_host_ns", ctypes.c_uint64), ("grid_x", ctypes.c_uint32), ("grid_y", ctypes.c_uint32),
                ("grid_z", ctypes.c_uint32), ("generation", ctypes.c_uint32)]


class CLanesStats(ctypes.Structure):
    """struct rbwp_lanes_stats."""
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "stray_ends", "misplaced", "holes", "backwards", "after_finalize", "outside", "too_deep", "cut", "records",
        "spans", "instants", "heartbeats", "unended", "lanes", "finalized", "full", "dropped", "deepest", "absolute")
                ] + [("first_ns", ctypes.c_int64), ("last_ns", ctypes.c_int64), ("stale", ctypes.c_uint64)]


EVENT_COLUMNS = ("event_id", "pid", "pid_m", "pid_n", "cur_rank", "target_rank", "xcc_id", "cu_id", "timestamp",
                 "address", "duration_cycles", "op_index", "payload_size")
WIDE_COLUMNS = ("timestamp", "address", "duration_cycles")  # of 64 bits; the others have 32


class CEventsContext(ctypes.Structure):
    """struct rbwp_events_context."""
    _fields_ = [("size", ctypes.c_size_t), ("rank", ctypes.c_uint32), ("ranks", ctypes.c_uint32),
                ("heaps", ctypes.POINTER(ctypes.c_int64)), ("max_events", ctypes.c_int64),
                ("counter", ctypes.c_uint64), ("op_counter", ctypes.c_uint64),
                ("columns", ctypes.c_uint64 * len(EVENT_COLUMNS)), ("enabled", ctypes.c_bool)]


class CEventsSource(ctypes.Structure):
    """struct rbwp_events_source."""
    _fields_ = [("size", ctypes.c_size_t), ("columns", ctypes.c_void_p * len(EVENT_COLUMNS)),
                ("max_events", ctypes.c_uint64), ("counter", ctypes.c_uint32), ("rank", ctypes.c_int32),
                ("clock_hz", ctypes.c_uint64), ("offset_ns", ctypes.c_int64), ("drift_ppb", ctypes.c_int64),
                ("drift_from_ticks", ctypes.c_int64)]


class CEventsStats(ctypes.Structure):
    """struct rbwp_events_stats."""
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "unwritten", "backwards", "other_rank", "bad_bytes", "events", "spans", "unended", "counted", "dropped")
                ] + [("first_ns", ctypes.c_int64), ("last_ns", ctypes.c_int64), ("unused", ctypes.c_uint64)]


class CEventsDump(ctypes.Structure):
    """struct rbwp_events_dump."""
    _fields_ = [("size", ctypes.c_size_t), ("rank", ctypes.c_uint32), ("ranks", ctypes.c_uint32),
                ("max_events", ctypes.c_uint64), ("counter", ctypes.c_uint32), ("op_counter", ctypes.c_uint32),
                ("stored", ctypes.c_uint64), ("clock_hz", ctypes.c_uint64), ("offset_ns", ctypes.c_int64),
                ("offset_bound_ns", ctypes.c_uint64), ("drift_ppb", ctypes.c_int64),
                ("drift_from_ticks", ctypes.c_int64)]


class CDuration(ctypes.Structure):
    """struct rbwp_duration."""
    _fields_ = [("group", ctypes.c_uint64), ("event", ctypes.c_int64)] + [
        (name, ctypes.c_uint64)
        for name in ("count", "total_ns", "min_ns", "max_ns", "p50_ns", "p99_ns", "unmatched")]


TAKE_EVENTS = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def _declare(library: ctypes.CDLL) -> None:
    """What the calls take and give: ctypes would pass an address as 32 bits."""
    pointer, size, at = ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER
    status = ctypes.c_int
    for name, result, arguments in (
        ("rbwp_version", ctypes.c_char_p, []),
        ("rbwp_status_text", ctypes.c_char_p, [status]),
        ("rbwp_lanes_bytes", ctypes.c_uint64, [at(CLanesLayout)]),
        ("rbwp_lanes_write_header", status, [at(CLanesLayout), pointer, size, at(CError)]),
        ("rbwp_lanes_find_layout", status, [pointer, size, at(CLanesLayout), at(CLanesLayout), at(CError)]),
        ("rbwp_lanes_decode_array_sized", status, [pointer, size, at(CLanesLayout), pointer, size, at(size),
                                                   at(CLanesStats), size, at(CError)]),
        ("rbwp_events_name", ctypes.c_char_p, [ctypes.c_int32]),
        ("rbwp_events_encode_context", status, [at(CEventsContext), pointer, size, at(CError)]),
        ("rbwp_events_decode_context", status, [pointer, size, at(CEventsContext), at(CError)]),
        ("rbwp_events_decode_sized", status, [at(CEventsSource), TAKE_EVENTS, pointer, at(CEventsStats), size,
                                              at(CError)]),
        ("rbwp_events_encode_dump", status, [at(CEventsDump), pointer, at(CError)]),
        ("rbwp_durations_new", pointer, []),
        ("rbwp_durations_free", None, [pointer]),
        ("rbwp_durations_take_lanes", ctypes.c_bool, [pointer, pointer, size]),
        ("rbwp_durations_take_events", ctypes.c_bool, [pointer, pointer, size]),
        ("rbwp_durations_rows", at(CDuration), [pointer, at(size)]),
        ("rbwp_foreign_start", status, [ctypes.c_int, pointer, pointer, pointer]),
        ("rbwp_session_stop_sized", status, [pointer, pointer, size]),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


def _trees() -> Iterator[Path]:
    """The prefix that this package is installed under, or the source tree, from the inside out; then pkg-config's."""
    yield from Path(__file__).resolve().parents
    with contextlib.suppress(OSError):  # no pkg-config
        done = subprocess.run(["pkg-config", "--variable=prefix", "rbwp"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        if done.stdout.strip():
            yield Path(done.stdout.strip()).resolve()


def _library_candidates() -> Iterator[str]:
    for tree in _trees():
        for folder in ("lib", "lib64", "build"):
            yield str(tree / folder / "librbwp.so")
        for path in sorted(tree.glob("lib/*-linux-gnu*/librbwp.so")):
            yield str(path)
    found = ctypes.util.find_library("rbwp")
    if found:
        yield found
    yield f"librbwp.so.{ABI}"


def _load(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    _declare(library)
    version = library.rbwp_version().decode()
    if version.rsplit(".", 1)[0] != ABI:
        raise RbwpError(f"{path} is version {version}, and this package is for {ABI}: name another in RBWP_LIBRARY")
    return library


@lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, loaded at its first use. OSError if there is none."""
    named = os.environ.get("RBWP_LIBRARY")
    if named:
        return _load(named)
    for path in _library_candidates():
        if "/" in path and not os.path.exists(path):
            continue
        try:
            return _load(path)
        except (OSError, AttributeError):  # of another kind of machine, or too old
            continue
    raise OSError("librbwp.so was not found: name it in the environment, RBWP_LIBRARY=/path/librbwp.so")


def refuse(status: int, error: CError, what: str) -> None:
    """Raises unless status is good (0, or a positive hint)."""
    if status < 0:
        text = error.text.decode(errors="replace") or library().rbwp_status_text(status).decode()
        raise RbwpError(f"{what}: {text}", status)


def command() -> str:
    """Path of the command rbwp. FileNotFoundError if there is none."""
    named = os.environ.get("RBWP_COMMAND")
    if named:
        return named
    for tree in _trees():
        for folder in ("bin", "build/tools"):
            if os.access(tree / folder / "rbwp", os.X_OK):
                return str(tree / folder / "rbwp")
    found = shutil.which("rbwp")
    if not found:
        raise FileNotFoundError("the command rbwp was not found: name it in the environment, RBWP_COMMAND=/path/rbwp")
    return found


def _beside_command(environment: str, name: str, folders: Sequence[str]) -> Optional[str]:
    """A file that belongs to the command: what the environment names, else one in these folders, seen from the
    command's own."""
    named = os.environ.get(environment)
    if named:
        return named
    here = Path(command()).resolve().parent
    for folder in folders:
        for path in sorted(here.glob(f"{folder}/{name}")) if "*" in folder else [here / folder / name]:
            if path.exists():
                return os.path.normpath(path)
    return None


def stand_in() -> str:
    """Path of rbwp-ptxas. FileNotFoundError if there is none."""
    found = _beside_command("RBWP_PTXAS_STAND_IN", "rbwp-ptxas", (".", )) or shutil.which("rbwp-ptxas")
    if not found:
        raise FileNotFoundError("rbwp-ptxas was not found beside the command rbwp: name it in the environment, "
                                "RBWP_PTXAS_STAND_IN=/path/rbwp-ptxas")
    return found


def inject_library() -> str:
    """Path of librbwp-inject.so, which collects what probes write. FileNotFoundError if there is none."""
    found = _beside_command("RBWP_INJECT", "librbwp-inject.so", (".", "..", "../gpu", "../lib", "../lib64", "../lib/*"))
    if not found:
        raise FileNotFoundError("librbwp-inject.so was not found beside the command rbwp: name it in the environment, "
                                "RBWP_INJECT=/path/librbwp-inject.so")
    return found


def run_command(arguments: Sequence[str], good: Sequence[int] = (0,)) -> str:
    """Runs rbwp; what it printed. RbwpError with its last words unless it ends with one of the good statuses."""
    done = subprocess.run([command(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", check=False)
    if done.returncode not in good:
        words = done.stderr.strip() or done.stdout.strip() or "no message"
        raise RbwpError(f"rbwp {arguments[0]} ended with {done.returncode}: {words}", done.returncode)
    return done.stdout


def export(kind: str, dumps: Sequence[str], form: str, target: str, options: Sequence[str] = ()) -> None:
    """Runs `rbwp lanes` or `rbwp events` on dumps of buffers; target is overwritten. Damage in them is no failure of the
    export: decoding counts it."""
    run_command([kind, *options, "--to", form, "--force", "--output", target, "--", *dumps], good=(0, 3))


def names_options(**names: "dict[int, str]") -> "list[str]":
    """Names by number as the command takes them, by option."""
    return [word for option, known in names.items() if known
            for word in (f"--{option}", ",".join(f"{number}={name}" for number, name in known.items()))]


def checked_number(name: str, value: Any, least: int, most: int) -> int:
    """The argument as an int. TypeError and ValueError name it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: an integer is wanted, not {type(value).__name__}")
    number = int(value.__index__())
    if not least <= number <= most:
        raise ValueError(f"{name}: {number} is not in {least} to {most}")
    return number


def checked_path(name: str, value: Any) -> str:
    try:
        path = os.fspath(value)
    except TypeError:
        raise TypeError(f"{name}: a path is wanted, not {type(value).__name__}") from None
    return path.decode() if isinstance(path, bytes) else str(path)


def checked_names(name: str, value: Any) -> "dict[int, str]":
    """Names by number, from a sequence of them or a mapping."""
    if value is None:
        return {}
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise TypeError(f"{name}: a sequence of names or a mapping from numbers is wanted, not {value!r}")
    pairs = value.items() if hasattr(value, "items") else enumerate(value)
    names = {}
    for number, text in pairs:
        if not isinstance(text, str):
            raise TypeError(f"{name}: {text!r} is not a name")
        if not text or "," in text:
            raise ValueError(f"{name}: {text!r} is empty or has a comma")
        names[checked_number(name, number, -2**31, 2**31 - 1)] = text
    return names


def c_error() -> CError:
    return CError()


def optional(found: Optional[bytes]) -> Optional[str]:
    return None if found is None else found.decode()
