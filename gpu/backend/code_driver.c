/* SPDX-License-Identifier: Apache-2.0 */
#include "code_driver.h"

#include "gpu_failure.h"

#include <stdlib.h>
#include <string.h>

static enum rbwp_status start(struct code_driver *driver, struct rbwp_error *error)
{
    const struct code_driver_kind *kind = driver->kind;
    int devices = 0;
    const char *what = kind->init_name;
    int code = driver->functions.init(0);
    if (code == GPU_OK) {
        what = kind->count_name;
        code = driver->functions.count(&devices);
    }
    if (code != GPU_OK) {
        kind->backend->describe(&driver->base, code, what, error);
        if (error)
            error->status = RBWP_E_UNSUPPORTED;
        return RBWP_E_UNSUPPORTED;
    }
    if (devices <= 0)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "%s: the driver has no device",
                           kind->backend->name);
    driver->base.devices = (unsigned)devices;
    (void)driver->functions.version(&driver->base.version);
    return RBWP_OK;
}

static struct code_driver *make_driver(const struct code_driver_kind *kind,
                                       const struct gpu_libraries *libraries)
{
    const char *path = libraries ? libraries->compiler : NULL;
    struct code_driver *driver = calloc(1, kind->driver_bytes);
    if (!driver)
        return NULL;
    if (path && !(driver->compiler_path = strdup(path))) {
        free(driver);
        return NULL;
    }
    driver->base.backend = kind->backend;
    driver->kind = kind;
    pthread_mutex_init(&driver->compiler_lock, NULL);
    return driver;
}

enum rbwp_status code_driver_open(const struct code_driver_kind *kind,
                                  const struct gpu_libraries *libraries,
                                  struct gpu_driver **driver_out, struct rbwp_error *error)
{
    const char *name = kind->backend->name;
    *driver_out = NULL;
    void *library =
        gpu_library_open(libraries ? libraries->driver : NULL, kind->so_names, name, error);
    if (!library)
        return RBWP_E_UNSUPPORTED;
    struct code_driver *driver = make_driver(kind, libraries);
    if (!driver)
        return gpu_failure(error, RBWP_E_MEMORY, "%s: no memory", name);
    driver->library = library;
    enum rbwp_status status = gpu_symbols_load(
        library, kind->symbols, (char *)driver + kind->functions_offset, name, error);
    if (status == RBWP_OK) {
        driver->functions = kind->functions(driver);
        status = start(driver, error);
    }
    if (status != RBWP_OK) {
        code_driver_close(&driver->base);
        return status;
    }
    *driver_out = &driver->base;
    return RBWP_OK;
}

void code_driver_close(struct gpu_driver *base)
{
    struct code_driver *driver = (struct code_driver *)base;
    if (!driver)
        return;
    pthread_mutex_destroy(&driver->compiler_lock);
    free(driver->compiler_path);
    free(driver);
}
