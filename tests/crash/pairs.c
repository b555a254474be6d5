/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.c - a program to which two faults happen, one after the other or one inside the other.
 *
 *   pairs --list                      the faults, a line each: name, kind, whether it is there
 *   pairs FOLDER FIRST SECOND [FAKE]  FAKE: the library that plays the GPU's driver
 *
 * Three threads record at level 2 into FOLDER/pairs.bin, in rounds; after each fault there is a
 * round. `tally`, a file that is mapped shared, has how many records there must be; pairs.py reads
 * it, and knows what shall hold afterwards. An ending may come first: then the session's stop is
 * held at its first write until the second fault has happened.
 *
 * Troubles of the disk are played by the calls that write, which are wrapped when it is linked.
 */
#include "fake.h"
#include "rbwp_gpu.h"
#include "rbwp_record.h"
#include "rbwp_session.h"
#include "sanitized.h"
#include "wrapped.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WORKERS = 3,
    ROUND = 350, /* items of four records: together more than the cap */
    CAPTURED = 3 /* things in a capture */
};
#define CAP_BYTES (32u << 10)
#define FOR_EVER UINT64_MAX

/* What the checking side reads, whatever became of the process. */
struct tally {
    _Atomic uint64_t made;  /* records whose call has returned */
    _Atomic uint64_t least; /* of them, those before the end began; 0: not come to that */
    _Atomic uint64_t maybe; /* more that may be in the file */
    _Atomic uint64_t refused_writes, refused_space;
    _Atomic int64_t stopped; /* 1: rbwp_session_stop has returned, and what follows is its word */
    int64_t status;
    uint64_t kept, lost;
    char text[256];
    _Atomic int64_t capturing; /* 1: the program began to capture a stream */
    _Atomic int64_t captured;  /* the nodes of what it captured, -1: the capture was destroyed */
};

static struct tally *tally;
static char file[PATH_MAX], moved[PATH_MAX + 8], child_file[PATH_MAX + 8];
static const char *fake_library;
static struct rbwp_session_config config;
static struct rbwp_session *session;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "pairs: %s: %s\n", what, strerror(errno));
    _exit(99);
}

/* ---- a disk in trouble -------------------------------------------------------------------- */

static atomic_bool full, live_full, gate_closed;
static _Atomic int errors_to_come;

/* A file of the profile, but not the child's. */
static bool is_profile(int fd, bool *live_out)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, path, sizeof path - 1);
    path[bytes > 0 ? bytes : 0] = 0;
    *live_out = strstr(path, ".live") != NULL;
    return strstr(path, ".bin") != NULL;
}

static void nap(void)
{
    static const struct timespec shortly = {0, 50 * 1000};
    nanosleep(&shortly, NULL);
}

ssize_t REAL_(pwrite)(int fd, const void *bytes, size_t count, off_t offset);
ssize_t WRAP_(pwrite)(int fd, const void *bytes, size_t count, off_t offset);
ssize_t WRAP_(pwrite)(int fd, const void *bytes, size_t count, off_t offset)
{
    bool live;
    if (is_profile(fd, &live)) {
        while (atomic_load(&gate_closed))
            nap();
        if (atomic_load(&full) || atomic_fetch_sub(&errors_to_come, 1) > 0) {
            atomic_fetch_add(&tally->refused_writes, 1);
            errno = atomic_load(&full) ? ENOSPC : EIO;
            return -1;
        }
    }
    return REAL_(pwrite)(fd, bytes, count, offset);
}

int REAL_(fallocate)(int fd, int mode, off_t offset, off_t bytes);
int WRAP_(fallocate)(int fd, int mode, off_t offset, off_t bytes);
int WRAP_(fallocate)(int fd, int mode, off_t offset, off_t bytes)
{
    bool live;
    if (is_profile(fd, &live) && (atomic_load(&full) || (live && atomic_load(&live_full)))) {
        atomic_fetch_add(&tally->refused_space, 1);
        errno = ENOSPC;
        return -1;
    }
    return REAL_(fallocate)(fd, mode, offset, bytes);
}

/* ---- threads that record in rounds ---------------------------------------------------------- */

struct worker {
    pthread_t thread;
    unsigned number;
    uint64_t ordered, done; /* items, under the lock */
    bool leave;             /* with an item open */
};

