/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_gpu.c - what brackets cost, and how true they are, on a real device.
 *
 *     bench_gpu API [ROUNDS [DRIVER_LIBRARY [COMPILER_LIBRARY]]]
 *
 * Prints four things: the host's time per bracket beside that of its two event records, the
 * throughput of bracketed empty launches beside bare ones, the duration of records (less the bias)
 * beside the kernel's own %globaltimer (on idle streams and busy ones, and whether the stored
 * bounds hold), and whether many kernels on four streams have one record each. Speaks to the device
 * through the backend interface, as the library does. Ratios and differences within one run count;
 * the rest depends on the machine.
 */
#include "bench.h"
#include "gpu_device.h"
#include "rbwp_reader.h"
#include "rbwp_record.h"
#include "rbwp_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_DEFAULT 15u
#define ROUNDS_MAX 199u
#define BATCH 200u /* launches in a row that no driver's queue makes wait */
#define LAUNCHES 200000u
#define STREAMS 4u
#define LAUNCHES_EACH 100000u
#define SPINS 100u
#define EVENTS 64u

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry bench_empty()\n{\nret;\n}\n"
                          ".visible .entry bench_spin(.param .u64 out, .param .u64 duration)\n{\n"
                          ".reg .u64 %o, %d, %s, %n, %e;\n.reg .pred %p;\n"
                          "ld.param.u64 %o, [out];\n"
                          "ld.param.u64 %d, [duration];\n"
                          "cvta.to.global.u64 %o, %o;\n"
                          "mov.u64 %s, %globaltimer;\n"
                          "add.u64 %e, %s, %d;\n"
                          "again:\n"
                          "mov.u64 %n, %globaltimer;\n"
                          "setp.lt.u64 %p, %n, %e;\n"
                          "@%p bra again;\n"
                          "st.global.u64 [%o], %s;\n"
                          "st.global.u64 [%o+8], %n;\n"
                          "ret;\n}\n";
static const char hip_source[] = "extern \"C\" __global__ void bench_empty() {}\n";
static const char opencl_source[] = "__kernel void bench_empty(void) {}\n";

struct bench {
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_facts facts;
    const struct gpu_backend *backend;
    struct gpu_context *context;
    struct gpu_attached saved;
    struct gpu_module *module;
    struct gpu_kernel *empty;
    struct rbwp_work_manager *manager;
    struct rbwp_gpu_stream *stream[STREAMS];
    void *native[STREAMS];
    unsigned rounds;
};

static void check(struct bench *b, int code, const char *what)
{
    struct rbwp_error error;
    if (code == GPU_OK)
        return;
    b->backend->describe(b->context->driver, code, what, &error);
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

static void launch_empty(struct bench *b, unsigned stream)
{
    const struct gpu_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    check(b, b->backend->launch(b->empty, &launch, b->native[stream]), "launch");
}

static void wait_for(struct bench *b, unsigned stream)
{
    check(b, b->backend->stream_wait(b->context, b->native[stream]), "wait");
    rbwp_work_drain(b->manager);
}

/* ---- host cost ------------------------------------------------------------------ */

enum way { BARE, RECORDS, BRACKETS, LAUNCH_BARE, LAUNCH_RECORDS, LAUNCH_BRACKETS, WAYS };

/* One batch; the host's time for one, in ns. */
static double issue(struct bench *b, enum way way, struct gpu_event *event)
{
    double begin = clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < BATCH; i++) {
        struct rbwp_gpu_bracket bracket;
        struct gpu_event *pair = &event[2 * i % EVENTS];
        if (way == RECORDS || way == LAUNCH_RECORDS)
            check(b, b->backend->event_record(b->context, &pair[0], b->native[0]), "record");
        if (way == BRACKETS || way == LAUNCH_BRACKETS)
            rbwp_gpu_bracket_begin(&bracket, b->stream[0], 1);
        if (way >= LAUNCH_BARE)
            launch_empty(b, 0);
        if (way == RECORDS || way == LAUNCH_RECORDS)
            check(b, b->backend->event_record(b->context, &pair[1], b->native[0]), "record");
        if (way == BRACKETS || way == LAUNCH_BRACKETS)
            rbwp_gpu_bracket_end(&bracket);
    }
    double each = (clock_ns(CLOCK_MONOTONIC) - begin) / BATCH;
    wait_for(b, 0);
    return each;
}

