/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_code.c - the transfer kernels, loaded once per context.
 *
 * Channels of a context share the loaded code. CUDA takes the PTX that travels
 * with the library, since users have no compiler; HIP and OpenCL compile the
 * source, whose compilers come with their drivers.
 */
#include "channel_code.h"

#include "gpu_failure.h"

#include <pthread.h>
#include <stdlib.h>

static const char *const names[CHANNEL_KERNELS] = {
    "rbwp_copy_1",      "rbwp_copy_2",       "rbwp_copy_4",      "rbwp_copy_8",
    "rbwp_copy_16",     "rbwp_transpose_1",  "rbwp_transpose_2", "rbwp_transpose_4",
    "rbwp_transpose_8", "rbwp_transpose_16", "rbwp_reduce_i32",  "rbwp_reduce_i64",
    "rbwp_reduce_u32",  "rbwp_reduce_u64",   "rbwp_reduce_f32",  "rbwp_reduce_f64",
    "rbwp_fold_i32",    "rbwp_fold_i64",     "rbwp_fold_u32",    "rbwp_fold_u64",
    "rbwp_fold_f32",    "rbwp_fold_f64",
};

/* Held while code is compiled, so that it is compiled once; the drivers' own locks inside. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct channel_code *list; /* guarded by list_lock */

static enum rbwp_status load(struct channel_code *code, struct rbwp_error *error)
{
    struct gpu_context *context = code->context;
    const struct gpu_code_text text = {
        .name = "transfer.cl",
        .source = channel_code_source,
        .ptx = code->compiled ? NULL : channel_code_ptx,
    };
    const enum rbwp_status status =
        context->backend->module_load(context, &text, &code->module, error);
    if (status != RBWP_OK)
        return status;
    for (unsigned i = 0; i < CHANNEL_KERNELS; i++)
        if (context->backend->kernel_get(code->module, names[i], &code->kernel[i]) != GPU_OK)
            code->kernel[i] = NULL;
    return RBWP_OK;
}

enum rbwp_status channel_code_acquire(struct gpu_context *context, bool from_source,
                                      struct channel_code **code_out, struct rbwp_error *error)
{
    enum rbwp_status status = RBWP_OK;
    *code_out = NULL;
    pthread_mutex_lock(&list_lock);
    struct channel_code *code = list;
    while (code && (code->context != context || code->compiled != from_source))
        code = code->next;
    if (!code) {
        code = calloc(1, sizeof *code);
        if (!code) {
            status = gpu_failure(error, RBWP_E_MEMORY, "no memory for the transfer kernels");
        } else {
            code->context = context;
            code->compiled = from_source;
            status = load(code, error);
        }
        if (status == RBWP_OK) {
            code->next = list;
            list = code;
        }
    }
    if (status == RBWP_OK) {
        code->references++;
        *code_out = code;
    } else {
        free(code);
    }
    pthread_mutex_unlock(&list_lock);
    return status;
}

void channel_code_release(struct channel_code *code, bool in_use)
{
    if (!code)
        return;
    pthread_mutex_lock(&list_lock);
    const bool last = --code->references == 0;
    for (struct channel_code **link = &list; last && *link; link = &(*link)->next)
        if (*link == code) {
            *link = code->next;
            break;
        }
    pthread_mutex_unlock(&list_lock);
    if (!last)
        return;
    if (!in_use)
        code->context->backend->module_unload(code->module);
    free(code);
}
