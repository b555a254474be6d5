/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_gpu_times.c - how true the times of brackets are, beside the kernels' own %globaltimer.
 *
 *     bench_gpu_times [ROUNDS [RAW_FILE [DRIVER_LIBRARY [COMPILER_LIBRARY]]]]
 *
 * Spins kernels of 5 us to 5 ms on an idle stream and on a busy one, and compares the records'
 * durations, less the bias, with what the kernels say; says whether that lies within the stored
 * bounds; and what a bracket costs beside its two event records, five times. Each figure stands
 * beside its target. RAW_FILE
 * (- or none: not wanted) gets a line for each kernel, with all that was known when its events were
 * seen, for other ways to estimate.
 */
#include "bench_gpu.h"
#include "bench_random.h"
#include "rbwp_record.h"
#include "rbwp_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_DEFAULT 31u
#define COST_RUNS 5u
#define KERNELS_MAX 16384u
#define MIXED_KERNELS 4000u
#define WARM_KERNELS 20u

static const struct length {
    unsigned us, kernels;
} lengths[] = {{5, 2000},   {10, 2000}, {20, 2000},  {50, 2000},  {100, 2000},
               {200, 2000}, {500, 400}, {1000, 200}, {2000, 100}, {5000, 50}};
#define LENGTHS (sizeof lengths / sizeof lengths[0])

/* How the kernels are launched. */
static const struct load {
    const char *name;
    unsigned batch;        /* in a row; before the next one all is waited for */
    unsigned host_code_ns; /* inside the bracket, before the launch */
    bool busy, mixed;
    double median_ns, p99_ns; /* targets */
} loads[] = {
    {"idle, launched at once", 1, 0, false, false, 0, 10000},
    {"idle, 50 us of host code", 1, 50000, false, false, 0, 10000},
    {"busy, 10 in a row", 10, 0, true, false, 1000, 5000},
    {"busy, 50 in a row of all lengths", 50, 0, true, true, 1000, 5000},
};
#define LOADS (sizeof loads / sizeof loads[0])
#define HELD_PERCENT 99.9
#define COST_NS 100.0

static const struct gpu_code_text spin_text = {
    .name = "spin",
    .ptx = ".version 6.0\n.target sm_50\n.address_size 64\n"
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
           "ret;\n}\n"};

struct times {
    struct bench b;
    struct gpu_module *module;
    struct gpu_kernel *spin;
    struct gpu_memory memory;
    FILE *raw; /* NULL: not wanted */
};

/* ---- what the library asks of the driver -------------------------------------------------- */

/* What became of an event: when it was recorded, when the last answer "not yet" began and came, and
 * the same of the first other one. */
struct seen {
    int64_t recorded_ns, not_ns[2], done_ns[2];
    unsigned asked;
};

/* An event of the library's, and which one of the list it is now. The launching thread notes an
 * event before the library hands it to the reaping one. */
#define WATCHED_MAX 4096u
static struct watched {
    void *native;
    struct seen *seen;
} watched[WATCHED_MAX];
static struct seen seen_list[2 * KERNELS_MAX];
static unsigned seen_count;
static struct gpu_backend watching;
static const struct gpu_backend *asked;

static struct watched *watched_of(void *native)
{
    size_t at = (size_t)((uintptr_t)native >> 4) * 0x9E3779B97F4A7C15u >> 52;
    while (watched[at].native && watched[at].native != native)
        at = (at + 1) % WATCHED_MAX;
    watched[at].native = native;
    return &watched[at];
}

static int watch_record(struct gpu_context *context, struct gpu_event *event, void *stream)
{
    const int64_t now_ns = rbwp_now_ns();
    const int code = asked->event_record(context, event, stream);
    if (seen_count < 2 * KERNELS_MAX) {
        struct seen *seen = &seen_list[seen_count++];
        *seen = (struct seen){.recorded_ns = now_ns};
        watched_of(event->native)->seen = seen;
    }
    return code;
}

static int watch_query(struct gpu_context *context, const struct gpu_event *event)
{
    const int64_t before_ns = rbwp_now_ns();
    const int code = asked->event_query(context, event);
    const int64_t after_ns = rbwp_now_ns();
    struct seen *seen = watched_of(event->native)->seen;
    if (seen) {
        int64_t *pair_ns = code == GPU_NOT_READY ? seen->not_ns : seen->done_ns;
        pair_ns[0] = before_ns;
        pair_ns[1] = after_ns;
        seen->asked++;
    }
    return code;
}

