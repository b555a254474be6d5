/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_exit.c - _exit and _Exit, which end a process without asking anybody, for programs that
 * this library is preloaded into: what CUPTI still has is handed over before.
 *
 * A child that vfork made shares our memory and must leave it alone: inject_session_end looks whose
 * it is.
 */
#include "inject_session.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void exit_fn(int);
static exit_fn *real;

__attribute__((constructor)) static void find_real(void)
{
    *(void **)(void *)&real = dlsym(RTLD_NEXT, "_exit");
}

static _Noreturn void leave(int status)
{
    inject_session_end();
    if (real)
        real(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"))) void _exit(int status)
{
    leave(status);
}

__attribute__((visibility("default"))) void _Exit(int status)
{
    leave(status);
}
