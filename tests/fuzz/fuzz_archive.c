/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives, both ways. A version-1 file is refused with a reason, or its archive reads like it and
 * gives it back: the same bytes if no block was compressed, else a file whose archive is the same.
 * An archive, whose sums are made to fit so that all behind them is reached, ends by every way of
 * reading with the same blocks, and gives a file that has them or a reason.
 */
#include "archive.h"
#include "archive_source.h"
#include "bytes.h"
#include "crc32c.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What came of it; without bytes it was refused, and said why. */
static struct memory convert(const uint8_t *data, size_t size, bool pack,
                             struct archive_result *result)
{
    struct memory to = {0};
    struct rbwp_error error = {.status = RBWP_OK};
    struct rbwp_sink sink = memory_sink(&to);
    int fd = memory_file(data, size);
    enum rbwp_status status = pack ? archive_pack(fd, &sink, NULL, result, &error)
                                   : archive_unpack(fd, &sink, NULL, result, &error);
    close(fd);
    if (status == RBWP_OK)
        return to;
    REQUIRE(error.text[0] && !strchr(error.text, '\n'));
    free(to.bytes);
    return (struct memory){0};
}

static struct rbwp_reader *open_memory(const uint8_t *data, size_t size)
{
    struct rbwp_reader *reader = NULL;
    return rbwp_reader_open_memory(data, size, NULL, &reader, NULL) == RBWP_OK ? reader : NULL;
}

/* Both readers give the same blocks; of the second one's nothing is compressed any more. */
static void same_blocks(struct rbwp_reader *a, struct rbwp_reader *b)
{
    struct rbwp_block left, right;
    enum rbwp_status status;
    do {
        status = rbwp_reader_next_block(a, &left);
        REQUIRE(rbwp_reader_next_block(b, &right) == status);
        if (status != RBWP_OK)
            break;
        left.header.stored_bytes = right.header.stored_bytes = 0;
        REQUIRE(memcmp(&left.header, &right.header, sizeof left.header) == 0);
        REQUIRE(memcmp(left.data, right.data, left.header.data_bytes) == 0);
    } while (true);
    REQUIRE(rbwp_reader_problem_count(a) == rbwp_reader_problem_count(b));
}

static void same_files(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    struct rbwp_reader *left = open_memory(a, a_size), *right = open_memory(b, b_size);
    REQUIRE(left && right);
    same_blocks(left, right);
    rbwp_reader_close(left);
    rbwp_reader_close(right);
}

static void of_file(const uint8_t *data, size_t size)
{
    struct archive_result result, unpacked, repacked;
    struct memory archive = convert(data, size, true, &result);
    if (!archive.bytes)
        return;
    same_files(data, size, archive.bytes, archive.size);
    struct memory back = convert(archive.bytes, archive.size, false, &unpacked);
    REQUIRE(back.bytes && unpacked.packed_blocks == result.packed_blocks);
    if (result.packed_blocks == 0)
        REQUIRE(back.size == size && memcmp(back.bytes, data, size) == 0);
    struct memory again = convert(back.bytes, back.size, true, &repacked);
    /* Blocks that do not get smaller are not compressed any more. */
    if (repacked.packed_blocks == result.packed_blocks)
        REQUIRE(again.size == archive.size && memcmp(again.bytes, archive.bytes, again.size) == 0);
    free(archive.bytes);
    free(back.bytes);
    free(again.bytes);
}

/* Makes the sums fit, chunk by chunk as far as they follow each other, and the footer's. */
static void mend_sums(uint8_t *data, size_t size)
{
    size_t at = RBWP_FILE_HEADER_BYTES;
    while (size - at >= ARCHIVE_CHUNK_HEAD_BYTES) {
        uint8_t *head = data + at;
        size_t payload = load_le32(head + 4), left = size - at - ARCHIVE_CHUNK_HEAD_BYTES;
        if (payload > left)
            break;
        store_le32(head + 24, crc32c(0, head + ARCHIVE_CHUNK_HEAD_BYTES, payload));
        store_le32(head + 28, crc32c(0, head, 28));
        at += ARCHIVE_CHUNK_HEAD_BYTES + payload;
        if (memcmp(head, "INDX", 4) == 0)
            break;
    }
    if (size - at == ARCHIVE_FOOTER_BYTES)
        store_le32(data + at + 20, crc32c(0, data + at, 20));
}

static void of_archive(const uint8_t *data, size_t size)
{
    struct archive_result result;
    struct rbwp_reader *reader = open_memory(data, size), *other = NULL;
    int fd = memory_file(data, size);
    enum rbwp_status status = rbwp_reader_open_fd(fd, NULL, &other, NULL);
    REQUIRE(!reader == (status != RBWP_OK));
    if (reader)
        same_blocks(reader, other);
    rbwp_reader_close(reader);
    rbwp_reader_close(other);
    close(fd);
    struct memory back = convert(data, size, false, &result);
    if (back.bytes)
        same_files(data, size, back.bytes, back.size);
    free(back.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_BYTES_MAX)
        return 0;
    if (!archive_begins(data, size)) {
        of_file(data, size);
        return 0;
    }
    uint8_t *mended = malloc(size);
    REQUIRE(mended);
    memcpy(mended, data, size);
    of_archive(data, size);
    mend_sums(mended, size);
    const uint8_t *guarded = guarded_copy(mended, size);
    of_archive(guarded, size);
    free(mended);
    return 0;
}
