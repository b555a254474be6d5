/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.c - see block.h.
 *
 * Checking a block is one tight pass over its records that only keeps what it
 * needs (time, count, smallest and largest time); records are taken apart when
 * they are iterated. Nothing is allocated for a size that the stored bytes
 * could not expand to.
 */
#include "block.h"

#include "format_fields.h"
#include "inflater.h"
#include "rbwp_decoder.h"
#include "rbwp_writer.h"
#include "reader_error.h"
#include "record_bytes.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- the opaque block "gpux" (SPEC.md, section 9.1), for who checks blocks ------------------- */

#define TAG_BYTES 4u
#define ENTRY_BYTES_LEAST 40u /* start to stop gap */
#define ENTRIES_AT (TAG_BYTES + RBWP_GPU_EXTRA_HEAD_BYTES)

static bool block_has_tag(const struct rbwp_block *block)
{
    return block->header.records == 0 && block->header.data_bytes >= TAG_BYTES &&
           memcmp(block->data, RBWP_GPU_EXTRA_TAG, TAG_BYTES) == 0;
}

/* R43. True for a block of any other tag. data has at least 4 bytes. */
static bool gpu_launch_facts_check(const struct rbwp_block *block)
{
    if (!block_has_tag(block))
        return true;
    if (block->header.data_bytes < ENTRIES_AT)
        return false;
    uint64_t entry_bytes = load_le32(block->data + 12), count = load_le32(block->data + 16);
    return entry_bytes >= ENTRY_BYTES_LEAST &&
           block->header.data_bytes - ENTRIES_AT == entry_bytes * count;
}

bool rbwp_gpu_extras(const struct rbwp_block *block, uint64_t *proc_id_out, uint32_t *count_out)
{
    if (!block_has_tag(block))
        return false;
    *proc_id_out = load_le64(block->data + 4);
    *count_out = load_le32(block->data + 16);
    return true;
}

void rbwp_gpu_extra_get(const struct rbwp_block *block, uint32_t index,
                        struct rbwp_gpu_extra *extra_out)
{
    const uint32_t entry_bytes = load_le32(block->data + 12);
    const uint8_t *entry = block->data + ENTRIES_AT + (size_t)index * entry_bytes;
    *extra_out = (struct rbwp_gpu_extra){
        .start_ns = load_le_i64(entry),
        .stop_ns = load_le_i64(entry + 8),
        .launch_ns = load_le_i64(entry + 16),
        .thread_id = load_le64(entry + 24),
        .start_gap_ns = load_le32(entry + 32),
        .stop_gap_ns = load_le32(entry + 36),
    };
    if (entry_bytes < RBWP_GPU_EXTRA_BYTES)
        return;
    extra_out->launched_ns = load_le_i64(entry + 40);
    extra_out->launching_ns = load_le32(entry + 48);
    extra_out->flags = load_le32(entry + 52);
}

uint32_t rbwp_gpu_extra_encode(uint64_t proc_id, const struct rbwp_gpu_extra *extras,
                               uint32_t count, uint8_t *data_out)
{
    store_le64(data_out, proc_id);
    store_le32(data_out + 8, RBWP_GPU_EXTRA_BYTES);
    store_le32(data_out + 12, count);
    uint8_t *entry = data_out + RBWP_GPU_EXTRA_HEAD_BYTES;
    for (uint32_t i = 0; i < count; i++, entry += RBWP_GPU_EXTRA_BYTES) {
        store_le_i64(entry, extras[i].start_ns);
        store_le_i64(entry + 8, extras[i].stop_ns);
        store_le_i64(entry + 16, extras[i].launch_ns);
        store_le64(entry + 24, extras[i].thread_id);
        store_le32(entry + 32, extras[i].start_gap_ns);
        store_le32(entry + 36, extras[i].stop_gap_ns);
        store_le_i64(entry + 40, extras[i].launched_ns);
        store_le32(entry + 48, extras[i].launching_ns);
        store_le32(entry + 52, extras[i].flags);
    }
    return (uint32_t)(entry - data_out);
}

/* ---- block ----------------------------------------------------------------------------------- */

void block_header_encode(const struct rbwp_block_header *header,
                         uint8_t bytes[RBWP_BLOCK_HEADER_BYTES])
{
    fields_put(&block_header_layout, header, bytes);
}

void block_header_decode(const uint8_t bytes[RBWP_BLOCK_HEADER_BYTES],
                         struct rbwp_block_header *header_out)
{
    fields_take(&block_header_layout, bytes, header_out);
}

