/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_profile: a profile of any size for trying the tools, with what real ones have.
 *
 * Worker threads that are busy in bursts, ten work items of different weight,
 * sub-items inside most calls, polls that find nothing, a stall now and then,
 * and GPUs whose work is launched by one item and found complete by another.
 * Durations are log-normal. Nothing is measured, so the same arguments give the
 * same records. The thread with the earliest clock goes next: blocks come in
 * about the order in which a session would have written them.
 */
#include "rbwp_writer.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZERO_TIME_NS 1795197261283835351
enum { THREADS_MAX = 256, GPUS_MAX = 16, KERNELS_MAX = 256, SUB_ITEMS_A_CALL = 8 };

struct arguments {
    const char *path;
    double millions;
    unsigned threads, gpus, level, node;
};

/* A work item; the sub-items inside a call are its own and those behind it. */
struct item {
    const char *name;
    unsigned weight; /* how often, in 1000 */
    double median_ns, spread;
    uint16_t sub_item, sub_item_count;
    unsigned empty; /* calls without sub-items, in 100 */
};
enum { LAUNCHER = 2, REAPER = 3 };
static const struct item items[] = {
    {"active messages", 330, 1800, 0.8, 0, 5, 4},
    {"memcpy channel", 170, 5200, 1.0, 5, 2, 0},
    {"kernel launcher", 90, 7500, 0.5, 0, 0, 100},
    {"gpu reap", 150, 900, 0.6, 7, 1, 70},
    {"disk writer", 40, 38000, 1.1, 8, 2, 0},
    {"dependent partitioning", 50, 21000, 0.9, 10, 3, 0},
    {"timer wheel", 70, 600, 0.4, 0, 0, 100},
    {"page compactor", 40, 16000, 0.7, 5, 1, 10},
    {"log flush", 30, 9000, 1.3, 9, 1, 0},
    {"network poll", 30, 1200, 0.5, 0, 1, 60},
};
enum { ITEMS = sizeof items / sizeof items[0] };

static const struct rbwp_sub_item_name sub_items[] = {
    {0, RBWP_AM_HANDLER, 14, "SpawnTaskReply"},  {1, RBWP_AM_HANDLER, 12, "EventTrigger"},
    {2, RBWP_AM_HANDLER, 15, "MetadataRequest"}, {3, RBWP_AM_HANDLER, 13, "BarrierAdjust"},
    {4, RBWP_AM_HANDLER, 14, "RemoteCopyDone"},  {5, RBWP_XFER_CHANNEL, 15, "memcpy 2-D copy"},
    {6, RBWP_XFER_CHANNEL, 11, "memcpy fill"},   {7, RBWP_GPU_REAP, 12, "GPU 0 stream"},
    {8, RBWP_XFER_CHANNEL, 10, "file write"},    {9, RBWP_XFER_CHANNEL, 10, "file fsync"},
    {10, RBWP_DEPPART_OP, 11, "by field op"},    {11, RBWP_DEPPART_OP, 8, "image op"},
    {12, RBWP_DEPPART_OP, 11, "preimage op"},
};
enum { SUB_ITEMS = sizeof sub_items / sizeof sub_items[0] };

struct kernel {
    int64_t start_ns, stop_ns;
};
struct gpu {
    int64_t free_ns;
    struct kernel kernels[KERNELS_MAX]; /* a ring of those in flight */
    unsigned first, count;
};
struct worker {
    int64_t time_ns;
    uint64_t records;
    struct rbwp_block_encoder *encoder;
    struct rbwp_open_item open[2]; /* a call and a sub-item */
    struct rbwp_thread_state state;
};
struct profile {
    const struct arguments *arguments;
    uint64_t random, records;
    uint32_t sequence;
    struct rbwp_writer *writer;
    struct worker workers[THREADS_MAX];
    struct gpu gpus[GPUS_MAX];
};

