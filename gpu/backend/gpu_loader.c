/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_loader.h"

#include "gpu_failure.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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
