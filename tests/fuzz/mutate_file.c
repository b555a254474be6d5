/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutate_file.c - changes RBWP files so that they get past the sums.
 *
 * A blind change behind a sum or inside a zlib stream is refused at once and
 * tests nothing else. So some of the changes are followed by a repair of the
 * trailer's footer, and some are made to the records of one block, whose
 * header is then made to fit. The rest is blind.
 */
#include "crc32c.h"
#include "fuzz.h"
#include "rbwp_reader.h"
#include "rbwp_writer.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define FOOTER_BYTES 32u
#define BLOCK_BYTES_MAX 65536u

static uint64_t get_le(const uint8_t *from, unsigned bytes)
{
    return supply_number(&(struct supply){from, bytes}, bytes);
}

static void put_le(uint8_t *to, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(number >> 8 * i);
}

/* Makes the footer's place, size and sum those of what stands before it. */
static void repair_footer(uint8_t *data, size_t size, int64_t moved_bytes)
{
    if (size < 36 + FOOTER_BYTES || memcmp(data + size - 8, "RBWP.END", 8) != 0)
        return;
    uint8_t *footer = data + size - FOOTER_BYTES;
    uint64_t end = size - FOOTER_BYTES, begin = get_le(footer, 8) + (uint64_t)moved_bytes;
    if (begin > end)
        return;
    put_le(footer, begin, 8);
    put_le(footer + 8, end - begin, 8);
    put_le(footer + 16, crc32c(0, data + begin, (size_t)(end - begin)), 4);
}

/* A block's data as far as they are whole records. */
struct records {
    size_t bytes;
    uint32_t count;
    int64_t base_ns;
};

static struct records whole_records(const uint8_t *data, size_t size)
{
    struct records records = {0};
    while (records.bytes < size) {
        const uint8_t *next = data + records.bytes;
        unsigned time_bytes = *next >> 7 == 0 ? 2 : *next >> 6 == 2 ? 4 : 8;
        if (time_bytes >= size - records.bytes)
            break;
        unsigned kind = next[time_bytes];
        size_t length = time_bytes + (kind == 0x01                   ? 2u
                                      : kind == 0x02 || kind == 0x12 ? 1u
                                      : kind == 0x11                 ? 3u
                                      : kind == 0x21                 ? 26u
                                                                     : size + 1);
        if (length > size - records.bytes)
            break;
        if (records.count++ == 0) {
            uint64_t time = *next & (time_bytes == 2 ? 0x7fu : 0x3fu);
            for (unsigned i = 1; i < time_bytes; i++)
                time = time << 8 | next[i];
            records.base_ns = (int64_t)time;
        }
        records.bytes += length;
    }
    return records;
}

/* Finds a block by number, counted round. False if there is none that is small enough. */
static bool copy_block(const uint8_t *file, size_t size, unsigned number, struct rbwp_block *block,
                       uint8_t *data)
{
    struct rbwp_reader *reader;
    uint64_t count = 0, index = 0;
    if (rbwp_reader_open_memory(file, size, NULL, &reader, NULL) != RBWP_OK)
        return false;
    while (rbwp_reader_next_block(reader, block) == RBWP_OK)
        count++;
    bool found = count && rbwp_reader_rewind(reader) == RBWP_OK;
    while (found && index++ <= number % count)
        found = rbwp_reader_next_block(reader, block) == RBWP_OK;
    found = found && block->header.records && block->header.data_bytes <= BLOCK_BYTES_MAX &&
            !rbwp_reader_is_archive(reader); /* whose blocks are nowhere in the file */
    if (found)
        memcpy(data, block->data, block->header.data_bytes);
    rbwp_reader_close(reader);
    return found;
}

/* Puts a block of these records where the other one is. The new size of the file, 0: no room. */
static size_t replace_block(uint8_t *file, size_t size, size_t size_max,
                            const struct rbwp_block *old, const uint8_t *data,
                            const struct records *records, bool compressed)
{
    uint8_t payload[BLOCK_BYTES_MAX];
    uLongf stored = sizeof payload;
    if (!compressed || compress2(payload, &stored, data, records->bytes, Z_BEST_SPEED) != Z_OK) {
        memcpy(payload, data, records->bytes);
        stored = 0;
    }
    const struct rbwp_block_header *header = &old->header;
    size_t begin = (size_t)old->offset + 32, bytes = stored ? stored : records->bytes;
    size_t before = header->stored_bytes ? header->stored_bytes : header->data_bytes;
    if (size - before + bytes > size_max)
        return 0;
    memmove(file + begin + bytes, file + begin + before, size - begin - before);
    memcpy(file + begin, payload, bytes);
    put_le(file + begin - 20, records->count, 4);
    put_le(file + begin - 16, (uint64_t)records->base_ns, 8);
    put_le(file + begin - 8, records->bytes, 4);
    put_le(file + begin - 4, stored, 4);
    int64_t moved = (int64_t)bytes - (int64_t)before;
    if (get_le(file + 28, 8))
        put_le(file + 28, get_le(file + 28, 8) + (uint64_t)moved, 8);
    size = size - before + bytes;
    repair_footer(file, size, moved);
    return size;
}

static size_t change_block(uint8_t *file, size_t size, size_t size_max, unsigned seed)
{
    static uint8_t data[BLOCK_BYTES_MAX];
    struct rbwp_block block;
    if (!copy_block(file, size, seed >> 8, &block, data))
        return 0;
    size_t changed = LLVMFuzzerMutate(data, block.header.data_bytes, sizeof data);
    struct records records = whole_records(data, changed);
    return records.count ? replace_block(file, size, size_max, &block, data, &records, seed & 0x80)
                         : 0;
}

/* Blindly, but only behind the blocks: tables and trailer are small beside them. */
static size_t change_tail(uint8_t *file, size_t size, size_t size_max)
{
    uint64_t tail = size >= 36 ? get_le(file + 28, 8) : 0;
    if (tail < 36 || tail >= size - FOOTER_BYTES)
        return 0;
    uint8_t footer[FOOTER_BYTES];
    size_t offset = (size_t)tail, end = size - FOOTER_BYTES;
    memcpy(footer, file + end, FOOTER_BYTES);
    end = offset + LLVMFuzzerMutate(file + offset, end - offset, size_max - offset - FOOTER_BYTES);
    memcpy(file + end, footer, FOOTER_BYTES);
    repair_footer(file, end + FOOTER_BYTES, 0);
    return end + FOOTER_BYTES;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
    size_t changed = 0;
    switch (seed % 8) {
    case 0:
    case 1:
        changed = change_block(data, size, size_max, seed);
        break;
    case 2:
    case 3:
        changed = change_tail(data, size, size_max);
        break;
    default:
        break;
    }
    if (changed)
        return changed;
    changed = LLVMFuzzerMutate(data, size, size_max);
    if (seed % 8 == 4)
        repair_footer(data, changed, (int64_t)changed - (int64_t)size);
    return changed;
}