static void must(enum rbwp_status status, const char *what)
{
    if (status == RBWP_OK)
        return;
    fprintf(stderr, "make_profile: %s: %s\n", what, rbwp_status_text(status));
    exit(1);
}

/* ---- chance ------------------------------------------------------------------ */

static uint64_t chance(struct profile *profile, uint64_t below)
{
    profile->random ^= profile->random << 13;
    profile->random ^= profile->random >> 7;
    profile->random ^= profile->random << 17;
    return (profile->random >> 11) % below;
}

/* About normal: twelve uniform ones less six is near enough here and needs no logarithm. */
static double normal(struct profile *profile)
{
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t bits = chance(profile, (uint64_t)1 << 52);
        sum += (bits & 0x1fff) + (bits >> 13 & 0x1fff) + (bits >> 26 & 0x1fff) + (bits >> 39);
    }
    return (double)sum / 8192 - 6;
}

static int64_t log_normal_ns(struct profile *profile, double median_ns, double spread)
{
    return 1 + (int64_t)(median_ns * exp(spread * normal(profile)));
}

static const struct item *choose_item(struct profile *profile)
{
    unsigned left = (unsigned)chance(profile, 1000);
    const struct item *item = items;
    while (left >= item->weight)
        left -= item++->weight;
    return item;
}

/* Bursts of 0.4 s in each 0.7 s, and a quiet second in every seven. */
static bool is_busy(int64_t time_ns)
{
    int64_t since_ns = time_ns - ZERO_TIME_NS;
    return since_ns % 700000000 < 400000000 && since_ns / 1000000000 % 7 != 5;
}

/* ---- records ----------------------------------------------------------------- */

static uint64_t thread_id(const struct profile *profile, const struct worker *worker)
{
    return 0x7f3a00000000u + (uint64_t)(worker - profile->workers) * 0x1000;
}

static void seal(struct profile *profile, struct worker *worker)
{
    struct rbwp_sealed_block block;
    if (rbwp_block_encoder_seal(worker->encoder, thread_id(profile, worker), profile->sequence++,
                                &block) != RBWP_OK)
        return;
    must(rbwp_writer_add_block(profile->writer, &block), "write");
    worker->state.size = sizeof worker->state;
    worker->state.thread_id = thread_id(profile, worker);
    worker->state.open = worker->open;
    rbwp_writer_tell_state(profile->writer, &worker->state);
    worker->state.gpu_works = 0;
}

/* What readers that begin in the middle need. */
static void note(struct worker *worker, const struct rbwp_record *record)
{
    struct rbwp_thread_state *state = &worker->state;
    if (record->kind == RBWP_GPU_WORK) {
        bool first = state->gpu_works++ == 0;
        if (first || record->start_ns < state->gpu_first_ns)
            state->gpu_first_ns = record->start_ns;
        if (first || record->stop_ns > state->gpu_last_ns)
            state->gpu_last_ns = record->stop_ns;
    } else if (record->kind == RBWP_COARSE_END || record->kind == RBWP_FINE_END) {
        state->open_count--;
    } else {
        uint16_t id = record->kind == RBWP_COARSE_BEGIN ? record->slot : record->sub_item;
        worker->open[state->open_count++] = (struct rbwp_open_item){
            .begin_ns = record->time_ns, .id = id, .kind = (uint8_t)record->kind};
    }
}

static void add(struct profile *profile, struct worker *worker, struct rbwp_record record)
{
    profile->records++;
    worker->records++;
    if (rbwp_block_encoder_add(worker->encoder, &record) != RBWP_OK) {
        seal(profile, worker);
        must(rbwp_block_encoder_add(worker->encoder, &record), "encode");
    }
    note(worker, &record);
}

