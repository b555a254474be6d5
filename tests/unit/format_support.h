/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format_support.h - files for the tests of format/: loaded, or put together
 * byte by byte without the code under test.
 */
#ifndef FORMAT_SUPPORT_H
#define FORMAT_SUPPORT_H

#include "rbwp_reader.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes that grow. Frees with bytes_free. */
struct bytes {
    uint8_t *data;
    size_t size, capacity;
};
void bytes_free(struct bytes *bytes);
void put(struct bytes *bytes, const void *data, size_t size);
/* The lowest `size` bytes of value, little-endian or big-endian. */
void put_le(struct bytes *bytes, uint64_t value, unsigned size);
void put_be(struct bytes *bytes, uint64_t value, unsigned size);
/* Overwrites `size` bytes at offset. */
void set_le(struct bytes *bytes, size_t offset, uint64_t value, unsigned size);

/* A file of the source tree; fails the test if it is not there. */
struct bytes load(const char *path_in_tree);
/* The example of SPEC.md, section 13, taken from its text. */
struct bytes load_example(void);

/* The golden files, without folder and ending. */
extern const char *const golden_names[];
extern const size_t golden_count;
struct bytes load_golden(const char *name);

/* A file header; counts and offset as given. */
void put_header(struct bytes *bytes, uint32_t work_items, uint32_t sub_items,
                uint64_t descriptor_offset);

/* Data of `records` records, begin and end in turn from time_ns on, 100 ns apart. */
struct bytes make_data(uint32_t records, int64_t time_ns);

/* A block header, and a block stored as it is or compressed by zlib. */
void put_block_header(struct bytes *bytes, uint64_t thread, uint32_t sequence, uint32_t records,
                      int64_t base_ns, uint32_t data_bytes, uint32_t stored_bytes);
void put_block(struct bytes *bytes, uint64_t thread, uint32_t sequence, uint32_t records,
               int64_t time_ns);
void put_zlib_block(struct bytes *bytes, uint64_t thread, uint32_t sequence, uint32_t records,
                    int64_t time_ns);

/* Puts right the footer (at the end of the file) after a change of the trailer. */
void seal_trailer(struct bytes *file);
/* CRC-32C, one bit at a time. */
uint32_t slow_crc32c(const uint8_t *data, size_t size);

/* Everything a reader says about a file, as text: for comparisons. The caller frees it. */
enum way { BY_MEMORY, BY_FILE, BY_STREAM };
char *read_all(const struct bytes *file, enum way way);

/* An open reader of the file through the way. Close it with close_way. */
struct opened {
    struct rbwp_reader *reader;
    struct rbwp_error error;
    enum rbwp_status status;
    void *copy; /* of exactly the file's size, so that a look beyond it is found */
    FILE *file;
    int fd; /* of the pipe, with the thread that feeds it */
    bool fed;
    pthread_t feeder;
};
struct opened open_way(const struct bytes *file, enum way way,
                       const struct rbwp_reader_options *options);
void close_way(struct opened *opened);
/* Only the pipe, without a reader: fd. */
struct opened open_pipe_way(const struct bytes *file);

/* A small generator; the same numbers on each machine. */
uint64_t next_random(uint64_t *state);

#endif /* FORMAT_SUPPORT_H */
