/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards that librbwp-inject.so, in a program that nobody changed, keeps what the probes of its
 * kernels stored, and that the program runs on as it would have whatever else happens: each test is
 * a process of its own, in which the fake driver and the fake CUPTI call the library.
 */
#include "cuda_each.h"
#include "fake_inject.h"
#include "ptx_cell.h"
#include "ptx_probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CUDA_EACH(symbol, parameters) driver_result symbol parameters;
CUDA_EACH_OF_ALL
int cuModuleUnload(void *module);
int cuStreamDestroy_v2(void *stream);

static const char *library, *drivers[2]; /* now, old */
static char folder[32];
static const struct ptx_shape wide = {PTX_SHAPE_MAGIC, 0xabcdef,      PTX_WIDE_BYTES * 7, 2, 2,
                                      PTX_CELLS_WIDE,  PTX_LANE_WARP, PTX_MODE_WARP};

/* In a scenario's process, where nothing of cmocka's is. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                         \
            fflush(stdout);                                                                        \
            _exit(3);                                                                              \
        }                                                                                          \
    } while (0)

/* ---- processes ---- */

static char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static char *read_text(const char *path, size_t *bytes_out)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[bytes] = '\0';
    if (bytes_out)
        *bytes_out = bytes;
    return text;
}

static void (*prepare)(void); /* in a scenario's process, before the library is loaded */

static void child(void (*scenario)(void))
{
    if (prepare)
        prepare();
    int fd = open(path_of("stderr"), O_CREAT | O_TRUNC | O_WRONLY, 0666);
    dup2(fd, STDERR_FILENO);
    void *handle = dlopen(library, RTLD_NOW);
    int (*initialize)(void) = NULL;
    CHECK(handle);
    *(void **)&initialize = dlsym(handle, "InitializeInjection");
    CHECK(initialize && initialize() == 1);
    fake_shape(&wide);
    cuCtxPushCurrent_v2((void *)1);
    scenario();
    fflush(stdout);
    exit(0);
}

static pid_t last;

/* Runs scenario in a process of its own and an empty folder. */
static void run(void (*scenario)(void))
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'; mkdir '%s'", folder, folder);
    assert_int_equal(system(command), 0);
    int status;
    fflush(stdout);
    last = fork();
    if (last == 0) {
        alarm(30);
        child(scenario);
    }
    waitpid(last, &status, 0);
    if (status != 0)
        printf("%s", read_text(path_of("stderr"), NULL));
    assert_int_equal(status, 0);
}

static int set_up(void **state)
{
    (void)state;
    setenv("RBWP_PTX_DIR", folder, 1);
    setenv("RBWP_CUPTI", drivers[0], 1);
    setenv("RBWP_CUDA", drivers[0], 1);
    setenv("RBWP_PTX_LAUNCHES", "2", 1);
    setenv("RBWP_PTX_WAIT_MS", "60000", 1);
    return 0;
}

/* ---- what it left ---- */

