# SPDX-License-Identifier: Apache-2.0
"""A stand-in for Triton's language, to run the package's device code (python/rbwp/_kernel_code.py) on the host.

A program is one call after another on memory of NumPy; scalars are Value, a number of a type with a shape. Only what
the device code calls is here. What it cannot tell: what Triton's compiler accepts, and what threads do at once."""

import ctypes
import importlib.util
import itertools
import re
import sys
import types
from pathlib import Path

import numpy as np

PACKAGE = Path(__file__).resolve().parents[2] / "python"


class Type:

    def __init__(self, name, numpy_type, bits):
        self.name, self.numpy, self.primitive_bitwidth = name, numpy_type, bits

    def __repr__(self):
        return self.name


int1 = Type("int1", np.bool_, 1)
int32, int64 = Type("int32", np.int32, 32), Type("int64", np.int64, 64)
uint32 = Type("uint32", np.uint32, 32)
int8, int16, float64 = Type("int8", np.int8, 8), Type("int16", np.int16, 16), Type("float64", np.float64, 64)


class pointer_type(Type):

    def __init__(self, element_ty):
        super().__init__(f"pointer<{element_ty}>", np.int64, 64)
        self.element_ty = element_ty


def constexpr(value):
    return value


class Value:
    """A scalar, or a block of them."""

    def __init__(self, data, dtype):
        self.data, self.dtype = np.asarray(data).astype(dtype.numpy), dtype
        self.shape = self.data.shape

    def __bool__(self):
        return bool(self.data)

    def to(self, dtype):
        return cast(self, dtype)


def _value(x):
    if isinstance(x, Value):
        return x
    if isinstance(x, bool):
        return Value(x, int1)
    return Value(x, int32 if -2**31 <= x < 2**31 else int64)


def _common(a, b):
    for dtype in (int64, uint32, int32):
        if dtype in (a.dtype, b.dtype):
            return dtype
    return int1


