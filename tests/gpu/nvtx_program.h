/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_program.h - a program's side of NVTX: the places of its functions, which a tool fills. As in
 * the header-only library, what nobody filled does nothing.
 */
#ifndef NVTX_PROGRAM_H
#define NVTX_PROGRAM_H

#include "nvtx_abi.h"

#include <dlfcn.h>
#include <stdbool.h>

static nvtx_function nvtx_core_functions[16], nvtx_domain_functions[16];
static nvtx_function *nvtx_core_places[16], *nvtx_domain_places[16];

static int nvtx_functions_of(int module, nvtx_function ***places_out, unsigned *count_out)
{
    *places_out = module == NVTX_MODULE_CORE      ? nvtx_core_places
                  : module == NVTX_MODULE_DOMAINS ? nvtx_domain_places
                                                  : NULL;
    *count_out = 16;
    return *places_out != NULL;
}

static const void *nvtx_table_of(uint32_t table)
{
    static const struct nvtx_callbacks callbacks = {sizeof callbacks, nvtx_functions_of};
    return table == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

/* As the library does before the program's first call. False: no tool. */
static bool nvtx_find_tool(void *library)
{
    int (*begin)(nvtx_get_table *) = NULL;
    for (int i = 1; i < 16; i++) {
        nvtx_core_places[i] = &nvtx_core_functions[i];
        nvtx_domain_places[i] = &nvtx_domain_functions[i];
    }
    *(void **)(void *)&begin = dlsym(library, "InitializeInjectionNvtx2");
    return begin && begin(nvtx_table_of) == 1;
}

#define NVTX_CORE(number, type) ((type)nvtx_core_functions[number])
#define NVTX_DOMAIN(number, type) ((type)nvtx_domain_functions[number])

static inline int nvtx_push(const char *text)
{
    return NVTX_CORE(NVTX_PUSH_A, int (*)(const char *))(text);
}
static inline int nvtx_pop(void)
{
    return NVTX_CORE(NVTX_POP, int (*)(void))();
}

#endif /* NVTX_PROGRAM_H */
