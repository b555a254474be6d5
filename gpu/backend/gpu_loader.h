/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_loader.h - drivers' libraries and their symbols, found at run time.
 *
 * The one place that opens libraries. A table lists the symbols of a driver;
 * one that is missing means "too old" and is named in the reason.
 */
#ifndef RBWP_GPU_LOADER_H
#define RBWP_GPU_LOADER_H

#include "rbwp_format.h"

/* A symbol and where its address goes, as an offset into a struct of function pointers. */
struct gpu_symbol {
    const char *name;
    size_t offset;
    bool optional; /* the pointer is NULL without it */
};

/*
 * Opens given, or if that is NULL the first of names (NULL-terminated) that opens. NULL with the
 * reason in error. Libraries are never closed again (see gpu_backend.open).
 */
void *gpu_library_open(const char *given, const char *const *names, const char *what,
                       struct rbwp_error *error);

/* Fills functions from a table that ends with a NULL name. RBWP_E_UNSUPPORTED names what is
 * missing. */
enum rbwp_status gpu_symbols_load(void *library, const struct gpu_symbol *symbols, void *functions,
                                  const char *what, struct rbwp_error *error);

#endif /* RBWP_GPU_LOADER_H */
