/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards that librbwp-inject.so writes all that a program's GPUs did and the ranges that it marked:
 * each piece of work once, with the call that launched it, its thread, its range and its place in a
 * graph; in windows, forked children and however the program ends; and where CUPTI is not to be
 * had, timed by events. Each test is a process of its own, in which the fake driver, the fake CUPTI
 * and a program's side of NVTX call the library.
 */
#include "cuda_each.h"
#include "fake_inject.h"
#include "index_map.h"
#include "inject_buffers.h"
#include "inject_names.h"
#include "inject_session.h"
#include "nvtx_program.h"
#include "rbwp_reader.h"
#include "rows_support.h"
#include "sanitized.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CUDA_EACH(symbol, parameters) driver_result symbol parameters;
CUDA_EACH_OF_ALL
int cuStreamSynchronize(void *stream);
cupti_result cuptiActivityFlushAll(uint32_t how);
int cuMemcpyHtoDAsync_v2(cuda_pointer to, const void *from, size_t bytes, void *stream);

enum {
    START,
    STOP,
    PROCESSOR,
    STREAM,
    THREAD,
    SLOT,
    BEGIN,
    END,
    START_BOUND,
    STOP_BOUND,
    NAME,
    CORRELATION,
    LAUNCHING,
    IDLE,
    RANGE,
    KIND,
    BYTES,
    NODE,
    SHAPE,
    CALL
};
enum {
    R_START,
    R_STOP,
    R_THREAD,
    R_NAME,
    R_RANGE,
    R_ID,
    R_PARENT,
    R_KIND,
    R_PAYLOAD_TYPE,
    R_PAYLOAD
};

static const char *library, *driver;
static char folder[64], file[96];
static void *handle;

/* In a scenario's process, where nothing of cmocka's is. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                         \
            fflush(stdout);                                                                        \
            syscall_exit(3);                                                                       \
        }                                                                                          \
    } while (0)

static _Noreturn void syscall_exit(int status)
{
    kill(getpid(), SIGKILL);
    _exit(status);
}

/* ThreadSanitizer would wait a second for the library's thread at each process's end. */
const char *__tsan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
    return "atexit_sleep_ms=0";
}

/* What a program does before it starts the driver; NULL: nothing. */
static void (*find_functions)(void);

/* ---- buffers: those of inject_buffers.c alone, in this process ---- */

static _Atomic int taken, in_mmap, may_go_on;

/* Visible: some linkers have shared libraries refer to them too. */
#pragma GCC visibility push(default)
void *__real_mmap64(void *address, size_t bytes, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *address, size_t bytes, int rights, int flags, int fd, off_t offset);
/* Makes a buffer when the test wants it. */
void *__wrap_mmap64(void *address, size_t bytes, int rights, int flags, int fd, off_t offset)
{
    atomic_store(&in_mmap, 1);
    while (!atomic_load(&may_go_on))
        sched_yield();
    return __real_mmap64(address, bytes, rights, flags, fd, offset);
}
#pragma GCC visibility pop

static void *take_buffer(void *unused)
{
    size_t bytes;
    (void)unused;
    assert_non_null(inject_buffer_take(&bytes));
    atomic_store_explicit(&taken, 1, memory_order_relaxed);
    return NULL;
}

/* For ThreadSanitizer: ordered in time alone, as in test_locks.c. */
static void test_buffers_of_two_threads(void **state)
{
    (void)state;
    pthread_t thread;
    atomic_store(&may_go_on, 1);
    inject_buffers_prepare();
    assert_int_equal(pthread_create(&thread, NULL, take_buffer, NULL), 0);
    while (!atomic_load_explicit(&taken, memory_order_relaxed))
        sched_yield();
    take_buffer(NULL);
    pthread_join(thread, NULL);
}

/* What is given back is what the next one gets, cleared: no more are made than are in use at a
 * time. */
static void test_buffers_again(void **state)
{
    (void)state;
    size_t bytes;
    uint8_t *buffer = inject_buffer_take(&bytes);
    assert_non_null(buffer);
    assert_int_equal(bytes, 1 << 20);
    memset(buffer, 7, bytes);
    inject_buffer_give(buffer);
    assert_ptr_equal(inject_buffer_take(&bytes), buffer);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(buffer[i], 0);
    inject_buffer_give(buffer);
}

/* A process that is forked while a thread makes a buffer does not wait for that thread. */
static void test_buffers_after_a_fork(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it has no threads in children of processes with threads */
#endif
    pthread_t thread;
    size_t bytes;
    int status;
    for (atomic_store(&in_mmap, 0); !atomic_load(&in_mmap);)
        assert_non_null(inject_buffer_take(&bytes)); /* until none is ready */
    atomic_store(&in_mmap, 0);
    atomic_store(&may_go_on, 0);
    assert_int_equal(pthread_create(&thread, NULL, take_buffer, NULL), 0);
    while (!atomic_load(&in_mmap))
        sched_yield();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(10);
        inject_buffers_forget();
        atomic_store(&may_go_on, 1);
        _exit(inject_buffer_take(&bytes) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    atomic_store(&may_go_on, 1);
    pthread_join(thread, NULL);
    assert_int_equal(status, 0);
}

/* ---- names and handles: those of inject_names.c alone, in this process ---- */

static _Atomic int in_map;

#pragma GCC visibility push(default)
bool __real_index_map_add(struct index_map *map, uint64_t hash, uint32_t index);
bool __wrap_index_map_add(struct index_map *map, uint64_t hash, uint32_t index);
bool __wrap_index_map_add(struct index_map *map, uint64_t hash, uint32_t index)
{
    for (atomic_store(&in_map, 1); !atomic_load(&may_go_on);)
        sched_yield();
    return __real_index_map_add(map, hash, index);
}
#pragma GCC visibility pop

static void *make_handle(void *made)
{
    inject_handle_made((struct inject_handle){HANDLE_KERNEL, made, NULL});
    return NULL;
}

static void *name_kernel(void *made)
{
    inject_kernel_got(made, "kernel", true);
    return NULL;
}

/* A process that is forked while a thread holds the lock of kernels, or that of handles, does not
 * wait for that thread. */
static void test_names_after_a_fork(void **state)
{
    static void *(*const holds[])(void *) = {make_handle, name_kernel};
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it has no threads in children of processes with threads */
#endif
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        int status, thing;
        atomic_store(&in_map, 0);
        atomic_store(&may_go_on, 0);
        assert_int_equal(pthread_create(&thread, NULL, holds[i], &thing), 0);
        while (!atomic_load(&in_map))
            sched_yield();
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(10);
            inject_names_forked();
            (void)inject_handle_of(&thing);
            _exit(inject_kernel_named(&thing) != NULL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        atomic_store(&may_go_on, 1);
        pthread_join(thread, NULL);
        assert_int_equal(status, 0);
    }
}

/* ---- started ranges: those of inject_started.c alone, in this process ---- */

static _Atomic int has_started;

static void *start_one(void *unused)
{
    (void)unused;
    inject_started(5);
    atomic_store_explicit(&has_started, 1, memory_order_relaxed);
    return NULL;
}

static void start_another(void)
{
    inject_started(6);
}

static void end_the_first(void)
{
    inject_started_ended(5);
}

static void look_for_one(void)
{
    assert_int_equal(inject_range_now(), 0); /* that of the other thread is not this one's */
}

/* For ThreadSanitizer: one thread starts a range, then, ordered in time alone, another one deals
 * with those that are open. */
static void test_started_by_two_threads(void **state)
{
    static void (*const then[])(void) = {start_another, end_the_first, look_for_one};
    (void)state;
    for (size_t i = 0; i < sizeof then / sizeof *then; i++) {
        pthread_t thread;
        atomic_store(&has_started, 0);
        assert_int_equal(pthread_create(&thread, NULL, start_one, NULL), 0);
        while (!atomic_load_explicit(&has_started, memory_order_relaxed))
            sched_yield();
        then[i]();
        pthread_join(thread, NULL);
        inject_started_ended(5);
        inject_started_ended(6);
    }
}

/* ---- processes ---- */

static void child(void (*scenario)(void))
{
    char path[128];
    snprintf(path, sizeof path, "%s/stderr", folder);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0666);
    dup2(fd, STDERR_FILENO);
    handle = dlopen(library, RTLD_NOW);
    int (*initialize)(void) = NULL;
    CHECK(handle);
    *(void **)&initialize = dlsym(handle, "InitializeInjection");
    if (find_functions)
        find_functions();
    CHECK(initialize && initialize() == 1);
    cuCtxPushCurrent_v2((void *)1);
    scenario();
    fflush(stdout);
    exit(0);
}

