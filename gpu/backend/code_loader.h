/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_loader.h - code and launches in CUDA and HIP, whose module calls are the same.
 *
 * Knows how text becomes a module and a module's functions are found and
 * launched, by the functions of code_loader.h.
 */
#ifndef RBWP_CODE_LOADER_H
#define RBWP_CODE_LOADER_H

#include "gpu_loader.h"
#include "rtc.h"

#include <pthread.h>

/* ---- the drivers of CUDA and HIP, which are found, started and closed alike ------------------ */

/* What both drivers have, under names of their own. */
struct code_functions {
    int (*init)(unsigned flags);
    int (*count)(int *devices_out);
    int (*version)(int *version_out);
    int (*load)(void **module_out, const void *image);
    int (*unload)(void *module);
    int (*get)(void **function_out, void *module, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void *stream, void **arguments, void **extra);
};

struct code_driver;

/* What a backend says of its driver. */
struct code_driver_kind {
    const struct gpu_backend *backend;
    const char *const *so_names;        /* NULL-terminated */
    const struct gpu_symbol *symbols;   /* up to one without name */
    size_t driver_bytes;                /* of the backend's struct, which begins with code_driver */
    size_t functions_offset;            /* in it, of what the symbols are loaded to */
    const char *init_name, *count_name; /* for messages */
    /* Gives the functions, once the symbols are loaded. */
    struct code_functions (*functions)(const struct code_driver *driver);
    enum rtc_kind compiler_kind;
    bool takes_ptx;
    bool names_arch;        /* the compiler has to be told which device it compiles for */
    bool may_have_compiler; /* older libraries of the driver have the compiler in them */
};

/* An open driver; the backend's own struct begins with it. */
struct code_driver {
    struct gpu_driver base;
    const struct code_driver_kind *kind;
    struct code_functions functions;
    void *library;

    /* The compiler is looked for when it is first needed. */
    pthread_mutex_t compiler_lock; /* guards what follows; nothing is taken inside it */
    char *compiler_path;           /* NULL: the usual names */
    bool compiler_open;
    struct rtc_functions compiler;
};

/* gpu_backend.open and close. libraries may be NULL. */
enum rbwp_status code_driver_open(const struct code_driver_kind *kind,
                                  const struct gpu_libraries *libraries,
                                  struct gpu_driver **driver_out, struct rbwp_error *error);
void code_driver_close(struct gpu_driver *driver);

/* ---- code loader ----------------------------------------------------------------------------- */

/* The rows of struct gpu_backend that are about code. */
enum rbwp_status code_module_load(struct gpu_context *context, const struct gpu_code_text *text,
                                  struct gpu_module **module_out, struct rbwp_error *error);
void code_module_unload(struct gpu_module *module);
int code_kernel_get(struct gpu_module *module, const char *name, struct gpu_kernel **kernel_out);
int code_launch(struct gpu_kernel *kernel, const struct gpu_launch *launch, void *stream);

#endif /* RBWP_CODE_LOADER_H */