static void watch(struct bench *b)
{
    asked = b->backend;
    watching = *asked;
    watching.event_record = watch_record;
    watching.event_query = watch_query;
    gpu_stream_context(b->stream[0])->backend = &watching;
}

/* ---- a load ------------------------------------------------------------------------------------
 */

/* What a row of gpu_activity says, with its record. */
struct fact {
    int64_t start_ns, stop_ns, begin_ns, end_ns;
    uint64_t start_bound_ns, stop_bound_ns, launching_ns;
    bool idle;
};

struct run {
    const struct load *load;
    unsigned kernels, facts;
    uint32_t duration_ns[KERNELS_MAX];
    uint64_t own_ns[2 * KERNELS_MAX]; /* start and stop by the device */
    struct fact fact[KERNELS_MAX];
    unsigned seen_before[KERNELS_MAX], seen_after[KERNELS_MAX]; /* of seen_list, around each */
    double error_ns[KERNELS_MAX], absolute_ns[KERNELS_MAX], bound_ns[KERNELS_MAX];
};

static void plan(struct run *run)
{
    run->kernels = 0;
    for (unsigned i = 0; run->load->mixed && i < MIXED_KERNELS; i++) /* 5 us * 1000^[0, 1) */
        run->duration_ns[run->kernels++] = (uint32_t)(5000 * pow(1000, random_uniform()));
    for (unsigned i = 0; !run->load->mixed && i < LENGTHS; i++)
        for (unsigned k = 0; k < lengths[i].kernels; k++)
            run->duration_ns[run->kernels++] = 1000 * lengths[i].us;
}

static void spin(struct times *t, struct run *run, unsigned i)
{
    uint64_t duration_ns = run->duration_ns[i], out = (uintptr_t)t->memory.native + 16u * i;
    const struct gpu_arg args[] = {{&out, sizeof out}, {&duration_ns, sizeof duration_ns}};
    const struct gpu_launch launch = {
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .arg_count = 2, .args = args};
    struct rbwp_gpu_bracket bracket;
    run->seen_before[i] = seen_count;
    rbwp_gpu_bracket_begin(&bracket, t->b.stream[0], 1);
    for (double until = clock_ns(CLOCK_MONOTONIC) + run->load->host_code_ns;
         run->load->host_code_ns && clock_ns(CLOCK_MONOTONIC) < until;)
        ;
    check(&t->b, t->b.backend->launch(t->spin, &launch, t->b.native[0]), "launch");
    rbwp_gpu_bracket_end(&bracket);
    run->seen_after[i] = seen_count;
}

static void spin_all(struct times *t, struct run *run)
{
    for (unsigned i = 0; i < WARM_KERNELS; i++) {
        launch_empty(&t->b, 0);
        wait_for(&t->b, 0);
    }
    for (unsigned i = 0; i < run->kernels; i++) {
        spin(t, run, i);
        if (i % run->load->batch == run->load->batch - 1)
            wait_for(&t->b, 0);
    }
    wait_for(&t->b, 0);
    const struct gpu_copy copy = {.dst = {.host = run->own_ns},
                                  .src = {.device = &t->memory},
                                  .width_bytes = 16u * run->kernels,
                                  .height = 1,
                                  .depth = 1};
    check(&t->b, gpu_copy(t->b.context, &copy, t->b.native[0]), "copy");
    wait_for(&t->b, 0);
}

/* ---- what was recorded ----------------------------------------------------------------------- */

static uint64_t cell(const struct rbwp_rows *rows, const char *name, uint32_t row)
{
    for (uint32_t i = 0; i < rows->schema->column_count; i++)
        if (rows->schema->columns[i].name_bytes == strlen(name) &&
            memcmp(rows->schema->columns[i].name, name, strlen(name)) == 0)
            return rows->cells[i][row];
    require(false, "the columns of gpu_activity");
    return 0;
}

static void take_rows(struct run *run, const struct rbwp_rows *rows)
{
    if (rows->schema->name_bytes != 12 || memcmp(rows->schema->name, "gpu_activity", 12) != 0)
        return;
    for (uint32_t i = 0; i < rows->rows && run->facts < KERNELS_MAX; i++)
        run->fact[run->facts++] = (struct fact){
            .start_ns = (int64_t)cell(rows, "start", i),
            .stop_ns = (int64_t)cell(rows, "stop", i),
            .begin_ns = (int64_t)cell(rows, "begin", i),
            .end_ns = (int64_t)cell(rows, "end", i),
            .start_bound_ns = cell(rows, "start_bound", i),
            .stop_bound_ns = cell(rows, "stop_bound", i),
            .launching_ns = cell(rows, "launching", i),
            .idle = cell(rows, "idle", i) != 0,
        };
}

