/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_seeds.c - writes random valid RBWP files, seeds for the fuzz targets.
 *
 *   fuzz_make_seeds FOLDER [COUNT]
 *
 * Each file has another mixture of levels, block sizes, threads, kinds, names
 * and trailer. The same number gives the same file on each machine.
 */
#include "rbwp_verify.h"
#include "rbwp_writer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 4
#define NAMES_MAX 40

static uint64_t random_state;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33) % bound;
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

/* A thread in the making: its encoder, clock, and what is open. */
struct thread {
    struct rbwp_block_encoder *encoder;
    int64_t time_ns;
    bool in_call, in_sub_item;
    uint64_t records;
    uint32_t blocks;
};

static struct rbwp_record next_record(struct thread *thread, bool level2)
{
    static const uint32_t steps[] = {1, 100, 40000, 2000000, 2000000000};
    struct rbwp_record record = {.kind = RBWP_COARSE_END};
    uint32_t step = steps[random_below(5)];
    thread->time_ns += random_below(step);
    record.time_ns = thread->time_ns;
    if (random_below(8) == 0) {
        record.kind = RBWP_GPU_WORK;
        record.slot = (uint8_t)random_below(256);
        record.proc_id = UINT64_C(0x1d00000000000000) + random_below(8);
        record.start_ns = thread->time_ns - random_below(100000);
        record.stop_ns = thread->time_ns - random_below(1000);
    } else if (thread->in_sub_item) {
        record.kind = RBWP_FINE_END;
        thread->in_sub_item = false;
    } else if (level2 && random_below(2)) {
        record.kind = RBWP_FINE_BEGIN;
        record.sub_item = (uint16_t)random_below(NAMES_MAX);
        thread->in_sub_item = true;
    } else if (!thread->in_call) {
        record.kind = RBWP_COARSE_BEGIN;
        record.slot = (uint8_t)random_below(NAMES_MAX);
        thread->in_call = true;
    } else {
        thread->in_call = false;
    }
    return record;
}

static void seal(struct rbwp_writer *writer, struct thread *thread, uint64_t thread_id)
{
    struct rbwp_sealed_block block;
    if (rbwp_block_encoder_seal(thread->encoder, thread_id, thread->blocks, &block) != RBWP_OK)
        return;
    must(rbwp_writer_add_block(writer, &block) == RBWP_OK, "block");
    thread->blocks++;
}

static void write_records(struct rbwp_writer *writer, struct thread *threads, uint32_t count,
                          bool level2)
{
    for (uint32_t left = random_below(400); left; left--) {
        uint32_t id = random_below(count);
        struct thread *thread = &threads[id];
        struct rbwp_record record = next_record(thread, level2);
        if (rbwp_block_encoder_add(thread->encoder, &record) == RBWP_AGAIN) {
            seal(writer, thread, id + 1);
            must(rbwp_block_encoder_add(thread->encoder, &record) == RBWP_OK, "record");
        }
        thread->records++;
        if (random_below(100) == 0)
            must(rbwp_writer_add_opaque(writer, "xmix", "12345", random_below(6)) == RBWP_OK,
                 "opaque block");
    }
    for (uint32_t id = 0; id < count; id++)
        seal(writer, &threads[id], id + 1);
}

static const char *const names[] = {"flush",    "",     "page cleaner",
                                    "\xff\xfe", "a\tb", "gr\xc3\xbc\xc3\x9f"};
enum { NAMES = sizeof names / sizeof names[0] };

static void finish(struct rbwp_writer *writer, const struct thread *threads, uint32_t count)
{
    struct rbwp_work_item_name items[NAMES_MAX];
    struct rbwp_sub_item_name sub_items[NAMES_MAX];
    struct rbwp_thread_info infos[THREADS_MAX];
    for (uint32_t i = 0; i < NAMES_MAX; i++) {
        const char *name = names[i % NAMES];
        uint16_t bytes = (uint16_t)strlen(name);
        items[i] = (struct rbwp_work_item_name){(uint16_t)i, bytes, name};
        sub_items[i] = (struct rbwp_sub_item_name){(uint16_t)i, (uint8_t)(i % 5), bytes, name};
    }
    for (uint32_t i = 0; i < count; i++)
        infos[i] = (struct rbwp_thread_info){.thread_id = i + 1,
                                             .os_id = 100 + i,
                                             .attached_ns = 1,
                                             .records = threads[i].records,
                                             .name_bytes = (uint16_t)strlen(names[i % NAMES]),
                                             .name = names[i % NAMES]};
    /* One at a time: the order of evaluation in a list is the compiler's. */
    uint32_t cause = 1 + random_below(12), losses = random_below(2), samples = random_below(2);
    uint32_t slot_uses = random_below(2), item_count = random_below(NAMES_MAX);
    uint32_t sub_item_count = random_below(NAMES_MAX);
    bool has_trailer = random_below(4);
    struct rbwp_loss loss = {.thread_id = 1, .cause = cause, .count = 5};
    struct rbwp_clock_sample sample = {1, 2, 3, 4};
    struct rbwp_slot_use use = {
        .slot = 3, .from_ns = 1, .to_ns = 2, .name_bytes = 3, .name = "old"};
    struct rbwp_trailer trailer = {.host = "host",
                                   .host_bytes = 4,
                                   .command = "a\0b",
                                   .command_bytes = 3,
                                   .writer = "seeds",
                                   .writer_bytes = 5,
                                   .process_id = 9,
                                   .nodes = 2,
                                   .level = 2,
                                   .clock_kind = 1,
                                   .clock_hz = 1000,
                                   .threads = infos,
                                   .thread_count = count,
                                   .losses = &loss,
                                   .loss_count = losses,
                                   .samples = &sample,
                                   .sample_count = samples,
                                   .slot_uses = &use,
                                   .slot_use_count = slot_uses};
    must(rbwp_writer_finish(writer, items, item_count, sub_items, sub_item_count,
                            has_trailer ? &trailer : NULL) == RBWP_OK,
         "end of the file");
}

static void write_file(const char *path)
{
    static const uint32_t block_bytes[] = {64, 100, 1000, 65536};
    struct thread threads[THREADS_MAX] = {0};
    uint32_t count = 1 + random_below(THREADS_MAX);
    bool level2 = random_below(2);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(fd >= 0, path);
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    struct rbwp_writer *writer;
    must(rbwp_writer_new(&sink, random_below(3), 1000, level2, &writer) == RBWP_OK, "writer");
    for (uint32_t i = 0; i < count; i++) {
        threads[i].time_ns = random_below(2) ? 1700000000000000000 : 0;
        uint32_t bytes = block_bytes[random_below(4)];
        int level = (int)random_below(10);
        must(rbwp_block_encoder_new(bytes, level, &threads[i].encoder) == RBWP_OK, "encoder");
    }
    write_records(writer, threads, count, level2);
    if (random_below(5))
        finish(writer, threads, count);
    for (uint32_t i = 0; i < count; i++)
        rbwp_block_encoder_free(threads[i].encoder);
    rbwp_writer_free(writer);
    struct rbwp_verify_result result;
    must(rbwp_verify_fd(fd, NULL, NULL, &result, NULL) == RBWP_OK && result.breaks == 0, path);
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: fuzz_make_seeds FOLDER [COUNT]\n", stderr);
        return 2;
    }
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 32;
    for (unsigned long i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/made_%03lu", argv[1], i);
        random_state = i;
        write_file(path);
    }
    return 0;
}
