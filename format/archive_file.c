/* SPDX-License-Identifier: Apache-2.0 */
/* archive_file.c - see archive_file.h. */
#include "archive_file.h"

#include "bytes.h"
#include "crc32c.h"

static const uint8_t tags[ARCHIVE_TAGS][4] = {
    {'B', 'L', 'K', 'S'}, {'B', 'Y', 'T', 'S'}, {'I', 'N', 'D', 'X'}};
static const uint8_t end_magic[8] = {'R', 'B', 'W', 'A', '.', 'E', 'N', 'D'};

void archive_chunk_encode(const struct archive_chunk *chunk, const uint8_t *payload,
                          uint8_t head[ARCHIVE_CHUNK_HEAD_BYTES])
{
    memcpy(head, tags[chunk->tag], 4);
    store_le32(head + 4, chunk->payload_bytes);
    store_le64(head + 8, chunk->place);
    store_le32(head + 16, chunk->bytes);
    store_le32(head + 20, chunk->records);
    store_le32(head + 24, crc32c(0, payload, chunk->payload_bytes));
    store_le32(head + 28, crc32c(0, head, 28));
}

bool archive_chunk_decode(const uint8_t head[ARCHIVE_CHUNK_HEAD_BYTES],
                          struct archive_chunk *chunk_out)
{
    unsigned tag = 0;
    while (tag < ARCHIVE_TAGS && memcmp(head, tags[tag], 4) != 0)
        tag++;
    if (tag == ARCHIVE_TAGS || load_le32(head + 28) != crc32c(0, head, 28))
        return false;
    *chunk_out = (struct archive_chunk){
        .tag = (enum archive_tag)tag,
        .payload_bytes = load_le32(head + 4),
        .place = load_le64(head + 8),
        .bytes = load_le32(head + 16),
        .records = load_le32(head + 20),
        .crc32c = load_le32(head + 24),
    };
    return true;
}

void archive_footer_encode(const struct archive_footer *footer, uint8_t bytes[ARCHIVE_FOOTER_BYTES])
{
    store_le64(bytes, footer->index_offset);
    store_le64(bytes + 8, footer->bytes);
    store_le32(bytes + 16, footer->chunks);
    store_le32(bytes + 20, crc32c(0, bytes, 20));
    memcpy(bytes + 24, end_magic, sizeof end_magic);
}

bool archive_footer_decode(const uint8_t bytes[ARCHIVE_FOOTER_BYTES],
                           struct archive_footer *footer_out)
{
    if (memcmp(bytes + 24, end_magic, sizeof end_magic) != 0 ||
        load_le32(bytes + 20) != crc32c(0, bytes, 20))
        return false;
    *footer_out = (struct archive_footer){
        .index_offset = load_le64(bytes),
        .bytes = load_le64(bytes + 8),
        .chunks = load_le32(bytes + 16),
    };
    return true;
}
