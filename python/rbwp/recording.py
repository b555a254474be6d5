# SPDX-License-Identifier: Apache-2.0
"""Recording of a Python program: its calls by name, with arguments.

    rbwp.start(logfile="app_%p.bin")          # or by RBWP_FLAGS="-bgworkprofile 2" in the environment
    with rbwp.item("parse", tenant=7):        # a call of the work item "parse"
        with rbwp.item("header"):             # inside of it: a sub-item
            ...
    @rbwp.item("flush")
    def flush(): ...

The outermost item of a thread is a call (level 1), what is inside of it sub-items, and arguments belong to the call (both
level 2). `async with` and coroutine functions record a range instead, since other tasks run on the thread meanwhile;
record_tasks records each step of asyncio's tasks as a call.

Without a session an item costs a call into the library. Nothing here raises into the program but start and stop; what
cannot be recorded is counted in the file. Without the library a warning says so, once."""

import asyncio
import contextvars
import ctypes
import functools
import inspect
import shlex
import struct
import threading
import warnings
from types import TracebackType
from typing import Any, Callable, Coroutine, Dict, Generator, Optional, Sequence, Tuple, Type, TypeVar, Union, overload

from .columns import RbwpWarning
from .native import CError, RbwpError, library, refuse

Argument = Union[bool, int, float, str]
Function = TypeVar("Function", bound=Callable[..., Any])

_U64, _I64, _F64 = 1, 2, 3  # enum rbwp_arg_type
_NO_SLOT = 256  # none of the recorder's: such a call is refused, and counted
_NOT_ATTACHED = -1


class Summary(ctypes.Structure):
    """What a recording came to: struct rbwp_session_summary."""
    _fields_ = [("_path", ctypes.c_char * 4096)] + [(name, ctypes.c_uint64) for name in (
        "records", "blocks", "bytes", "lost_records", "misuse_calls", "discarded", "peak_bytes", "unprotected_bytes",
        "stop_ns")] + [("_error", CError)]

    @property
    def path(self) -> str:
        return str(self._path.decode(errors="replace"))

    @property
    def problem(self) -> str:
        """What is missing in the file, and why; empty: nothing."""
        return str(self._error.text.decode(errors="replace"))

    def __repr__(self) -> str:
        return f"<rbwp.Summary {self.path!r}: {self.records} records{', ' + self.problem if self.problem else ''}>"


class _NoCalls:
    """In place of a library that is not there: nothing is recorded."""

    @staticmethod
    def begin(_slot: int, _sub_item: int) -> int:
        return 0

    @staticmethod
    def end() -> None:
        pass

    @staticmethod
    def range_start(_name: int, _number: int) -> int:
        return 0

    @staticmethod
    def range_stop(_range: int) -> None:
        pass

    @staticmethod
    def numbers(_name: str) -> "tuple[int, int]":
        return 0, 0

    @staticmethod
    def name_number(_name: str) -> int:
        return 0


class _Calls:
    """The library's functions, which keep the interpreter's lock: they do not wait."""

    def __init__(self) -> None:
        calls = ctypes.PyDLL(library()._name)
        self.begin = calls.rbwp_foreign_begin
        self.end = calls.rbwp_foreign_end
        self.argument = self._function(calls.rbwp_foreign_arg, None, ctypes.c_uint64, ctypes.c_uint, ctypes.c_uint64)
        self.text = self._function(calls.rbwp_foreign_arg_text, None, ctypes.c_uint64, ctypes.c_char_p)
        self.range_start = self._function(calls.rbwp_foreign_range_start, ctypes.c_uint64, ctypes.c_uint64,
                                          ctypes.c_uint64)
        self.range_stop = self._function(calls.rbwp_foreign_range_stop, None, ctypes.c_uint64)
        self.name = self._function(calls.rbwp_arg_key, ctypes.c_uint64, ctypes.c_char_p)
        self.attach = self._function(calls.rbwp_thread_attach, ctypes.c_int, ctypes.c_char_p)
        self._register_item = calls.rbwp_work_item_register
        self._register_sub_item = calls.rbwp_sub_item_register
        self._kind = ctypes.c_int(0)
        calls.rbwp_sub_item_kind_register(b"python", 0, ctypes.byref(self._kind))
        self._numbers: Dict[str, Tuple[int, int]] = {}
        self._names: Dict[str, int] = {}
        self._lock = threading.Lock()

    @staticmethod
    def _function(function: Any, result: Any, *arguments: Any) -> Any:
        function.restype = result
        function.argtypes = list(arguments)
        return function

    def numbers(self, name: str) -> "tuple[int, int]":
        """The slot and the sub-item of a name, which it keeps."""
        with self._lock:
            if name not in self._numbers:
                found = []
                for register, first in ((self._register_item, ()), (self._register_sub_item, (self._kind, ))):
                    number = ctypes.c_uint(0)
                    status = register(*first, name.encode(), ctypes.byref(number))
                    found.append(number.value if status == 0 else None)
                if found[0] is None:
                    warnings.warn(f"rbwp.item({name!r}): there is no slot for one more name, its calls are not recorded",
                                  RbwpWarning, stacklevel=4)
                self._numbers[name] = (_NO_SLOT if found[0] is None else found[0],
                                       65536 if found[1] is None else found[1])
            return self._numbers[name]

    def name_number(self, name: str) -> int:
        number = self._names.get(name)
        if number is None:
            number = self._names[name] = self.name(name.encode())
        return number

    def begin_attached(self, slot: int, sub_item: int) -> int:
        """For a thread's first begin: under the thread's name."""
        self.attach(threading.current_thread().name.encode())
        return int(self.begin(slot, sub_item))

    def give(self, arguments: "dict[str, Argument]") -> None:
        for key, value in arguments.items():
            if isinstance(value, int):
                value = int(value)
                signed = value < 0
                if -2**63 <= value < 2**64:
                    self.argument(self.name_number(key), _I64 if signed else _U64, value % 2**64)
                    continue
            elif isinstance(value, float):
                self.argument(self.name_number(key), _F64, struct.unpack("=Q", struct.pack("=d", value))[0])
                continue
            self.text(self.name_number(key), str(value).encode(errors="replace"))