static bool is_letter(uint8_t byte)
{
    return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

bool block_tag_valid(const uint8_t tag[4])
{
    for (int i = 0; i < 4; i++)
        if (!is_letter(tag[i]) && (i == 0 || tag[i] < '0' || tag[i] > '9'))
            return false;
    return true;
}

void block_decoder_free(struct block_decoder *decoder)
{
    if (decoder->zlib_ready)
        inflateEnd(&decoder->zlib);
    free(decoder->inflater);
    free(decoder->data);
    *decoder = (struct block_decoder){0};
}

enum rbwp_status block_header_check(const struct block_decoder *decoder,
                                    const struct rbwp_block_header *header, uint64_t offset,
                                    struct rbwp_error *error)
{
    uint32_t data = header->data_bytes, stored = header->stored_bytes;
    struct place place = {"block", offset, RULE_BLOCK_BYTES};
    if (data > decoder->block_bytes_max || stored > decoder->block_bytes_max)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "block sizes %" PRIu32 " and %" PRIu32 " exceed the limit of %" PRIu32,
                         data, stored, decoder->block_bytes_max);
    place.rule = RULE_OPAQUE_SIZE;
    if (header->records == 0 && data < 4)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "a block without records has %" PRIu32 " bytes, too few for a tag", data);
    place.rule = RULE_RECORDS_FIT;
    if (header->records &&
        (data < UINT64_C(3) * header->records || data > UINT64_C(34) * header->records))
        return error_set(error, RBWP_E_CORRUPT, place,
                         "%" PRIu32 " records cannot make %" PRIu32 " bytes of data",
                         header->records, data);
    place.rule = RULE_EXPANSION;
    if (stored && data > (uint64_t)stored * ZLIB_EXPANSION_MAX)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "%" PRIu32 " compressed bytes cannot make %" PRIu32 " bytes of data",
                         stored, data);
    return RBWP_OK;
}

/* ---- zlib ---------------------------------------------------------------- */

static bool zlib_begin(struct block_decoder *decoder)
{
    if (!decoder->zlib_ready)
        return decoder->zlib_ready = inflateInit(&decoder->zlib) == Z_OK;
    return inflateReset(&decoder->zlib) == Z_OK;
}

static bool decoder_reserve(struct block_decoder *decoder, uint32_t bytes)
{
    if (bytes <= decoder->capacity)
        return true;
    free(decoder->data);
    decoder->data = malloc(bytes);
    decoder->capacity = decoder->data ? bytes : 0;
    return decoder->data;
}

/* Inflates the whole payload into decoder->data; R15. */
static enum rbwp_status inflate_payload(struct block_decoder *decoder, const uint8_t *payload,
                                        const struct rbwp_block *block, struct rbwp_error *error)
{
    if (!decoder->inflater)
        decoder->inflater = malloc(sizeof *decoder->inflater);
    if (!decoder->inflater || !decoder_reserve(decoder, block->header.data_bytes))
        return error_set_memory(error, "block");
    if (inflater_run(decoder->inflater, payload, block->header.stored_bytes, decoder->data,
                     block->header.data_bytes))
        return RBWP_OK;
    if (!zlib_begin(decoder))
        return error_set_memory(error, "block");
    z_stream *zlib = &decoder->zlib;
    zlib->next_in = (Bytef *)payload;
    zlib->avail_in = block->header.stored_bytes;
    zlib->next_out = decoder->data;
    zlib->avail_out = block->header.data_bytes;
    int result = inflate(zlib, Z_FINISH);
    if (result == Z_MEM_ERROR)
        return error_set_memory(error, "block");
    if (result == Z_STREAM_END && zlib->avail_in == 0 && zlib->avail_out == 0)
        return RBWP_OK;
    struct place place = {"block", block->offset, RULE_ZLIB};
    if (result == Z_STREAM_END)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "the zlib stream gives %lu bytes of %" PRIu32 " and leaves %u unused",
                         zlib->total_out, block->header.data_bytes, zlib->avail_in);
    const char *reason = zlib->msg               ? zlib->msg
                         : result == Z_NEED_DICT ? "needs a dictionary"
                         : zlib->avail_out == 0  ? "gives more data than the header says"
                                                 : "is cut";
    return error_set(error, RBWP_E_CORRUPT, place, "zlib stream: %s", reason);
}

/* ---- records ------------------------------------------------------------- */

