/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a small file with GPU work of two GPUs, facts beside it, and the bias of one of them.
 * test_gpu_bias.py knows its content. make_gpu FILE [broken]: broken facts claim an entry too many.
 */
#include "rbwp_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define T INT64_C(1700000000000000000)

static void must(enum rbwp_status status)
{
    if (status == RBWP_OK)
        return;
    fprintf(stderr, "make_gpu: %s\n", rbwp_status_text(status));
    exit(1);
}

/* Long and short work of GPU 5, whose biases are known, work of GPU 6, and work on an idle stream
 * of GPU 5. */
static const struct rbwp_record works[] = {
    {.time_ns = T + 2000, .slot = 1, .proc_id = 5, .start_ns = T + 1000, .stop_ns = T + 2000},
    {.time_ns = T + 3000, .slot = 1, .proc_id = 5, .start_ns = T + 2900, .stop_ns = T + 3000},
    {.time_ns = T + 4000, .slot = 2, .proc_id = 6, .start_ns = T + 3000, .stop_ns = T + 4000},
    {.time_ns = T + 5000, .slot = 1, .proc_id = 5, .start_ns = T + 900, .stop_ns = T + 800},
    {.time_ns = T + 9000, .slot = 1, .proc_id = 5, .start_ns = T + 6000, .stop_ns = T + 9000},
};

static void add_works(struct rbwp_writer *writer)
{
    struct rbwp_block_encoder *encoder;
    struct rbwp_sealed_block block;
    must(rbwp_block_encoder_new(0, 0, &encoder));
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++) {
        struct rbwp_record record = works[i];
        record.kind = RBWP_GPU_WORK;
        must(rbwp_block_encoder_add(encoder, &record));
    }
    must(rbwp_block_encoder_seal(encoder, 77, 0, &block));
    must(rbwp_writer_add_block(writer, &block));
    rbwp_block_encoder_free(encoder);
}

static void add_facts(struct rbwp_writer *writer, bool broken)
{
    const struct rbwp_gpu_extra facts[] = {
        {T + 1000, T + 2000, T + 950, 78, 40, UINT32_MAX, T + 960, 0, 0},
        {T + 2900, T + 3000, T + 2000, 0, 0, 1, T + 2100, 0, 0},
        {T + 6000, T + 9000, T + 5200, 78, 70, 80, T + 6000, 500, RBWP_GPU_EXTRA_IDLE},
    };
    uint8_t data[RBWP_GPU_EXTRA_HEAD_BYTES + 3 * RBWP_GPU_EXTRA_BYTES];
    uint32_t bytes = rbwp_gpu_extra_encode(5, facts, 3, data);
    data[12] = (uint8_t)(data[12] + broken);
    must(rbwp_writer_add_opaque(writer, RBWP_GPU_EXTRA_TAG, data, bytes));
}

int main(int argc, char **argv)
{
    int fd = argc < 2 ? -1 : open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        perror("make_gpu");
        return 1;
    }
    static const struct rbwp_gpu_info gpus[] = {
        {5, 0, 101, 250, 30, 5, "first", 99, 1400, 60},
        {6, 2, 0, 0, 0, 6, "second", 0, 0, 0},
    };
    const struct rbwp_trailer trailer = {.gpus = gpus, .gpu_count = 2};
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    struct rbwp_writer *writer;
    must(rbwp_writer_new(&sink, 0, T, false, &writer));
    add_works(writer);
    add_facts(writer, argc > 2);
    must(rbwp_writer_finish(writer, NULL, 0, NULL, 0, &trailer));
    rbwp_writer_free(writer);
    close(fd);
    return 0;
}
