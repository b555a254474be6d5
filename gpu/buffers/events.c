/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device events out of their arrays, with times in nanoseconds on the ranks' common clock; what
 * kernels find the arrays by, and how they are kept in a file.
 */
#include "bytes.h"
#include "failure.h"
#include "rbwp_events.h"
#include "ticks.h"

#include <stdio.h>
#include <string.h>

#define EVENTS_BATCH 256u

static int32_t narrow_at(const struct rbwp_events_source *source, unsigned column, uint64_t slot)
{
    return (int32_t)load_le32((const uint8_t *)source->columns[column] + slot * 4);
}

static int64_t wide_at(const struct rbwp_events_source *source, unsigned column, uint64_t slot)
{
    return load_le_i64((const uint8_t *)source->columns[column] + slot * 8);
}

/* Saturates. */
static int64_t common_ns(const struct rbwp_events_source *source, int64_t ticks)
{
    int64_t ns = ticks_ns(ticks, source->clock_hz), drifted_ns = 0, since_ns;
    if (source->drift_ppb &&
        !__builtin_sub_overflow(ns, ticks_ns(source->drift_from_ticks, source->clock_hz),
                                &since_ns))
        drifted_ns = ticks_drifted_ns(since_ns, source->drift_ppb);
    if (__builtin_sub_overflow(ns, source->offset_ns, &ns) ||
        __builtin_sub_overflow(ns, drifted_ns, &ns))
        return ns < 0 ? INT64_MAX : INT64_MIN;
    return ns;
}

/* 0 is no end, also behind a start of less. */
static bool has_length(const struct rbwp_device_event *event)
{
    return event->stop_ticks != 0 && event->stop_ticks > event->start_ticks;
}

static struct rbwp_device_event event_at(const struct rbwp_events_source *source, uint64_t slot)
{
    struct rbwp_device_event event = {
        .start_ticks = wide_at(source, RBWP_EVENTS_TIMESTAMP, slot),
        .stop_ticks = wide_at(source, RBWP_EVENTS_END, slot),
        .address = wide_at(source, RBWP_EVENTS_ADDRESS, slot),
        .id = narrow_at(source, RBWP_EVENTS_EVENT_ID, slot),
        .program = narrow_at(source, RBWP_EVENTS_PID, slot),
        .pid_m = narrow_at(source, RBWP_EVENTS_PID_M, slot),
        .pid_n = narrow_at(source, RBWP_EVENTS_PID_N, slot),
        .rank = narrow_at(source, RBWP_EVENTS_CUR_RANK, slot),
        .target_rank = narrow_at(source, RBWP_EVENTS_TARGET_RANK, slot),
        .xcc = narrow_at(source, RBWP_EVENTS_XCC_ID, slot),
        .cu = narrow_at(source, RBWP_EVENTS_CU_ID, slot),
        .op = narrow_at(source, RBWP_EVENTS_OP_INDEX, slot),
        .bytes = narrow_at(source, RBWP_EVENTS_PAYLOAD_SIZE, slot),
    };
    event.start_ns = event.stop_ns = common_ns(source, event.start_ticks);
    if (has_length(&event))
        event.stop_ns = common_ns(source, event.stop_ticks);
    if (event.stop_ns < event.start_ns)
        event.stop_ns = event.start_ns;
    return event;
}

static void count_event(const struct rbwp_events_source *source,
                        const struct rbwp_device_event *event, struct rbwp_events_stats *stats)
{
    bool first = !stats->events++;
    stats->spans += has_length(event);
    stats->unended += event->stop_ticks == 0;
    stats->backwards += event->stop_ticks != 0 && event->stop_ticks < event->start_ticks;
    stats->other_rank += source->rank >= 0 && event->rank != source->rank;
    stats->bad_bytes += event->bytes < 0 || event->xcc < 0 || event->cu < 0;
    stats->first_ns =
        first || event->start_ns < stats->first_ns ? event->start_ns : stats->first_ns;
    stats->last_ns = first || event->stop_ns > stats->last_ns ? event->stop_ns : stats->last_ns;
}

/* The first slot from *slot on that has an event, into *event. False: there is none. */
static bool next_event(const struct rbwp_events_source *source, uint64_t slots, uint64_t *slot,
                       struct rbwp_events_stats *stats, struct rbwp_device_event *event)
{
    for (; *slot < slots; ++*slot) {
        if (narrow_at(source, RBWP_EVENTS_EVENT_ID, *slot) == RBWP_EVENTS_UNUSED) {
            stats->unused++;
            continue;
        }
        if (wide_at(source, RBWP_EVENTS_TIMESTAMP, *slot) == 0) {
            stats->unwritten++;
            continue;
        }
        *event = event_at(source, (*slot)++);
        count_event(source, event, stats);
        return true;
    }
    return false;
}