static void host_cost(struct bench *b)
{
    static double each[WAYS][ROUNDS_MAX];
    struct gpu_event event[EVENTS];
    for (unsigned i = 0; i < EVENTS; i++)
        check(b, b->backend->event_create(b->context, &event[i]), "event");
    struct rbwp_session *session = start_session(1);
    for (int way = 0; way < WAYS; way++)
        (void)issue(b, (enum way)way, event); /* warm */
    for (unsigned round = 0; round < b->rounds; round++)
        for (int way = 0; way < WAYS; way++)
            each[way][round] = issue(b, (enum way)way, event);
    stop_session(session);
    for (unsigned i = 0; i < EVENTS; i++)
        b->backend->event_destroy(b->context, &event[i]);
    double ns[WAYS];
    for (int way = 0; way < WAYS; way++)
        ns[way] = median(each[way], b->rounds);
    printf("host cost, ns: two event records %.0f, a bracket %.0f: %+.0f (budget +100)\n",
           ns[RECORDS], ns[BRACKETS], ns[BRACKETS] - ns[RECORDS]);
    printf(
        "host cost, ns, around a launch of %.0f: two event records %.0f, a bracket %.0f: %+.0f\n",
        ns[LAUNCH_BARE], ns[LAUNCH_RECORDS], ns[LAUNCH_BRACKETS],
        ns[LAUNCH_BRACKETS] - ns[LAUNCH_RECORDS]);
}

/* ---- throughput ------------------------------------------------------------------- */

static double launches_per_second(struct bench *b, unsigned count, bool bracketed)
{
    double begin = clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < count; i++) {
        struct rbwp_gpu_bracket bracket;
        if (bracketed)
            rbwp_gpu_bracket_begin(&bracket, b->stream[0], 1);
        launch_empty(b, 0);
        if (bracketed)
            rbwp_gpu_bracket_end(&bracket);
    }
    check(b, b->backend->stream_wait(b->context, b->native[0]), "wait");
    double rate = count / (clock_ns(CLOCK_MONOTONIC) - begin) * 1e9;
    rbwp_work_drain(b->manager);
    return rate;
}

static void throughput(struct bench *b)
{
    double bare[3], bracketed[3], ratio[3];
    unsigned count = b->facts.on_cpu ? LAUNCHES / 20 : LAUNCHES;
    struct rbwp_session *session = start_session(1);
    for (unsigned round = 0; round < 3; round++) {
        bare[round] = launches_per_second(b, count, false);
        bracketed[round] = launches_per_second(b, count, true);
        ratio[round] = bracketed[round] / bare[round];
    }
    struct rbwp_session_summary summary = stop_session(session);
    printf("throughput, %u empty launches: bare %.0f/s, bracketed %.0f/s: %.1f %% (at least 85), "
           "lost %llu\n",
           count, median(bare, 3), median(bracketed, 3), 100 * median(ratio, 3),
           (unsigned long long)summary.lost_records);
}

/* ---- records of the scratch file ------------------------------------------------------- */

typedef void (*work_fn)(void *context, const struct rbwp_record *record);

static void each_work(work_fn take, void *context)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct rbwp_record record;
    struct rbwp_record_iterator iterator;
    require(rbwp_reader_open(scratch_file(), NULL, &reader, NULL) == RBWP_OK, "reading back");
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        if (block.header.records == 0)
            continue;
        rbwp_record_first(&block, &iterator);
        while (rbwp_record_next(&iterator, &record))
            if (record.kind == RBWP_GPU_WORK)
                take(context, &record);
    }
    rbwp_reader_close(reader);
}

/* ---- accuracy ------------------------------------------------------------------------------ */

static const unsigned spin_us[] = {5, 10, 20, 50, 100, 200, 500};
#define SPIN_LENGTHS (sizeof spin_us / sizeof spin_us[0])
#define SPIN_KERNELS (SPIN_LENGTHS * SPINS)
#define BUSY_BATCH 10u /* launched in a row; the first one finds the stream idle */
#define HOST_CODE_NS 50000

/* How the kernels are launched: with the stream idle before each, at once or after some code of the
 * host's inside the bracket, or in a row. */
enum load { IDLE_AT_ONCE, IDLE_HOST_CODE, BUSY, LOADS };

static const char *const load_names[LOADS] = {"idle, launched at once", "idle, 50 us of host code",
                                              "busy"};

/* What a row of gpu_activity says. */
struct fact {
    int64_t start_ns;
    uint64_t start_bound_ns, stop_bound_ns, launching_ns;
    bool idle;
};