/* One pass over the records, and what it found up to now. */
struct block_walk {
    const uint8_t *next, *end;
    int64_t time_ns, first_ns, last_ns;
    uint32_t records;
    uint8_t bad_kind;
    enum rule broken; /* 0, or RULE_RECORD_KIND, RULE_RECORD_CUT */
};

/* Goes on as long as a whole record is sure to fit, so that nothing but the kind is checked. */
static void walk_sure(struct block_walk *walk)
{
    const uint8_t *next = walk->next;
    int64_t time_ns = walk->time_ns, first_ns = walk->first_ns, last_ns = walk->last_ns;
    uint32_t records = walk->records;
    while (walk->end - next >= RBWP_RECORD_BYTES_MAX) {
        int64_t before_ns = time_ns;
        const uint8_t *kind = next + record_time(next, &time_ns);
        uint32_t body = record_body_bytes[*kind];
        if (body == 0) {
            time_ns = before_ns;
            break;
        }
        first_ns = time_ns < first_ns ? time_ns : first_ns;
        last_ns = time_ns > last_ns ? time_ns : last_ns;
        next = kind + body;
        records++;
    }
    *walk = (struct block_walk){.next = next,
                                .end = walk->end,
                                .time_ns = time_ns,
                                .first_ns = first_ns,
                                .last_ns = last_ns,
                                .records = records};
}

/* The last records, or the one that is wrong, byte by byte. */
static void walk_rest(struct block_walk *walk)
{
    while (walk->next < walk->end) {
        struct record_tail tail;
        size_t left = (size_t)(walk->end - walk->next);
        const uint8_t *bytes = walk->next;
        if (left < RBWP_RECORD_BYTES_MAX)
            bytes = record_pad(&tail, bytes, left);
        int64_t time_ns = walk->time_ns;
        uint32_t time_bytes = record_time(bytes, &time_ns);
        uint32_t body = record_body_bytes[bytes[time_bytes]];
        if (time_bytes >= left || time_bytes + body > left) {
            walk->broken = RULE_RECORD_CUT;
            return;
        }
        if (body == 0) {
            walk->broken = RULE_RECORD_KIND;
            walk->bad_kind = bytes[time_bytes];
            return;
        }
        walk->time_ns = time_ns;
        walk->first_ns = time_ns < walk->first_ns ? time_ns : walk->first_ns;
        walk->last_ns = time_ns > walk->last_ns ? time_ns : walk->last_ns;
        walk->next += time_bytes + body;
        walk->records++;
    }
}

static int64_t first_record_time(const uint8_t *data, uint32_t size)
{
    struct record_tail tail;
    int64_t time_ns = 0;
    if (size < RBWP_RECORD_BYTES_MAX)
        data = record_pad(&tail, data, size);
    record_time(data, &time_ns);
    return time_ns;
}

static bool same_time(int64_t a_ns, int64_t b_ns)
{
    return ((uint64_t)(a_ns ^ b_ns) & TIME_MASK) == 0;
}

/* R16 to R19. */
static enum rbwp_status block_check_records(struct rbwp_block *block, struct rbwp_error *error)
{
    struct block_walk walk = {.next = block->data,
                              .end = block->data + block->header.data_bytes,
                              .first_ns = INT64_MAX,
                              .last_ns = INT64_MIN};
    walk_sure(&walk);
    walk_rest(&walk);
    unsigned at = (unsigned)(walk.next - block->data);
    struct place place = {"record", block->offset, walk.broken};
    if (walk.broken == RULE_RECORD_KIND)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "record %" PRIu32 " has unknown kind 0x%02x, at byte %u of a block's data",
                         walk.records, walk.bad_kind, at);
    if (walk.broken == RULE_RECORD_CUT)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "record %" PRIu32 " at byte %u runs over the end of a block's data",
                         walk.records, at);
    place = (struct place){"block", block->offset, RULE_RECORD_COUNT};
    if (walk.records != block->header.records)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "a block says %" PRIu32 " records and has %" PRIu32, block->header.records,
                         walk.records);
    place.rule = RULE_BASE_TIME;
    int64_t begin_ns = first_record_time(block->data, block->header.data_bytes);
    if (!same_time(begin_ns, block->header.base_time_ns))
        return error_set(error, RBWP_E_CORRUPT, place,
                         "base time %" PRId64 " is not that of the first record, %" PRId64,
                         block->header.base_time_ns, begin_ns);
    block->first_ns = walk.first_ns;
    block->last_ns = walk.last_ns;
    return RBWP_OK;
}