static void take_facts(struct run *run)
{
    struct rbwp_catalog *catalog = rbwp_catalog_new();
    struct rbwp_reader *reader = NULL;
    struct rbwp_block block;
    struct rbwp_rows rows;
    require(catalog && rbwp_reader_open(scratch_file(), NULL, &reader, NULL) == RBWP_OK,
            "reading back");
    run->facts = 0;
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        if (rbwp_catalog_take(catalog, &block, &rows, NULL) == RBWP_OK)
            take_rows(run, &rows);
    rbwp_reader_close(reader);
    rbwp_catalog_free(catalog);
    require(run->facts == run->kernels, "as many rows as kernels");
}

struct match {
    const struct run *run;
    unsigned next;
};

static void match(void *context, const struct rbwp_record *record)
{
    struct match *match = context;
    require(match->next < match->run->facts, "as many records as rows");
    const struct fact *fact = &match->run->fact[match->next++];
    require(fact->start_ns == record->start_ns && fact->stop_ns == record->stop_ns,
            "facts of the same work");
}

/* ---- errors -------------------------------------------------------------------------------------
 */

/* The duration less the bias, beside the kernel's own. */
static double error_ns(const struct rbwp_gpu_facts *gpu, const struct run *run, unsigned i)
{
    const struct fact *fact = &run->fact[i];
    const double bias_ns = (double)(fact->idle ? gpu->idle_bias_ns : gpu->bias_ns);
    const double long_ns = (double)(fact->stop_ns - fact->start_ns) - bias_ns;
    return (long_ns > 0 ? long_ns : 0) - (double)(run->own_ns[2 * i + 1] - run->own_ns[2 * i]);
}

static double bound_ns(const struct rbwp_gpu_facts *gpu, const struct fact *fact)
{
    const double spread_ns = (double)(fact->idle ? gpu->idle_spread_ns : gpu->bias_spread_ns);
    return (double)fact->start_bound_ns + (double)fact->stop_bound_ns + spread_ns;
}

static void print_figure(const struct load *load, const char *what, double ns, double target_ns)
{
    char text[96];
    snprintf(text, sizeof text, "GPU times, %s, %s", load->name, what);
    if (target_ns > 0)
        figure_at_most(text, ns, "ns", target_ns);
    else
        figure(text, ns, "ns");
}

/* Of the kernels from first to last. */
static void print_errors(struct times *t, struct run *run, const char *name, unsigned first,
                         unsigned last, bool judged)
{
    char text[96];
    unsigned used = 0, held = 0;
    for (unsigned i = first; i < last; i++) {
        if (run->load->busy && i % run->load->batch == 0)
            continue; /* it found the stream idle */
        const struct fact *fact = &run->fact[i];
        const double off_ns = error_ns(&t->b.facts, run, i);
        run->bound_ns[used] = bound_ns(&t->b.facts, fact);
        held += off_ns <= run->bound_ns[used] &&
                -off_ns <= (double)fact->launching_ns + run->bound_ns[used];
        run->error_ns[used] = off_ns;
        run->absolute_ns[used++] = fabs(off_ns);
    }
    const double *targets = &run->load->median_ns;
    const double p50 = quantile(run->absolute_ns, used, 0.5),
                 p99 = quantile(run->absolute_ns, used, 0.99), share = 100.0 * held / used;
    printf("%-34s %5u  %7.0f %6.0f %6.0f %6.0f   ", name, used, quantile(run->error_ns, used, 0.01),
           quantile(run->error_ns, used, 0.5), quantile(run->error_ns, used, 0.9),
           quantile(run->error_ns, used, 0.99));
    printf("%6.0f %6.0f   %6.0f %6.0f  %7.2f\n", p50, p99, quantile(run->bound_ns, used, 0.5),
           quantile(run->bound_ns, used, 0.99), share);
    if (!judged)
        return;
    print_figure(run->load, "median error", p50, targets[0]);
    print_figure(run->load, "p99 error", p99, targets[1]);
    snprintf(text, sizeof text, "GPU times, %s, bound holds", run->load->name);
    figure_at_least(text, share, "%", HELD_PERCENT);
}

