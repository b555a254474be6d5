/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_program.c - a program that rbwp record knows nothing of: it uses the fake driver as CUDA
 * programs do theirs, marks ranges with NVTX, and says how many kernels it launched.
 *
 *     record_program train|early|stays|exec|_exit|term|children|cpu|work|loop [STEPS]
 */
#include "cuda_each.h"
#include "fake_inject.h"
#include "nvtx_program.h"

#include "rbwp_record.h"
#include "rbwp_session.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CUDA_EACH(symbol, parameters) driver_result symbol parameters;
CUDA_EACH_OF_ALL
int cuMemcpyHtoDAsync_v2(cuda_pointer to, const void *from, size_t bytes, void *stream);

static int steps = 20;
static void *streams[2], *function;

static void *open_tool(const char *variable)
{
    const char *path = getenv(variable);
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (path && !library)
        fprintf(stderr, "%s\n", dlerror());
    return library;
}

/* What the first call of NVTX does. */
static void begin_ranges(void)
{
    void *nvtx = open_tool("NVTX_INJECTION64_PATH");
    if (!nvtx || !nvtx_find_tool(nvtx))
        nvtx_core_functions[0] = (nvtx_function)begin_ranges; /* there is none */
}

/* And cuInit. */
static void begin(void)
{
    void *driver = open_tool("CUDA_INJECTION64_PATH");
    int (*initialize)(void) = NULL;
    void *module;
    if (driver)
        *(void **)(void *)&initialize = dlsym(driver, "InitializeInjection");
    if (initialize)
        (void)initialize();
    cuCtxPushCurrent_v2((void *)1);
    if (cuModuleLoadData(&module, "first") || cuModuleGetFunction(&function, module, "first") ||
        cuStreamCreate(&streams[0], 0)) /* the other one is the default stream */
        exit(1);
}

static void push(const char *name)
{
    if (!nvtx_core_functions[0])
        nvtx_push(name);
}
static void pop(void)
{
    if (!nvtx_core_functions[0])
        nvtx_pop();
}

static void launch(void *stream)
{
    (void)cuLaunchKernel(function, 3, 2, 1, 64, 1, 1, 0, stream, NULL, NULL);
}

/* The backward pass of a step, on a thread of its own. */
static void *backward(void *unused)
{
    (void)unused;
    cuCtxPushCurrent_v2((void *)1);
    push("backward");
    for (int i = 0; i < 7; i++)
        launch(streams[i % 2]);
    pop();
    return NULL;
}

static void train(void)
{
    static char memory[64];
    for (int step = 0; step < steps; step++) {
        char name[32];
        pthread_t thread;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        push(name);
        (void)cuMemcpyHtoDAsync_v2((uintptr_t)memory, memory + 32, 32, streams[0]);
        push("forward");
        for (int i = 0; i < 5; i++)
            launch(streams[0]);
        pop();
        if (pthread_create(&thread, NULL, backward, NULL) == 0)
            pthread_join(thread, NULL);
        push("optimiser");
        launch(streams[1]);
        pop();
        pop();
    }
    printf("%d kernels\n", steps * 13);
    fflush(stdout);
}

/* A loop of small kernels of four kinds, a few microseconds apart and as long, as frameworks run
 * it. */
static void loop(void)
{
    static const char *const names[] = {"_Z5saxpyfPfS_", "first", "second", "third"};
    static const uint64_t lasts_ns[] = {1500, 2100, 3300, 5100};
    void *functions[4], *module;
    uint64_t random = 1;
    for (int i = 0; i < 4; i++)
        if (cuModuleLoadData(&module, names[i]) ||
            cuModuleGetFunction(&functions[i], module, names[i]))
            exit(1);
    for (int i = 0; i < steps; i++) {
        struct timespec begin, now;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        fake_work_lasts(lasts_ns[i % 4] + (random >> 60) * 32); /* a GPU's timer makes such steps */
        (void)cuLaunchKernel(functions[i % 4], 3, 2, 1, 64, 1, 1, 0, streams[0], NULL, NULL);
        do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec <
               6000 + (long)(random >> 40) % 1000);
    }
}

static void child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        begin();
        begin_ranges();
        train();
        exit(0);
    }
    waitpid(pid, NULL, 0);
}

/* What a program with librbwp does: calls of a work item, 1 ms each. */
static void work(void)
{
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_session *session = NULL;
    struct rbwp_error error;
    unsigned slot;
    if (rbwp_session_parse(&config, NULL, NULL, &error) != RBWP_OK ||
        rbwp_work_item_register("cleaner", &slot) != RBWP_OK ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK ||
        rbwp_thread_attach("worker") != RBWP_OK)
        exit(1);
    printf("ready\n");
    fflush(stdout);
    for (int i = 0; i < steps; i++) {
        rbwp_begin(slot);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        rbwp_end();
    }
    (void)rbwp_session_stop(session, NULL);
}

static void let_go(void)
{
    fake_hold(false);
}

/* A kernel that ends when the process does. */
static void launch_last(void)
{
    fake_hold(true);
    launch(streams[0]);
    (void)atexit(let_go);
}

/* Longer than what looks for finished work each second waits. */
static void stay(void)
{
    const struct timespec time = {1, 300000000};
    nanosleep(&time, NULL);
}

int main(int count, char **words)
{
    const char *how = count > 1 ? words[1] : "train";
    if (count > 2)
        steps = atoi(words[2]);
    if (strcmp(how, "work") == 0) {
        work();
        return 0;
    }
    if (strcmp(how, "children") == 0) {
        child();
        child();
        return 5;
    }
    if (strcmp(how, "cpu") == 0)
        return 0;
    if (strcmp(how, "stays") == 0)
        (void)atexit(stay); /* when the driver and CUPTI, which come later, have gone */
    if (strcmp(how, "early") == 0) {
        begin_ranges();
        push("before any GPU");
        begin();
        pop();
    } else {
        begin();
        begin_ranges();
    }
    if (strcmp(how, "loop") == 0) {
        loop();
        return 0;
    }
    train();
    if (strcmp(how, "early") == 0)
        launch_last();
    if (strcmp(how, "_exit") == 0)
        _exit(6);
    if (strcmp(how, "term") == 0)
        for (kill(getpid(), SIGTERM);;)
            pause();
    if (strcmp(how, "exec") == 0)
        execlp("true", "true", NULL);
    return 0;
}
