/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of device events: in one piece of memory the two counters, side by side as one addition
 * can raise both, the context, and the arrays. What is not above the counter is stale after a
 * reset, which is safe as nobody looks there.
 */
#include "bytes.h"
#include "device_memory.h"
#include "gpu_backend.h"
#include "kernel_tables.h"
#include "rbwp_rows.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_EVENTS = 1000000, ALIGNMENT = 256, CONTEXT_AT = 64, COUNTERS_BYTES = 8 };

struct rbwp_device_events {
    struct rbwp_gpu_device *device;
    struct device_memory memory;
    uint32_t max_events, rank, ranks;
    uint64_t context_bytes;
    uint64_t columns[RBWP_EVENTS_COLUMNS]; /* offsets in the memory */
    uint64_t bytes;
    struct device_names names;
    unsigned table;
};

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void lay_out(struct rbwp_device_events *events)
{
    uint64_t at = CONTEXT_AT + events->context_bytes;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        events->columns[i] = aligned(at);
        at = events->columns[i] + (uint64_t)events->max_events * rbwp_events_column_bytes(i);
    }
    events->bytes = aligned(at);
}

/* ---- making ------------------------------------------------------------------- */

/* Into the host's copy. */
static enum rbwp_status make_context(struct rbwp_device_events *events, const int64_t *heaps,
                                     struct rbwp_error *error)
{
    uint64_t base = (uint64_t)(uintptr_t)events->memory.memory.native;
    struct rbwp_events_context context = {.size = sizeof context,
                                          .rank = events->rank,
                                          .ranks = events->ranks,
                                          .heaps = heaps,
                                          .max_events = events->max_events,
                                          .counter = base,
                                          .op_counter = base + 4,
                                          .enabled = true};
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        context.columns[i] = base + events->columns[i];
    int64_t *words = (int64_t *)(void *)((char *)events->memory.host + CONTEXT_AT);
    const size_t count = (size_t)events->context_bytes / 8;
    enum rbwp_status status = rbwp_events_encode_context(&context, words, count, error);
    for (size_t i = 0; i < count && status == RBWP_OK; i++)
        store_le_i64(&words[i], words[i]);
    return status;
}

static enum rbwp_status set_up(struct rbwp_device_events *events,
                               const struct rbwp_device_events_config *config,
                               struct rbwp_error *error)
{
    struct rbwp_device_events_config own;
    enum rbwp_status status =
        sized_take(&own, sizeof own, config, "rbwp_device_events_config", error);
    if (status != RBWP_OK)
        return status;
    events->max_events = own.max_events ? own.max_events : DEFAULT_EVENTS;
    events->rank = own.rank;
    events->ranks = own.ranks ? own.ranks : 1;
    if (events->ranks > RBWP_EVENTS_RANKS_MAX || events->rank >= events->ranks ||
        events->max_events > INT32_MAX)
        return gpu_failure(error, RBWP_E_INVALID, "events: rank %u of %u, %u events", events->rank,
                           events->ranks, events->max_events);
    events->context_bytes = 8 * (uint64_t)RBWP_EVENTS_CONTEXT_WORDS(events->ranks);
    lay_out(events);
    status = device_names_add(&events->names, own.names, own.name_count, error);
    if (status == RBWP_OK)
        status = rbwp_table_register(&kernel_event_schema, &events->table);
    if (status == RBWP_OK)
        status = device_memory_new(&events->memory, events->device, events->bytes, error);
    if (status == RBWP_OK)
        status = make_context(events, own.heaps, error);
    if (status == RBWP_OK)
        status = device_memory_write(&events->memory, 0, CONTEXT_AT + events->context_bytes, error);
    return status;
}

enum rbwp_status rbwp_device_events_new(struct rbwp_gpu_device *device,
                                        const struct rbwp_device_events_config *config,
                                        struct rbwp_device_events **events_out,
                                        struct rbwp_error *error)
{
    struct rbwp_device_events *events = calloc(1, sizeof *events);
    *events_out = NULL;
    if (!events)
        return gpu_failure(error, RBWP_E_MEMORY, "no memory for device events");
    events->device = device;
    enum rbwp_status status = set_up(events, config, error);
    if (status == RBWP_OK)
        *events_out = events;
    else
        rbwp_device_events_free(events);
    return status;
}

void rbwp_device_events_free(struct rbwp_device_events *events)
{
    if (!events)
        return;
    device_memory_free(&events->memory);
    device_names_free(&events->names);
    free(events);
}

/* ---- there and back --------------------------------------------------------------- */

struct rbwp_device_memory rbwp_device_events_context(const struct rbwp_device_events *events)
{
    return (struct rbwp_device_memory){(char *)events->memory.memory.native + CONTEXT_AT,
                                       events->context_bytes};
}