static enum rbwp_status events_take_own(struct rbwp_events_source *own,
                                        const struct rbwp_events_source *source,
                                        struct rbwp_error *error)
{
    enum rbwp_status status = sized_take(own, sizeof *own, source, "rbwp_events_source", error);
    if (status != RBWP_OK)
        return status;
    if (!own->clock_hz)
        own->clock_hz = TICKS_NS_HZ;
    if (own->clock_hz > TICKS_HZ_MAX)
        return failure(error, RBWP_E_INVALID, 0, "events: a clock of %llu Hz",
                       (unsigned long long)own->clock_hz);
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        if (own->max_events && !own->columns[i])
            return failure(error, RBWP_E_INVALID, 0, "events: no array %s",
                           rbwp_events_column_name(i));
    return RBWP_OK;
}

enum rbwp_status rbwp_events_decode_sized(const struct rbwp_events_source *source,
                                          rbwp_device_events_fn take, void *context,
                                          struct rbwp_events_stats *stats_out, size_t stats_bytes,
                                          struct rbwp_error *error)
{
    struct rbwp_events_source own;
    struct rbwp_events_stats stats = {0};
    struct rbwp_device_event batch[EVENTS_BATCH];
    enum rbwp_status status = events_take_own(&own, source, error);
    uint64_t slot = 0, slots = 0;
    size_t count = 0;
    if (status == RBWP_OK) {
        slots = own.counter < own.max_events ? own.counter : own.max_events;
        stats.counted = own.counter;
        stats.dropped = own.counter - slots;
    }
    while (next_event(&own, slots, &slot, &stats, &batch[count])) {
        if (++count < EVENTS_BATCH)
            continue;
        if (take && !take(context, batch, count))
            status = RBWP_END;
        count = 0;
        if (status != RBWP_OK)
            break;
    }
    if (status == RBWP_OK && count && take && !take(context, batch, count))
        status = RBWP_END;
    sized_give(stats_out, stats_bytes, &stats, sizeof stats);
    return status;
}

/* ---- the context by which a kernel finds its buffers ----------------------------------------- */

/* Behind the ranks' heaps. */
enum { FLAG = 2, MAX_EVENTS = 3, COUNTER = 4, OP_COUNTER = 5, COLUMNS = 6 };

enum rbwp_status rbwp_events_encode_context(const struct rbwp_events_context *context,
                                            int64_t *words, size_t room, struct rbwp_error *error)
{
    struct rbwp_events_context own;
    enum rbwp_status status = sized_take(&own, sizeof own, context, "rbwp_events_context", error);
    if (status != RBWP_OK)
        return status;
    if (!own.ranks || own.ranks > RBWP_EVENTS_RANKS_MAX || own.rank >= own.ranks)
        return failure(error, RBWP_E_INVALID, 0, "context: rank %u of %u", own.rank, own.ranks);
    if (own.max_events < 0 || own.max_events > INT32_MAX)
        return failure(error, RBWP_E_INVALID, 0, "context: %lld events", (long long)own.max_events);
    if (room < RBWP_EVENTS_CONTEXT_WORDS(own.ranks))
        return failure(error, RBWP_E_LIMIT, 0,
                       "context: %u ranks need %u words, there is room for %zu", own.ranks,
                       RBWP_EVENTS_CONTEXT_WORDS(own.ranks), room);
    memset(words, 0, RBWP_EVENTS_CONTEXT_WORDS(own.ranks) * sizeof *words);
    words[0] = own.rank;
    words[1] = own.ranks;
    if (own.heaps)
        memcpy(words + FLAG, own.heaps, own.ranks * sizeof *words);
    if (!own.enabled)
        return RBWP_OK;
    int64_t *behind = words + own.ranks;
    behind[FLAG] = 1;
    behind[MAX_EVENTS] = own.max_events;
    behind[COUNTER] = (int64_t)own.counter;
    behind[OP_COUNTER] = (int64_t)own.op_counter;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        behind[COLUMNS + i] = (int64_t)own.columns[i];
    return RBWP_OK;
}

