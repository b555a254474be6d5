/* SPDX-License-Identifier: Apache-2.0 */
#include "hooks_abi.h"
#include "inject_session.h"
#include "inject_events.h"
#include "inject_names.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* ---- which -------------------------------------------------------------------------------- */

enum hook_number {
#define NUMBER(symbol, ...) HOOK_##symbol,
#define NUMBER_TWO(symbol, ...) HOOK_##symbol, HOOK_THREADS_##symbol,
    HOOK_STREAM_CALLS(NUMBER_TWO) HOOK_DEFAULT_CALLS(NUMBER_TWO) HOOK_BETWEEN_CALLS(NUMBER_TWO)
        HOOK_OTHER_CALLS(NUMBER) HOOK_cuLaunchKernelEx_ptsz,
    HOOK_cuStreamSynchronize_ptsz,
    HOOK_cuGetProcAddress,
    HOOK_cuGetProcAddress_v2,
    HOOKS
};
struct hook {
    const char *symbol, *asked; /* as a library has it, as cuGetProcAddress knows it */
    bool per_thread;
    void *ours;
};
static const struct hook hooks[HOOKS]; /* below */
static _Atomic(void *) reals[HOOKS];   /* the driver's; NULL: not looked for */
static atomic_bool handed_out;

/* ---- what stands behind us ------------------------------------------------------------------ */

/* Read by the code below in the program's place; NULL: there is none. */
__attribute__((visibility("hidden"))) void *(*inject_real_dlsym)(void *, const char *);

static void find_dlsym(void)
{
#ifdef __GLIBC__
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27"};
    void *found = NULL;
    for (size_t i = 0; i < sizeof versions / sizeof *versions && !found; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    *(void **)(void *)&inject_real_dlsym = found;
#else
    inject_real_dlsym = dlsym;
#endif
}

void *inject_find(void *library, const char *symbol)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_dlsym);
    return inject_real_dlsym ? inject_real_dlsym(library, symbol) : NULL;
}

/* Of a program that is linked with the driver; else the driver's by its name. */
static void *look_behind(enum hook_number number)
{
    void *real = inject_find(RTLD_NEXT, hooks[number].symbol), *library;
    if (!real && (library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)))
        real = inject_find(library, hooks[number].symbol);
    atomic_store_explicit(&reals[number], real, memory_order_release);
    return real;
}

static void *real_of(enum hook_number number)
{
    void *real = atomic_load_explicit(&reals[number], memory_order_acquire);
    return __builtin_expect(real != NULL, 1) ? real : look_behind(number);
}

#define REAL(result, number, parameters)                                                           \
    result(*real) parameters = NULL;                                                               \
    *(void **)(void *)&real = real_of(number);                                                     \
    if (!real)                                                                                     \
        return CUDA_NOT_STARTED;

/* ---- what is wished ------------------------------------------------------------------------- */

static enum inject_events_wish wish;

static void hooks_read_wish(void)
{
    const char *text = secure_getenv("RBWP_INJECT_EVENTS");
    wish = !text || !*text          ? EVENTS_WITHOUT_CUPTI
           : strcmp(text, "0") == 0 ? EVENTS_NEVER
                                    : EVENTS_ALWAYS;
    pthread_atfork(NULL, NULL, inject_names_forked);
}

enum inject_events_wish inject_events_wish(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, hooks_read_wish);
    return wish;
}

static bool hooks_wanted(void)
{
    return inject_events_wish() != EVENTS_NEVER && inject_wanted() & INJECT_GPU;
}

EXPORTED int InitializeInjection(void);

/* Where the driver was given another tool, nobody else calls it. */
static void begin_ourselves(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    if (hooks_wanted() && inject_events_wish() == EVENTS_ALWAYS &&
        !atomic_flag_test_and_set(&begun))
        (void)InitializeInjection();
}

/* Only of a library that is preloaded the program itself finds functions. */
static bool is_preloaded(void)
{
    void *program = dlopen(NULL, RTLD_NOW), *ours;
    int (*initialize)(void) = InitializeInjection;
    memcpy(&ours, &initialize, sizeof ours);
    return program && inject_find(program, "InitializeInjection") == ours;
}

bool inject_hooks_stand(void)
{
    return hooks_wanted() && (atomic_load(&handed_out) || is_preloaded());
}

/* ---- calls that put work on a stream -------------------------------------------------------- */

/* Whether there may be anything to do. */
static bool hooks_looks(void)
{
    static atomic_bool looked;
    if (__builtin_expect(!atomic_load_explicit(&looked, memory_order_relaxed), 0)) {
        atomic_store(&looked, true);
        begin_ourselves();
    }
    return atomic_load_explicit(&inject_events_on, memory_order_relaxed);
}

