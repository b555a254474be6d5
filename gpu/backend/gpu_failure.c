/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_failure.h"

bool gpu_is_capturing(int code)
{
    return code >= GPU_CAPTURING && code <= GPU_CAPTURING_LAST;
}

/*
 * The numbers of CUDA 13.0, which HIP took over. 3, 4: driver not or no longer initialised; 46:
 * device unavailable; 101: no such device; 201: no context; 214, 220: uncorrectable ECC, NVLink;
 * 400: a handle of something destroyed; 700 to 720: kernels that broke their context; 999: unknown.
 */
enum rbwp_status gpu_status_of(int code)
{
    switch (code) {
    case GPU_OK:
        return RBWP_OK;
    case GPU_NOT_READY:
        return RBWP_AGAIN;
    case GPU_INVALID:
        return RBWP_E_INVALID;
    case GPU_NO_MEMORY:
        return RBWP_E_MEMORY;
    case GPU_UNSUPPORTED:
    case 100: /* no device */
    case 101:
        return RBWP_E_UNSUPPORTED;
    case 3:
    case 4:
    case 46:
    case 201:
    case 214:
    case 220:
    case 400:
    case 999:
        return RBWP_E_STATE;
    default:
        if (gpu_is_capturing(code))
            return RBWP_E_BUSY;
        return code >= 700 && code <= 720 && code != 701 ? RBWP_E_STATE : RBWP_E_IO;
    }
}

enum rbwp_status gpu_describe(const struct gpu_driver *driver, int code, const char *code_name,
                              const char *what, struct rbwp_error *error)
{
    const struct gpu_backend *backend = driver->backend;
    if (code_name)
        return gpu_failure(error, backend->status_of(code), "%s: %s: %s (%d)", backend->name, what,
                           code_name, code);
    return gpu_failure(error, backend->status_of(code), "%s: %s: error %d", backend->name, what,
                       code);
}
