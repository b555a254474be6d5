/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults [FLAGS...] MODE with|without FOLDER - a program that records itself, with a fault of which
 * all is known, or as it is without. Its threads make calls of "request", unless a mode says
 * another name; some of these calls are slow. measure.h has what it prints.
 */
#include "faults.h"

#include <rbwp_args.h>
#include <rbwp_record.h>
#include <rbwp_session.h>

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS_MAX 4

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int64_t began_ns;
unsigned request, other;

void must(enum rbwp_status status)
{
    if (status < 0)
        abort();
}

unsigned item(const char *name)
{
    unsigned slot;
    must(rbwp_work_item_register(name, &slot));
    return slot;
}

static int64_t run_ns(void)
{
    return now_ns() - began_ns;
}

bool is_over(unsigned calls)
{
    return run_ns() >= RUN_NS && (calls > CALLS_LEAST || run_ns() >= 3 * RUN_NS);
}

bool is_slow(unsigned number, unsigned of)
{
    return with_fault && number % of == of / 2;
}

unsigned step(const char *kind, unsigned flags, const char *name)
{
    enum rbwp_sub_item_type type;
    unsigned id;
    must(rbwp_sub_item_kind_register(kind, flags, &type));
    must(rbwp_sub_item_register(type, name, &id));
    return id;
}

/* ---- workers: calls, one after the other ----------------------------------------------------- */

typedef void (*work_fn)(unsigned number);

static struct {
    work_fn work;
    int64_t pause_ns;
} loop;

static void *work_loop(void *name)
{
    must(rbwp_thread_attach(name));
    for (unsigned number = 1; !is_over(number); number++) {
        const struct begun begun = measure_begin();
        rbwp_begin(request);
        loop.work(number);
        rbwp_end();
        measure_end(begun, begun.since_ns);
        sleep_ns(loop.pause_ns);
    }
    return NULL;
}