static int run(void (*scenario)(void))
{
    char command[192];
    int status;
    snprintf(command, sizeof command, "rm -rf '%s'; mkdir '%s'", folder, folder);
    assert_int_equal(system(command), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        child(scenario);
    }
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status)) { /* a sanitizer's, perhaps */
        snprintf(command, sizeof command, "cat '%s/stderr'", folder);
        assert_int_equal(system(command), 0);
    }
    return status;
}

static void assert_said(const char *part)
{
    char path[128], text[512] = "";
    snprintf(path, sizeof path, "%s/stderr", folder);
    FILE *said = fopen(path, "r");
    size_t bytes = fread(text, 1, sizeof text - 1, said);
    fclose(said);
    if (bytes && (!part || !strstr(text, part)))
        printf("said: %s", text);
    assert_true(part ? strstr(text, part) != NULL : bytes == 0);
}

static int set_up(void **state)
{
    static const char *const others[] = {
        "RBWP_INJECT_WHAT",  "RBWP_INJECT_AFTER_MS", "RBWP_INJECT_FOR_MS", "RBWP_INJECT_SIGNAL",
        "RBWP_INJECT_RANGE", "RBWP_INJECT_BUFSIZE",  "RBWP_INJECT_EVENTS"};
    (void)state;
    find_functions = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        unsetenv(others[i]);
    unsetenv("RBWP_PTX_DIR");
    setenv("RBWP_CUPTI", driver, 1);
    setenv("RBWP_CUDA", driver, 1);
    setenv("RBWP_INJECT_FILE", file, 1);
    return 0;
}

static void *function_of(const char *name)
{
    void *module, *function;
    CHECK(cuModuleLoadData(&module, name) == 0 &&
          cuModuleGetFunction(&function, module, name) == 0);
    return function;
}

static int launch(void *function, void *stream)
{
    return cuLaunchKernel(function, 3, 2, 1, 64, 1, 1, 8, stream, NULL, NULL);
}

static const char *name_of(const struct read_table *table, uint64_t number)
{
    static char text[256];
    struct rbwp_text name = rbwp_catalog_name(table->catalog, number);
    snprintf(text, sizeof text, "%.*s", (int)name.bytes, name.text);
    return text;
}

/* ---- work ---- */

static void *stream;

/* Rows of several threads of the library stand in the file in any order: that of the calls is the
 * order of their numbers. */
static int in_order_of_calls(const void *one, const void *other)
{
    const uint64_t *a = one, *b = other;
    const int by_call = (a[CORRELATION] > b[CORRELATION]) - (a[CORRELATION] < b[CORRELATION]);
    return by_call ? by_call : (a[NODE] > b[NODE]) - (a[NODE] < b[NODE]);
}

static struct read_table read_work(const char *path)
{
    struct read_table work = read_table(path, "gpu_activity");
    if (work.rows)
        qsort(work.cells, work.rows, work.columns * sizeof *work.cells, in_order_of_calls);
    return work;
}

/* 0: it had not returned yet when its work was reported. */
static bool ends_behind(const uint64_t *row, uint64_t time_ns)
{
    return row[END] == 0 || row[END] >= time_ns;
}

static void works(void)
{
    static char memory[4096];
    CHECK(cuStreamCreate(&stream, 0) == 0);
    void *saxpy = function_of("_Z5saxpyfPfS_");
    for (int i = 0; i < 10; i++)
        CHECK(launch(saxpy, i % 2 ? stream : NULL) == 0);
    CHECK(cuMemcpyHtoDAsync_v2((uintptr_t)memory, memory + 2048, 1000, stream) == 0);
    CHECK(cuMemsetD8Async((uintptr_t)memory, 1, 500, NULL) == 0);
    CHECK(cuGraphLaunch((void *)3, stream) == 0);
    CHECK(cuStreamSynchronize(stream) == 0);
}

static void test_work(void **state)
{
    (void)state;
    /* C++ names are shown as the C++ library does, if there is one for this C library. */
    const char *shown =
        dlopen("libstdc++.so.6", RTLD_LAZY) ? "saxpy(float, float*, float*)" : "_Z5saxpyfPfS_";
    assert_int_equal(run(works), 0);
    assert_said(NULL);
    struct read_table work = read_work(file);
    assert_int_equal(work.rows, 15);
    for (size_t i = 0; i < work.rows; i++) {
        const uint64_t *row = read_table_row(&work, i);
        assert_true(row[BEGIN] <= row[START] && row[START] + 1000 == row[STOP] &&
                    ends_behind(row, row[BEGIN]));
        assert_int_equal(row[PROCESSOR], UINT64_C(1) << 32);
        assert_true(row[THREAD] != 0 && row[CORRELATION] != 0 && row[START_BOUND] == 0);
        assert_int_equal(row[STREAM], i < 10 ? (i % 2 ? 13 : 7) : i == 11 ? 7 : 13);
        assert_int_equal(row[KIND], i == 10 ? 1 : i == 11 ? 2 : 0);
        assert_int_equal(row[BYTES], i == 10 ? 1000 : i == 11 ? 500 : 0);
        assert_int_equal(row[NODE], i < 12 ? 0 : i - 11);
        assert_int_equal(row[SHAPE], i < 10   ? 1
                                     : i < 12 ? 0
                                              : 2); /* that of the graph has no shared */
        assert_string_equal(name_of(&work, row[NAME]), i < 10 ? shown
                                                       : i == 10
                                                           ? "Memcpy HtoD (Pageable -> Device)"
                                                       : i == 11 ? "Memset (Device)"
                                                                 : "second");
        assert_string_equal(name_of(&work, row[CALL]), i < 10    ? "cuLaunchKernel"
                                                       : i == 10 ? "cuMemcpyHtoDAsync"
                                                       : i == 11 ? "cuMemsetD8Async"
                                                                 : "cuGraphLaunch");
    }
    assert_int_equal(read_table_row(&work, 12)[CORRELATION],
                     read_table_row(&work, 14)[CORRELATION]);
    assert_int_equal(read_table_row(&work, 12)[BEGIN], read_table_row(&work, 14)[BEGIN]);
    read_table_free(&work);
    struct read_table shapes = read_table(file, "gpu_shape"),
                      devices = read_table(file, "gpu_device");
    const uint64_t first[] = {1, 3, 2, 1, 64, 1, 1, 32, 24};
    assert_int_equal(shapes.rows, 2);
    const uint64_t *shape = read_table_row(&shapes, read_table_row(&shapes, 0)[0] != 1);
    assert_memory_equal(shape, first, sizeof first);
    assert_int_equal(devices.rows, 1);
    assert_string_equal(name_of(&devices, read_table_row(&devices, 0)[1]), "fake 0");
    read_table_free(&shapes);
    read_table_free(&devices);
    struct read_table calls = read_table(file, "gpu_call");
    assert_int_equal(calls.rows, 1);
    assert_true(read_table_row(&calls, 0)[0] <= read_table_row(&calls, 0)[1]);
    read_table_free(&calls);
}

