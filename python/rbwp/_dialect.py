# SPDX-License-Identifier: Apache-2.0
"""Executes _kernel_code.py for one of Triton's two languages: triton.py and gluon.py are its callers.

Both languages have the calls that the code needs under the same names, so that it stands once and runs twice, with
other globals. Nothing here is imported unless one of the two modules is, so that the rest needs no Triton."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Mapping, Optional, cast

_CODE = Path(__file__).with_name("_kernel_code.py")


def _target(dsl: Any) -> Callable[[], Any]:
    """A function for compile time: which hardware the kernel is compiled for, by the instructions that read the time
    and the place there."""
    from triton.runtime import driver

    def target() -> Any:
        running = driver.active.get_current_target()
        if running.backend == "cuda":
            return dsl.constexpr("nvidia")
        arch = str(running.arch)
        for start, kind in (("gfx94", "xcc"), ("gfx95", "xcc"), ("gfx9", "gfx9"), ("gfx11", "gfx11")):
            if arch.startswith(start):
                return dsl.constexpr(kind)
        return dsl.constexpr("gfx12")

    return target


def _one_thread_acts(dsl: Any) -> Callable[..., Any]:
    """A function for compile time: whether the thread that acts for a program is the first of its block. So it is on
    NVIDIA, but not in the other partitions of warp_specialize (whose first thread the compiler alone knows), nor where
    a program has several blocks. What is not known is no."""
    from triton.runtime import driver

    def one_thread_acts(_generator: Any = None) -> Any:
        unknown = object()
        partition = getattr(_generator, "caller_context", unknown)
        blocks = getattr(getattr(getattr(_generator, "builder", None), "options", None), "num_ctas", unknown)
        nvidia = driver.active.get_current_target().backend == "cuda"
        return dsl.constexpr(nvidia and partition is None and blocks == 1)

    return one_thread_acts


def _element_bytes(dsl: Any) -> Callable[[Any], Any]:
    """A function for compile time: the size of what a pointer, or a block of them, points at; 0 of something else.
    What is narrower than a byte takes one in memory."""

    def element_bytes(address: Any) -> Any:
        element = getattr(getattr(address, "dtype", None), "element_ty", None)
        return dsl.constexpr(0 if element is None else max(1, int(element.primitive_bitwidth) // 8))

    return element_bytes


def _checked_event(dsl: Any) -> Callable[[Any], Any]:
    """A function for compile time: refuses an event number that is known then and no record can hold."""

    def checked_event(event: Any) -> Any:
        number = getattr(event, "value", event)
        if isinstance(number, int) and not 0 <= number <= 1023:
            raise ValueError(f"event: {number} is not a lane's event, which are 0 to 1023")
        return event

    return checked_event


def _checked_context(dsl: Any) -> Callable[[Any], Any]:
    """A function for compile time: refuses a context that is no array of 64-bit integers."""

    def checked_context(context: Any) -> Any:
        element = getattr(getattr(context, "dtype", None), "element_ty", None)
        if getattr(element, "primitive_bitwidth", 0) != 64 or getattr(context, "shape", ()):
            raise TypeError("context: a pointer to 64-bit integers is wanted, as Tracing.get_device_context() gives it")
        return context

    return checked_context


def _checked_operands(dsl: Any) -> Callable[[Any, Any], Any]:
    """A function for compile time: refuses addresses of more than two dimensions, and a mask of another shape."""

    def sizes(value: Any) -> "list[int]":
        return [int(getattr(size, "value", size)) for size in getattr(value, "shape", ())]

    def checked_operands(address: Any, mask: Any) -> Any:
        if len(sizes(address)) > 2:
            raise ValueError(f"address: blocks of one or two dimensions are wanted, not of {len(sizes(address))}")
        if sizes(mask) and sizes(address) and sizes(mask) != sizes(address):
            raise ValueError(f"mask: its shape is {sizes(mask)}, and that of address {sizes(address)}")
        return dsl.constexpr(True)

    return checked_operands


def _must_use(decorator_of: Any) -> Callable[[Any], Any]:
    """Triton's decorator that makes a forgotten result an error at compile time, where this version has it."""
    found: Any = getattr(decorator_of, "must_use_result", None)
    if found is None:
        found = lambda function: function  # noqa: E731
    return cast(Callable[[Any], Any], found)


def load(name: str, dsl: Any, jit: Any, code: Path = _CODE, more: Optional[Mapping[str, Any]] = None) -> ModuleType:
    """The module of the device code for the language dsl, whose decorator is jit; name is what it is called in
    sys.modules. more: names that another code has beside those of here."""
    import triton.language.core as core
    from triton.runtime.jit import constexpr_function

    spec = importlib.util.spec_from_file_location(name, code)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    given = {
        "aggregate": getattr(core, "aggregate", None) or core._aggregate,
        "constexpr_function": constexpr_function,
        "dsl": dsl,
        "jit": jit,
        "must_use": _must_use(core),
        "tensor": core.tensor,
    }
    makers: "list[Callable[[Any], Callable[..., Any]]]" = [
        _target, _one_thread_acts, _element_bytes, _checked_event, _checked_context, _checked_operands
    ]
    for make in makers:
        function = make(dsl)
        function.__triton_builtin__ = True  # type: ignore[attr-defined]  # called by the compiler, with what it has
        given[function.__name__] = function
    module.__dict__.update(given, **(more or {}))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