@functools.lru_cache(maxsize=None)
def _calls() -> Any:
    try:
        return _Calls()
    except OSError as error:
        warnings.warn(f"nothing is recorded: {error}", RbwpWarning, stacklevel=3)
        return _NoCalls()


# Ranges that the current task of asyncio has open, the innermost last: several may be inside of one item.
_open_ranges: "contextvars.ContextVar[tuple[int, ...]]" = contextvars.ContextVar("rbwp ranges", default=())


_session = ctypes.c_void_p()


def start(flags: Union[str, Sequence[str]] = (), **options: Any) -> bool:
    """Starts the recording of this process; the flags of rbwp_session(3), RBWP_FLAGS in the environment first.

    start("-bgworkprofile 2"), or by keywords: start(level=2, logfile="app_%p.bin", keep="64M") is `-bgworkprofile 2
    -bgworkprofile_logfile ...`. Without a level in any of them: level 1 if there is anything else, else none. The
    recording ends with stop, or when the process exits. True: it records. RbwpError: why it does not."""
    words = shlex.split(flags) if isinstance(flags, str) else [str(word) for word in flags]
    if options and "level" not in options and "-bgworkprofile" not in words:
        words += ["-bgworkprofile", "1"]
    for key, value in options.items():
        words += ["-bgworkprofile" if key == "level" else f"-bgworkprofile_{key}",
                  str(int(value) if isinstance(value, bool) else value)]
    argv = (ctypes.c_char_p * (len(words) + 2))(b"python", *(word.encode() for word in words), None)
    _kept.append(argv)  # strings of the session's config point into it
    error = CError()
    status = library().rbwp_foreign_start(len(words) + 1, argv, ctypes.byref(_session), ctypes.byref(error))
    refuse(status, error, "rbwp.start")
    if error.text:
        warnings.warn(error.text.decode(errors="replace"), RbwpWarning, stacklevel=2)
    return bool(_session.value)


_kept: "list[Any]" = []


def stop() -> Optional[Summary]:
    """Ends the recording and writes what is left. None: nothing was recorded. RbwpError: the file is not whole, and why."""
    if not _session.value:
        return None
    summary = Summary()
    status = library().rbwp_session_stop_sized(_session, ctypes.byref(summary), ctypes.sizeof(summary))
    _session.value = None
    refuse(status, summary._error, "rbwp.stop")
    return summary


class item:  # pylint: disable=invalid-name
    """A call by name: `with`, `async with`, or a decorator. One object may be used again and by any thread; calling it
    with arguments gives one with these: `parse = rbwp.item("parse")`, then `with parse(tenant=7):`."""

    __slots__ = ("name", "arguments", "_slot", "_sub_item", "_library", "_begin", "_end")

    def __init__(self, name: str, **arguments: Argument) -> None:
        self.name = name
        self.arguments = arguments
        self._library = _calls()
        self._begin, self._end = self._library.begin, self._library.end
        self._slot, self._sub_item = self._library.numbers(name)

    def __repr__(self) -> str:
        return f"rbwp.item({', '.join([repr(self.name)] + [f'{key}={value!r}' for key, value in self.arguments.items()])})"

    def __enter__(self) -> "item":
        level = self._begin(self._slot, self._sub_item)
        if level == _NOT_ATTACHED:
            level = self._library.begin_attached(self._slot, self._sub_item)
        if level == 2 and self.arguments:
            self._library.give(self.arguments)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._end()

    async def __aenter__(self) -> "item":
        opened = self._library.range_start(self._library.name_number(self.name), 0)
        _open_ranges.set((*_open_ranges.get(), opened))
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        *around, opened = _open_ranges.get()
        _open_ranges.set(tuple(around))
        self._library.range_stop(opened)

    @overload
    def __call__(self, function: Function) -> Function:
        ...

    @overload
    def __call__(self, function: None = None, **arguments: Argument) -> "item":
        ...

    def __call__(self, function: Optional[Callable[..., Any]] = None, **arguments: Argument) -> Any:
        if function is None:
            return item(self.name, **{**self.arguments, **arguments})
        call = function
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def recorded_coroutine(*positional: Any, **named: Any) -> Any:
                async with item(self.name):
                    return await call(*positional, **named)

            return recorded_coroutine

        @functools.wraps(function)
        def recorded(*positional: Any, **named: Any) -> Any:
            with self:
                return call(*positional, **named)

        return recorded


class _Steps(Coroutine[Any, Any, Any]):
    """A coroutine each step of which is a call."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._item = item(getattr(coroutine, "__qualname__", type(coroutine).__name__))

    def send(self, value: Any) -> Any:
        with self._item:
            return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        with self._item:
            return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:  # cr_frame and the like
        return getattr(self._coroutine, name)


def record_tasks(loop: Optional[asyncio.AbstractEventLoop] = None) -> None:
    """From now on each step of the loop's new tasks, from one await to the next, is a call named by its coroutine."""
    loop = loop or asyncio.get_running_loop()
    before = loop.get_task_factory()

    def make(running: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        steps = _Steps(coroutine) if inspect.iscoroutine(coroutine) else coroutine
        return before(running, steps, **options) if before else asyncio.Task(steps, loop=running, **options)

    loop.set_task_factory(make)