/* Calls are timed by another clock than their work, which begins inside of them: told soon, or two
 * looks at both clocks later. */
static void now_and_then(void)
{
    const struct timespec pause = {0, 120000000};
    void *function = function_of("first");
    for (int i = 0; i < 4; i++) {
        CHECK(launch(function, NULL) == 0);
        nanosleep(&pause, NULL);
        CHECK(launch(function, NULL) == 0);
        if (i % 2)
            CHECK(cuptiActivityFlushAll(0) == 0);
    }
}

static void test_times(void **state)
{
    const uint64_t apart_ns = 1000; /* that two clocks are read */
    (void)state;
    assert_int_equal(run(now_and_then), 0);
    struct read_table work = read_work(file);
    assert_int_equal(work.rows, 8);
    for (size_t i = 0; i < work.rows; i++) {
        const uint64_t *row = read_table_row(&work, i);
        assert_true(row[BEGIN] <= row[START] + apart_ns && ends_behind(row, row[START] - apart_ns));
    }
    read_table_free(&work);
}

/* ---- many, on several threads: all of them, each once, none before its call ---- */

#ifdef __SANITIZE_THREAD__
enum { THREADS = 4, LAUNCHES = 4000 };
#else
enum { THREADS = 4, LAUNCHES = 20000 };
#endif

static void *launches(void *function)
{
    cuCtxPushCurrent_v2((void *)1);
    for (int i = 0; i < LAUNCHES / THREADS; i++)
        CHECK(launch(function, stream) == 0);
    return NULL;
}

static void many(void)
{
    pthread_t threads[THREADS];
    void *function = function_of("first");
    CHECK(cuStreamCreate(&stream, 0) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, launches, function) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void test_all_of_many(void **state)
{
    (void)state;
    assert_int_equal(run(many), 0);
    struct read_table work = read_work(file);
    static bool met[LAUNCHES + 1];
    assert_int_equal(work.rows, LAUNCHES);
    for (size_t i = 0; i < work.rows; i++) {
        const uint64_t *row = read_table_row(&work, i);
        assert_in_range(row[CORRELATION], 1, LAUNCHES);
        assert_false(met[row[CORRELATION]]);
        met[row[CORRELATION]] = true;
        assert_true(row[THREAD] && row[BEGIN] && row[BEGIN] <= row[START] && row[START_BOUND] == 0);
    }
    read_table_free(&work);
}

/* ---- the runtime's numbers ---- */

static void launches_by_runtime(void)
{
    void *function = fake_kernel_of(function_of("first")); /* which no module gave the program */
    fake_runtime_apart(getenv("APART") != NULL);
    fake_work_lasts(0);
    for (int i = 0; i < 200; i++) {
        CHECK(fake_runtime_launch(function, NULL) == 0);
        if (i == 100)
            CHECK(cuptiActivityFlushAll(0) == 0);
    }
    CHECK(fake_count("cupti_domain") == (getenv("APART") != NULL));
}

static void test_runtime(void **state)
{
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        if (apart)
            setenv("APART", "1", 1);
        assert_int_equal(run(launches_by_runtime), 0);
        struct read_table work = read_work(file);
        assert_int_equal(work.rows, 200);
        for (size_t i = 0; i < work.rows; i++) /* the first buffer teaches which numbers count */
            assert_true(read_table_row(&work, i)[THREAD] != 0 || (apart && i <= 100));
        assert_true(read_table_row(&work, 199)[THREAD] != 0);
        assert_string_equal(name_of(&work, read_table_row(&work, 199)[CALL]), "cudaLaunchKernel");
        read_table_free(&work);
    }
    unsetenv("APART");
}

/* ---- ranges ---- */

static void ranges(void)
{
    void *function = function_of("first");
    CHECK(nvtx_find_tool(handle));
    struct nvtx_attributes event = {.version = 3,
                                    .bytes = sizeof event,
                                    .category = 5,
                                    .payload_type = NVTX_F32,
                                    .payload.f32 = 0.5f,
                                    .message_type = NVTX_WIDE,
                                    .message.wide = L"wid\u00e9"};
    CHECK(nvtx_push("outer") == 0);
    CHECK(NVTX_CORE(NVTX_PUSH_EX, int (*)(const struct nvtx_attributes *))(&event) == 1);
    CHECK(launch(function, NULL) == 0);
    CHECK(nvtx_pop() == 1 && nvtx_push("aten::mm, seq = 12, op_id = 77") == 1 && nvtx_pop() == 1);
    CHECK(launch(function, NULL) == 0);
    CHECK(nvtx_pop() == 0);
    CHECK(nvtx_pop() == -2); /* of nothing */
    void *domain = NVTX_DOMAIN(NVTX_DOMAIN_CREATE_A, void *(*)(const char *))("NCCL");
    void *text =
        NVTX_DOMAIN(NVTX_DOMAIN_REGISTER_A, void *(*)(void *, const char *))(domain, "reduce");
    event = (struct nvtx_attributes){.version = 3,
                                     .bytes = sizeof event,
                                     .payload_type = NVTX_I32,
                                     .payload.i32 = -3,
                                     .message_type = NVTX_REGISTERED,
                                     .message.registered = text};
    int (*domain_push)(void *, const struct nvtx_attributes *) =
        NVTX_DOMAIN(NVTX_DOMAIN_PUSH_EX, int (*)(void *, const struct nvtx_attributes *));
    int (*domain_pop)(void *) = NVTX_DOMAIN(NVTX_DOMAIN_POP, int (*)(void *));
    CHECK(domain_push(domain, &event) == 0 && nvtx_push("crossing") == 0);
    CHECK(domain_pop(domain) == 0 && domain_pop(domain) == -2); /* while the other is inside it */
    CHECK(nvtx_pop() == 0);
    uint64_t started = NVTX_CORE(NVTX_START_A, uint64_t(*)(const char *))("started");
    CHECK(started != 0);
    NVTX_CORE(NVTX_MARK_A, void (*)(const char *))("mark");
    NVTX_CORE(NVTX_END, void (*)(uint64_t))(started);
    NVTX_CORE(NVTX_END, void (*)(uint64_t))(started); /* twice */
    NVTX_CORE(NVTX_END, void (*)(uint64_t))(999999);
    event.bytes = 8; /* of no version */
    CHECK(domain_push(domain, &event) == 0 && domain_push(NULL, NULL) == 0);
    CHECK(domain_pop(NULL) == 0);
    nvtx_push("never ended");
}