static void add_sub_items(struct profile *profile, struct worker *worker, const struct item *item,
                          int64_t end_ns)
{
    uint64_t count = 1 + chance(profile, SUB_ITEMS_A_CALL) * chance(profile, 2) / 2;
    int64_t share_ns = (end_ns - worker->time_ns) / (int64_t)count;
    for (uint64_t i = 0; i < count && share_ns > 16; i++) {
        uint16_t id = (uint16_t)(item->sub_item + chance(profile, item->sub_item_count));
        int64_t begin_ns = worker->time_ns + (int64_t)chance(profile, (uint64_t)share_ns / 8);
        worker->time_ns += share_ns;
        int64_t stop_ns = worker->time_ns - (int64_t)chance(profile, (uint64_t)share_ns / 8);
        add(profile, worker,
            (struct rbwp_record){.time_ns = begin_ns, .kind = RBWP_FINE_BEGIN, .sub_item = id});
        add(profile, worker, (struct rbwp_record){.time_ns = stop_ns, .kind = RBWP_FINE_END});
    }
}

/* ---- GPUs -------------------------------------------------------------------- */

static void launch(struct profile *profile, int64_t time_ns)
{
    struct gpu *gpu = &profile->gpus[chance(profile, profile->arguments->gpus)];
    if (gpu->count == KERNELS_MAX)
        return;
    int64_t start_ns = time_ns + 4000 + (int64_t)chance(profile, 3000);
    start_ns = start_ns < gpu->free_ns ? gpu->free_ns : start_ns;
    gpu->free_ns = start_ns + log_normal_ns(profile, 30000, 0.8);
    gpu->kernels[(gpu->first + gpu->count++) % KERNELS_MAX] =
        (struct kernel){start_ns, gpu->free_ns};
}

static void reap(struct profile *profile, struct worker *worker)
{
    for (unsigned i = 0; i < profile->arguments->gpus; i++) {
        struct gpu *gpu = &profile->gpus[i];
        while (gpu->count > 0 && gpu->kernels[gpu->first].stop_ns <= worker->time_ns) {
            const struct kernel *kernel = &gpu->kernels[gpu->first];
            add(profile, worker,
                (struct rbwp_record){.time_ns = worker->time_ns,
                                     .kind = RBWP_GPU_WORK,
                                     .slot = LAUNCHER,
                                     .proc_id = (uint64_t)0x1d << 56 |
                                                (uint64_t)profile->arguments->node << 40 | i,
                                     .start_ns = kernel->start_ns,
                                     .stop_ns = kernel->stop_ns});
            gpu->first = (gpu->first + 1) % KERNELS_MAX;
            gpu->count--;
        }
    }
}

/* ---- calls ------------------------------------------------------------------- */

static void add_call(struct profile *profile, struct worker *worker)
{
    const struct item *item = choose_item(profile);
    int slot = (int)(item - items);
    int64_t end_ns = worker->time_ns + log_normal_ns(profile, item->median_ns, item->spread);
    if (chance(profile, 200000) == 0)
        end_ns += 10000000 + (int64_t)chance(profile, 60000000); /* a stall */
    bool inside = profile->arguments->level > 1 && chance(profile, 100) >= item->empty;
    add(profile, worker,
        (struct rbwp_record){
            .time_ns = worker->time_ns, .kind = RBWP_COARSE_BEGIN, .slot = (uint8_t)slot});
    if (inside)
        add_sub_items(profile, worker, item, end_ns);
    worker->time_ns = end_ns;
    if (slot == REAPER)
        reap(profile, worker);
    add(profile, worker, (struct rbwp_record){.time_ns = end_ns, .kind = RBWP_COARSE_END});
    if (slot == LAUNCHER && profile->arguments->gpus)
        launch(profile, end_ns);
    worker->time_ns += log_normal_ns(profile, is_busy(end_ns) ? 350 : 60000, 1.0);
}

static struct worker *earliest(struct profile *profile)
{
    struct worker *first = profile->workers;
    for (unsigned i = 1; i < profile->arguments->threads; i++)
        if (profile->workers[i].time_ns < first->time_ns)
            first = &profile->workers[i];
    return first;
}