static void join(pthread_t *threads, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* Workers, and beside them, if it is not NULL, one thread of another kind. */
static void run_workers(unsigned count, work_fn work, int64_t pause_ns, void *(*beside)(void *))
{
    static const char *const names[WORKERS_MAX] = {"worker 1", "worker 2", "worker 3", "worker 4"};
    pthread_t threads[WORKERS_MAX + 1];
    request = item("request");
    loop.work = work;
    loop.pause_ns = pause_ns;
    began_ns = now_ns();
    for (unsigned i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work_loop, (void *)names[i]);
    if (beside)
        pthread_create(&threads[count++], NULL, beside, NULL);
    join(threads, count);
}

/* ---- rare slow calls ------------------------------------------------------------------------- */

static void spin_rarely(unsigned number)
{
    spin_cpu_ns(is_slow(number, 120) ? 60 * MS : CALL_NS);
}

static void rare_spin(void)
{
    run_workers(1, spin_rarely, MS, NULL);
}

static void sleep_rarely(unsigned number)
{
    for (volatile int i = 0; i < 5000; i++)
        ;
    if (is_slow(number, 2000))
        sleep_ns(100 * MS);
}

/* Many short calls, without a pause. */
static void rare_sleep(void)
{
    run_workers(1, sleep_rarely, 0, NULL);
}

static unsigned parse, rebuild;

static void rebuild_rarely(unsigned number)
{
    rbwp_fine_begin(parse);
    spin_ns(CALL_NS / 2);
    rbwp_fine_end();
    rbwp_fine_begin(rebuild);
    spin_cpu_ns(is_slow(number, 120) ? 60 * MS : CALL_NS / 2);
    rbwp_fine_end();
}

static void rare_step(void)
{
    parse = step("step", 0, "parse");
    rebuild = step("step", 0, "rebuild index");
    run_workers(1, rebuild_rarely, MS, NULL);
}

/* ---- a lock that another call holds ---------------------------------------------------------- */

static void use_lock(unsigned number)
{
    (void)number;
    pthread_mutex_lock(&lock);
    spin_ns(CALL_NS / 5);
    pthread_mutex_unlock(&lock);
}

/* A call of as long as ns; with the fault it holds the lock meanwhile. */
static void hold(int64_t ns)
{
    rbwp_begin(other);
    if (with_fault)
        pthread_mutex_lock(&lock);
    sleep_ns(ns);
    if (with_fault)
        pthread_mutex_unlock(&lock);
    rbwp_end();
}

static void *compact(void *unused)
{
    static const int64_t at_ns[] = {90 * MS, 230 * MS, 480 * MS, 610 * MS};
    must(rbwp_thread_attach("compactor"));
    for (unsigned i = 0; i < sizeof at_ns / sizeof at_ns[0]; i++) {
        sleep_until(began_ns + at_ns[i]);
        hold(60 * MS);
    }
    return unused;
}

static void lock_call(void)
{
    other = item("compaction");
    run_workers(2, use_lock, 2 * MS, compact);
}

/* ---- a period -------------------------------------------------------------------------------- */

#define PERIOD_NS (150 * MS)

static void *flush(void *unused)
{
    must(rbwp_thread_attach("flusher"));
    for (int64_t at_ns = PERIOD_NS / 2; at_ns < RUN_NS; at_ns += PERIOD_NS) {
        sleep_until(began_ns + at_ns);
        hold(40 * MS);
    }
    return unused;
}

static void period_lock(void)
{
    other = item("flush");
    run_workers(3, use_lock, 2 * MS, flush);
}

/* What a cache has is too old after a while; the first call then gets it again. */
static void refresh(unsigned number)
{
    static int64_t at_ns = PERIOD_NS / 2;
    const bool is_old = with_fault && run_ns() >= at_ns;
    (void)number;
    if (is_old)
        at_ns += PERIOD_NS;
    spin_ns(is_old ? 40 * MS : CALL_NS);
}

static void period_self(void)
{
    run_workers(1, refresh, MS, NULL);
}

/* ---- threads that take the CPU --------------------------------------------------------------- */

#define HOGS 12
static bool hogs_record;

static void *hog(void *unused)
{
    static const int64_t at_ns[] = {60 * MS, 330 * MS, 540 * MS};
    if (hogs_record)
        must(rbwp_thread_attach("indexer"));
    pin();
    for (unsigned i = 0; i < sizeof at_ns / sizeof at_ns[0]; i++) {
        const int64_t until_ns = began_ns + at_ns[i] + 110 * MS;
        sleep_until(began_ns + at_ns[i]);
        if (hogs_record)
            rbwp_begin(other);
        while (with_fault && now_ns() < until_ns)
            ;
        sleep_until(until_ns);
        if (hogs_record)
            rbwp_end();
    }
    return unused;
}

static void preempted(void)
{
    pthread_t hogs[HOGS];
    for (unsigned i = 0; i < HOGS; i++)
        pthread_create(&hogs[i], NULL, hog, NULL);
    run_workers(1, compute, 3 * MS, NULL);
    join(hogs, HOGS);
}

static void preempted_calls(void)
{
    other = item("index");
    hogs_record = true;
    preempted();
}

/* ---- page faults ----------------------------------------------------------------------------- */

static struct pages pages;

static void touch(unsigned number)
{
    if (is_slow(number, 120))
        pages_fault(pages, 50 * MS);
    else
        pages_touch(pages);
}

static void faults_file(void)
{
    pages = pages_of_file(16 << 20);
    run_workers(1, touch, MS, NULL);
}

static void allocate(unsigned number)
{
    for (const int64_t end = cpu_ns() + 50 * MS; is_slow(number, 120) && cpu_ns() < end;) {
        struct pages fresh = {malloc(24 << 20), 24 << 20}; /* from the system, and back to it */
        if (!fresh.at)
            abort();
        pages_touch(fresh);
        free(fresh.at);
    }
    pages_touch(pages);
}

static void faults_malloc(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* else the C library keeps what is freed */
    pages = pages_new(4 << 20);
    run_workers(1, allocate, MS, NULL);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static uint64_t key_tenant, key_bytes, key_path;

static unsigned scattered(unsigned number)
{
    return number * 2654435761u >> 16;
}

static void for_tenant(unsigned number)
{
    const unsigned tenant = scattered(number) % 20;
    rbwp_arg_u64(key_tenant, tenant);
    spin_cpu_ns(with_fault && tenant == 7 ? 20 * MS : CALL_NS);
}

static void argument_tenant(void)
{
    key_tenant = rbwp_arg_key("tenant");
    run_workers(1, for_tenant, MS, NULL);
}

static void for_path(unsigned number)
{
    const unsigned which = scattered(number) % 20;
    char path[32];
    snprintf(path, sizeof path, which == 7 ? "/archive" : "/part/%u", which);
    rbwp_arg_text(key_path, path);
    sleep_ns(with_fault && which == 7 ? 20 * MS : CALL_NS);
}

static void argument_path(void)
{
    key_path = rbwp_arg_key("path");
    run_workers(1, for_path, MS, NULL);
}

/* Beside one that says nothing. */
static void for_both(unsigned number)
{
    rbwp_arg_u64(key_bytes, scattered(number + 1000000) % 4096);
    for_tenant(number);
}

static void argument_two(void)
{
    key_bytes = rbwp_arg_key("bytes");
    key_tenant = rbwp_arg_key("tenant");
    run_workers(2, for_both, 2 * MS, NULL);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct file file;
static unsigned sync_step;
static bool has_step;

/* What a call writes is little; but when it syncs, it has to wait for all that others have left. */
static void commit(bool syncs)
{
    file_write(file, false);
    if (!syncs)
        return;
    if (has_step)
        rbwp_fine_begin(sync_step);
    file_sync(file);
    if (has_step)
        rbwp_fine_end();
}

static void *commit_loop(void *name)
{
    must(rbwp_thread_attach(name));
    for (unsigned number = 1; !is_over(number); number++) {
        const bool syncs = is_slow(number, 80);
        if (syncs)
            file_write(file, true);
        const struct begun begun = measure_begin();
        rbwp_begin(request);
        commit(syncs);
        rbwp_end();
        measure_end(begun, begun.since_ns);
        sleep_ns(MS);
    }
    return NULL;
}

static void fsync_call(void)
{
    pthread_t thread;
    request = item("request");
    file = file_new();
    began_ns = now_ns();
    pthread_create(&thread, NULL, commit_loop, "worker 1");
    pthread_join(thread, NULL);
}

static void fsync_step(void)
{
    has_step = true;
    sync_step = step("disk", RBWP_KIND_WAITS, "fsync");
    fsync_call();
}

/* ---- all stand still ------------------------------------------------------------------------- */

static void mostly_sleep(unsigned number)
{
    (void)number;
    sleep_ns(3 * MS);
    spin_ns(CALL_NS / 2);
}

static void everyone_stopped(void)
{
    run_workers(3, mostly_sleep, CALL_NS, NULL);
}

static bool is_held;

static void reach_safepoint(unsigned number)
{
    mostly_sleep(number);
    pthread_mutex_lock(&lock);
    while (is_held)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void set_held(bool held)
{
    pthread_mutex_lock(&lock);
    is_held = held;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *collect(void *unused)
{
    must(rbwp_thread_attach("collector"));
    for (unsigned i = 0; stops_ns[i] != 0; i++) {
        sleep_until(began_ns + stops_ns[i]);
        rbwp_begin(other);
        set_held(with_fault);
        sleep_ns(60 * MS);
        set_held(false);
        rbwp_end();
    }
    return unused;
}

static void everyone_safepoint(void)
{
    other = item("collect");
    run_workers(3, reach_safepoint, CALL_NS, collect);
}

/* ---- all modes ------------------------------------------------------------------------------- */

#define REQUEST "request"
static const struct mode modes[] = {
    {"rare_spin", rare_spin, "self", REQUEST, "", .fault_ns = 60 * MS},
    {"rare_sleep", rare_sleep, "wait", REQUEST, "", .fault_ns = 100 * MS},
    {"rare_step", rare_step, "sub_item", REQUEST, "rebuild index", .fault_ns = 60 * MS},
    {"lock_call", lock_call, "lock", REQUEST, "compaction", .fault_ns = 60 * MS},
    {"preempted", preempted, "preempted", REQUEST, "", .fault_ns = 24 * MS, .runnable = true},
    {"preempted_calls", preempted_calls, "preempted", REQUEST, "", .fault_ns = 24 * MS,
     .runnable = true},
    {"faults_file", faults_file, "page_faults", REQUEST, "", .fault_ns = 50 * MS},
    {"faults_malloc", faults_malloc, "page_faults", REQUEST, "", .fault_ns = 50 * MS},
    {"behind_call", behind_call, "behind", REQUEST, "report", .fault_ns = 40 * MS},
    {"behind_same", behind_same, "behind", REQUEST, "request", .fault_ns = 40 * MS},
    {"behind_manager", behind_manager, "behind", "page cleaner", "checkpoint", .fault_ns = 80 * MS},
    {"argument_tenant", argument_tenant, "argument", REQUEST, "tenant=7", .fault_ns = 20 * MS},
    {"argument_path", argument_path, "argument", REQUEST, "path=/archive", .fault_ns = 20 * MS},
    {"argument_two", argument_two, "argument", REQUEST, "tenant=7", .fault_ns = 20 * MS},
    {"period_lock", period_lock, "lock", REQUEST, "flush", .fault_ns = 40 * MS,
     .period_ns = PERIOD_NS},
    {"period_self", period_self, "self", REQUEST, "", .fault_ns = 40 * MS, .period_ns = PERIOD_NS},
    {"fsync_call", fsync_call, "io", REQUEST, "", .fault_ns = 60 * MS},
    {"fsync_step", fsync_step, "io", REQUEST, "fsync", .fault_ns = 60 * MS},
    {"everyone_stopped", everyone_stopped, "everyone", REQUEST, "", .fault_ns = 60 * MS,
     .stops = true},
    {"everyone_safepoint", everyone_safepoint, "everyone", REQUEST, "collect", .fault_ns = 60 * MS},
    {"late_handler", late_handler, "message", REQUEST, "ask", .fault_ns = 60 * MS},
    {"late_rank", late_rank, "message", REQUEST, "solve", .fault_ns = 60 * MS},
    {.name = NULL},
};

int main(int argc, char **argv)
{
    struct rbwp_session *session = NULL;
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_error error;
    must(rbwp_session_parse(&config, &argc, argv, &error));
    const struct mode *mode = measure_mode(modes, argc, argv);
    if (!mode)
        return 2;
    must(rbwp_session_start(&config, &session, &error));
    began_ns = now_ns();
    measure_run(mode);
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}
