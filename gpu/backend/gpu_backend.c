/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_backend.c - what the three drivers have in common: copies, codes, libraries. */
#include "gpu_backend.h"

#include "gpu_loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- copies: bounds, pitches, and splitting -------------------------------------------------- */

/* Sets pitches that were left 0 and says whether the side's rows and slices hold what is copied. */
static bool complete_side(struct gpu_copy_side *side, const struct gpu_copy *copy)
{
    uint64_t last, end;
    if (copy->height > 1 || copy->depth > 1) {
        if (side->row_bytes < copy->width_bytes && copy->height > 1)
            return false;
    }
    if (copy->height == 1)
        side->row_bytes = copy->width_bytes;
    uint64_t slice;
    if (__builtin_mul_overflow(side->row_bytes, copy->height, &slice))
        return false;
    if (copy->depth == 1)
        side->slice_bytes = slice;
    if (side->slice_bytes < slice - (side->row_bytes - copy->width_bytes))
        return false;
    bool fits =
        !__builtin_mul_overflow(side->slice_bytes, copy->depth - 1, &last) &&
        !__builtin_add_overflow(last, slice - (side->row_bytes - copy->width_bytes), &end) &&
        !__builtin_add_overflow(end, side->offset_bytes, &end);
    return fits && (!side->device || end <= side->device->bytes);
}

static bool whole_rows(const struct gpu_copy_side *side, const struct gpu_copy *copy)
{
    return copy->depth == 1 || (side->slice_bytes % side->row_bytes == 0 &&
                                side->slice_bytes / side->row_bytes >= copy->height);
}

/* Rows without gaps are longer rows, slices without gaps more rows. */
static void join_rows(struct gpu_copy *copy)
{
    if (copy->depth > 1 && copy->dst.slice_bytes == copy->dst.row_bytes * copy->height &&
        copy->src.slice_bytes == copy->src.row_bytes * copy->height) {
        copy->height *= copy->depth;
        copy->depth = 1;
    }
    if (copy->depth == 1 && copy->dst.row_bytes == copy->width_bytes &&
        copy->src.row_bytes == copy->width_bytes) {
        copy->width_bytes *= copy->height;
        copy->height = 1;
        copy->dst.row_bytes = copy->src.row_bytes = copy->width_bytes;
    }
}

int gpu_copy(struct gpu_context *context, const struct gpu_copy *copy, void *stream)
{
    const struct gpu_backend *backend = context->backend;
    struct gpu_copy whole = *copy;
    if (!whole.dst.device && !whole.src.device)
        return GPU_INVALID;
    if (whole.width_bytes == 0 || whole.height == 0 || whole.depth == 0)
        return GPU_OK;
    if (!complete_side(&whole.dst, &whole) || !complete_side(&whole.src, &whole))
        return GPU_INVALID;
    join_rows(&whole);
    if (whole_rows(&whole.dst, &whole) && whole_rows(&whole.src, &whole))
        return backend->copy_part(context, &whole, whole.height == 1 && whole.depth == 1, stream);
    struct gpu_copy slice = whole;
    slice.depth = 1;
    slice.dst.slice_bytes = whole.dst.row_bytes * whole.height;
    slice.src.slice_bytes = whole.src.row_bytes * whole.height;
    int code = GPU_OK;
    for (uint64_t i = 0; i < whole.depth && code == GPU_OK; i++) {
        code = backend->copy_part(context, &slice, slice.height == 1, stream);
        slice.dst.offset_bytes += whole.dst.slice_bytes;
        slice.src.offset_bytes += whole.src.slice_bytes;
    }
    return code;
}

/* ---- what the drivers' codes mean ------------------------------------------------------------ */

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

/* ---- libraries and their symbols ------------------------------------------------------------- */

/* RTLD_NODELETE: drivers leave threads and exit handlers behind that live as long as the process.
 */
static void *open_one(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

void *gpu_library_open(const char *given, const char *const *names, const char *what,
                       struct rbwp_error *error)
{
    const char *const only[] = {given, NULL};
    const char *const *tried = given ? only : names;
    char reason[sizeof error->text] = ""; /* of the first: the next call takes its words away */
    for (const char *const *name = tried; *name; name++) {
        void *library = open_one(*name);
        if (library)
            return library;
        const char *words = dlerror();
        if (!*reason && words)
            snprintf(reason, sizeof reason, "%s", words);
    }
    gpu_failure(error, RBWP_E_UNSUPPORTED, "%s: no driver here: %s", what,
                *reason ? reason : tried[0]);
    return NULL;
}

enum rbwp_status gpu_symbols_load(void *library, const struct gpu_symbol *symbols, void *functions,
                                  const char *what, struct rbwp_error *error)
{
    for (const struct gpu_symbol *symbol = symbols; symbol->name; symbol++) {
        void *address = dlsym(library, symbol->name);
        if (!address && !symbol->optional)
            return gpu_failure(error, RBWP_E_UNSUPPORTED, "%s: the driver is too old: it has no %s",
                               what, symbol->name);
        memcpy((char *)functions + symbol->offset, &address, sizeof address);
    }
    return RBWP_OK;
}