/* R41, R42 and R43. No known tag has a capital, so a capital refuses. */
static enum rbwp_status check_opaque(struct rbwp_block *block, struct rbwp_error *error)
{
    struct place place = {"block", block->offset, RULE_OPAQUE_TAG};
    if (!block_tag_valid(block->data))
        return error_set(error, RBWP_E_CORRUPT, place,
                         "an opaque block begins with no tag but %02x %02x %02x %02x",
                         block->data[0], block->data[1], block->data[2], block->data[3]);
    place.rule = RULE_OPAQUE_REFUSE;
    if (!(block->data[0] & 0x20))
        return error_set(error, RBWP_E_VERSION, place,
                         "an opaque block \"%.4s\" must be understood and is not; a later version "
                         "of this program may read it",
                         (const char *)block->data);
    place.rule = RULE_GPU_EXTRAS;
    if (!gpu_launch_facts_check(block))
        return error_set(error, RBWP_E_CORRUPT, place,
                         "the entries of an opaque block \"gpux\" do not fill it");
    block->first_ns = block->last_ns = 0;
    return RBWP_OK;
}

enum rbwp_status block_decode(struct block_decoder *decoder, const uint8_t *payload,
                              struct rbwp_block *block, struct rbwp_error *error)
{
    block->data = payload;
    if (block->header.stored_bytes) {
        enum rbwp_status status = inflate_payload(decoder, payload, block, error);
        if (status != RBWP_OK)
            return status;
        block->data = decoder->data;
    }
    return block->header.records ? block_check_records(block, error) : check_opaque(block, error);
}

int block_begin(struct block_decoder *decoder, const struct rbwp_block_header *header,
                const uint8_t *payload, size_t count, uint8_t *begin, uint32_t want)
{
    if (want > header->data_bytes)
        want = header->data_bytes;
    if (count > block_payload_bytes(header))
        count = block_payload_bytes(header);
    if (header->stored_bytes == 0) {
        want = count < want ? (uint32_t)count : want;
        memcpy(begin, payload, want);
        return (int)want;
    }
    if (count < 2)
        return 0;
    if (load_be16(payload) % 31 || (payload[0] & 0x8f) != 0x08 || !zlib_begin(decoder))
        return -1;
    z_stream *zlib = &decoder->zlib;
    zlib->next_in = (Bytef *)payload;
    zlib->avail_in = (uInt)count;
    zlib->next_out = begin;
    zlib->avail_out = want;
    int result = inflate(zlib, Z_SYNC_FLUSH);
    bool good = result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
    return good ? (int)(want - zlib->avail_out) : -1;
}

bool block_looks_valid(struct block_decoder *decoder, const struct rbwp_block_header *header,
                       const uint8_t *payload, size_t count)
{
    uint8_t begin[8];
    uint32_t need = header->data_bytes < sizeof begin ? header->data_bytes : sizeof begin;
    int got = block_begin(decoder, header, payload, count, begin, need);
    if (got < 0)
        return false;
    if ((uint32_t)got < need)
        return count < block_payload_bytes(header);
    return same_time(first_record_time(begin, need), header->base_time_ns);
}

/* ---- for programs (rbwp_decoder.h) ----------------------------------------------------------- */

struct rbwp_decoder {
    struct block_decoder block;
};

struct rbwp_decoder *rbwp_decoder_new(uint32_t block_bytes_max)
{
    struct rbwp_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder)
        decoder->block.block_bytes_max = block_bytes_limit(block_bytes_max);
    return decoder;
}

void rbwp_decoder_free(struct rbwp_decoder *decoder)
{
    if (!decoder)
        return;
    block_decoder_free(&decoder->block);
    free(decoder);
}

void rbwp_decoder_header(const uint8_t bytes[RBWP_BLOCK_HEADER_BYTES],
                         struct rbwp_block_header *header_out)
{
    block_header_decode(bytes, header_out);
}

uint32_t rbwp_decoder_payload_bytes(const struct rbwp_decoder *decoder,
                                    const struct rbwp_block_header *header)
{
    struct rbwp_error ignored;
    bool valid = block_header_check(&decoder->block, header, 0, &ignored) == RBWP_OK;
    return valid ? block_payload_bytes(header) : 0;
}

enum rbwp_status rbwp_decoder_run(struct rbwp_decoder *decoder, const uint8_t *payload,
                                  struct rbwp_block *block)
{
    struct rbwp_error ignored;
    return block_decode(&decoder->block, payload, block, &ignored);
}