static struct worker worker[WORKERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned slot, sub_item;

static void made(uint64_t records)
{
    atomic_fetch_add(&tally->made, records);
}

static void record_item(unsigned of_slot)
{
    rbwp_begin(of_slot);
    made(1);
    rbwp_fine_begin(sub_item);
    made(1);
    rbwp_fine_end();
    made(1);
    rbwp_end();
    made(1);
}

/* Not a place to be cancelled at: TSan loses count of a thread that ends inside a call of its own.
 */
static void rest(void)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    nap();
    pthread_setcancelstate(state, &state);
}

/* Waits for an order: the items to do, 0 to leave. */
static uint64_t next_order(struct worker *w)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    while (w->done == w->ordered && !w->leave)
        pthread_cond_wait(&changed, &lock);
    uint64_t items = w->leave ? 0 : w->ordered - w->done;
    pthread_mutex_unlock(&lock);
    return items;
}

/* A thread that is cancelled leaves its frame without AddressSanitizer's marks being wiped off it,
 * and goes on to call destructors there. */
__attribute__((no_sanitize_address)) static void *work(void *argument)
{
    struct worker *w = argument;
    int state;
    char name[32];
    snprintf(name, sizeof name, "worker %u", w->number);
    must(rbwp_thread_attach(name) == RBWP_OK, "attach");
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    for (uint64_t items; (items = next_order(w)) != 0;) {
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
        for (uint64_t i = 0; i < items; i++) {
            record_item(slot);
            pthread_testcancel();
            if (items > ROUND)
                rest(); /* until the end comes */
        }
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        pthread_mutex_lock(&lock);
        w->done += items;
        pthread_mutex_unlock(&lock);
    }
    rbwp_begin(slot);
    made(1);
    return NULL;
}

static void hire(struct worker *w)
{
    *w = (struct worker){.number = (unsigned)(w - worker)};
    must(pthread_create(&w->thread, NULL, work, w) == 0, "pthread_create");
}

