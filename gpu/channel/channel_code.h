/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_code.h - the transfer kernels, loaded once per context.
 */
#ifndef RBWP_CHANNEL_CODE_H
#define RBWP_CHANNEL_CODE_H

#include "channel_plan.h"

/* kernels/transfer.cl and transfer.ptx, put into a source file by the build. */
extern const char channel_code_source[], channel_code_ptx[];

struct channel_code {
    struct channel_code *next; /* guarded by the list's lock, as references */
    unsigned references;
    struct gpu_context *context;
    bool compiled; /* from the source */
    struct gpu_module *module;
    struct gpu_kernel *kernel[CHANNEL_KERNELS]; /* NULL: the device cannot run it */
};

/* The kernels for a context, with a reference. Attached; blocks when they have to be compiled.
 * from_source: even where there is PTX. What gpu_backend.module_load answers. */
enum rbwp_status channel_code_acquire(struct gpu_context *context, bool from_source,
                                      struct channel_code **code_out, struct rbwp_error *error);
/* Attached. NULL is fine. in_use: the device may still run it, for ever: then it is left loaded. */
void channel_code_release(struct channel_code *code, bool in_use);

#endif /* RBWP_CHANNEL_CODE_H */
