/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a small file with everything that only extended files have: a full
 * trailer with a section of its own, an opaque block, a slot used three times under two names, a
 * command line whose last argument is empty. info.sh knows its content.
 */
#include "rbwp_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void must(enum rbwp_status status)
{
    if (status == RBWP_OK)
        return;
    fprintf(stderr, "make_extended: %s\n", rbwp_status_text(status));
    exit(1);
}

static void add_call(struct rbwp_block_encoder *encoder, int64_t begin_ns, uint8_t slot)
{
    must(rbwp_block_encoder_add(
        encoder,
        &(struct rbwp_record){.time_ns = begin_ns, .kind = RBWP_COARSE_BEGIN, .slot = slot}));
    must(rbwp_block_encoder_add(
        encoder, &(struct rbwp_record){.time_ns = begin_ns + 10, .kind = RBWP_COARSE_END}));
}

static void add_block(struct rbwp_writer *writer, struct rbwp_block_encoder *encoder,
                      uint64_t thread_id, uint32_t sequence)
{
    struct rbwp_sealed_block block;
    must(rbwp_block_encoder_seal(encoder, thread_id, sequence, &block));
    must(rbwp_writer_add_block(writer, &block));
}

#define TEXT(text) (text), sizeof(text) - 1

static struct rbwp_thread_info thread(uint64_t id, uint64_t os_id, uint64_t records,
                                      const char *name, size_t name_bytes)
{
    return (struct rbwp_thread_info){.thread_id = id,
                                     .os_id = os_id,
                                     .attached_ns = 900,
                                     .detached_ns = 5000,
                                     .records = records,
                                     .name_bytes = (uint16_t)name_bytes,
                                     .name = name};
}

static void finish(struct rbwp_writer *writer)
{
    static const struct rbwp_work_item_name items[] = {{3, 3, "old"}, {4, 5, "other"}};
    static const struct rbwp_slot_use uses[] = {{3, 900, 2000, 3, "old"},
                                                {3, 2500, 3500, 3, "new"},
                                                {3, 3500, 0, 3, "old"},
                                                {4, 900, 0, 5, "other"}};
    static const struct rbwp_loss losses[] = {{11, RBWP_LOSS_DROPPED, 1234, 2000, 2100},
                                              {0, RBWP_LOSS_STRAY_END, 2, 0, 0}};
    static const struct rbwp_left left[] = {{RBWP_LEFT_THREADS, 1000000, 2000000},
                                            {RBWP_LEFT_SLOT_USES, 7, 0}};
    static const char command[] = "prog\0a b\0\0c\"d\0"; /* ends in an empty argument */
    static const struct rbwp_section sections[] = {{"xtst", 9, "some\0data"}};
    struct rbwp_clock_sample samples[6];
    for (int i = 0; i < 6; i++)
        samples[i] = (struct rbwp_clock_sample){2300u * (unsigned)i, 1000 * i, 1000 * i, 1000 * i};
    struct rbwp_thread_info threads[] = {thread(11, 900, 8, TEXT("cleaner")),
                                         thread(UINT64_MAX, 901, 2, TEXT(""))};
    struct rbwp_trailer trailer = {.host = "host \xc3\xa9",
                                   .host_bytes = 7,
                                   .command = command,
                                   .command_bytes = sizeof command - 1,
                                   .writer = "make_extended",
                                   .writer_bytes = 13,
                                   .process_id = 4242,
                                   .nodes = 1,
                                   .level = 2,
                                   .start_ns = 900,
                                   .stop_ns = 5000,
                                   .clock_kind = RBWP_CLOCK_TSC,
                                   .clock_hz = 2300000000u,
                                   .clock_error_ns = 40,
                                   .cap_bytes = 1 << 20,
                                   .peak_bytes = 5555,
                                   .discarded = 17,
                                   .threads = threads,
                                   .thread_count = 2,
                                   .losses = losses,
                                   .loss_count = 2,
                                   .samples = samples,
                                   .sample_count = 6,
                                   .slot_uses = uses,
                                   .slot_use_count = 4,
                                   .left = left,
                                   .left_count = 2,
                                   .sections = sections,
                                   .section_count = 1};
    must(rbwp_writer_finish(writer, items, 2, NULL, 0, &trailer));
}

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd < 0) {
        fprintf(stderr, "usage: make_extended FILE\n");
        return 2;
    }
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    struct rbwp_writer *writer;
    struct rbwp_block_encoder *encoder;
    must(rbwp_writer_new(&sink, 0, 900, true, &writer));
    must(rbwp_block_encoder_new(0, 1, &encoder));
    add_call(encoder, 1000, 3);
    add_call(encoder, 3000, 3);
    add_call(encoder, 3050, 3);
    add_call(encoder, 4000, 3);
    add_block(writer, encoder, 11, 0);
    must(rbwp_writer_add_opaque(writer, "xtst", "some data", 9));
    add_call(encoder, 3100, 4);
    add_block(writer, encoder, UINT64_MAX, 1);
    finish(writer);
    rbwp_writer_free(writer);
    rbwp_block_encoder_free(encoder);
    return close(fd) == 0 ? 0 : 1;
}
