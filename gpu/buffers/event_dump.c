/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's events as a file: a header, and the arrays one after another. */
#include "rbwp_events.h"
#include "bytes.h"
#include "refuse.h"
#include "sized.h"
#include "ticks.h"

enum rbwp_status rbwp_events_encode_dump(const struct rbwp_events_dump *dump,
                                         uint8_t header[RBWP_EVENTS_DUMP_HEADER_BYTES],
                                         struct rbwp_error *error)
{
    struct rbwp_events_dump own;
    enum rbwp_status status = sized_take(&own, sizeof own, dump, "rbwp_events_dump", error);
    if (status != RBWP_OK)
        return status;
    if (!own.ranks || own.rank >= own.ranks || own.clock_hz > TICKS_HZ_MAX)
        return refuse(error, RBWP_E_INVALID, "dump: rank %u of %u, a clock of %llu Hz", own.rank,
                      own.ranks, (unsigned long long)own.clock_hz);
    memset(header, 0, RBWP_EVENTS_DUMP_HEADER_BYTES);
    memcpy(header, RBWP_EVENTS_DUMP_MAGIC, 8);
    store_le32(header + 8, 1);
    store_le32(header + 12, RBWP_EVENTS_DUMP_HEADER_BYTES);
    store_le32(header + 16, own.rank);
    store_le32(header + 20, own.ranks);
    store_le64(header + 24, own.max_events);
    store_le32(header + 32, own.counter);
    store_le32(header + 36, own.op_counter);
    store_le64(header + 40, own.stored);
    store_le64(header + 48, own.clock_hz ? own.clock_hz : TICKS_NS_HZ);
    store_le_i64(header + 56, own.offset_ns);
    store_le64(header + 64, own.offset_bound_ns);
    store_le_i64(header + 72, own.drift_ppb);
    store_le_i64(header + 80, own.drift_from_ticks);
    return RBWP_OK;
}

static enum rbwp_status read_header(struct rbwp_events_dump *dump, const uint8_t *bytes,
                                    size_t count, struct rbwp_error *error)
{
    if (count < 8 || memcmp(bytes, RBWP_EVENTS_DUMP_MAGIC, 8) != 0)
        return refuse(error, RBWP_E_NOT_RBWP, "dump: does not begin with " RBWP_EVENTS_DUMP_MAGIC);
    if (count < RBWP_EVENTS_DUMP_HEADER_BYTES)
        return refuse(error, RBWP_E_TRUNCATED, "dump: cut inside its header");
    if (load_le32(bytes + 8) != 1 || load_le32(bytes + 12) != RBWP_EVENTS_DUMP_HEADER_BYTES)
        return refuse(error, RBWP_E_VERSION, "dump: version %u, made by a later one, or damaged",
                      load_le32(bytes + 8));
    dump->rank = load_le32(bytes + 16);
    dump->ranks = load_le32(bytes + 20);
    dump->max_events = load_le64(bytes + 24);
    dump->counter = load_le32(bytes + 32);
    dump->op_counter = load_le32(bytes + 36);
    dump->stored = load_le64(bytes + 40);
    dump->clock_hz = load_le64(bytes + 48);
    dump->offset_ns = load_le_i64(bytes + 56);
    dump->offset_bound_ns = load_le64(bytes + 64);
    dump->drift_ppb = load_le_i64(bytes + 72);
    dump->drift_from_ticks = load_le_i64(bytes + 80);
    if (dump->rank >= dump->ranks || dump->stored > dump->max_events || !dump->clock_hz ||
        dump->clock_hz > TICKS_HZ_MAX || dump->ranks > INT32_MAX ||
        dump->max_events > UINT64_MAX / RBWP_EVENTS_BYTES)
        return refuse(error, RBWP_E_CORRUPT,
                      "dump: rank %u of %u, %llu of %llu events, a clock of %llu Hz", dump->rank,
                      dump->ranks, (unsigned long long)dump->stored,
                      (unsigned long long)dump->max_events, (unsigned long long)dump->clock_hz);
    return RBWP_OK;
}

/* Points to the arrays, of which there may be a part. */
static void find_columns(struct rbwp_events_source *source, const uint8_t *arrays, size_t bytes,
                         uint64_t stored)
{
    uint64_t at = 0;
    source->max_events = stored;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        uint64_t cell_bytes = rbwp_events_column_bytes(i);
        uint64_t there = at < bytes ? (bytes - at) / cell_bytes : 0;
        source->columns[i] = arrays + (at < bytes ? at : bytes);
        source->max_events = there < source->max_events ? there : source->max_events;
        at += stored * cell_bytes;
    }
}

enum rbwp_status rbwp_events_decode_dump(const void *bytes, size_t count,
                                         struct rbwp_events_dump *dump_out,
                                         struct rbwp_events_source *source_out,
                                         struct rbwp_error *error)
{
    struct rbwp_events_dump dump = {.size = dump_out->size};
    struct rbwp_events_source source = {.size = source_out->size};
    enum rbwp_status status = read_header(&dump, bytes, count, error);
    if (status != RBWP_OK)
        return status;
    find_columns(&source, (const uint8_t *)bytes + RBWP_EVENTS_DUMP_HEADER_BYTES,
                 count - RBWP_EVENTS_DUMP_HEADER_BYTES, dump.stored);
    source.counter = dump.counter;
    source.rank = (int32_t)dump.rank;
    source.clock_hz = dump.clock_hz;
    source.offset_ns = dump.offset_ns;
    source.drift_ppb = dump.drift_ppb;
    source.drift_from_ticks = dump.drift_from_ticks;
    sized_give(dump_out, dump.size, &dump, sizeof dump);
    sized_give(source_out, source.size, &source, sizeof source);
    return RBWP_OK;
}