static void print_seen(FILE *raw, const struct seen *seen)
{
    fprintf(raw, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%u",
            seen->recorded_ns, seen->not_ns[0], seen->not_ns[1], seen->done_ns[0], seen->done_ns[1],
            seen->asked);
}

static void print_raw(const struct times *t, const struct run *run)
{
    static const struct seen none;
    for (unsigned i = 0; t->raw && i < run->kernels; i++) {
        const struct fact *f = &run->fact[i];
        fprintf(t->raw, "%d,%u,%u,%" PRIu64 ",%" PRIu64, (int)(run->load - loads), i,
                run->duration_ns[i], run->own_ns[2 * i], run->own_ns[2 * i + 1]);
        fprintf(t->raw,
                ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                ",%d",
                f->start_ns, f->stop_ns, f->begin_ns, f->end_ns, f->start_bound_ns,
                f->stop_bound_ns, f->launching_ns, f->idle);
        const unsigned from = run->seen_before[i], events = run->seen_after[i] - from;
        print_seen(t->raw, events == 2 ? &seen_list[from] : &none);
        print_seen(t->raw, events ? &seen_list[from + events - 1] : &none);
        fputc('\n', t->raw);
    }
}

static void measure(struct times *t, const struct load *load)
{
    static struct run run;
    run.load = load;
    plan(&run);
    seen_count = 0;
    struct rbwp_session *session = start_session(1);
    spin_all(t, &run);
    stop_session(session);
    take_facts(&run);
    struct match matched = {&run, 0};
    each_work(match, &matched);
    require(matched.next == run.kernels, "as many records as kernels");
    print_raw(t, &run);
    print_errors(t, &run, load->name, 0, run.kernels, true);
    for (unsigned i = 0, first = 0; !load->mixed && i < LENGTHS; first += lengths[i++].kernels) {
        char name[32];
        snprintf(name, sizeof name, "  of %u us", lengths[i].us);
        print_errors(t, &run, name, first, first + lengths[i].kernels, false);
    }
    fflush(stdout);
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

static void measure_cost(struct times *t)
{
    double over_ns[COST_RUNS];
    for (unsigned i = 0; i < COST_RUNS; i++)
        over_ns[i] = host_cost(&t->b);
    const double cost_ns = median(over_ns, COST_RUNS);
    figure_at_most("GPU bracket, beside its two event records", cost_ns, "ns", COST_NS);
}

static void measure_all(struct times *t, const char *raw_path)
{
    struct rbwp_error error = {.text = ""};
    if (t->b.backend->module_load(t->b.context, &spin_text, &t->module, &error) != RBWP_OK) {
        fprintf(stderr, "bench_gpu_times: %s\n", error.text);
        exit(1);
    }
    check(&t->b, t->b.backend->kernel_get(t->module, "bench_spin", &t->spin), "bench_spin");
    check(&t->b, t->b.backend->memory_alloc(t->b.context, KERNELS_MAX * 16, &t->memory), "memory");
    t->raw = raw_path && strcmp(raw_path, "-") != 0 ? fopen(raw_path, "w") : NULL;
    if (t->raw) {
        watch(&t->b);
        fprintf(t->raw, "# bias %lld %lld idle %lld %lld\n", (long long)t->b.facts.bias_ns,
                (long long)t->b.facts.bias_spread_ns, (long long)t->b.facts.idle_bias_ns,
                (long long)t->b.facts.idle_spread_ns);
    }
    printf("%-34s %5s  %7s %6s %6s %6s   %6s %6s   %6s %6s  %7s\n", "error of durations, ns", "",
           "p1", "p50", "p90", "p99", "|p50|", "|p99|", "bound", "p99", "holds %");
    for (size_t i = 0; i < LOADS; i++)
        measure(t, &loads[i]);
    if (t->raw)
        fclose(t->raw);
    t->b.backend->memory_free(t->b.context, &t->memory);
    t->b.backend->module_unload(t->module);
}

int main(int argc, char **argv)
{
    static struct times t;
    char *none[] = {NULL, NULL};
    t.b.rounds = argc > 1 && atoi(argv[1]) > 0 ? (unsigned)atoi(argv[1]) : ROUNDS_DEFAULT;
    t.b.rounds = t.b.rounds < ROUNDS_MAX ? t.b.rounds : ROUNDS_MAX;
    open_bench(&t.b, RBWP_GPU_CUDA, argc > 3 ? argv + 3 : none);
    measure_cost(&t);
    measure_all(&t, argc > 2 ? argv[2] : NULL);
    close_bench(&t.b);
    return 0;
}
