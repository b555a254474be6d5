# SPDX-License-Identifier: Apache-2.0
"""Buffers that kernels write to, in PyTorch's or NumPy's memory: how they are made, where they are, and their copy on
the host. PyTorch is imported when a device is asked for that needs it."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = Any  # a torch.Tensor or a numpy.ndarray


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError("device: PyTorch is not installed; device='numpy' is memory of the host") from None
    return torch


def default_device() -> str:
    """The present GPU where PyTorch is and has one; else NumPy."""
    try:
        import torch
    except ImportError:
        return "numpy"
    return f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "numpy"


def zeros(count: int, bits: int, device: Any) -> Array:
    """count integers of 32 or 64 bits, all 0."""
    if device == "numpy":
        return np.zeros(count, dtype=np.int32 if bits == 32 else np.int64)
    torch = _torch()
    return torch.zeros(count, dtype=torch.int32 if bits == 32 else torch.int64, device=device)


def from_host(values: npt.NDArray[np.int64], device: Any) -> Array:
    """A copy of 64-bit integers there."""
    if device == "numpy":
        return values.copy()
    return _torch().tensor(values.tolist(), dtype=_torch().int64, device=device)


def is_torch(array: Array) -> bool:
    return type(array).__module__.split(".")[0] == "torch"


def address(array: Array) -> int:
    return int(array.data_ptr()) if is_torch(array) else int(array.ctypes.data)


def to_host(array: Array) -> npt.NDArray[Any]:
    """The values on the host: after what the device had to do, and a copy where it is not the host's memory."""
    if is_torch(array):
        return array.detach().cpu().contiguous().numpy()  # type: ignore[no-any-return]
    return np.ascontiguousarray(array)


def clear(array: Array) -> None:
    array.zero_() if is_torch(array) else array.fill(0)


def wait(device: Any) -> None:
    """Until the device has done what it was given."""
    if device != "numpy":
        _torch().cuda.synchronize(device)


def checked_array(name: str, array: Any, bits: "tuple[int, ...]", least: int = 0) -> npt.NDArray[Any]:
    """The one-dimensional array on the host, of integers of so many bits. TypeError and ValueError name it."""
    if isinstance(array, (bytes, bytearray, memoryview)):
        if len(array) * 8 % bits[0]:
            raise ValueError(f"{name}: {len(array)} bytes are no whole number of {bits[0]}-bit words")
        array = np.frombuffer(array, dtype=f"<u{bits[0] // 8}")
    if not (is_torch(array) or isinstance(array, np.ndarray)):
        raise TypeError(f"{name}: an array of NumPy or PyTorch is wanted, not {type(array).__name__}")
    values = to_host(array)
    if values.ndim != 1:
        raise ValueError(f"{name}: one dimension is wanted, not {values.ndim}")
    if values.dtype.kind not in "iu" or values.dtype.itemsize * 8 not in bits:
        wanted = " or ".join(str(one) for one in bits)
        raise TypeError(f"{name}: integers of {wanted} bits are wanted, not {values.dtype}")
    if len(values) < least:
        raise ValueError(f"{name}: {len(values)} values are too few, {least} are needed")
    return values