static void test_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t id, kind, payload_type, payload;
        int parent; /* row, -1: none */
        bool open;
    } expected[] = {
        {"outer", 0, 0, 0, 0, -1, false},
        {"wid\xc3\xa9", 5, 0, 3, UINT64_C(0x3fe0000000000000), 0, false},
        {"aten::mm", 77, 0, 1, 12, 0, false},
        {"NCCL:reduce", 0, 0, 2, (uint64_t)-3, -1, false},
        {"crossing", 0, 0, 0, 0, 3, false},
        {"started", 0, 1, 0, 0, -1, false},
        {"mark", 0, 2, 0, 0, -1, false},
        {"", 0, 0, 0, 0, -1, true},
        {"", 0, 0, 0, 0, 7, false},
        {"never ended", 0, 0, 0, 0, 7, true},
    };
    assert_int_equal(run(ranges), 0);
    assert_said(NULL);
    struct read_table table = read_table(file, "range"), work = read_work(file);
    assert_int_equal(table.rows, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < table.rows; i++) {
        const uint64_t *row = read_table_row(&table, i);
        assert_string_equal(name_of(&table, row[R_NAME]), expected[i].name);
        assert_int_equal(row[R_ID], expected[i].id);
        assert_int_equal(row[R_KIND], expected[i].kind);
        assert_int_equal(row[R_PAYLOAD_TYPE], expected[i].payload_type);
        assert_int_equal(row[R_PAYLOAD], expected[i].payload);
        assert_int_equal(row[R_PARENT],
                         expected[i].parent < 0
                             ? 0
                             : read_table_row(&table, (size_t)expected[i].parent)[R_RANGE]);
        assert_int_equal(row[R_STOP] == 0, expected[i].open);
    }
    assert_int_equal(work.rows, 2);
    assert_int_equal(read_table_row(&work, 0)[RANGE], read_table_row(&table, 1)[R_RANGE]);
    assert_int_equal(read_table_row(&work, 1)[RANGE], read_table_row(&table, 0)[R_RANGE]);
    read_table_free(&table);
    read_table_free(&work);
}

/* The calls that the others do not make: wide texts, each type of payload, those of domains, and
 * more levels than are tracked. */
static void every_call(void)
{
    typedef const struct nvtx_attributes *attributes;
    static const struct nvtx_attributes payloads[] = {
        {.payload_type = NVTX_U64, .payload.u64 = UINT64_MAX},
        {.payload_type = NVTX_I64, .payload.i64 = -5},
        {.payload_type = NVTX_F64, .payload.f64 = 0.5},
        {.payload_type = NVTX_U32, .payload.u32 = 7},
        {.payload_type = 99, .payload.u32 = 7},
    };
    CHECK(nvtx_find_tool(handle));
    void *domain = NVTX_DOMAIN(NVTX_DOMAIN_CREATE_W, void *(*)(const wchar_t *))(L"wid\u00e9");
    void *text = NVTX_DOMAIN(NVTX_DOMAIN_REGISTER_W,
                             void *(*)(void *, const wchar_t *))(domain, L"t\u00e9xt");
    struct nvtx_attributes event;
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        event = payloads[i];
        event.version = 3;
        event.bytes = sizeof event;
        event.message_type = NVTX_TEXT;
        event.message.text = "payload";
        NVTX_CORE(NVTX_MARK_EX, void (*)(attributes))(&event);
    }
    NVTX_CORE(NVTX_MARK_W, void (*)(const wchar_t *))(L"m\u00e4rk\u20ac\U0001d11e");
    NVTX_CORE(NVTX_MARK_W, void (*)(const wchar_t *))(NULL);
    CHECK(NVTX_CORE(NVTX_PUSH_W, int (*)(const wchar_t *))(L"p\u00fcsh") == 0 && nvtx_pop() == 0);
    event.message_type = NVTX_REGISTERED;
    event.message.registered = text;
    NVTX_DOMAIN(NVTX_DOMAIN_MARK_EX, void (*)(void *, attributes))(domain, &event);
    uint64_t starts[] = {
        NVTX_DOMAIN(NVTX_DOMAIN_START_EX, uint64_t(*)(void *, attributes))(domain, &event),
        NVTX_CORE(NVTX_START_EX, uint64_t(*)(attributes))(&event),
        NVTX_CORE(NVTX_START_W, uint64_t(*)(const wchar_t *))(L"st\u00e4rt")};
    NVTX_DOMAIN(NVTX_DOMAIN_DESTROY, void (*)(void *))(domain);
    NVTX_DOMAIN(NVTX_DOMAIN_END, void (*)(void *, uint64_t))(domain, starts[0]);
    NVTX_CORE(NVTX_END, void (*)(uint64_t))(starts[1]);
    for (int i = 0; i < 300; i++)
        CHECK(nvtx_push("deep") == (i < 256 ? i : -2));
    for (int i = 299; i >= 0; i--)
        CHECK(nvtx_pop() == (i < 256 ? i : -2));
    CHECK(nvtx_pop() == -2);
    NVTX_CORE(NVTX_NAME_THREAD_A, void (*)(uint32_t, const char *))(1, "another's");
    NVTX_CORE(NVTX_NAME_THREAD_W, void (*)(uint32_t, const wchar_t *))
    ((uint32_t)getpid(), L"m\u00fcsli");
}

static void test_every_call(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t kind, payload_type, payload;
        bool open;
    } expected[] = {
        {"payload", 2, 1, UINT64_MAX, false},
        {"payload", 2, 2, (uint64_t)-5, false},
        {"payload", 2, 3, UINT64_C(0x3fe0000000000000), false},
        {"payload", 2, 1, 7, false},
        {"payload", 2, 0, 0, false},
        {"m\xc3\xa4rk\xe2\x82\xac\xf0\x9d\x84\x9e", 2, 0, 0, false},
        {"", 2, 0, 0, false},
        {"p\xc3\xbcsh", 0, 0, 0, false},
        {"wid\xc3\xa9:t\xc3\xa9xt", 2, 0, 0, false},
        {"wid\xc3\xa9:t\xc3\xa9xt", 1, 0, 0, false},
        {"wid\xc3\xa9:t\xc3\xa9xt", 1, 0, 0, false},
        {"st\xc3\xa4rt", 1, 0, 0, true},
    };
    const size_t count = sizeof expected / sizeof *expected;
    assert_int_equal(run(every_call), 0);
    assert_said(NULL);
    struct read_table table = read_table(file, "range");
    assert_int_equal(table.rows, count + 256);
    for (size_t i = 0; i < table.rows; i++) {
        const uint64_t *row = read_table_row(&table, i);
        if (i >= count) {
            assert_string_equal(name_of(&table, row[R_NAME]), "deep");
            continue;
        }
        assert_string_equal(name_of(&table, row[R_NAME]), expected[i].name);
        assert_int_equal(row[R_KIND], expected[i].kind);
        assert_int_equal(row[R_PAYLOAD_TYPE], expected[i].payload_type);
        assert_int_equal(row[R_PAYLOAD], expected[i].payload);
        assert_int_equal(row[R_STOP] == 0, expected[i].open);
    }
    read_table_free(&table);
}

/* Where nothing can be kept for a thread its ranges are not tracked, and all else goes on. */
static void has_no_keys(void)
{
    pthread_key_t key;
    void *function = function_of("first");
    CHECK(nvtx_find_tool(handle));
    CHECK(launch(function, NULL) == 0);
    while (pthread_key_create(&key, NULL) == 0)
        ;
    CHECK(nvtx_push("not tracked") == -2);
    CHECK(launch(function, NULL) == 0);
    CHECK(nvtx_pop() == -2);
}

static void test_ranges_without_keys(void **state)
{
    (void)state;
    assert_int_equal(run(has_no_keys), 0);
    struct read_table work = read_table(file, "gpu_activity");
    assert_int_equal(work.rows, 2);
    read_table_free(&work);
}

/* A range that was started is that of calls outside of pushed ones: on its thread, or any. */
static void *launches_beside(void *function)
{
    cuCtxPushCurrent_v2((void *)1);
    CHECK(launch(function, NULL) == 0);
    return NULL;
}

static void starts(void)
{
    uint64_t (*start)(const char *);
    void (*end)(uint64_t);
    void *function = function_of("first");
    pthread_t thread;
    CHECK(nvtx_find_tool(handle));
    start = NVTX_CORE(NVTX_START_A, uint64_t(*)(const char *));
    end = NVTX_CORE(NVTX_END, void (*)(uint64_t));
    uint64_t outer = start("outer"), inner = start("inner");
    CHECK(launch(function, NULL) == 0); /* inner */
    nvtx_push("pushed");
    CHECK(launch(function, NULL) == 0); /* pushed */
    nvtx_pop();
    end(inner);
    CHECK(launch(function, NULL) == 0); /* outer */
    CHECK(pthread_create(&thread, NULL, launches_beside, function) == 0);
    pthread_join(thread, NULL);
    end(outer);
    CHECK(launch(function, NULL) == 0); /* none */
}

