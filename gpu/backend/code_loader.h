/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_loader.h - code and launches in CUDA and HIP, whose module calls are the same.
 *
 * Knows how text becomes a module and a module's functions are found and
 * launched; the driver gives four functions and says which compiler is its own.
 */
#ifndef RBWP_CODE_LOADER_H
#define RBWP_CODE_LOADER_H

#include "rtc.h"

#include <pthread.h>

/* The driver's calls, cuModule... and hipModule... */
struct code_functions {
    int (*load)(void **module_out, const void *image);
    int (*unload)(void *module);
    int (*get)(void **function_out, void *module, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void *stream, void **arguments, void **extra);
};

/* A driver that loads code this way; the backend's own struct begins with it. */
struct code_driver {
    struct gpu_driver base;
    struct code_functions functions;
    enum rtc_kind compiler_kind;
    bool takes_ptx;
    bool names_arch;      /* the compiler has to be told which device it compiles for */
    void *driver_library; /* older HIP has its compiler in there */

    /* The compiler is looked for when it is first needed. */
    pthread_mutex_t compiler_lock; /* guards what follows; nothing is taken inside it */
    char *compiler_path;           /* NULL: the usual names */
    bool compiler_open;
    struct rtc_functions compiler;
};

/* libraries may be NULL. False without memory. */
bool code_driver_init(struct code_driver *driver, const struct gpu_libraries *libraries);
void code_driver_free(struct code_driver *driver);

/* The rows of struct gpu_backend that are about code. */
enum rbwp_status code_module_load(struct gpu_context *context, const struct gpu_code_text *text,
                                  struct gpu_module **module_out, struct rbwp_error *error);
void code_module_unload(struct gpu_module *module);
int code_kernel_get(struct gpu_module *module, const char *name, struct gpu_kernel **kernel_out);
int code_launch(struct gpu_kernel *kernel, const struct gpu_launch *launch, void *stream);

#endif /* RBWP_CODE_LOADER_H */