struct spins {
    enum load load;
    const struct rbwp_gpu_facts *facts;
    const uint64_t *device_ns; /* start and stop of each kernel, in order */
    struct fact fact[SPIN_KERNELS];
    double error_ns[SPIN_KERNELS], absolute_ns[SPIN_KERNELS];
    size_t next, facts_known, used,
        held; /* records, facts; those of this load; whose bound holds */
};

/* The duration less the bias, beside the kernel's own, and whether that lies between the bounds. */
static void take_spin(void *context, const struct rbwp_record *record)
{
    struct spins *spins = context;
    require(spins->next < spins->facts_known, "as many records as facts");
    const size_t i = spins->next++;
    const struct fact *fact = &spins->fact[i];
    const bool idle = fact->idle;
    require(fact->start_ns == record->start_ns, "facts of the same work");
    if (spins->load == BUSY && i % BUSY_BATCH == 0)
        return;
    const double bias_ns = (double)(idle ? spins->facts->idle_bias_ns : spins->facts->bias_ns);
    const double spread_ns =
        (double)(idle ? spins->facts->idle_spread_ns : spins->facts->bias_spread_ns);
    const double own_ns = (double)(spins->device_ns[2 * i + 1] - spins->device_ns[2 * i]);
    const double long_ns = (double)(record->stop_ns - record->start_ns) - bias_ns;
    const double read_ns = long_ns > 0 ? long_ns : 0;
    const double gaps_ns = (double)fact->start_bound_ns + (double)fact->stop_bound_ns + spread_ns;
    const double error_ns = read_ns - own_ns;
    spins->held +=
        own_ns >= read_ns - gaps_ns && own_ns <= read_ns + (double)fact->launching_ns + gaps_ns;
    spins->error_ns[spins->used] = error_ns;
    spins->absolute_ns[spins->used++] = error_ns < 0 ? -error_ns : error_ns;
}

static const uint64_t *cells_of(const struct rbwp_rows *rows, const char *name)
{
    for (uint32_t i = 0; i < rows->schema->column_count; i++)
        if (rows->schema->columns[i].name_bytes == strlen(name) &&
            memcmp(rows->schema->columns[i].name, name, strlen(name)) == 0)
            return rows->cells[i];
    require(false, "the columns of gpu_activity");
    return NULL;
}

static void take_rows(struct spins *spins, const struct rbwp_rows *rows)
{
    if (rows->schema->name_bytes != 12 || memcmp(rows->schema->name, "gpu_activity", 12) != 0)
        return;
    for (uint32_t i = 0; i < rows->rows && spins->facts_known < SPIN_KERNELS; i++)
        spins->fact[spins->facts_known++] = (struct fact){
            .start_ns = (int64_t)cells_of(rows, "start")[i],
            .start_bound_ns = cells_of(rows, "start_bound")[i],
            .stop_bound_ns = cells_of(rows, "stop_bound")[i],
            .launching_ns = cells_of(rows, "launching")[i],
            .idle = cells_of(rows, "idle")[i] != 0,
        };
}

static void take_facts(struct spins *spins)
{
    struct rbwp_catalog *catalog = rbwp_catalog_new();
    struct rbwp_reader *reader = NULL;
    struct rbwp_block block;
    struct rbwp_rows rows;
    require(catalog && rbwp_reader_open(scratch_file(), NULL, &reader, NULL) == RBWP_OK,
            "reading back");
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        if (rbwp_catalog_take(catalog, &block, &rows, NULL) == RBWP_OK)
            take_rows(spins, &rows);
    rbwp_reader_close(reader);
    rbwp_catalog_free(catalog);
}

static void run_spin(struct bench *b, struct gpu_kernel *spin, uint64_t out, unsigned length,
                     enum load load)
{
    uint64_t duration = 1000ull * spin_us[length];
    const struct gpu_arg args[] = {{&out, sizeof out}, {&duration, sizeof duration}};
    const struct gpu_launch launch = {
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .arg_count = 2, .args = args};
    struct rbwp_gpu_bracket bracket;
    rbwp_gpu_bracket_begin(&bracket, b->stream[0], 1);
    for (double until = clock_ns(CLOCK_MONOTONIC) + HOST_CODE_NS;
         load == IDLE_HOST_CODE && clock_ns(CLOCK_MONOTONIC) < until;)
        ;
    check(b, b->backend->launch(spin, &launch, b->native[0]), "launch");
    rbwp_gpu_bracket_end(&bracket);
}