static void *on_thread(void *stream, bool per_thread)
{
    return !stream && per_thread ? CUDA_STREAM_PER_THREAD : stream;
}

#define BODY(number, parameters, arguments, where, ...)                                            \
    {                                                                                              \
        REAL(driver_result, number, parameters)                                                    \
        struct inject_event_bracket bracket;                                                       \
        if (!hooks_looks())                                                                        \
            return real arguments;                                                                 \
        const struct inject_event_work work = {                                                    \
            .stream = (where), .called = hooks[number].symbol, __VA_ARGS__};                       \
        inject_event_begin(&bracket, &work);                                                       \
        driver_result result = real arguments;                                                     \
        inject_event_end(&bracket, result);                                                        \
        return result;                                                                             \
    }
#define ON_STREAM(symbol, asked, parameters, arguments, ...)                                       \
    static driver_result ours_##symbol parameters BODY(                                            \
        HOOK_##symbol, parameters, arguments, on_thread(stream, false),                            \
        __VA_ARGS__) static driver_result threads_##symbol parameters                              \
    BODY(HOOK_THREADS_##symbol, parameters, arguments, on_thread(stream, true), __VA_ARGS__)
#define ON_DEFAULT(symbol, asked, parameters, arguments, ...)                                      \
    static driver_result ours_##symbol parameters BODY(                                            \
        HOOK_##symbol, parameters, arguments, NULL,                                                \
        __VA_ARGS__) static driver_result threads_##symbol parameters                              \
    BODY(HOOK_THREADS_##symbol, parameters, arguments, CUDA_STREAM_PER_THREAD, __VA_ARGS__)
HOOK_STREAM_CALLS(ON_STREAM)
HOOK_DEFAULT_CALLS(ON_DEFAULT)

#define LAUNCH_EX(called, number, per_thread)                                                      \
    static driver_result called(const inject_launch_config *config, driver_function function,      \
                                void **values, void **extra)                                       \
        BODY(number, (const inject_launch_config *, driver_function, void **, void **),            \
             (config, function, values, extra),                                                    \
             on_thread(config ? config->stream : NULL, per_thread), .kind = WORK_KERNEL,           \
             .name = inject_kernel_named(function),                                                \
             .grid = {config ? config->grid_x : 0, config ? config->grid_y : 0,                    \
                      config ? config->grid_z : 0},                                                \
             .block = {config ? config->block_x : 0, config ? config->block_y : 0,                 \
                       config ? config->block_z : 0},                                              \
             .shared_bytes = config ? config->shared_bytes : 0)
LAUNCH_EX(ours_cuLaunchKernelEx, HOOK_cuLaunchKernelEx, false)
LAUNCH_EX(threads_cuLaunchKernelEx, HOOK_cuLaunchKernelEx_ptsz, true)

/* ---- calls between them --------------------------------------------------------------------- */

#define BETWEEN(called, number, parameters, arguments)                                             \
    static driver_result called parameters                                                         \
    {                                                                                              \
        REAL(driver_result, number, parameters)                                                    \
        if (hooks_looks())                                                                         \
            inject_event_between();                                                                \
        return real arguments;                                                                     \
    }
#define BETWEEN_TWO(symbol, asked, parameters, arguments)                                          \
    BETWEEN(ours_##symbol, HOOK_##symbol, parameters, arguments)                                   \
    BETWEEN(threads_##symbol, HOOK_THREADS_##symbol, parameters, arguments)
HOOK_BETWEEN_CALLS(BETWEEN_TWO)

/* ---- calls that name kernels ---------------------------------------------------------------- */

#define GOT(symbol, parameters, arguments, ...)                                                    \
    static driver_result ours_##symbol parameters                                                  \
    {                                                                                              \
        REAL(driver_result, HOOK_##symbol, parameters)                                             \
        driver_result result = real arguments;                                                     \
        if (result == DRIVER_OK && made)                                                           \
            __VA_ARGS__;                                                                           \
        return result;                                                                             \
    }
GOT(cuModuleGetFunction, (driver_function * made, driver_module module, const char *name),
    (made, module, name), inject_kernel_got(*made, name, true))
GOT(cuLibraryGetKernel, (cuda_kernel * made, inject_library_handle from, const char *name),
    (made, from, name), inject_kernel_got(*made, name, false))
GOT(cuKernelGetFunction, (driver_function * made, cuda_kernel kernel), (made, kernel),
    inject_kernel_got_from(*made, kernel))

/* ---- calls that wait ------------------------------------------------------------------------ */

#define WAIT(name, number, text, parameters, arguments)                                            \
    static driver_result name parameters                                                           \
    {                                                                                              \
        REAL(driver_result, number, parameters)                                                    \
        if (!hooks_looks() || !inject_records())                                                   \
            return real arguments;                                                                 \
        uint64_t begin_ns = inject_now_ns();                                                       \
        driver_result result = real arguments;                                                     \
        inject_rows_wait(text, begin_ns, inject_now_ns(), 0);                                      \
        return result;                                                                             \
    }
WAIT(ours_cuStreamSynchronize, HOOK_cuStreamSynchronize, "cuStreamSynchronize",
     (driver_stream stream), (stream))
WAIT(threads_cuStreamSynchronize, HOOK_cuStreamSynchronize_ptsz, "cuStreamSynchronize",
     (driver_stream stream), (stream))
WAIT(ours_cuEventSynchronize, HOOK_cuEventSynchronize, "cuEventSynchronize", (driver_event event),
     (event))
WAIT(ours_cuCtxSynchronize, HOOK_cuCtxSynchronize, "cuCtxSynchronize", (void), ())
WAIT(ours_cuCtxSynchronize_v2, HOOK_cuCtxSynchronize_v2, "cuCtxSynchronize", (cuda_context context),
     (context))

/* ---- calls that end contexts ---------------------------------------------------------------- */

#define ENDS(symbol, parameters, argument, is_one, context, device)                                \
    static driver_result ours_##symbol parameters                                                  \
    {                                                                                              \
        REAL(driver_result, HOOK_##symbol, parameters)                                             \
        if (is_one)                                                                                \
            inject_events_context_goes(context, device);                                           \
        return real(argument);                                                                     \
    }
ENDS(cuCtxDestroy_v2, (cuda_context context), context, context, context, 0)
ENDS(cuDevicePrimaryCtxRelease_v2, (driver_device device), device, true, NULL, device)
ENDS(cuDevicePrimaryCtxReset_v2, (driver_device device), device, true, NULL, device)

/* ---- how functions are found ---------------------------------------------------------------- */

/* Ours in the place of what the driver has by that name; NULL: we have none. */
static void *hand_out(size_t number, void *real)
{
    if (real != hooks[number].ours)
        atomic_store_explicit(&reals[number], real, memory_order_release);
    atomic_store_explicit(&handed_out, true, memory_order_relaxed);
    return hooks[number].ours;
}

/* Of a later version the driver may give a function with other parameters, by the same name: so
 * it is known by what the driver exports. */
static bool is_exported_as(const char *symbol, const void *function)
{
    Dl_info info;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    bool is = library && inject_find(library, symbol) == function;
    if (library)
        dlclose(library);
    return is || (dladdr(function, &info) && info.dli_saddr == function && info.dli_sname &&
                  strcmp(info.dli_sname, symbol) == 0);
}

static size_t hook_asked(const char *symbol, const void *function, bool per_thread)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (hooks[i].per_thread == per_thread && strcmp(hooks[i].asked, symbol) == 0 &&
            is_exported_as(hooks[i].symbol, function))
            return i;
    return HOOKS;
}

/* Those of calls without a default stream have one form for both. */
static void stand_in(const char *symbol, void **function, int version, uint64_t flags)
{
    if (!symbol || strncmp(symbol, "cu", 2) != 0 || !function || !*function || !hooks_wanted())
        return;
    bool again = strcmp(symbol, "cuGetProcAddress") == 0;
    size_t at = again ? version >= 12000 ? HOOK_cuGetProcAddress_v2 : HOOK_cuGetProcAddress
                      : hook_asked(symbol, *function, flags & CUDA_PROC_PER_THREAD);
    if (at == HOOKS)
        at = hook_asked(symbol, *function, false);
    if (at < HOOKS)
        *function = hand_out(at, *function);
}

#define LOOKS_UP(symbol, parameters, arguments)                                                    \
    static driver_result ours_##symbol parameters                                                  \
    {                                                                                              \
        REAL(driver_result, HOOK_##symbol, parameters)                                             \
        driver_result result = real arguments;                                                     \
        if (result == DRIVER_OK)                                                                   \
            stand_in(name, function, version, flags);                                              \
        return result;                                                                             \
    }
LOOKS_UP(cuGetProcAddress, (const char *name, void **function, int version, uint64_t flags),
         (name, function, version, flags))
LOOKS_UP(cuGetProcAddress_v2,
         (const char *name, void **function, int version, uint64_t flags, int *status),
         (name, function, version, flags, status))

/* Called by dlsym below. NULL: it is the C library's to answer; NOT_THERE: that would find ours,
 * but the program has no driver. */
#define NOT_THERE ((void *)1)
__attribute__((visibility("hidden"), used)) void *inject_dlsym(void *library, const char *symbol);
void *inject_dlsym(void *library, const char *symbol)
{
    (void)inject_find(RTLD_NEXT, ""); /* it is needed behind this */
    if (symbol[0] != 'c' || symbol[1] != 'u' || !hooks_wanted())
        return NULL;
    size_t at = 0;
    while (at < HOOKS && strcmp(hooks[at].symbol, symbol) != 0)
        at++;
    if (at == HOOKS)
        return NULL;
    void *real = inject_find(library, symbol);
    if (real &&
        real == hooks[at].ours) { /* where the program hooks_looks, we stand before the driver */
        real = inject_find(RTLD_NEXT, symbol);
        return real ? hand_out(at, real) : NOT_THERE;
    }
    return real ? hand_out(at, real) : NULL;
}

#ifdef __GLIBC__
/*
 * The C library's hooks_looks who calls it, where it is asked for the next one; so it is jumped to
 * with the program's own return address.
 */
#if defined __x86_64__ && !defined __ILP32__
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call inject_dlsym\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    cmpq $1, %rax\n"
        "    je 2f\n"
        "    ja 1f\n"
        "    movq inject_real_dlsym(%rip), %rdx\n"
        "    testq %rdx, %rdx\n"
        "    je 1f\n"
        "    jmp *%rdx\n"
        "2:  xorl %eax, %eax\n"
        "1:  ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
#elif defined __aarch64__
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    hint #34\n"
        "    stp x29, x30, [sp, #-32]!\n"
        "    .cfi_def_cfa_offset 32\n"
        "    .cfi_offset 29, -32\n"
        "    .cfi_offset 30, -24\n"
        "    stp x0, x1, [sp, #16]\n"
        "    bl inject_dlsym\n"
        "    mov x2, x0\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    .cfi_def_cfa_offset 0\n"
        "    .cfi_restore 29\n"
        "    .cfi_restore 30\n"
        "    cmp x2, #1\n"
        "    b.eq 2f\n"
        "    b.hi 1f\n"
        "    adrp x16, inject_real_dlsym\n"
        "    ldr x16, [x16, :lo12:inject_real_dlsym]\n"
        "    cbz x16, 1f\n"
        "    br x16\n"
        "2:  mov x2, #0\n"
        "1:  mov x0, x2\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
#endif
#endif

/* ---- the table, and what a program is linked with ------------------------------------------- */

/* What the table says of ours is what is exported by the driver's name. */
#define ROW(call, asked, ...) [HOOK_##call] = {#call, asked, false, (void *)ours_##call},
#define ROWS(call, asked, twin)                                                                    \
    [HOOK_##call] = {#call, asked, false, (void *)ours_##call},                                    \
    [HOOK_THREADS_##call] = {#call twin, asked, true, (void *)threads_##call},
#define STREAM_ROWS(call, asked, ...) ROWS(call, asked, "_ptsz")
#define DEFAULT_ROWS(call, asked, ...) ROWS(call, asked, "_ptds")
static const struct hook hooks[HOOKS] = {
    HOOK_STREAM_CALLS(STREAM_ROWS) HOOK_DEFAULT_CALLS(DEFAULT_ROWS) HOOK_BETWEEN_CALLS(STREAM_ROWS)
        HOOK_OTHER_CALLS(ROW)[HOOK_cuLaunchKernelEx_ptsz] = {"cuLaunchKernelEx_ptsz",
                                                             "cuLaunchKernelEx", true,
                                                             (void *)threads_cuLaunchKernelEx},
    [HOOK_cuStreamSynchronize_ptsz] = {"cuStreamSynchronize_ptsz", "cuStreamSynchronize", true,
                                       (void *)threads_cuStreamSynchronize},
    [HOOK_cuGetProcAddress] = {"cuGetProcAddress", "", false, (void *)ours_cuGetProcAddress},
    [HOOK_cuGetProcAddress_v2] = {"cuGetProcAddress_v2", "", false,
                                  (void *)ours_cuGetProcAddress_v2},
};

#define EXPORT(symbol, function)                                                                   \
    extern __typeof__(function) symbol __attribute__((alias(#function), visibility("default")));
#define EXPORT_ONE(call, ...) EXPORT(call, ours_##call)
#define EXPORT_STREAM(call, ...) EXPORT(call, ours_##call) EXPORT(call##_ptsz, threads_##call)
#define EXPORT_DEFAULT(call, ...) EXPORT(call, ours_##call) EXPORT(call##_ptds, threads_##call)
HOOK_STREAM_CALLS(EXPORT_STREAM)
HOOK_DEFAULT_CALLS(EXPORT_DEFAULT)
HOOK_BETWEEN_CALLS(EXPORT_STREAM)
HOOK_OTHER_CALLS(EXPORT_ONE)
EXPORT(cuLaunchKernelEx_ptsz, threads_cuLaunchKernelEx)
EXPORT(cuStreamSynchronize_ptsz, threads_cuStreamSynchronize)
EXPORT_ONE(cuGetProcAddress)
EXPORT_ONE(cuGetProcAddress_v2)