/* A word of the context, in the host's copy. */
static void put_word(struct rbwp_device_events *events, uint64_t offset_bytes, int64_t value)
{
    store_le_i64((char *)events->memory.host + offset_bytes, value);
}

enum rbwp_status rbwp_device_events_enable(struct rbwp_device_events *events, bool on,
                                           struct rbwp_error *error)
{
    uint64_t flag = CONTEXT_AT + 8 * (2 + (uint64_t)events->ranks);
    put_word(events, flag, on);
    return device_memory_write(&events->memory, flag, 8, error);
}

enum rbwp_status rbwp_device_events_reset(struct rbwp_device_events *events,
                                          struct rbwp_error *error)
{
    put_word(events, 0, 0);
    return device_memory_write(&events->memory, 0, COUNTERS_BYTES, error);
}

enum rbwp_status rbwp_device_events_read(struct rbwp_device_events *events,
                                         struct rbwp_gpu_stream *stream, struct rbwp_error *error)
{
    return device_memory_read(&events->memory, 0, events->bytes, stream, error);
}

static uint32_t counter(const struct rbwp_device_events *events, size_t offset_bytes)
{
    return load_le32((const char *)events->memory.host + offset_bytes);
}

void rbwp_device_events_source(const struct rbwp_device_events *events,
                               const struct rbwp_device_clock *clock,
                               struct rbwp_events_source *source_out)
{
    struct rbwp_device_clock_line line = {.size = sizeof line};
    struct rbwp_events_source source = {.size = source_out->size,
                                        .max_events = events->max_events,
                                        .counter = counter(events, 0),
                                        .rank = (int32_t)events->rank};
    if (clock)
        rbwp_device_clock_get(clock, &line);
    source.clock_hz = line.hz;
    source.offset_ns = line.offset_ns;
    source.drift_ppb = line.drift_ppb;
    source.drift_from_ticks = line.from_ticks;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        source.columns[i] = (const char *)events->memory.host + events->columns[i];
    sized_give(source_out, source.size, &source, sizeof source);
}

void rbwp_device_events_dump(const struct rbwp_device_events *events,
                             const struct rbwp_device_clock *clock,
                             struct rbwp_events_dump *dump_out)
{
    struct rbwp_device_clock_line line = {.size = sizeof line};
    uint32_t counted = counter(events, 0);
    struct rbwp_events_dump dump = {.size = dump_out->size,
                                    .rank = events->rank,
                                    .ranks = events->ranks,
                                    .max_events = events->max_events,
                                    .counter = counted,
                                    .op_counter = counter(events, 4),
                                    .stored = counted < events->max_events ? counted
                                                                           : events->max_events};
    if (clock)
        rbwp_device_clock_get(clock, &line);
    dump.clock_hz = line.hz;
    dump.offset_ns = line.monotonic_offset_ns;
    dump.offset_bound_ns = line.bound_ns;
    dump.drift_ppb = line.drift_ppb;
    dump.drift_from_ticks = line.from_ticks;
    sized_give(dump_out, dump.size, &dump, sizeof dump);
}

/* ---- into the file ------------------------------------------------------------------ */

struct device_events_recording {
    struct rbwp_device_events *events;
    struct kernel_place place;
};

static bool device_events_take(void *context, const struct rbwp_device_event *list, size_t count)
{
    struct device_events_recording *recording = context;
    struct rbwp_device_events *events = recording->events;
    uint64_t cells[COLUMNS_device_event];
    char text[RBWP_EVENTS_NAME_BYTES];
    for (size_t i = 0; i < count; i++) {
        uint64_t name = device_names_find(&events->names, list[i].id);
        if (!name)
            name = device_names_number(&events->names, list[i].id,
                                       rbwp_events_name_of(list[i].id, text));
        kernel_event_cells(&recording->place, &list[i], name, cells);
        rbwp_row_add(events->table, cells);
    }
    return true;
}

enum rbwp_status rbwp_device_events_record_sized(struct rbwp_device_events *events,
                                                 const struct rbwp_device_clock *clock,
                                                 uint64_t launch,
                                                 struct rbwp_events_stats *stats_out,
                                                 size_t stats_bytes, struct rbwp_error *error)
{
    struct rbwp_device_clock_line line = {.size = sizeof line};
    struct rbwp_events_source source = {.size = sizeof source};
    struct rbwp_gpu_facts facts;
    rbwp_device_clock_get(clock, &line);
    rbwp_gpu_device_facts(events->device, &facts);
    rbwp_device_events_source(events, clock, &source);
    struct device_events_recording recording = {
        events, {.processor = facts.proc_id, .launch = launch, .bound_ns = line.bound_ns}};
    return rbwp_events_decode_sized(&source, device_events_take, &recording, stats_out, stats_bytes,
                                    error);
}