static void run_spins(struct bench *b, struct gpu_kernel *spin, struct gpu_memory *memory,
                      uint64_t *host, enum load load)
{
    for (unsigned i = 0; i < SPIN_KERNELS; i++) {
        run_spin(b, spin, (uintptr_t)memory->native + 16u * i, i / SPINS, load);
        if (load != BUSY || i % BUSY_BATCH == BUSY_BATCH - 1)
            wait_for(b, 0);
    }
    const struct gpu_copy copy = {.dst = {.host = host},
                                  .src = {.device = memory},
                                  .width_bytes = memory->bytes,
                                  .height = 1,
                                  .depth = 1};
    check(b, gpu_copy(b->context, &copy, b->native[0]), "copy");
    wait_for(b, 0);
}

static void accuracy_of(struct bench *b, struct gpu_kernel *spin, struct gpu_memory *memory,
                        enum load load)
{
    struct spins *spins = calloc(1, sizeof *spins);
    uint64_t *host = calloc(SPIN_KERNELS, 16);
    require(spins && host, "memory");
    struct rbwp_session *session = start_session(1);
    run_spins(b, spin, memory, host, load);
    stop_session(session);
    *spins = (struct spins){.load = load, .facts = &b->facts, .device_ns = host};
    take_facts(spins);
    each_work(take_spin, spins);
    require(spins->next == SPIN_KERNELS && spins->used, "as many records as kernels");
    double *error_ns = spins->error_ns;
    const size_t used = spins->used;
    printf("accuracy, %s: error in ns p1 %.0f p50 %.0f p90 %.0f p99 %.0f; |error| p50 %.0f "
           "(at most 2000); bound holds for %.1f %% (at least 99)\n",
           load_names[load], quantile(error_ns, used, 0.01), quantile(error_ns, used, 0.5),
           quantile(error_ns, used, 0.9), quantile(error_ns, used, 0.99),
           quantile(spins->absolute_ns, used, 0.5), 100.0 * (double)spins->held / (double)used);
    free(host);
    free(spins);
}

static void accuracy(struct bench *b)
{
    struct gpu_kernel *spin;
    struct gpu_memory memory;
    if (b->backend->api != GPU_CUDA) {
        printf("accuracy: not measured, %s has no %%globaltimer here\n", b->backend->name);
        return;
    }
    check(b, b->backend->kernel_get(b->module, "bench_spin", &spin), "bench_spin");
    check(b, b->backend->memory_alloc(b->context, SPIN_KERNELS * 16, &memory), "memory");
    for (int load = 0; load < LOADS; load++)
        accuracy_of(b, spin, &memory, (enum load)load);
    b->backend->memory_free(b->context, &memory);
}

/* ---- four streams ------------------------------------------------------------------------------
 */

struct launcher {
    pthread_t thread;
    struct bench *b;
    unsigned stream, count;
};

static void *launch_many(void *argument)
{
    struct launcher *launcher = argument;
    struct bench *b = launcher->b;
    struct gpu_attached saved;
    require(rbwp_thread_attach("launcher") == RBWP_OK, "attach");
    check(b, b->backend->attach(b->context, &saved), "attach");
    for (unsigned i = 0; i < launcher->count; i++) {
        struct rbwp_gpu_bracket bracket;
        rbwp_gpu_bracket_begin(&bracket, b->stream[launcher->stream], launcher->stream);
        launch_empty(b, launcher->stream);
        rbwp_gpu_bracket_end(&bracket);
    }
    b->backend->detach(b->context, &saved);
    (void)rbwp_thread_detach();
    return NULL;
}

struct counts {
    uint64_t of_slot[256], negative;
};

static void count_work(void *context, const struct rbwp_record *record)
{
    struct counts *counts = context;
    counts->of_slot[record->slot]++;
    counts->negative += record->stop_ns < record->start_ns;
}

static void four_streams(struct bench *b)
{
    struct launcher launcher[STREAMS];
    struct counts counts = {{0}, 0};
    unsigned count = b->facts.on_cpu ? LAUNCHES_EACH / 50 : LAUNCHES_EACH;
    struct rbwp_session *session = start_session(1);
    for (unsigned i = 0; i < STREAMS; i++) {
        launcher[i] = (struct launcher){.b = b, .stream = i, .count = count};
        require(pthread_create(&launcher[i].thread, NULL, launch_many, &launcher[i]) == 0,
                "thread");
    }
    for (unsigned i = 0; i < STREAMS; i++)
        pthread_join(launcher[i].thread, NULL);
    for (unsigned i = 0; i < STREAMS; i++)
        wait_for(b, i);
    struct rbwp_session_summary summary = stop_session(session);
    each_work(count_work, &counts);
    bool good = counts.negative == 0 && summary.lost_records == 0;
    printf("streams: %u kernels each, records", count);
    for (unsigned i = 0; i < STREAMS; i++) {
        printf(" %llu", (unsigned long long)counts.of_slot[i]);
        good &= counts.of_slot[i] == count;
    }
    printf(", negative %llu, lost %llu: %s\n", (unsigned long long)counts.negative,
           (unsigned long long)summary.lost_records, good ? "good" : "WRONG");
}