/* ---- the file ---------------------------------------------------------------- */

static void finish(struct profile *profile)
{
    static char names[THREADS_MAX][32];
    static struct rbwp_thread_info threads[THREADS_MAX];
    struct rbwp_work_item_name slots[ITEMS];
    unsigned count = profile->arguments->threads;
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &profile->workers[i];
        int bytes = snprintf(names[i], sizeof names[i], "bgworker %u", i);
        seal(profile, worker);
        threads[i] = (struct rbwp_thread_info){thread_id(profile, worker),
                                               40001 + i,
                                               ZERO_TIME_NS,
                                               worker->time_ns,
                                               worker->records,
                                               (uint16_t)bytes,
                                               names[i]};
    }
    for (uint16_t i = 0; i < ITEMS; i++)
        slots[i] = (struct rbwp_work_item_name){i, (uint16_t)strlen(items[i].name), items[i].name};
    struct rbwp_trailer trailer = {.host = "node",
                                   .host_bytes = 4,
                                   .command = "make_profile",
                                   .command_bytes = 12,
                                   .writer = "make_profile",
                                   .writer_bytes = 12,
                                   .process_id = 40000,
                                   .level = profile->arguments->level,
                                   .start_ns = ZERO_TIME_NS,
                                   .stop_ns = earliest(profile)->time_ns,
                                   .threads = threads,
                                   .thread_count = count};
    must(rbwp_writer_finish(profile->writer, slots, ITEMS, sub_items, SUB_ITEMS, &trailer),
         "finish");
}

static void make(const struct arguments *arguments)
{
    static struct profile profile;
    int fd = open(arguments->path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    profile.arguments = arguments;
    profile.random = 88172645463325252u + arguments->node;
    must(fd < 0 ? RBWP_E_IO : RBWP_OK, arguments->path);
    must(rbwp_writer_new(&sink, arguments->node, ZERO_TIME_NS, arguments->level > 1,
                         &profile.writer),
         "writer");
    for (unsigned i = 0; i < arguments->threads; i++) {
        profile.workers[i].time_ns = ZERO_TIME_NS + 1000 * (int64_t)(i + 1);
        must(rbwp_block_encoder_new(0, 1, &profile.workers[i].encoder), "encoder");
    }
    while ((double)profile.records < arguments->millions * 1e6)
        add_call(&profile, earliest(&profile));
    finish(&profile);
    printf("%llu records\n", (unsigned long long)profile.records);
    for (unsigned i = 0; i < arguments->threads; i++)
        rbwp_block_encoder_free(profile.workers[i].encoder);
    rbwp_writer_free(profile.writer);
    close(fd);
}

static unsigned number(const char *text, unsigned least, unsigned most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value < least || value > most) {
        fprintf(stderr, "make_profile: '%s' is not a number from %u to %u\n", text, least, most);
        exit(2);
    }
    return (unsigned)value;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.threads = 8, .gpus = 2, .level = 2};
    for (int option; (option = getopt(argc, argv, "t:g:l:n:")) != -1;) {
        if (option == 't')
            arguments.threads = number(optarg, 1, THREADS_MAX);
        else if (option == 'g')
            arguments.gpus = number(optarg, 0, GPUS_MAX);
        else if (option == 'l')
            arguments.level = number(optarg, 1, 2);
        else if (option == 'n')
            arguments.node = number(optarg, 0, 65535);
        else
            argc = 0;
    }
    if (argc != optind + 2 || (arguments.millions = strtod(argv[optind + 1], NULL)) <= 0) {
        fprintf(stderr, "usage: make_profile [-t THREADS] [-g GPUS] [-l LEVEL] [-n NODE] "
                        "FILE MILLIONS_OF_RECORDS\n");
        return 2;
    }
    arguments.path = argv[optind];
    make(&arguments);
    return 0;
}
