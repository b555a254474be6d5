# SPDX-License-Identifier: Apache-2.0
"""The few calls of CUDA's driver that the checks of probes need, by ctypes: modules, their variables, memory, launches
and their times. A call that fails raises with its name and CUDA's for the error."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p

NUM_REGS, LOCAL_BYTES, DYNAMIC_SHARED_MAX = 4, 3, 8

_CALLS = {
    "cuInit": [c_uint],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuCtxSynchronize": [],
    "cuModuleLoadData": [POINTER(c_void_p), c_char_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuModuleGetGlobal_v2": [POINTER(c_uint64), POINTER(c_size_t), c_void_p, c_char_p],
    "cuFuncSetAttribute": [c_void_p, c_int, c_int],
    "cuFuncGetAttribute": [POINTER(c_int), c_int, c_void_p],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemsetD8_v2": [c_uint64, c_ubyte, c_size_t],
    "cuMemcpyHtoD_v2": [c_uint64, c_void_p, c_size_t],
    "cuMemcpyDtoH_v2": [c_void_p, c_uint64, c_size_t],
    "cuLaunchKernel": [c_void_p] + [c_uint] * 7 + [c_void_p, POINTER(c_void_p), POINTER(c_void_p)],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventSynchronize": [c_void_p],
    "cuEventElapsedTime": [POINTER(c_float), c_void_p, c_void_p],
}
_TYPES = {"u64": c_uint64, "u32": c_uint, "f32": c_float}


class Cuda:
    """The first device and its primary context."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        for name, types in _CALLS.items():
            call = getattr(self.driver, name)
            call.argtypes, call.restype = types, c_int
        self.driver.cuGetErrorName.argtypes = [c_int, POINTER(c_char_p)]
        self.call("cuInit", 0)
        device, context = c_int(), c_void_p()
        self.call("cuDeviceGet", byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status:
            text = c_char_p()
            self.driver.cuGetErrorName(status, byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'error').decode()} ({status})")

    def sync(self):
        self.call("cuCtxSynchronize")

    def module(self, cubin):
        handle = c_void_p()
        self.call("cuModuleLoadData", byref(handle), cubin)
        return Module(self, handle)

    def zeros(self, size):
        """Memory of the device, all 0: its address."""
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), max(size, 16))
        self.clear(address.value, size)
        return address.value

    def clear(self, address, size):
        self.call("cuMemsetD8_v2", address, 0, size)

    def upload(self, array):
        """The address of a copy of a NumPy array."""
        address = self.zeros(array.nbytes)
        self.write(address, array.tobytes())
        return address

    def write(self, address, data):
        self.call("cuMemcpyHtoD_v2", address, ctypes.cast(c_char_p(data), c_void_p), len(data))

    def read(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, address, size)
        return data.raw

    def free(self, address):
        self.call("cuMemFree_v2", address)

    def time_us(self, launch, rounds=15):
        """The median of the times of a launch."""
        events = [c_void_p(), c_void_p()]
        for event in events:
            self.call("cuEventCreate", byref(event), 0)
        times = []
        for round_number in range(rounds + 2):
            self.call("cuEventRecord", events[0], None)
            launch()
            self.call("cuEventRecord", events[1], None)
            self.call("cuEventSynchronize", events[1])
            milliseconds = c_float()
            self.call("cuEventElapsedTime", byref(milliseconds), events[0], events[1])
            if round_number >= 2:
                times.append(milliseconds.value * 1000)
        return sorted(times)[len(times) // 2]


class Module:

    def __init__(self, cuda, handle):
        self.cuda, self.handle = cuda, handle

    def variable(self, name):
        """The address of a variable of the module."""
        address, size = c_uint64(), c_size_t()
        self.cuda.call("cuModuleGetGlobal_v2", byref(address), byref(size), self.handle, name.encode())
        return address.value

    def set_variable(self, name, value):
        self.cuda.write(self.variable(name), value.to_bytes(8, "little"))

    def kernel(self, name):
        handle = c_void_p()
        self.cuda.call("cuModuleGetFunction", byref(handle), self.handle, name.encode())
        return Kernel(self.cuda, handle)


class Kernel:

    def __init__(self, cuda, handle):
        self.cuda, self.handle = cuda, handle

    def attribute(self, which):
        value = c_int()
        self.cuda.call("cuFuncGetAttribute", byref(value), which, self.handle)
        return value.value

    def launch(self, grid, block, arguments, shared=0):
        """arguments: (type, value), where type is u64, u32 or f32."""
        if shared > 48 << 10:
            self.cuda.call("cuFuncSetAttribute", self.handle, DYNAMIC_SHARED_MAX, shared)
        values = [_TYPES[kind](value) for kind, value in arguments]
        pointers = (c_void_p * max(1, len(values)))(*[ctypes.addressof(value) for value in values])
        self.cuda.call("cuLaunchKernel", self.handle, *grid, *block, shared, None, pointers, None)
