/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_names.h"

#include "rbwp_rows.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 4096, NAME_MAX_BYTES = 4096 };

/* Kernels that were met, by where their name stands: it stands there as long as its module does. */
static struct {
    const char *at;
    char *text;
    uint64_t number;
} kept[KEPT];

uint64_t inject_name(const char *name)
{
    uint64_t number;
    (void)!rbwp_name_intern(name, strnlen(name, NAME_MAX_BYTES), &number);
    return number;
}

typedef char *demangle_fn(const char *name, char *room, size_t *bytes, int *status);

static demangle_fn *find_demangle(void)
{
    static demangle_fn *demangle;
    static int looked;
    if (looked++)
        return demangle;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (library)
        *(void **)(void *)&demangle = dlsym(library, "__cxa_demangle");
    looked = 1;
    return demangle;
}

static uint64_t number_of(const char *symbol)
{
    demangle_fn *demangle = strncmp(symbol, "_Z", 2) == 0 ? find_demangle() : NULL;
    int status = 0;
    char *shown = demangle ? demangle(symbol, NULL, NULL, &status) : NULL;
    uint64_t number = inject_name(shown ? shown : symbol);
    free(shown);
    return number;
}

uint64_t inject_kernel_name(const char *symbol)
{
    if (!symbol)
        return 0;
    size_t at = (uintptr_t)symbol * UINT64_C(0x9E3779B97F4A7C15) >> 52;
    if (kept[at].at == symbol && strcmp(kept[at].text, symbol) == 0)
        return kept[at].number;
    uint64_t number = number_of(symbol);
    char *copy = strdup(symbol);
    free(kept[at].text);
    kept[at].text = copy;
    kept[at].at = copy ? symbol : NULL;
    kept[at].number = number;
    return number;
}
