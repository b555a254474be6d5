/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_names.h"
#include "inject_kernels.h"

#include "rbwp_rows.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_KEPT = 4096, NAME_MAX_BYTES = 4096 };

/* Kernels that were met, by where their name stands: it stands there as long as its module does. */
static struct {
    const char *at;
    char *text;
    uint64_t number;
} names_kept[NAMES_KEPT];

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

static uint64_t names_number_of(const char *symbol)
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
    if (names_kept[at].at == symbol && strcmp(names_kept[at].text, symbol) == 0)
        return names_kept[at].number;
    uint64_t number = names_number_of(symbol);
    char *copy = strdup(symbol);
    free(names_kept[at].text);
    names_kept[at].text = copy;
    names_kept[at].at = copy ? symbol : NULL;
    names_kept[at].number = number;
    return number;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Without _ptsz, _v2 and the like. */
static size_t bytes_of_call(const char *called)
{
    size_t bytes = strlen(called);
    for (;;) {
        size_t end = bytes;
        while (end && called[end - 1] >= '0' && called[end - 1] <= '9')
            end--;
        if (end < bytes && end >= 2 && memcmp(called + end - 2, "_v", 2) == 0)
            bytes = end - 2;
        else if (bytes >= 5 && (memcmp(called + bytes - 5, "_ptsz", 5) == 0 ||
                                memcmp(called + bytes - 5, "_ptds", 5) == 0))
            bytes -= 5;
        else
            return bytes;
    }
}

/* The runtime's launches of its own kernels come to the driver by these. */
static const char *by_runtime(const char *driver)
{
    static const char *const pairs[][2] = {
        {"cuLaunchKernel", "cudaLaunchKernel"},
        {"cuLaunchKernelEx", "cudaLaunchKernelExC"},
        {"cuLaunchCooperativeKernel", "cudaLaunchCooperativeKernel"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(driver, pairs[i][0]) == 0)
            return pairs[i][1];
    return driver;
}

uint64_t inject_call_name(const char *called, const void *function)
{
    enum { CALLS = 64 };
    static struct {
        const char *called;
        bool own;
        uint64_t number;
    } calls[CALLS]; /* a program makes few of them */
    const bool own = function && !inject_kernel_of_module(function);
    char name[64];
    size_t at = 0;
    if (!called)
        return 0;
    while (at < CALLS && calls[at].called && (calls[at].called != called || calls[at].own != own))
        at++;
    if (at < CALLS && calls[at].called)
        return calls[at].number;
    size_t bytes = bytes_of_call(called);
    snprintf(name, sizeof name, "%.*s", bytes < sizeof name ? (int)bytes : 0, called);
    const char *shown = own ? by_runtime(name) : name;
    uint64_t number;
    (void)!rbwp_name_intern(shown, strlen(shown), &number);
    if (at < CALLS) {
        calls[at].own = own;
        calls[at].number = number;
        calls[at].called = called;
    }
    return number;
}