static char *lines(void)
{
    char name[64];
    snprintf(name, sizeof name, "launches-%d.ndjson", (int)last);
    return read_text(path_of(name), NULL);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static size_t raw(int number, uint8_t **bytes_out)
{
    char name[64];
    size_t bytes;
    snprintf(name, sizeof name, "%d-%d.raw", (int)last, number);
    *bytes_out = (uint8_t *)read_text(path_of(name), &bytes);
    return bytes;
}

static void assert_said(const char *part)
{
    char *text = read_text(path_of("stderr"), NULL);
    if (count_of(text, "\n") != (part != NULL))
        printf("said: %s", text);
    assert_int_equal(count_of(text, "\n"), part != NULL);
    if (part && !strstr(text, part))
        printf("said: %s", text);
    assert_true(!part || (strstr(text, part) && strncmp(text, "rbwp: ", 6) == 0));
}

/* ---- scenarios ---- */

static void *load(const char *text)
{
    void *module;
    CHECK(cuModuleLoadData(&module, text) == 0);
    return module;
}

static void *function_of(void *module, const char *name)
{
    void *function;
    CHECK(cuModuleGetFunction(&function, module, name) == 0);
    return function;
}

static int launch(void *function, void *stream)
{
    return cuLaunchKernel(function, 3, 2, 1, 64, 1, 1, 0, stream, NULL, NULL);
}

static void launches_some(void)
{
    void *module = load("rbwp_probed first second"), *plain = load("plain third"), *stream;
    CHECK(cuStreamCreate(&stream, 0) == 0);
    for (int i = 0; i < 5; i++) {
        CHECK(launch(function_of(module, "first"), stream) == 0);
        CHECK(launch(function_of(plain, "third"), stream) == 0);
        CHECK(fake_buffer_of(module) == 0);
    }
}

static void test_records(void **state)
{
    (void)state;
    uint8_t *bytes;
    run(launches_some);
    assert_said(NULL);
    assert_int_equal(raw(2, &bytes), wide.buffer_bytes);
    assert_int_equal(ptx_load_u64(bytes), PTX_WIDE_MAGIC);
    assert_int_equal(ptx_load_u64(bytes + 8), wide.hash);
    assert_int_equal(ptx_load_u64(bytes + 72), 2000);
    assert_int_equal(raw(3, &bytes), 0);
    char *text = lines();
    /* Of the clock, two, the first that is not, and how many were not after that. */
    assert_int_equal(count_of(text, "\n"), 5);
    assert_ptr_equal(strstr(text, "{\"clock\":\"CLOCK_MONOTONIC\",\"pid\":"), text);
    assert_int_equal(count_of(text, "\"sms\":16,\"clock_hz\":13000,\"device_name\":\"fake 0\","),
                     2);
    assert_int_equal(count_of(text, "third"), 0);
    assert_int_equal(count_of(text, "\"map\":\"0000000000abcdef.map.json\",\"kernel\":\"first\""),
                     4);
    assert_int_equal(count_of(text, "\"grid\":[3,2,1],\"block\":[64,1,1],\"correlation\":77"), 2);
    assert_int_equal(count_of(text, "\"dropped\":5,"), 2);
    assert_int_equal(count_of(text, "\"device_ns\":"), 4);
    assert_int_equal(count_of(text, "\"stop_ns\":0}"), 0);
    assert_int_equal(count_of(text, "{\"skipped\":\"limit\""), 2);
    assert_int_equal(count_of(text, "\"count\":2}"), 1);
    unsigned long long at[5];
    char *times = strstr(text, "\"launch_ns\"");
    assert_int_equal(sscanf(times, "\"launch_ns\":%llu,\"launched_ns\":%llu,\"done_ns\":%llu",
                            &at[0], &at[1], &at[2]),
                     3);
    assert_int_equal(
        sscanf(strstr(times, "\"start_ns\""), "\"start_ns\":%llu,\"stop_ns\":%llu", &at[3], &at[4]),
        2);
    assert_true(at[0] <= at[1] && at[1] <= at[2] && at[3] <= at[4]);
}

static void link_files(void)
{
    char name[64];
    snprintf(name, sizeof name, "%d-1.raw", (int)getpid());
    CHECK(symlink("precious", path_of(name)) == 0);
}

static void link_lines(void)
{
    char name[64];
    snprintf(name, sizeof name, "launches-%d.ndjson", (int)getpid());
    CHECK(symlink("precious", path_of(name)) == 0);
}

/* Another user has put links where files will be: they are not followed, and one number is left
 * out. */
static void test_links(void **state)
{
    (void)state;
    uint8_t *bytes;
    prepare = link_files;
    run(launches_some);
    assert_said(NULL);
    assert_int_equal(access(path_of("precious"), F_OK), -1);
    assert_int_equal(raw(3, &bytes), wide.buffer_bytes);
    assert_int_equal(count_of(lines(), "\"raw\""), 2);
    prepare = link_lines;
    run(launches_some);
    prepare = NULL;
    assert_said("kernels are not recorded");
    assert_int_equal(access(path_of("precious"), F_OK), -1);
}

static void launches_every_way(void)
{
    void *module = load("rbwp_probed first second third fourth fifth"), *stream;
    CHECK(cuStreamCreate(&stream, 0) == 0);
    const struct cuda_launch_config config = {4, 1, 1, 32, 1, 1, 0, stream, NULL, 0};
    CHECK(cuLaunchKernelEx(&config, function_of(module, "first"), NULL, NULL) == 0);
    CHECK(cuLaunchCooperativeKernel_ptsz(function_of(module, "second"), 5, 1, 1, 32, 1, 1, 0, NULL,
                                         NULL) == 0);
    void *kernel, *strange = fake_kernel_of(function_of(module, "fifth"));
    CHECK(cuLibraryGetKernel(&kernel, module, "third") == 0);
    CHECK(launch(kernel, NULL) == 0); /* of a library: a kernel of no context */
    CHECK(cuLibraryGetKernel(&kernel, module, "fourth") == 0);
    CHECK(cuKernelGetFunction(&kernel, kernel) == 0);
    CHECK(launch(kernel, stream) == 0);
    CHECK(launch(strange, stream) == 0); /* nobody knows whence */
    cuLibraryUnload(module);
    CHECK(launch(function_of(load("rbwp_probed sixth"), "sixth"), stream) == 0);
}

static void test_ways_of_launching(void **state)
{
    (void)state;
    run(launches_every_way);
    char *text = lines();
    assert_int_equal(count_of(text, "\"raw\""), 5);
    assert_int_equal(count_of(text, "fifth"), 0);
    assert_int_equal(count_of(text, "\"kernel\":\"first\""), 1);
    assert_int_equal(count_of(text, "\"grid\":[4,1,1],\"block\":[32,1,1]"), 1);
    assert_int_equal(count_of(text, "\"stream\":2,\"grid\":[5,1,1]"), 1);
}

static void launches_compat(void)
{
    struct ptx_shape shape = wide;
    shape.cells = PTX_CELLS_COMPAT;
    shape.buffer_bytes = 2 * 2 * PTX_COMPAT_BYTES;
    fake_shape(&shape);
    CHECK(launch(function_of(load("rbwp_probed first"), "first"), NULL) == 0);
}

/* Behind a compat buffer stand what was dropped and the hash, as rbwp ptx decode takes it. */
static void test_compat(void **state)
{
    (void)state;
    uint8_t *bytes;
    run(launches_compat);
    assert_int_equal(raw(1, &bytes), 64 + 16);
    assert_int_equal(ptx_load_u64(bytes + 8), 2000);
    assert_int_equal(ptx_load_u64(bytes + 64), 3);
    assert_int_equal(ptx_load_u64(bytes + 72), wide.hash);
    assert_non_null(strstr(lines(), "\"dropped\":3,"));
}

static void launches_in_captures(void)
{
    void *module = load("rbwp_probed first second"), *stream, *other;
    CHECK(cuStreamCreate(&stream, 0) == 0 && cuStreamCreate(&other, 0) == 0);
    fake_capture_begin(other, FAKE_GLOBAL); /* another stream's: left as it is */
    CHECK(launch(function_of(module, "second"), stream) == 0);
    CHECK(fake_capture_end(other) == 0);
    fake_capture_begin(stream, FAKE_GLOBAL);
    CHECK(launch(function_of(module, "first"), stream) == 0);
    CHECK(fake_capture_end(stream) == 1);
    CHECK(fake_buffer_of(module) == 0);
    /* The graph may run at any time, and would store into what another launch is given. */
    CHECK(launch(function_of(module, "first"), other) == 0);
}

static void test_captures(void **state)
{
    (void)state;
    run(launches_in_captures);
    char *text = lines();
    assert_int_equal(count_of(text, "\"raw\""), 1);
    assert_int_equal(count_of(text, "\"skipped\":\"capture\""), 2);
    assert_non_null(strstr(text, "\"count\":1}"));
}

static void launches_without_room(void)
{
    void *module = load("rbwp_probed first");
    fake_memory_left(1 << 10);
    CHECK(launch(function_of(module, "first"), NULL) == 0);
    fake_memory_left(1 << 30);
    fake_fail("memset", 2, 0, 1);
    CHECK(launch(function_of(module, "first"), NULL) == 0);
    fake_fail("write_value", 801, 0, 100); /* then it goes in two halves */
    CHECK(launch(function_of(module, "first"), NULL) == 0);
    fake_fail("memset32", 2, 1, 1); /* the second one */
    CHECK(launch(function_of(module, "first"), NULL) == 0);
    CHECK(fake_buffer_of(module) == 0);
}

static void test_no_room(void **state)
{
    (void)state;
    run(launches_without_room);
    char *text = lines();
    assert_int_equal(count_of(text, "\"raw\""), 1);
    assert_int_equal(count_of(text, "\"skipped\":\"memory\""), 1);
    assert_int_equal(count_of(text, "\"skipped\":\"error\""), 2);
}

void __lsan_disable(void) __attribute__((weak));

static void launches_what_waits(void)
{
    if (__lsan_disable)
        __lsan_disable(); /* the buffer that is given up is what LeakSanitizer would report */
    void *module = load("rbwp_probed first second"), *stream;
    CHECK(cuStreamCreate(&stream, 0) == 0);
    CHECK(launch(function_of(module, "first"), stream) == 0);
    fake_hold(true);
    CHECK(launch(function_of(module, "first"), stream) == 0); /* goes on, it is not over */
    CHECK(launch(function_of(module, "first"), stream) == 0);
    CHECK(launch(function_of(module, "second"), stream) == 0); /* the buffer is taken */
    fake_hold(false);
    CHECK(launch(function_of(module, "second"), stream) == 0);
    CHECK(fake_buffer_of(module) == 0);
}

/* A kernel that waits for what its own thread does next would wait for ever. */
static void test_waits(void **state)
{
    (void)state;
    setenv("RBWP_PTX_WAIT_MS", "20", 1);
    run(launches_what_waits);
    char *text = lines();
    assert_int_equal(count_of(text, "\"raw\""), 2);
    assert_int_equal(count_of(text, "\"skipped\":\"wait\",\"map\":\"0000000000abcdef.map.json\","
                                    "\"kernel\":\"first\""),
                     2);
    assert_int_equal(count_of(text, "\"skipped\":\"busy\""), 1);
}

static void launches_with_errors(void)
{
    void *module = load("rbwp_probed first second"), *first = function_of(module, "first");
    CHECK(cuLaunchKernel(first, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == 1);
    CHECK(fake_buffer_of(module) == 0);
    fake_fail("event_query", 719, 0, 1); /* the kernel itself failed */
    CHECK(launch(first, NULL) == 0);
    CHECK(launch(first, NULL) == 0);
}

/* What the program gets from its launches is what it would have got. */
static void test_errors(void **state)
{
    (void)state;
    run(launches_with_errors);
    assert_said(NULL);
    char *text = lines();
    assert_int_equal(count_of(text, "\"raw\""), 1);
    assert_non_null(strstr(text, "\"count\":1}"));
}

static void unloads(void)
{
    void *module = load("rbwp_probed first"), *stream;
    CHECK(cuStreamCreate(&stream, 0) == 0);
    CHECK(launch(function_of(module, "first"), stream) == 0);
    cuModuleUnload(module);
    for (int i = 0; i < 3; i++) { /* at the same address, perhaps */
        module = load("without_any first");
        CHECK(launch(function_of(module, "first"), stream) == 0);
        cuModuleUnload(module);
    }
    module = load("rbwp_probed first");
    CHECK(launch(function_of(module, "first"), stream) == 0);
    CHECK(launch(function_of(module, "first"), stream) == 0); /* the third of two */
    cuStreamDestroy_v2(stream);
    CHECK(launch(function_of(module, "first"), NULL) == 0);
    /* A context that went, and one of another device. */
    fake_context_goes((void *)1);
    CHECK(launch(function_of(load("rbwp_probed second"), "second"), NULL) == 0);
    cuCtxPushCurrent_v2((void *)2);
    CHECK(launch(function_of(load("rbwp_probed third"), "third"), fake_foreign_stream()) == 0);
}

static void test_modules_and_contexts_go(void **state)
{
    (void)state;
    run(unloads);
    char *text = lines();
    assert_int_equal(count_of(text, "\"raw\""), 4);
    assert_int_equal(count_of(text, "\"device\":1,"), 1);
    assert_non_null(strstr(text, "\"count\":1}"));
}

static void *launches_often(void *module)
{
    void *stream;
    cuCtxPushCurrent_v2((void *)1);
    CHECK(cuStreamCreate(&stream, 0) == 0);
    for (int i = 0; i < 50; i++) {
        CHECK(launch(function_of(module, i % 2 ? "first" : "second"), stream) == 0);
        CHECK(launch(function_of(module, "third"), stream) == 0);
    }
    return NULL;
}

static void launches_at_once(void)
{
    pthread_t threads[3];
    void *module = load("rbwp_probed first second third");
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, launches_often, module);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* One launch of a module is recorded at a time, and no other stores into its buffer meanwhile. */
static void test_threads(void **state)
{
    (void)state;
    setenv("RBWP_PTX_LAUNCHES", "20", 1);
    run(launches_at_once);
    char *text = lines();
    int recorded = count_of(text, "\"raw\"");
    assert_in_range(recorded, 3, 60);
    assert_int_equal(count_of(text, "\"dropped\":5,"), recorded);
}

static void runs_on_once(void)
{
    void *module = load("rbwp_probed first");
    CHECK(launch(function_of(module, "first"), NULL) == 0);
}

static void forks(void)
{
    void *module = load("rbwp_probed first");
    CHECK(launch(function_of(module, "first"), NULL) == 0);
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        int code = launch(function_of(module, "first"), NULL);
        _exit(code || fake_buffer_of(module) != 0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(launch(function_of(module, "first"), NULL) == 0);
}

static void test_fork(void **state)
{
    (void)state;
    run(forks);
    assert_int_equal(count_of(lines(), "\"raw\""), 2);
}

/* How many of this process's descriptors lead to the file of lines; the least of them. */
static int descriptors_of_lines(int *least_out)
{
    char wanted[64], path[64], place[256];
    int count = 0;
    snprintf(wanted, sizeof wanted, "launches-%d.ndjson", (int)getpid());
    for (int fd = 1023; fd >= 0; fd--) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t bytes = readlink(path, place, sizeof place - 1);
        place[bytes > 0 ? bytes : 0] = '\0';
        if (!strstr(place, wanted))
            continue;
        *least_out = fd;
        count++;
    }
    return count;
}

static void has_one_descriptor(void)
{
    int least = -1;
    runs_on_once();
    CHECK(descriptors_of_lines(&least) == 1);
    CHECK(least >= 100);
}

static void has_few_descriptors(void)
{
    int least = -1;
    runs_on_once();
    CHECK(descriptors_of_lines(&least) == 1);
    CHECK(least < 100);
}

static void allow_few(void)
{
    const struct rlimit few = {90, 90};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
}

/* The file of lines is held once: out of the way of a program that uses descriptors by their
 * numbers, or, where it may have none as high, by what it got. */
static void test_descriptors(void **state)
{
    (void)state;
    run(has_one_descriptor);
    assert_said(NULL);
    assert_int_equal(count_of(lines(), "\"raw\""), 1);
    prepare = allow_few;
    run(has_few_descriptors);
    prepare = NULL;
    assert_said(NULL);
    assert_int_equal(count_of(lines(), "\"raw\""), 1);
}

static void *launches_for_ever(void *module)
{
    cuCtxPushCurrent_v2((void *)1);
    for (;;)
        (void)launch(function_of(module, "first"), NULL);
    return NULL;
}

static void exits_in_a_launch(void)
{
    pthread_t thread;
    void *module = load("rbwp_probed first");
    CHECK(launch(function_of(module, "first"), NULL) == 0);
    fake_hold(true); /* it is waited for a minute */
    unsigned before = fake_count("event_query");
    pthread_create(&thread, NULL, launches_for_ever, module);
    while (fake_count("event_query") < before + 10)
        sched_yield();
    pthread_detach(thread);
}

static void test_exit(void **state)
{
    (void)state;
    run(exits_in_a_launch);
    assert_int_equal(count_of(lines(), "\"raw\""), 1);
}

static void runs_on(void)
{
    void *module = load("rbwp_probed first");
    CHECK(launch(function_of(module, "first"), NULL) == 0);
    CHECK(fake_buffer_of(module) == 0);
}

static void is_taken(void)
{
    fake_fail("cupti_subscribe", CUPTI_TAKEN, 0, 1);
}
static void is_of_the_future(void)
{
    fake_cupti_version(990000);
}
static void sees_no_launch(void)
{
    fake_fail("cupti_enable", 1, 0, 1);
}

/* One line, and the program goes on. */
static void test_missing(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *value;
        void (*before)(void);
        const char *said;
    } cases[] = {{"RBWP_CUPTI", "/nowhere/libcupti.so", NULL, "no CUPTI"},
                 {"RBWP_CUDA", "/nowhere/libcuda.so.1", NULL, "no driver"},
                 {"RBWP_PTX_DIR", "/proc/nowhere/x", NULL, "/proc/nowhere/x: "},
                 {"RBWP_PTX_DIR", "", NULL, NULL},
                 {"A", "B", is_taken, "another tool has CUPTI"},
                 {"A", "B", is_of_the_future, "version 990000 is not known"},
                 {"A", "B", sees_no_launch, "does not report launches"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_up(state);
        setenv(cases[i].variable, cases[i].value, 1);
        fake_reset();
        fake_cupti_version(130001);
        if (cases[i].before)
            cases[i].before();
        run(runs_on);
        assert_said(cases[i].said);
        assert_int_equal(count_of(lines(), "\"raw\""), 0);
    }
    static const struct {
        uint32_t version;
        bool is_known;
    } versions[] = {{17, false},     {18, true},     {99, true},     {100, false},
                    {119999, false}, {120000, true}, {139999, true}, {140000, false}};
    set_up(state);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        char words[64];
        fake_reset();
        fake_cupti_version(versions[i].version);
        run(runs_on);
        snprintf(words, sizeof words, "version %u is not known", versions[i].version);
        assert_said(versions[i].is_known ? NULL : words);
        assert_int_equal(count_of(lines(), "\"raw\""), versions[i].is_known);
    }
    fake_reset();
    fake_cupti_version(130001);
    setenv("RBWP_CUDA", drivers[1], 1);
    run(runs_on);
    assert_said("the driver is too old, it has no cuStreamGetCtx");
}

static const char *toolkit_place; /* of the library, below the folder */

static void lay_toolkit(void)
{
    char command[256];
    snprintf(command, sizeof command, "mkdir -p '%s/%s' && ln -s '%s' '%s/%s/libcupti.so'", folder,
             toolkit_place, drivers[0], folder, toolkit_place);
    CHECK(system(command) == 0);
}

/* Where nobody names CUPTI's library, and none is of the driver's version, it is looked for in the
 * toolkit, in one place after the other. */
static void test_toolkit(void **state)
{
    (void)state;
    static char too_long[5000];
    static const struct {
        const char *place, *home, *path;
        bool is_there;
    } cases[] = {{"home/lib64", "home", NULL, true},
                 {"home/lib", "home", "nowhere", true},
                 {"path/extras/CUPTI/lib64", NULL, "path", true},
                 {"path/targets/x86_64-linux/lib", "nowhere", "path", true},
                 {"path/targets/sbsa-linux/lib", "", "path", true},
                 {"path/lib64", too_long, "path", true},
                 {"path/lib64", "nowhere", too_long, false},
                 {"other/lib64", "home", "path", false}};
    memset(too_long, 'x', sizeof too_long - 1);
    setenv("RBWP_CUPTI", "", 1); /* names none */
    fake_reset();
    fake_fail("driver_version", 1, 0, 1000); /* the system's own is not looked for */
    prepare = lay_toolkit;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char home[6000], path[6000];
        toolkit_place = cases[i].place;
        if (!cases[i].is_there && access("/usr/local/cuda", F_OK) == 0)
            continue; /* it would be looked for there, too */
        snprintf(home, sizeof home, "%s/%s", folder, cases[i].home ? cases[i].home : "");
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].path ? cases[i].path : "");
        cases[i].home ? setenv("CUDA_HOME", *cases[i].home ? home : "", 1) : unsetenv("CUDA_HOME");
        cases[i].path ? setenv("CUDA_PATH", path, 1) : unsetenv("CUDA_PATH");
        run(runs_on);
        assert_said(cases[i].is_there ? NULL : "no CUPTI (RBWP_CUPTI names its library): ");
        assert_int_equal(count_of(lines(), "\"raw\""), cases[i].is_there);
    }
    prepare = NULL;
    fake_reset();
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    library = words[1];
    for (int i = 0; i < 2; i++)
        drivers[i] = words[2 + i];
    snprintf(folder, sizeof folder, "inject-%d", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_records, set_up),
        cmocka_unit_test_setup(test_ways_of_launching, set_up),
        cmocka_unit_test_setup(test_links, set_up),
        cmocka_unit_test_setup(test_compat, set_up),
        cmocka_unit_test_setup(test_captures, set_up),
        cmocka_unit_test_setup(test_no_room, set_up),
        cmocka_unit_test_setup(test_waits, set_up),
        cmocka_unit_test_setup(test_errors, set_up),
        cmocka_unit_test_setup(test_modules_and_contexts_go, set_up),
        cmocka_unit_test_setup(test_threads, set_up),
        cmocka_unit_test_setup(test_fork, set_up),
        cmocka_unit_test_setup(test_descriptors, set_up),
        cmocka_unit_test_setup(test_exit, set_up),
        cmocka_unit_test_setup(test_missing, set_up),
        cmocka_unit_test_setup(test_toolkit, set_up),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed;
}
