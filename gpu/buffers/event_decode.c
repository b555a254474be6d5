/* SPDX-License-Identifier: Apache-2.0 */
/* Device events out of their arrays, with times in nanoseconds on the ranks' common clock. */
#include "rbwp_events.h"
#include "bytes.h"
#include "refuse.h"
#include "sized.h"
#include "ticks.h"

#define BATCH 256u

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

static enum rbwp_status take_own(struct rbwp_events_source *own,
                                 const struct rbwp_events_source *source, struct rbwp_error *error)
{
    enum rbwp_status status = sized_take(own, sizeof *own, source, "rbwp_events_source", error);
    if (status != RBWP_OK)
        return status;
    if (!own->clock_hz)
        own->clock_hz = TICKS_NS_HZ;
    if (own->clock_hz > TICKS_HZ_MAX)
        return refuse(error, RBWP_E_INVALID, "events: a clock of %llu Hz",
                      (unsigned long long)own->clock_hz);
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        if (own->max_events && !own->columns[i])
            return refuse(error, RBWP_E_INVALID, "events: no array %s", rbwp_events_column_name(i));
    return RBWP_OK;
}

enum rbwp_status rbwp_events_decode_sized(const struct rbwp_events_source *source,
                                          rbwp_device_events_fn take, void *context,
                                          struct rbwp_events_stats *stats_out, size_t stats_bytes,
                                          struct rbwp_error *error)
{
    struct rbwp_events_source own;
    struct rbwp_events_stats stats = {0};
    struct rbwp_device_event batch[BATCH];
    enum rbwp_status status = take_own(&own, source, error);
    uint64_t slot = 0, slots = 0;
    size_t count = 0;
    if (status == RBWP_OK) {
        slots = own.counter < own.max_events ? own.counter : own.max_events;
        stats.counted = own.counter;
        stats.dropped = own.counter - slots;
    }
    while (next_event(&own, slots, &slot, &stats, &batch[count])) {
        if (++count < BATCH)
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
