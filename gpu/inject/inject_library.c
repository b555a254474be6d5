/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process must have one CUPTI: of two, each would refuse what the other began. So one that is
 * loaded already (PyTorch brings it) is taken first, whichever version it has.
 */
#include "inject_library.h"
#include "inject_events.h"
#include "inject_log.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct inject_functions cu;
struct cupti_functions cupti;

struct symbol {
    const char *name;
    size_t offset;
    bool optional;
};

static const struct symbol driver_symbols[] = {
#define SYMBOL(symbol, use)                                                                        \
    DRIVER_IF_##use({#symbol, offsetof(struct inject_functions, symbol), DRIVER_MAY_LACK_##use}, )
#define SHARED_SYMBOL(member, parameters, cuda, hip, in_hip, in_inject) SYMBOL(cuda, in_inject)
#define CUDA_SYMBOL(symbol, parameters, in_backend, in_inject) SYMBOL(symbol, in_inject)
    DRIVER_CALLS(SHARED_SYMBOL) CUDA_CALLS(CUDA_SYMBOL){NULL, 0, false}};
#undef SYMBOL
static const struct symbol cupti_symbols[] = {
#define SYMBOL(symbol, optional, parameters)                                                       \
    {#symbol, offsetof(struct cupti_functions, symbol), optional},
    CUPTI_FUNCTIONS(SYMBOL){NULL, 0, false}};
#undef SYMBOL

/* The first that is missing, NULL: none is. */
static const char *load_symbols(void *library, const struct symbol *symbols, void *functions)
{
    for (; symbols->name; symbols++) {
        void *address = inject_find(library, symbols->name);
        if (!address && !symbols->optional)
            return symbols->name;
        memcpy((char *)functions + symbols->offset, &address, sizeof address);
    }
    return NULL;
}

static void *open_library(const char *path, int how)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | how);
}

bool inject_driver_open(void)
{
    const char *given = getenv("RBWP_CUDA");
    void *library = open_library(given && *given ? given : "libcuda.so.1", 0);
    const char *missing = library ? load_symbols(library, driver_symbols, &cu) : NULL;
    if (!library)
        inject_log_once("kernels are not recorded: no driver: %s", dlerror());
    else if (missing)
        inject_log_once("kernels are not recorded: the driver is too old, it has no %s", missing);
    return library && !missing;
}

/* ---- CUPTI ----------------------------------------------------------------------------- */

/* Below a toolkit's folder. */
static void *open_in_toolkit(const char *toolkit)
{
    static const char *const places[] = {"lib64", "lib", "extras/CUPTI/lib64",
                                         "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"};
    char path[PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; toolkit && *toolkit && i < sizeof places / sizeof *places && !library; i++)
        if (snprintf(path, sizeof path, "%s/%s/libcupti.so", toolkit, places[i]) < PATH_MAX)
            library = open_library(path, 0);
    return library;
}

static void *open_loaded(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    void *library = NULL;
    for (int i = 0; i < 3 && !library; i++)
        library = open_library(names[i], RTLD_NOLOAD);
    return library;
}

static void *find_cupti(void)
{
    const char *given = getenv("RBWP_CUPTI");
    char name[32];
    int version = 0;
    if (given && *given)
        return open_library(given, 0);
    void *library = open_loaded();
    if (cu.cuDriverGetVersion(&version) != DRIVER_OK)
        version = 0;
    for (int major = version / 1000; major >= 12 && !library; major--) {
        snprintf(name, sizeof name, "libcupti.so.%d", major);
        library = open_library(name, 0);
    }
    if (!library)
        library = open_in_toolkit(getenv("CUDA_HOME"));
    if (!library)
        library = open_in_toolkit(getenv("CUDA_PATH"));
    return library ? library : open_in_toolkit("/usr/local/cuda");
}

/* Those of CUDA 12, which counted from 18 on, and of 13, which are 13 00 00 and so on. */
static bool known_version(uint32_t version)
{
    return (version >= 18 && version < 100) || (version >= 120000 && version < 140000);
}

bool inject_cupti_open(void)
{
    uint32_t version = 0;
    void *library = find_cupti();
    const char *missing = library ? load_symbols(library, cupti_symbols, &cupti) : NULL;
    if (!library || missing) {
        const char *why = dlerror();
        inject_log_no_cupti("no CUPTI (RBWP_CUPTI names its library): %s", missing ? missing
                                                                           : why   ? why
                                                                                   : "not found");
        return false;
    }
    if (cupti.cuptiGetVersion(&version) != CUPTI_OK || !known_version(version)) {
        inject_log_no_cupti("CUPTI's version %u is not known, those of CUDA 12 and 13 are "
                            "(RBWP_CUPTI names one)",
                            version);
        return false;
    }
    return true;
}