static void order(struct worker *w, uint64_t items)
{
    pthread_mutex_lock(&lock);
    w->ordered += items;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void play_round(void)
{
    for (unsigned i = 0; i < WORKERS; i++)
        if (worker[i].ordered != FOR_EVER)
            order(&worker[i], ROUND);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < WORKERS; i++)
        while (worker[i].done != worker[i].ordered && worker[i].ordered != FOR_EVER)
            pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* From now on it records all the time: so the ending meets a thread at work. What it records may
 * come after the session's end. */
static void keep_busy(struct worker *w)
{
    order(w, FOR_EVER - w->ordered);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void fill_disk(void)
{
    atomic_store(&full, true);
}

static void fill_live(void)
{
    atomic_store(&live_full, true);
}

static void fail_writes(void)
{
    atomic_store(&errors_to_come, 3);
}

static void limit_size(void)
{
    struct stat status;
    struct rlimit limit;
    if (stat(file, &status) != 0 && stat(moved, &status) != 0)
        status.st_size = 0; /* removed: for what else is written */
    must(getrlimit(RLIMIT_FSIZE, &limit) == 0, "getrlimit");
    limit.rlim_cur = (rlim_t)status.st_size + 1000;
    must(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
}

static void stall(void)
{
    atomic_store(&gate_closed, true);
}

/* More than the cap while nothing can be written; the config says to drop it. */
static void overrun_cap(void)
{
    bool before = atomic_exchange(&gate_closed, true);
    play_round();
    play_round();
    atomic_store(&gate_closed, before);
}

static void remove_file(void)
{
    must(unlink(file) == 0 || unlink(moved) == 0, "unlink");
}

static void rename_file(void)
{
    must(rename(file, moved) == 0 || errno == ENOENT, "rename"); /* ENOENT: it was removed */
}

static void cut_file(void)
{
    must(truncate(file, 100) == 0 || truncate(moved, 100) == 0 || errno == ENOENT, "truncate");
}

#ifndef SANITIZED
static int session_of_child(void)
{
    struct rbwp_error error;
    struct rbwp_session *own;
    struct rbwp_session_summary summary;
    atomic_store(&full, false);
    atomic_store(&live_full, false);
    atomic_store(&errors_to_come, 0);
    config.logfile = child_file;
    enum rbwp_status status = rbwp_session_start(&config, &own, &error);
    if (status == RBWP_E_IO)
        return 0; /* its disk may be limited too */
    if (status != RBWP_OK || rbwp_thread_attach("child") != RBWP_OK)
        return 90;
    for (int i = 0; i < 10; i++) {
        rbwp_begin(slot);
        rbwp_end();
    }
    status = rbwp_session_stop(own, &summary);
    if (status != RBWP_OK && status != RBWP_E_IO)
        return 91;
    return summary.records + summary.lost_records == 20 ? 0 : 92;
}

static void fork_child(void)
{
    int status;
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0)
        _exit(session_of_child());
    must(waitpid(child, &status, 0) == child, "waitpid");
    if (status != 0)
        fprintf(stderr, "pairs: the child ended with %d\n", status);
    must(status == 0, "child");
}
#endif

static void detach_main(void)
{
    record_item(slot);
    must(rbwp_thread_detach() == RBWP_OK, "detach");
    must(rbwp_thread_attach("main again") == RBWP_OK, "attach");
    record_item(slot);
}

/* In the middle of an item; another one takes its place. */
static void end_thread(void)
{
    struct worker *w = &worker[1];
    pthread_mutex_lock(&lock);
    w->leave = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(w->thread, NULL);
    hire(w);
}

static void cancel_thread(void)
{
    struct worker *w = &worker[2];
    keep_busy(w);
    must(pthread_cancel(w->thread) == 0, "pthread_cancel");
    pthread_join(w->thread, NULL);
    hire(w);
}

static void record_in_signal(int number)
{
    (void)number;
    atomic_fetch_add(&tally->maybe, 2);
    rbwp_fine_begin(sub_item);
    rbwp_fine_end();
}

static void *send_signals(void *argument)
{
    (void)argument;
    for (;;) { /* worker 0 is there until the process ends */
        pthread_kill(worker[0].thread, SIGUSR1);
        nap();
    }
    return NULL;
}

static void interrupt_thread(void)
{
    pthread_t sender;
    struct sigaction action = {.sa_handler = record_in_signal, .sa_flags = SA_RESTART};
    must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    must(pthread_create(&sender, NULL, send_signals, NULL) == 0, "pthread_create");
}

static void start_again(void)
{
    struct rbwp_session *second;
    struct rbwp_error error;
    must(rbwp_session_start(&config, &second, &error) == RBWP_E_BUSY, "a second session");
}

static void use_names(void)
{
    unsigned named[60];
    for (unsigned i = 0; i < 60; i++) {
        char name[32];
        snprintf(name, sizeof name, "short-lived %u", i);
        must(rbwp_work_item_register(name, &named[i]) == RBWP_OK, "register");
        record_item(named[i]);
    }
    for (unsigned i = 1; i < 60; i++)
        must(rbwp_work_item_release(named[i]) == RBWP_OK, "release");
}

/* ---- the GPU ------------------------------------------------------------------------------------
 */

static struct rbwp_gpu_device *device;
static struct rbwp_gpu_stream *stream;

static struct rbwp_gpu_stream *open_gpu_stream(void *native)
{
    struct rbwp_gpu_stream *opened = NULL;
    struct rbwp_error error = {.text = ""};
    must(rbwp_gpu_stream_open(device, native, RBWP_GPU_USE_STREAM, &opened, &error) == RBWP_OK,
         error.text);
    return opened;
}

static void open_gpu(void)
{
    struct rbwp_gpu_config gpu = {.size = sizeof gpu, .no_bias = true};
    struct rbwp_error error = {.text = ""};
    gpu.driver_library = fake_library;
    gpu.drain_limit_ns = 1000000;
    must(fake_library && rbwp_gpu_device_open(&gpu, &device, &error) == RBWP_OK, "GPU");
    stream = open_gpu_stream(NULL);
}

static void launch(struct rbwp_gpu_stream *on, void *native, unsigned works)
{
    struct rbwp_gpu_bracket bracket;
    for (unsigned i = 0; i < works; i++) {
        rbwp_gpu_bracket_begin(&bracket, on, slot);
        fake_enqueue(native);
        rbwp_gpu_bracket_end(&bracket);
    }
}

/* Each is one record, and the reaping leaves sub-items. */
static void reap(void)
{
    launch(stream, NULL, 20);
    atomic_fetch_add(&tally->maybe, 20 + 1000);
    must(rbwp_gpu_drain(device, 5000000000) == RBWP_OK, "drain");
}

/* Work that never completes: nobody waits for it for long. */
static void leave_pending(void)
{
    fake_hold(true);
    launch(stream, NULL, 5);
    atomic_fetch_add(&tally->maybe, 5 + 1000);
    (void)rbwp_gpu_poll(device);
}

static void *captured; /* the program's own stream */

static void end_capture(void)
{
    atomic_store(&tally->captured, fake_capture_end(captured));
}

static void *stream_of_thread(void *argument)
{
    (void)argument;
    return fake_thread_stream();
}

/*
 * The program captures a stream in the mode that forbids most, on the thread that goes on to meet
 * the second fault, until the process ends: brackets beside the capture are recorded, and those in
 * it add nothing to it.
 */
static void capture(void)
{
    pthread_t other;
    void *beside;
    must(pthread_create(&other, NULL, stream_of_thread, NULL) == 0, "pthread_create");
    pthread_join(other, &beside);
    captured = fake_thread_stream();
    struct rbwp_gpu_stream *inside = open_gpu_stream(captured);
    atomic_fetch_add(&tally->maybe, CAPTURED + 20 + 1000);
    fake_capture_begin(captured, FAKE_GLOBAL);
    atomic_store(&tally->capturing, 1);
    must(atexit(end_capture) == 0, "atexit");
    launch(inside, captured, CAPTURED);
    struct rbwp_gpu_stream *outside = open_gpu_stream(beside);
    launch(outside, beside, 10);
    (void)rbwp_gpu_poll(device);
    launch(outside, beside, 10); /* for the end */
}

/* ---- endings ----------------------------------------------------------------------------------
 */

static void stop(void)
{
    struct rbwp_session_summary summary;
    enum rbwp_status status = rbwp_session_stop(session, &summary);
    tally->status = status;
    tally->kept = summary.records;
    tally->lost = summary.lost_records;
    snprintf(tally->text, sizeof tally->text, "%s", summary.error.text);
    atomic_store(&tally->stopped, 1);
}

static void *open_gate_in_stop(void *argument)
{
    (void)argument;
    while (__atomic_load_n(&rbwp_level_, __ATOMIC_ACQUIRE) != 0)
        nap();
    atomic_store(&gate_closed, false);
    return NULL;
}

static void open_gate(void)
{
    atomic_store(&gate_closed, false);
}

/* A stalled disk recovers when the session is being stopped: who stops waits for it. */
static void open_gate_later(void)
{
    pthread_t opener;
    must(pthread_create(&opener, NULL, open_gate_in_stop, NULL) == 0, "pthread_create");
    pthread_detach(opener);
}

static void end_by_stop(void)
{
    open_gate_later();
    stop();
    exit(0);
}

static void end_by_exit(void)
{
    open_gate_later();
    exit(0);
}

static void end_by_kill(void)
{
    kill(getpid(), SIGKILL);
}

static void end_at_once(void)
{
    _exit(0);
}

static void end_by_exec(void)
{
    execl("/bin/true", "true", (char *)NULL);
    must(false, "exec");
}

/* ---- the table ----------------------------------------------------------------------------------
 */

enum kind { DISK, FILES, PROGRAM, GPU, ENDING };
static const char *const kind_name[] = {"disk", "files", "program", "gpu", "ending"};

static const struct fault {
    const char *name;
    enum kind kind;
    void (*provoke)(void);
} faults[] = {
    {"full", DISK, fill_disk},
    {"live-full", DISK, fill_live},
    {"error", DISK, fail_writes},
    {"size-limit", DISK, limit_size},
    {"stall", DISK, stall},
    {"cap", DISK, overrun_cap},
    {"remove", FILES, remove_file},
    {"rename", FILES, rename_file},
    {"cut", FILES, cut_file},
#ifndef SANITIZED
    {"fork", PROGRAM, fork_child},
#endif
    {"detach", PROGRAM, detach_main},
    {"thread-exit", PROGRAM, end_thread},
    {"cancel", PROGRAM, cancel_thread},
    {"signal", PROGRAM, interrupt_thread},
    {"start", PROGRAM, start_again},
    {"names", PROGRAM, use_names},
    {"reap", GPU, reap},
    {"pending", GPU, leave_pending},
    {"capture", GPU, capture},
    {"stop", ENDING, end_by_stop},
    {"exit", ENDING, end_by_exit},
    {"kill", ENDING, end_by_kill},
    {"_exit", ENDING, end_at_once},
    {"exec", ENDING, end_by_exec},
};
#define FAULTS (sizeof faults / sizeof faults[0])

static const struct fault *fault_named(const char *name)
{
    for (size_t i = 0; i < FAULTS; i++)
        if (strcmp(faults[i].name, name) == 0)
            return &faults[i];
    fprintf(stderr, "pairs: no fault \"%s\"\n", name);
    exit(2);
}

static void *stop_held(void *argument)
{
    (void)argument;
    stop();
    return NULL;
}

/* The second fault happens while the session is being stopped. */
static void meet_in_stop(const struct fault *second)
{
    pthread_t stopper;
    stall();
    must(atexit(open_gate) == 0,
         "atexit"); /* runs before the library's, which waits for the stop */
    must(pthread_create(&stopper, NULL, stop_held, NULL) == 0, "pthread_create");
    while (__atomic_load_n(&rbwp_level_, __ATOMIC_ACQUIRE) != 0)
        nap();
    uint64_t before = atomic_load(&tally->made);
    atomic_store(&tally->least, before);
    if (second->kind == ENDING)
        pthread_detach(stopper); /* nobody will join it */
    second->provoke();
    atomic_store(&tally->made, before); /* what it recorded came too late */
    open_gate();
    pthread_join(stopper, NULL);
    exit(0);
}

static void meet(const struct fault *first, const struct fault *second)
{
    play_round();
    if (first->kind == ENDING)
        meet_in_stop(second);
    first->provoke();
    play_round();
    if (second->kind != ENDING) {
        second->provoke();
        play_round();
        second = fault_named("stop");
    } else {
        atomic_store(&tally->least, atomic_load(&tally->made));
        keep_busy(&worker[0]);
    }
    second->provoke();
}

static void prepare(const char *folder)
{
    char path[PATH_MAX + 8];
    snprintf(file, sizeof file, "%s/pairs.bin", folder);
    snprintf(moved, sizeof moved, "%s/moved.bin", folder);
    snprintf(child_file, sizeof child_file, "%s/child.rbwp", folder);
    snprintf(path, sizeof path, "%s/tally", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    must(fd >= 0 && ftruncate(fd, sizeof *tally) == 0, path);
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(tally != MAP_FAILED, "mmap");
    close(fd);
}

static void start(bool stalls, bool drop)
{
    struct rbwp_error error = {.text = ""};
    rbwp_session_defaults(&config);
    config.level = 2;
    config.logfile = file;
    config.cap_bytes = CAP_BYTES;
    config.no_cpu = true; /* records are counted, and these rows may be lost, too */
    config.block_bytes = 4096;
    config.stall_ns = stalls ? 2000000 : 30000000000; /* a slow machine is no stalled one */
    config.at_cap = drop ? RBWP_AT_CAP_DROP : RBWP_AT_CAP_WAIT;
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK)
        fprintf(stderr, "pairs: %s\n", error.text);
    must(session != NULL, "start");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < FAULTS; i++)
            printf("%s %s\n", faults[i].name, kind_name[faults[i].kind]);
        return 0;
    }
    if (argc < 4) {
        fprintf(stderr, "usage: pairs FOLDER FIRST SECOND [FAKE]\n");
        return 2;
    }
    const struct fault *first = fault_named(argv[2]), *second = fault_named(argv[3]);
    fake_library = argc > 4 ? argv[4] : NULL;
    prepare(argv[1]);
    if (first->kind == GPU || second->kind == GPU)
        open_gpu();
    start(first->provoke == stall || second->provoke == stall,
          first->provoke == overrun_cap || second->provoke == overrun_cap);
    must(rbwp_thread_attach("main") == RBWP_OK, "attach");
    must(rbwp_work_item_register("item", &slot) == RBWP_OK, "register");
    must(rbwp_sub_item_register(RBWP_XFER_CHANNEL, "part", &sub_item) == RBWP_OK, "register");
    for (unsigned i = 0; i < WORKERS; i++)
        hire(&worker[i]);
    meet(first, second);
    return 0;
}