/* ---- device -------------------------------------------------------------------------------------
 */

static void open_bench(struct bench *b, enum rbwp_gpu_api api, char **libraries)
{
    struct rbwp_error error = {.text = ""};
    struct rbwp_work_config work = {.size = sizeof work, .workers = 1};
    require(rbwp_work_start(&work, &b->manager, NULL) == RBWP_OK, "work manager");
    struct rbwp_gpu_config config = {.size = sizeof config, .api = api, .manager = b->manager};
    config.driver_library = libraries[0];
    config.compiler_library = libraries[0] ? libraries[1] : NULL;
    if (rbwp_gpu_device_open(&config, &b->device, &error) != RBWP_OK) {
        fprintf(stderr, "bench_gpu: %s\n", error.text);
        exit(1);
    }
    rbwp_gpu_device_facts(b->device, &b->facts);
    b->context = gpu_device_context(b->device);
    b->backend = b->context->backend;
    check(b, b->backend->attach(b->context, &b->saved), "attach");
    for (unsigned i = 0; i < STREAMS; i++) {
        check(b, b->backend->stream_create(b->context, &b->native[i]), "stream");
        require(rbwp_gpu_stream_open(b->device, b->native[i], RBWP_GPU_USE_STREAM, &b->stream[i],
                                     NULL) == RBWP_OK,
                "stream");
    }
    const struct gpu_code_text text = {
        .name = "bench", .ptx = ptx, .source = api == RBWP_GPU_OPENCL ? opencl_source : hip_source};
    if (b->backend->module_load(b->context, &text, &b->module, &error) != RBWP_OK) {
        fprintf(stderr, "bench_gpu: %s\n", error.text);
        exit(1);
    }
    check(b, b->backend->kernel_get(b->module, "bench_empty", &b->empty), "bench_empty");
}

static void close_bench(struct bench *b)
{
    b->backend->module_unload(b->module);
    for (unsigned i = 0; i < STREAMS; i++) {
        (void)rbwp_gpu_stream_close(b->stream[i]);
        (void)b->backend->stream_destroy(b->context, b->native[i]);
    }
    b->backend->detach(b->context, &b->saved);
    (void)rbwp_gpu_device_close(b->device);
    (void)rbwp_work_stop(b->manager, true, NULL);
}

int main(int argc, char **argv)
{
    struct bench b = {.rounds = ROUNDS_DEFAULT};
    unsigned api = 0;
    while (argc > 1 && api < GPU_APIS && strcmp(argv[1], rbwp_gpu_api_name(api)) != 0)
        api++;
    if (argc < 2 || api == GPU_APIS) {
        fprintf(stderr, "usage: bench_gpu cuda|hip|opencl [ROUNDS [DRIVER [COMPILER]]]\n");
        return 2;
    }
    if (argc > 2 && atoi(argv[2]) > 0)
        b.rounds = (unsigned)atoi(argv[2]) < ROUNDS_MAX ? (unsigned)atoi(argv[2]) : ROUNDS_MAX;
    char *none[] = {NULL, NULL};
    open_bench(&b, (enum rbwp_gpu_api)api, argc > 3 ? argv + 3 : none);
    printf("device: %s %s; bias of busy streams %lld ns, spread %lld ns, %u rounds; of idle ones "
           "%lld ns, spread %lld ns, %u rounds\n",
           b.backend->name, b.facts.name, (long long)b.facts.bias_ns,
           (long long)b.facts.bias_spread_ns, b.facts.bias_rounds, (long long)b.facts.idle_bias_ns,
           (long long)b.facts.idle_spread_ns, b.facts.idle_rounds);
    require(rbwp_thread_attach("bench") == RBWP_OK, "attach");
    host_cost(&b);
    throughput(&b);
    accuracy(&b);
    four_streams(&b);
    close_bench(&b);
    return 0;
}