enum rbwp_status rbwp_events_decode_context(const int64_t *words, size_t count,
                                            struct rbwp_events_context *context_out,
                                            struct rbwp_error *error)
{
    struct rbwp_events_context own = {.size = context_out->size};
    if (count < 3)
        return failure(error, RBWP_E_TRUNCATED, 0, "context: %zu words", count);
    if (words[1] < 1 || words[1] > RBWP_EVENTS_RANKS_MAX || words[0] < 0 || words[0] >= words[1])
        return failure(error, RBWP_E_CORRUPT, 0, "context: rank %lld of %lld", (long long)words[0],
                       (long long)words[1]);
    own.rank = (uint32_t)words[0];
    own.ranks = (uint32_t)words[1];
    own.heaps = words + FLAG;
    if (count < RBWP_EVENTS_SHORT_CONTEXT_WORDS(own.ranks))
        return failure(error, RBWP_E_TRUNCATED, 0, "context: %zu words are too few for %u ranks",
                       count, own.ranks);
    const int64_t *behind = words + own.ranks;
    own.enabled = behind[FLAG] != 0;
    if (own.enabled && count < RBWP_EVENTS_CONTEXT_WORDS(own.ranks))
        return failure(error, RBWP_E_TRUNCATED, 0,
                       "context: events are on, but %zu words are too few for %u ranks", count,
                       own.ranks);
    if (own.enabled) {
        if (behind[MAX_EVENTS] < 0 || behind[MAX_EVENTS] > INT32_MAX)
            return failure(error, RBWP_E_CORRUPT, 0, "context: %lld events",
                           (long long)behind[MAX_EVENTS]);
        own.max_events = behind[MAX_EVENTS];
        own.counter = (uint64_t)behind[COUNTER];
        own.op_counter = (uint64_t)behind[OP_COUNTER];
        for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
            own.columns[i] = (uint64_t)behind[COLUMNS + i];
    }
    sized_give(context_out, own.size, &own, sizeof own);
    return RBWP_OK;
}

/* ---- a rank's events as a file: a header, and the arrays one after another ------------------ */

enum rbwp_status rbwp_events_encode_dump(const struct rbwp_events_dump *dump,
                                         uint8_t header[RBWP_EVENTS_DUMP_HEADER_BYTES],
                                         struct rbwp_error *error)
{
    struct rbwp_events_dump own;
    enum rbwp_status status = sized_take(&own, sizeof own, dump, "rbwp_events_dump", error);
    if (status != RBWP_OK)
        return status;
    if (!own.ranks || own.rank >= own.ranks || own.clock_hz > TICKS_HZ_MAX)
        return failure(error, RBWP_E_INVALID, 0, "dump: rank %u of %u, a clock of %llu Hz",
                       own.rank, own.ranks, (unsigned long long)own.clock_hz);
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

static enum rbwp_status events_read_header(struct rbwp_events_dump *dump, const uint8_t *bytes,
                                           size_t count, struct rbwp_error *error)
{
    if (count < 8 || memcmp(bytes, RBWP_EVENTS_DUMP_MAGIC, 8) != 0)
        return failure(error, RBWP_E_NOT_RBWP, 0,
                       "dump: does not begin with " RBWP_EVENTS_DUMP_MAGIC);
    if (count < RBWP_EVENTS_DUMP_HEADER_BYTES)
        return failure(error, RBWP_E_TRUNCATED, 0, "dump: cut inside its header");
    if (load_le32(bytes + 8) != 1 || load_le32(bytes + 12) != RBWP_EVENTS_DUMP_HEADER_BYTES)
        return failure(error, RBWP_E_VERSION, 0,
                       "dump: version %u, made by a later one, or damaged", load_le32(bytes + 8));
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
        return failure(error, RBWP_E_CORRUPT, 0,
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
    enum rbwp_status status = events_read_header(&dump, bytes, count, error);
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

/* ---- what arrays and ids are called ---------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned bytes;
} columns[RBWP_EVENTS_COLUMNS] = {
    {"event_id", 4},        {"pid", 4},      {"pid_m", 4},        {"pid_n", 4},     {"cur_rank", 4},
    {"target_rank", 4},     {"xcc_id", 4},   {"cu_id", 4},        {"timestamp", 8}, {"address", 8},
    {"duration_cycles", 8}, {"op_index", 4}, {"payload_size", 4},
};

static const struct {
    int32_t id;
    const char *name;
} names[] = {
    {0, "load"},        {1, "store"},       {2, "get"},         {3, "put"},
    {4, "copy"},        {5, "atomic_add"},  {6, "atomic_sub"},  {7, "atomic_cas"},
    {8, "atomic_xchg"}, {9, "atomic_xor"},  {10, "atomic_and"}, {11, "atomic_or"},
    {12, "atomic_min"}, {13, "atomic_max"}, {1024, "fetch"},    {2048, "compute"},
    {2049, "reduce"},   {3072, "wait"},     {3073, "barrier"},
};

const char *rbwp_events_column_name(unsigned column)
{
    return column < RBWP_EVENTS_COLUMNS ? columns[column].name : NULL;
}

unsigned rbwp_events_column_bytes(unsigned column)
{
    return column < RBWP_EVENTS_COLUMNS ? columns[column].bytes : 0;
}

const char *rbwp_events_name(int32_t id)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].id == id)
            return names[i].name;
    return NULL;
}

const char *rbwp_events_name_of(int32_t id, char text[RBWP_EVENTS_NAME_BYTES])
{
    const char *name = rbwp_events_name(id);
    if (name)
        return name;
    snprintf(text, RBWP_EVENTS_NAME_BYTES, "unknown_%d", (int)id);
    return text;
}