def _arithmetic(name, function):

    def method(self, other):
        other = _value(other)
        with np.errstate(over="ignore"):
            if isinstance(self.dtype, pointer_type):
                steps = other.data.astype(np.int64) * {"add": 1, "sub": -1}[name]  # a pointer goes on or back, no more
                return Value(self.data + steps * (self.dtype.element_ty.primitive_bitwidth // 8), self.dtype)
            dtype = _common(self, other)
            return Value(function(self.data.astype(dtype.numpy), other.data.astype(dtype.numpy)), dtype)

    setattr(Value, f"__{name}__", method)
    setattr(Value, f"__r{name}__", lambda self, other: getattr(_value(other), f"__{name}__")(self))


def _comparison(name, function):

    def method(self, other):
        other = _value(other)
        dtype = _common(self, other)
        return Value(function(self.data.astype(dtype.numpy), other.data.astype(dtype.numpy)), int1)

    setattr(Value, f"__{name}__", method)


for _name, _function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("and", np.bitwise_and),
                         ("or", np.bitwise_or), ("lshift", np.left_shift), ("rshift", np.right_shift)):
    _arithmetic(_name, _function)
for _name, _function in (("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal),
                         ("gt", np.greater), ("ge", np.greater_equal)):
    _comparison(_name, _function)

tensor = Value


def cast(x, dtype):
    x = _value(x)
    if dtype is int1:
        return Value(x.data != 0, int1)
    with np.errstate(over="ignore"):
        return Value(x.data, dtype)


class Machine:
    """What programs see of the hardware, and the memory that they may touch."""

    def __init__(self):
        self.arrays = []
        self.program = (0, 0, 0)
        self.grid = (1, 1, 1)
        self.sm, self.thread = 0, 0
        self.warp = None  # its threads, where more than one is played
        self.times = itertools.count(1000, 32)
        self.touched = []  # addresses written, in order

    def see(self, *arrays):
        self.arrays.extend(arrays)

    def cell(self, address, dtype):
        """The memory there. An access outside of the arrays is the error that hardware would make of it."""
        bytes_wanted = dtype.primitive_bitwidth // 8
        for array in self.arrays:
            first = array.ctypes.data
            if first <= address and address + bytes_wanted <= first + array.nbytes:
                kind = ctypes.c_int64 if bytes_wanted == 8 else ctypes.c_int32
                return kind.from_address(address)
        raise MemoryError(f"an access to {address:#x}, which is in none of the arrays")


machine = Machine()


def pointer(array, dtype=None):
    """What a kernel gets for an array."""
    element = dtype or {4: int32, 8: int64}[array.itemsize]
    return Value(array.ctypes.data, pointer_type(element))


def load(place, mask=None, other=None):
    if mask is not None and not mask:
        return cast(other, place.dtype.element_ty)
    return Value(machine.cell(int(place.data), place.dtype.element_ty).value, place.dtype.element_ty)


def store(place, value, mask=None):
    if mask is not None and not mask:
        return
    machine.cell(int(place.data), place.dtype.element_ty).value = int(_value(value).data)
    machine.touched.append(int(place.data))


def atomic_add(place, value, sem=None):
    assert sem == "relaxed" and place.dtype.element_ty is value.dtype
    before = load(place)
    store(place, before + value)
    return before


def atomic_cas(place, expected, value, sem=None):
    before = load(place)
    if before == expected:
        store(place, value)
    return before


def inline_asm_elementwise(text, constraints, arguments, dtype, is_pure, pack):
    assert pack == 1
    if arguments:
        assert not is_pure
        return Value(run_ptx(text, constraints, arguments), dtype)
    if "globaltimer" in text:
        assert not is_pure
        now = next(machine.times)
        return Value(now if "_lo" not in text else np.int64(now).astype(np.int32), dtype)
    if "smid" in text:
        return Value(machine.sm, dtype)
    if "tid.x" in text:
        return Value(machine.thread // 32, dtype)
    assert "fence" in text and not is_pure
    return Value(0, dtype)


def run_ptx(text, constraints, arguments):
    """What machine.warp (or thread machine.thread alone) of a program does with a block of PTX, all threads in step; the
    first one's result. Only instructions that the device code has are known; a register that is read before it was
    written is an error, and so is a branch that not all threads take."""
    assert len(constraints.split(",")) == 1 + len(arguments)
    for argument, kind in zip(arguments, constraints.split(",")[1:]):
        assert _value(argument).dtype is {"r": int32, "l": int64}[kind], "an operand that its register does not fit"
    threads = list(machine.warp or [machine.thread])
    operands = {f"${i + 1}": int(_value(argument).data) for i, argument in enumerate(arguments)}
    warp = [dict(operands) for _ in threads]
    lines = [line for line in text.split("\n") if line not in "{}" and not line.startswith(".reg")]
    labels = {line[:-1]: at for at, line in enumerate(lines) if line.endswith(":")}
    active = 0
    for thread in threads:
        active |= 1 << thread % 32
    at = 0
    while at < len(lines):
        line = lines[at].rstrip(";")
        at += 1
        if line.endswith(":"):
            continue
        acting = list(range(len(threads)))
        if line.startswith("@"):
            condition, line = line[1:].split(" ", 1)
            acting = [i for i in acting if warp[i][condition.lstrip("!")] != condition.startswith("!")]
        name, _, rest = line.partition(" ")
        words = re.findall(r"\{[^}]*\}|[^,\s]+", rest)
        if name == "bra":
            assert len(acting) in (0, len(threads)), f"threads part: {line}"
            at = labels[words[0]] if acting else at
            continue
        special = {"%smid": machine.sm, "%globaltimer": next(machine.times) if "%globaltimer" in line else None}
        if name.startswith("vote.sync.any"):
            found = True in [bool(warp[i][words[1]]) for i in acting]
            assert {warp[i][words[2]] for i in acting} == {active} and len(acting) == len(threads)
            results = [found] * len(acting)
        elif name.startswith("shfl.sync.idx"):
            assert words[4] == "0xffffffff" and len(acting) == len(threads) == 32
            results = [warp[int(words[2]) if words[2].isdigit() else warp[i][words[2]]][words[1]] for i in acting]
        else:
            results = [_thread_does(name, words, warp[i], {**special, "%tid.x": threads[i], "%laneid": threads[i] % 32,
                                                                     "active": active}) for i in acting]
        for i, result in zip(acting, results):
            if result is not None:
                warp[i][words[0]] = result
    result = warp[0]["$0"]
    return result - (result >> 31 << 32)


def _thread_does(name, words, registers, special):
    """An instruction that concerns nobody else: what its first operand gets, or None."""
    bits = {"32": 0xffffffff, "64": 0xffffffffffffffff}
    kind, size = name.split("."), name[-2:]

    def read(word):
        if word in special:
            return special[word]
        return int(word, 0) if word[0].isdigit() else registers[word]

    def memory(word):
        base, _, offset = word.strip("[]").partition("+")
        return machine.cell((read(base) + int(offset or 0)) & bits["64"], {"32": int32, "64": int64}[size])

    def put(cell, value):
        cell.value = value & bits[size]
        machine.touched.append(ctypes.addressof(cell))

    halves = lambda word: word.strip("{}").replace(" ", "").split(",")  # noqa: E731
    if name == "activemask.b32":
        return special["active"]
    if kind[0] == "mov" and words[0].startswith("{"):
        low, high = halves(words[0])
        registers[low], registers[high] = read(words[1]) & bits["32"], read(words[1]) >> 32 & bits["32"]
        return None
    if kind[0] == "mov" and words[1].startswith("{"):
        low, high = halves(words[1])
        return read(high) << 32 | read(low)
    if kind[0] == "mov":
        return read(words[1]) & bits[size]
    if kind[0] == "setp":
        a, b = (read(word) & bits[size] for word in words[1:3])
        if name[-3] == "s":
            a, b = ((value ^ 1 << int(size) - 1) - (1 << int(size) - 1) for value in (a, b))
        found = {"eq": a == b, "ne": a != b, "lt": a < b, "gt": a > b}[kind[1]]
        assert kind[2] in ("and", "xor", "u32", "s32")
        return {"and": lambda: found and read(words[3]), "xor": lambda: found != read(words[3])}.get(
            kind[2], lambda: found)()
    if kind[0] == "selp":
        return read(words[1] if read(words[3]) else words[2]) & bits[size]
    if name == "and.pred":
        return read(words[1]) and read(words[2])
    if kind[0] == "add":
        return read(words[1]) + read(words[2]) & bits[size]
    if kind[0] == "sub":
        return read(words[1]) - read(words[2]) & bits[size]
    if name == "shr.u32":
        return read(words[1]) >> read(words[2])
    if name == "xor.b32":
        return read(words[1]) ^ read(words[2])
    if name == "min.u32":
        return sorted((read(words[1]) & bits["32"], read(words[2])))[0]
    if name == "mul.wide.u32":
        return (read(words[1]) & bits["32"]) * read(words[2])
    if name == "mad.wide.u32":
        return (read(words[1]) & bits["32"]) * (read(words[2]) & bits["32"]) + read(words[3]) & bits["64"]
    if kind[:2] == ["ld", "global"]:
        return memory(words[1]).value & bits[size]
    if kind[:3] == ["atom", "global", "add"]:
        cell = memory(words[1])
        before = cell.value & bits[size]
        put(cell, cell.value + read(words[2]))
        return before
    assert kind[:2] == ["st", "global"], f"an instruction that is not known: {name}"
    put(memory(words[0]), read(words[1]))
    return None


def program_id(axis):
    return Value(machine.program[axis], int32)


def num_programs(axis):
    return Value(machine.grid[axis], int32)


static_range = range


def _reduce(function):

    def reduce(x, axis):
        return Value(function(x.data, axis=axis), x.dtype)

    return reduce


sum = _reduce(np.sum)  # noqa: A001
min = _reduce(np.min)  # noqa: A001


def minimum(a, b):
    a, b = _value(a), _value(b)
    return Value(np.minimum(a.data, b.data.astype(a.data.dtype)), a.dtype)


def maximum(a, b):
    a, b = _value(a), _value(b)
    return Value(np.maximum(a.data, b.data.astype(a.data.dtype)), a.dtype)


def where(condition, a, b):
    return Value(np.where(condition.data, _value(a).data, _value(b).data), _value(a).dtype)


def static_assert(condition, text):
    assert condition, text


def load_code(around=None):
    """The device code, with this module as its language; a new copy of it. around: a file of rbwp.compat, what is wanted
    then, with the device code below."""
    if str(PACKAGE) not in sys.path:
        sys.path.insert(0, str(PACKAGE))
    spec = importlib.util.spec_from_file_location("rbwp._dialect", PACKAGE / "rbwp" / "_dialect.py")
    dialect = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dialect)

    def plain(function):
        return function

    def aggregate(cls):
        """As the compiler's: no more and no fewer values than the class says."""
        made = cls.__init__

        def __init__(self, *arguments):
            made(self, *arguments)
            assert set(self.__dict__) == set(cls.__annotations__), "values that the class does not declare"
            for name, kind in cls.__annotations__.items():
                value = self.__dict__[name]
                assert isinstance(value, kind) if hasattr(kind, "__annotations__") and kind is not tensor and kind is not constexpr \
                    else (kind is constexpr) == (not isinstance(value, Value)), name

        cls.__init__ = __init__
        return cls

    # The two modules that load asks Triton for.
    core, jit = types.ModuleType("triton.language.core"), types.ModuleType("triton.runtime.jit")
    core.aggregate, core.must_use_result, core.tensor, jit.constexpr_function = aggregate, plain, tensor, plain
    driver = types.SimpleNamespace(
        active=types.SimpleNamespace(get_current_target=lambda: types.SimpleNamespace(backend="cuda", arch=90)))
    names = {"triton": types.ModuleType("triton"), "triton.language": types.ModuleType("triton.language"),
             "triton.language.core": core, "triton.runtime": types.ModuleType("triton.runtime"),
             "triton.runtime.jit": jit}
    names["triton.runtime"].driver = driver
    names["triton"].language, names["triton.language"].core = names["triton.language"], core
    names["triton"].runtime, names["triton.runtime"].jit = names["triton.runtime"], jit
    before = {name: sys.modules.get(name) for name in names}
    sys.modules.update(names)
    try:
        code = dialect.load("rbwp._emulated_code", sys.modules[__name__], plain)
        code.target()  # while its driver is there
        code.target = lambda: "nvidia"
        code.one_thread_acts = lambda: True
        if around is not None:
            return dialect.load("rbwp.compat._emulated_code", sys.modules[__name__], plain, around,
                                {"OurTracing": code.DeviceTracing, "NoTracing": code.NoTracing})
        return code
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
