# SPDX-License-Identifier: Apache-2.0
"""rbwp.compat.iris for kernels in Gluon: IrisDeviceCtx, TraceEvent and DeviceTracing. Wants Triton."""

from typing import Any

from .iris import EVENT_NAMES, Tracing, device_code

__all__ = ["EVENT_NAMES", "DeviceTracing", "IrisDeviceCtx", "TraceEvent", "Tracing"]

_code = device_code("gluon")
DeviceTracing: Any = _code.DeviceTracing
IrisDeviceCtx: Any = _code.IrisDeviceCtx
TraceEvent: Any = _code.TraceEvent