static void test_started(void **state)
{
    static const struct {
        const char *wish;
        int rows[5]; /* of the table range, -1: none */
    } cases[] = {{"", {1, 2, 0, -1, -1}}, {"all", {1, 2, 0, 0, -1}}, {"none", {-1, 2, -1, -1, -1}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("RBWP_INJECT_STARTED", cases[i].wish, 1);
        assert_int_equal(run(starts), 0);
        struct read_table table = read_table(file, "range"), work = read_work(file);
        assert_int_equal(work.rows, 5);
        assert_int_equal(table.rows, 3);
        for (size_t row = 0; row < work.rows; row++) {
            int expected = cases[i].rows[row];
            assert_int_equal(read_table_row(&work, row)[RANGE],
                             expected < 0 ? 0 : read_table_row(&table, (size_t)expected)[R_RANGE]);
        }
        read_table_free(&table);
        read_table_free(&work);
    }
    unsetenv("RBWP_INJECT_STARTED");
}

/* Of --what gpu and --what ranges the other half is not recorded, and costs nothing. */
static void asks_for_half(void)
{
    bool gpu = strcmp(getenv("RBWP_INJECT_WHAT"), "gpu") == 0;
    void *function = function_of("first");
    CHECK(nvtx_find_tool(handle) == !gpu);
    if (!gpu)
        nvtx_push("a range");
    CHECK(launch(function, NULL) == 0);
    CHECK(fake_count("cupti_subscribe") == gpu);
}

static void test_halves(void **state)
{
    (void)state;
    static const char *const halves[] = {"gpu", "ranges"};
    for (int i = 0; i < 2; i++) {
        setenv("RBWP_INJECT_WHAT", halves[i], 1);
        assert_int_equal(run(asks_for_half), 0);
        struct read_table table = read_table(file, "range"), work = read_work(file);
        assert_int_equal(work.rows, i == 0);
        assert_int_equal(table.rows, i == 1);
        read_table_free(&table);
        read_table_free(&work);
    }
}

/* ---- windows ---- */

/* Where no session can begin, the first window says so, and none behind it watches anything. */
static void has_windows_in_vain(void)
{
    void *function = function_of("first");
    CHECK(nvtx_find_tool(handle));
    for (int i = 0; i < 3; i++) {
        nvtx_push("step");
        CHECK(i == 0 || !fake_cupti_watches(CUPTI_CALL_cuLaunchKernel));
        CHECK(launch(function, NULL) == 0);
        CHECK(i == 0 || !fake_cupti_watches(CUPTI_CALL_cuLaunchKernel));
        nvtx_pop();
        CHECK(!fake_cupti_watches(CUPTI_CALL_cuLaunchKernel));
    }
}

static void test_window_without_a_file(void **state)
{
    (void)state;
    setenv("RBWP_INJECT_RANGE", "step", 1);
    setenv("RBWP_INJECT_FILE", "/nowhere/out.bin", 1);
    assert_int_equal(run(has_windows_in_vain), 0);
    assert_said("nothing is recorded");
}

static void is_in_a_range(void)
{
    void *function = function_of("first");
    CHECK(nvtx_find_tool(handle));
    for (int i = 0; i < 6; i++) {
        CHECK(launch(function, NULL) == 0); /* outside, where nothing is called back */
        CHECK(!fake_cupti_watches(CUPTI_CALL_cuLaunchKernel));
        nvtx_push(i == 1 || i == 3 ? "step" : "another");
        nvtx_push("inside");
        CHECK(launch(function, NULL) == 0);
        nvtx_pop();
        nvtx_pop();
    }
    uint64_t started = NVTX_CORE(NVTX_START_A, uint64_t(*)(const char *))("step");
    CHECK(launch(function, NULL) == 0);
    NVTX_CORE(NVTX_END, void (*)(uint64_t))(started);
    CHECK(launch(function, NULL) == 0);
}

static void test_window_of_a_range(void **state)
{
    (void)state;
    setenv("RBWP_INJECT_RANGE", "step", 1);
    assert_int_equal(run(is_in_a_range), 0);
    struct read_table table = read_table(file, "range"), work = read_work(file);
    assert_int_equal(work.rows, 3);
    assert_int_equal(table.rows, 5);
    read_table_free(&table);
    read_table_free(&work);
}

static unsigned flushes(void)
{
    return fake_count("cupti_flush");
}

/* Each signal is taken by the library's thread, which flushes when the window closes. */
static void is_signalled(void)
{
    void *function = function_of("first");
    CHECK(launch(function, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        kill(getpid(), SIGUSR2);
        do
            CHECK(launch(function, NULL) == 0);
        while (access(file, F_OK) != 0 || fake_runtime_launch(function, NULL) != 0);
        unsigned before = flushes();
        kill(getpid(), SIGUSR2);
        while (flushes() == before)
            sched_yield();
    }
}

static void test_window_of_signals(void **state)
{
    char number[8];
    (void)state;
    snprintf(number, sizeof number, "%d", SIGUSR2);
    setenv("RBWP_INJECT_SIGNAL", number, 1);
    assert_int_equal(run(is_signalled), 0);
    struct read_table work = read_work(file);
    assert_true(work.rows > 0 && read_table_row(&work, 0)[CORRELATION] > 1);
    read_table_free(&work);
}

/* The file is finished while the program runs on, and has nothing of that. */
enum { LATER = 100 };
static void outlives_its_window(void)
{
    char live[128];
    void *function = function_of("first");
    snprintf(live, sizeof live, "%s.live", file);
    CHECK(launch(function, NULL) == 0 && access(file, F_OK) == 0);
    while (access(live, F_OK) == 0)
        usleep(2000);
    for (int i = 0; i < LATER; i++)
        CHECK(launch(function, NULL) == 0);
}

static void test_window_of_time(void **state)
{
    (void)state;
    setenv("RBWP_INJECT_FOR_MS", "800", 1);
    assert_int_equal(run(outlives_its_window), 0);
    struct read_table work = read_work(file);
    assert_true(work.rows <= 1); /* 0: its window ended in the middle of the first one */
    read_table_free(&work);
}

static void comes_too_early(void)
{
    CHECK(launch(function_of("first"), NULL) == 0);
}

static void test_nothing_makes_no_file(void **state)
{
    (void)state;
    setenv("RBWP_INJECT_AFTER_MS", "100000", 1);
    assert_int_equal(run(comes_too_early), 0);
    assert_int_equal(access(file, F_OK), -1);
}

/* ---- ends ---- */

/* What the GPU still works on is asked for. */
static void ends_while_it_works(void)
{
    fake_work_lasts(UINT64_C(100000000000));
    CHECK(launch(function_of("first"), NULL) == 0);
}

static void test_end(void **state)
{
    (void)state;
    assert_int_equal(run(ends_while_it_works), 0);
    struct read_table work = read_work(file);
    assert_int_equal(work.rows, 1);
    read_table_free(&work);
}

static void is_terminated(void)
{
    CHECK(launch(function_of("first"), NULL) == 0);
    kill(getpid(), SIGTERM);
    for (;;)
        pause();
}

static void test_terminated(void **state)
{
    (void)state;
    int status = run(is_terminated);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    struct read_table work = read_work(file);
    assert_int_equal(work.rows, 1);
    read_table_free(&work);
}

static void leaves_by__exit(void)
{
    void (*leave)(int) = NULL;
    CHECK(launch(function_of("first"), NULL) == 0);
    *(void **)(void *)&leave = dlsym(handle, "_exit"); /* as it is found where it is preloaded */
    leave(7);
}

static void test__exit(void **state)
{
    (void)state;
    int status = run(leaves_by__exit);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    struct read_table work = read_work(file);
    assert_int_equal(work.rows, 1);
    read_table_free(&work);
}

/* A child's ranges go to a file of its own, its end leaves the parent's session alone, and one that
 * marks nothing makes none. */
static void has_children(void)
{
    int status;
    CHECK(nvtx_find_tool(handle));
    nvtx_push("parent");
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (i == 1)
                nvtx_push("child");
            exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        FILE *number = i == 1 ? fopen(getenv("CHILD"), "w") : NULL;
        if (number) {
            fprintf(number, "%d", (int)pid);
            fclose(number);
        }
    }
    CHECK(launch(function_of("first"), NULL) == 0);
    nvtx_pop();
}

static void test_children(void **state)
{
    char path[128], other[192];
    int pid = 0;
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it has no threads in children of processes with threads */
#endif
    snprintf(path, sizeof path, "%s/child", folder);
    setenv("CHILD", path, 1);
    assert_int_equal(run(has_children), 0);
    FILE *number = fopen(path, "r");
    assert_int_equal(fscanf(number, "%d", &pid), 1);
    fclose(number);
    snprintf(other, sizeof other, "%s/out.%d.bin", folder, pid);
    struct read_table mine = read_table(file, "range"), theirs = read_table(other, "range");
    struct read_table work = read_work(file);
    assert_int_equal(mine.rows, 1);
    assert_int_equal(theirs.rows, 1);
    assert_int_equal(work.rows, 1);
    assert_string_equal(name_of(&theirs, read_table_row(&theirs, 0)[R_NAME]), "child");
    read_table_free(&mine);
    read_table_free(&theirs);
    read_table_free(&work);
}

/* ---- what is not there ---- */

static void runs_on(void)
{
    CHECK(nvtx_find_tool(handle));
    nvtx_push("a range");
    CHECK(launch(function_of("first"), NULL) == 0);
    nvtx_pop();
}

/* One line, ranges all the same. */
static void test_missing(void **state)
{
    static const struct {
        const char *operation, *said;
        int code;
        uint32_t version;
    } cases[] = {{"cupti_subscribe", "another tool has CUPTI", CUPTI_TAKEN, 130001},
                 {"cupti_activity", "kernels are not recorded", 1, 130001},
                 {"none", "version 990000 is not known", 1, 990000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_up(state);
        fake_fail(cases[i].operation, cases[i].code, 0, 1);
        fake_cupti_version(cases[i].version);
        assert_int_equal(run(runs_on), 0);
        fake_reset();
        fake_cupti_version(130001);
        assert_said(cases[i].said);
        struct read_table table = read_table(file, "range"), work = read_work(file);
        assert_int_equal(table.rows, 1);
        assert_int_equal(work.rows, 0);
        read_table_free(&table);
        read_table_free(&work);
    }
}

/* ---- without CUPTI: work is timed by events ------------------------------------------------- */

/* As they are found where the library is preloaded: by dlsym, and by what that finds. */
static struct {
    void *(*dlsym)(void *, const char *);
    driver_result (*proc)(const char *, void **, int, uint64_t, int *);
    driver_result (*function)(driver_function *, driver_module, const char *);
    driver_result (*launch)(driver_function, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, unsigned, driver_stream, void **, void **);
    driver_result (*launch_ex)(const struct cuda_launch_config *, driver_function, void **,
                               void **);
    driver_result (*cooperative)(driver_function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, driver_stream, void **);
    driver_result (*copy)(cuda_pointer, const void *, size_t, driver_stream);
    driver_result (*set)(cuda_pointer, unsigned char, size_t, driver_stream);
    driver_result (*graph)(void *, driver_stream);
    driver_result (*synchronize)(driver_stream);
    driver_result (*synchronize_all)(void);
    driver_result (*synchronize_context)(cuda_context);
    driver_result (*destroy)(cuda_context);
    driver_result (*wait_event)(driver_stream, driver_event, unsigned);
} hooked;

static void *by_proc(const char *name, int version, uint64_t flags)
{
    void *found = NULL;
    int status;
    CHECK(hooked.proc(name, &found, version, flags, &status) == 0 && status == 0);
    return found;
}

/* The driver's own, which is not ours. */
static bool is_hooked(void *found, const char *symbol)
{
    return found && found != dlsym(RTLD_DEFAULT, symbol);
}

static void find_hooked(void)
{
    void *cuda = dlopen(driver, RTLD_NOW);
    *(void **)&hooked.dlsym = dlsym(handle, "dlsym");
    *(void **)&hooked.proc = hooked.dlsym(cuda, "cuGetProcAddress_v2");
    *(void **)&hooked.proc =
        by_proc("cuGetProcAddress", 12000, 0); /* the CUDA runtime asks twice */
    *(void **)&hooked.function = by_proc("cuModuleGetFunction", 3020, 2);
    *(void **)&hooked.launch = hooked.dlsym(cuda, "cuLaunchKernel");
    *(void **)&hooked.launch_ex = by_proc("cuLaunchKernelEx", 11060, 0);
    *(void **)&hooked.cooperative = by_proc("cuLaunchCooperativeKernel", 9000, 2);
    *(void **)&hooked.copy = by_proc("cuMemcpyHtoDAsync", 3020, 0);
    *(void **)&hooked.set = hooked.dlsym(cuda, "cuMemsetD8Async");
    *(void **)&hooked.graph = by_proc("cuGraphLaunch", 10000, 0);
    *(void **)&hooked.synchronize = by_proc("cuStreamSynchronize", 3020, 0);
    *(void **)&hooked.synchronize_all = by_proc("cuCtxSynchronize", 12000, 0);
    *(void **)&hooked.synchronize_context = by_proc("cuCtxSynchronize", 13000, 0);
    *(void **)&hooked.wait_event = by_proc("cuStreamWaitEvent", 3020, 0);
    *(void **)&hooked.destroy = by_proc("cuCtxDestroy", 4000, 0);
    void *found = by_proc("cuLaunchKernel", 7000, 0);
    CHECK(!memcmp(&found, &hooked.launch, sizeof found) && is_hooked(found, "cuLaunchKernel"));
    CHECK(!is_hooked(hooked.dlsym(cuda, "cuStreamCreate"), "cuStreamCreate"));
    CHECK(!hooked.dlsym(cuda, "cuNothing") && dlerror());
    CHECK(hooked.dlsym(cuda, "strlen") == dlsym(cuda, "strlen"));
}

static int set_up_events(void **state)
{
    set_up(state);
    setenv("RBWP_CUPTI", "/nowhere", 1);
    find_functions = find_hooked;
    return 0;
}

static void *hooked_function(const char *name)
{
    void *module, *function;
    CHECK(cuModuleLoadData(&module, name) == 0 && hooked.function(&function, module, name) == 0);
    return function;
}

static int hooked_launch(void *function, void *where)
{
    return hooked.launch(function, 3, 2, 1, 64, 1, 1, 8, where, NULL, NULL);
}

static void works_by_events(void)
{
    static char memory[4096];
    CHECK(cuStreamCreate(&stream, 0) == 0);
    void *saxpy = hooked_function("_Z5saxpyfPfS_");
    const struct cuda_launch_config config = {3, 2, 1, 64, 1, 1, 8, stream, NULL, 0};
    for (int i = 0; i < 10; i++)
        CHECK(hooked_launch(saxpy, i % 2 ? stream : NULL) == 0);
    CHECK(hooked.launch(saxpy, 0, 0, 0, 0, 0, 0, 0, stream, NULL, NULL) != 0); /* is none */
    CHECK(hooked.launch_ex(&config, saxpy, NULL, NULL) == 0);
    CHECK(hooked.cooperative(saxpy, 3, 2, 1, 64, 1, 1, 8, NULL, NULL) == 0);
    CHECK(hooked.copy((uintptr_t)memory, memory + 2048, 1000, stream) == 0);
    CHECK(hooked.set((uintptr_t)memory, 1, 500, NULL) == 0);
    CHECK(hooked.graph((void *)3, stream) == 0);
    CHECK(hooked.synchronize(stream) == 0);
    CHECK(hooked.synchronize_all() == 0);
    CHECK(hooked.synchronize_context((void *)1) == 0 && hooked.synchronize_context(NULL) == 1);
}

static void test_events(void **state)
{
    (void)state;
    assert_int_equal(run(works_by_events), 0);
    assert_said("timed by events");
    struct read_table work = read_work(file), calls = read_table(file, "gpu_call"),
                      devices = read_table(file, "gpu_device");
    unsigned kernels = 0, per_thread = 0, on_stream = 0;
    uint64_t theirs = 0;
    assert_int_equal(work.rows, 15);
    assert_int_equal(calls.rows, 4); /* those that waited */
    assert_int_equal(devices.rows, 1);
    for (size_t i = 0; i < work.rows; i++) {
        const uint64_t *row = read_table_row(&work, i);
        const char *name = name_of(&work, row[NAME]);
        assert_true(row[BEGIN] <= row[START] && row[START] <= row[STOP] && row[BEGIN] <= row[END]);
        assert_true(row[THREAD] != 0 && row[CORRELATION] != 0 && row[STREAM] != 0);
        assert_int_equal(row[PROCESSOR], UINT64_C(1) << 32);
        if (row[KIND] == 1)
            theirs = row[STREAM];
        kernels += strcmp(name, "saxpy(float, float*, float*)") == 0 && row[SHAPE] == 1;
        assert_true(row[KIND] != 1 || (row[BYTES] == 1000 && strcmp(name, "Memcpy HtoD") == 0));
        assert_true(row[KIND] != 2 || (row[BYTES] == 500 && strcmp(name, "Memset") == 0));
    }
    for (size_t i = 0; i < work.rows; i++) {
        const uint64_t *row = read_table_row(&work, i);
        on_stream += row[STREAM] == theirs;
        per_thread += row[STREAM] != theirs && row[STREAM] > 2;
    }
    assert_int_equal(kernels, 12);
    assert_int_equal(on_stream, 5 + 1 + 1 + 1);
    assert_int_equal(per_thread, 1);
    read_table_free(&work);
    read_table_free(&calls);
    read_table_free(&devices);
}

/* Nothing of ours is in a graph, and what waits meanwhile is asked for without harm to it. */
static void captures(void)
{
    void *other, *function = hooked_function("first");
    CHECK(cuStreamCreate(&stream, 0) == 0 && cuStreamCreate(&other, 0) == 0);
    fake_hold(true);
    CHECK(hooked_launch(function, other) == 0);
    unsigned asked = fake_count("event_query");
    fake_capture_begin(stream, FAKE_GLOBAL);
    for (int i = 0; i < 3; i++)
        CHECK(hooked_launch(function, stream) == 0);
    (void)hooked_launch(function, NULL); /* the default stream is part of every capture */
    CHECK(hooked_launch(function, other) == 0);
    while (fake_count("event_query") < asked + 4)
        sched_yield();
    CHECK(fake_capture_end(stream) == 3);
    fake_hold(false);
}

static void test_events_captures(void **state)
{
    (void)state;
    assert_int_equal(run(captures), 0);
    struct read_table work = read_work(file);
    assert_int_equal(work.rows, 2);
    read_table_free(&work);
}

static uint64_t lost_rows(void)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    uint64_t count = 0;
    assert_int_equal(rbwp_reader_open(file, NULL, &reader, NULL), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        ;
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    for (uint32_t i = 0; trailer && i < trailer->loss_count; i++)
        count += trailer->losses[i].cause == RBWP_LOSS_ROWS ? trailer->losses[i].count : 0;
    rbwp_reader_close(reader);
    return count;
}

/* What a context takes with it is counted; the next one at its address begins anew. */
static void loses_a_context(void)
{
    void *function = hooked_function("first");
    fake_hold(true);
    for (int i = 0; i < 3; i++)
        CHECK(hooked_launch(function, NULL) == 0);
    CHECK(hooked.destroy((void *)1) == 0);
    unsigned asked = fake_count("event_create");
    fake_hold(false);
    for (int i = 0; i < 2; i++)
        CHECK(hooked_launch(function, NULL) == 0);
    CHECK(fake_count("event_create") > asked);
}

/* More than are waited for: the program never waits, nor does its memory grow. */
enum { PENDING_MAX = 16384, BEYOND = 100 };
static void launches_too_many(void)
{
    void *function = hooked_function("first");
    fake_hold(true);
    for (int i = 0; i < PENDING_MAX + BEYOND; i++)
        CHECK(hooked_launch(function, NULL) == 0);
    fake_hold(false);
}

/* What still runs when the process ends, however long. */
static void ends_before_its_work(void)
{
    void *function = hooked_function("first");
    for (int i = 0; i < 4; i++) {
        fake_hold(i >= 2);
        CHECK(hooked_launch(function, NULL) == 0);
    }
    fake_hold(true);
}

/* An event that the driver refuses costs its row, and no more. */
static void is_refused_events(void)
{
    void *function = hooked_function("first");
    CHECK(hooked_launch(function, NULL) == 0);
    while (fake_count("event_elapsed") == 0) /* the library's thread records none from here on */
        sched_yield();
    fake_fail("event_record", 700, 0, 1);
    CHECK(hooked_launch(function, NULL) == 0);
    fake_fail("event_record", 700, 1, 1);
    CHECK(hooked_launch(function, NULL) == 0);
    CHECK(hooked_launch(function, NULL) == 0);
}

/* What had not ended on a GPU that fails is counted, by our own thread, which is none of the
 * program's. */
static void has_a_gpu_that_fails(void)
{
    void *function = hooked_function("first");
    fake_fail("launch", 719, 0, 1);
    CHECK(hooked_launch(function, NULL) == 719); /* the clock was read */
    fake_hold(true);
    for (int i = 0; i < 2; i++)
        CHECK(hooked_launch(function, NULL) == 0);
    fake_fail("event_query", 719, 0, UINT32_MAX);
    unsigned asked = fake_count("event_query");
    while (fake_count("event_query") < asked + 2)
        sched_yield();
}

/* Work that has ended before the clock could be read for the first time waits for that. */
static void waits_for_the_clock(void)
{
    void *function = hooked_function("first");
    CHECK(cuStreamCreate(&stream, 0) == 0);
    fake_hold(true); /* our stream, too */
    for (int i = 0; i < 2; i++)
        CHECK(hooked_launch(function, stream) == 0);
    fake_complete(stream, UINT32_MAX);
    unsigned asked = fake_count("event_query");
    while (fake_count("event_query") < asked + 100)
        sched_yield();
    fake_hold(false);
}

static void test_events_lost(void **state)
{
    static const struct {
        void (*scenario)(void);
        unsigned rows_wanted, lost;
        const char *said; /* of what was lost */
    } cases[] = {
        {loses_a_context, 2, 3, "file: 3 had not ended when their context was destroyed\n"},
        {launches_too_many, PENDING_MAX, BEYOND,
         "rbwp: 100 kernels, copies and sets are not in "
         "the file: 100 had no room\n"},
        {ends_before_its_work, 2, 2, "file: 2 had not ended when the process did\n"},
        {is_refused_events, 2, 2, "file: 2 got no events from the driver\n"},
        {has_a_gpu_that_fails, 0, 2, "file: 2 were on a GPU that failed\n"},
        {waits_for_the_clock, 2, 0, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
#ifdef __SANITIZE_THREAD__
        if (cases[i].lost == BEYOND)
            continue; /* it would take long */
#endif
        assert_int_equal(run(cases[i].scenario), 0);
        struct read_table work = read_work(file);
        assert_int_equal(work.rows, cases[i].rows_wanted);
        assert_int_equal(lost_rows(), cases[i].lost);
        if (cases[i].said)
            assert_said(cases[i].said);
        read_table_free(&work);
    }
}

#ifdef __SANITIZE_THREAD__
enum { EVENT_LAUNCHES = 2000 };
#else
enum { EVENT_LAUNCHES = 8000 };
#endif
/* These are fewer than are waited for: nobody need be quick. */

static pthread_barrier_t all_at_once;

static void *hooked_launches(void *function)
{
    cuCtxPushCurrent_v2((void *)1);
    pthread_barrier_wait(&all_at_once); /* the library meets the context on all of them */
    for (int i = 0; i < EVENT_LAUNCHES / THREADS; i++)
        CHECK(hooked_launch(function, stream) == 0);
    return NULL;
}

static void many_by_events(void)
{
    pthread_t threads[THREADS];
    void *function = hooked_function("first");
    CHECK(cuStreamCreate(&stream, 0) == 0);
    CHECK(pthread_barrier_init(&all_at_once, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, hooked_launches, function) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(fake_count("stream_create") == 2); /* the program's, and one of ours */
}

static void test_events_of_many(void **state)
{
    static bool met[EVENT_LAUNCHES + 1];
    (void)state;
    assert_int_equal(run(many_by_events), 0);
    struct read_table work = read_work(file);
    assert_int_equal(work.rows, EVENT_LAUNCHES);
    for (size_t i = 0; i < work.rows; i++) {
        const uint64_t *row = read_table_row(&work, i);
        assert_in_range(row[CORRELATION], 1, EVENT_LAUNCHES);
        assert_false(met[row[CORRELATION]]);
        met[row[CORRELATION]] = true;
        assert_true(row[THREAD] && row[BEGIN] && row[BEGIN] <= row[START]);
    }
    read_table_free(&work);
}

/* Launches in a row have an event each; where something stands between, or may, it is two. */
static unsigned long on_stream(void *function, void *where, unsigned grid)
{
    const struct fake_stream *counted = where;
    unsigned long before = counted->enqueued;
    (void)hooked.launch(function, grid, 2, 1, 64, 1, 1, 8, where, NULL, NULL);
    return counted->enqueued - before;
}

static void launches_in_a_row(void)
{
    void *other, *function = hooked_function("first");
    CHECK(cuStreamCreate(&stream, 0) == 0 && cuStreamCreate(&other, 0) == 0);
    CHECK(on_stream(function, stream, 3) == 3);
    for (int i = 0; i < 5; i++)
        CHECK(on_stream(function, stream, 3) == 2);
    CHECK(hooked.wait_event(stream, NULL, 0) == 0);
    CHECK(on_stream(function, stream, 3) == 3 && on_stream(function, stream, 3) == 2);
    CHECK(on_stream(function, other, 3) == 3 && on_stream(function, stream, 3) == 3);
    CHECK(on_stream(function, stream, 0) == 0); /* refused */
    CHECK(on_stream(function, stream, 3) == 3 && on_stream(function, stream, 3) == 2);
}

static void test_events_in_a_row(void **state)
{
    uint64_t stop = 0;
    (void)state;
    assert_int_equal(run(launches_in_a_row), 0);
    struct read_table work = read_work(file);
    assert_int_equal(work.rows, 12);
    for (size_t i = 0; i < work.rows; i++) {
        const uint64_t *row = read_table_row(&work, i);
        assert_true(row[START] <= row[STOP] && row[BEGIN] <= row[START]);
        assert_int_equal(row[START_BOUND], row[STOP_BOUND]); /* the one before it is known */
        if (row[STREAM] == read_table_row(&work, 0)[STREAM]) {
            assert_true(row[START] >= stop);
            stop = row[STOP];
        }
    }
    read_table_free(&work);
}

/* While the window is closed no event is recorded. */
static void in_a_window(void)
{
    void *function = hooked_function("first");
    CHECK(nvtx_find_tool(handle) && cuStreamCreate(&stream, 0) == 0);
    for (int i = 0; i < 4; i++) {
        CHECK(on_stream(function, stream, 3) == 1);
        nvtx_push(i == 2 ? "step" : "another");
        CHECK(on_stream(function, stream, 3) == (i == 2 ? 3 : 1));
        nvtx_pop();
    }
}

static void test_events_window(void **state)
{
    (void)state;
    setenv("RBWP_INJECT_RANGE", "step", 1);
    assert_int_equal(run(in_a_window), 0);
    struct read_table work = read_work(file), ranges_read = read_table(file, "range");
    assert_int_equal(work.rows, 1);
    assert_int_equal(read_table_row(&work, 0)[RANGE], read_table_row(&ranges_read, 0)[R_RANGE]);
    read_table_free(&work);
    read_table_free(&ranges_read);
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    library = words[1];
    driver = words[2];
    snprintf(folder, sizeof folder, "activity-%d", (int)getpid());
    snprintf(file, sizeof file, "%s/out.bin", folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_work, set_up),
        cmocka_unit_test_setup(test_times, set_up),
        cmocka_unit_test_setup(test_all_of_many, set_up),
        cmocka_unit_test_setup(test_runtime, set_up),
        cmocka_unit_test_setup(test_ranges, set_up),
        cmocka_unit_test_setup(test_every_call, set_up),
        cmocka_unit_test_setup(test_ranges_without_keys, set_up),
        cmocka_unit_test(test_started_by_two_threads),
        cmocka_unit_test(test_buffers_of_two_threads),
        cmocka_unit_test(test_buffers_again),
        cmocka_unit_test(test_buffers_after_a_fork),
        cmocka_unit_test(test_names_after_a_fork),
        cmocka_unit_test_setup(test_started, set_up),
        cmocka_unit_test_setup(test_halves, set_up),
        cmocka_unit_test_setup(test_window_of_a_range, set_up),
        cmocka_unit_test_setup(test_window_without_a_file, set_up),
        cmocka_unit_test_setup(test_window_of_signals, set_up),
        cmocka_unit_test_setup(test_window_of_time, set_up),
        cmocka_unit_test_setup(test_nothing_makes_no_file, set_up),
        cmocka_unit_test_setup(test_end, set_up),
        cmocka_unit_test_setup(test_terminated, set_up),
        cmocka_unit_test_setup(test__exit, set_up),
        cmocka_unit_test_setup(test_children, set_up),
        cmocka_unit_test_setup(test_missing, set_up),
/* Where dlsym is stood in for (inject_hooks.c). */
#if defined __GLIBC__ && (defined __x86_64__ || defined __aarch64__)
        cmocka_unit_test_setup(test_events, set_up_events),
        cmocka_unit_test_setup(test_events_captures, set_up_events),
        cmocka_unit_test_setup(test_events_lost, set_up_events),
        cmocka_unit_test_setup(test_events_of_many, set_up_events),
        cmocka_unit_test_setup(test_events_in_a_row, set_up_events),
        cmocka_unit_test_setup(test_events_window, set_up_events),
#endif
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed;
}
