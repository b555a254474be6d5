/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_log.h - what the log of a live file says of tables, schemas, and names by number, and of the
 * clock.
 *
 * Of tables the first word about a number counts. Bounded, whatever the log has in it.
 */
#ifndef LIVE_LOG_H
#define LIVE_LOG_H

#include "rbwp_table.h"

#define LIVE_NAMES_MAX (1u << 20)
#define LIVE_TABLE_NAME_BYTES_MAX (32u << 20) /* of all of them */
#define LIVE_SCHEMA_BYTES_MAX (16u << 20)     /* the same */

/* Zeros are a valid start. */
struct live_tables {
    struct rbwp_schema **schemas;
    uint32_t schema_count, schema_room;
    struct rbwp_text *names; /* by number - 1; text is NULL where none is known */
    uint32_t name_count, name_room;
    uint64_t schema_bytes, name_bytes;
};
void live_tables_free(struct live_tables *tables);

/* Payload of an entry. RBWP_OK, RBWP_E_CORRUPT (cannot be), RBWP_E_LIMIT, RBWP_E_MEMORY. */
enum rbwp_status live_tables_schema(struct live_tables *tables, const uint8_t *payload,
                                    size_t count);
enum rbwp_status live_tables_name(struct live_tables *tables, const uint8_t *payload, size_t count);

/* NULL: not known. */
const struct rbwp_schema *live_tables_find(const struct live_tables *tables, uint32_t table);

/* Ticks into times, from the samples that a live file has.
 *
 * Between two samples the line is straight. Behind the last one it goes on at
 * the rate of all samples together: the longest base gives the best rate. */

#define LIVE_SAMPLES_MAX 4096u

struct live_clock {
    struct rbwp_clock_sample *samples; /* LIVE_SAMPLES_MAX of them, ascending in both */
    uint32_t count;
    double ns_per_tick; /* by the head's word; used where samples do not say */
};

/* RBWP_E_MEMORY. ticks_per_second 0: not known, a tick is taken for a nanosecond. */
enum rbwp_status live_clock_init(struct live_clock *clock, uint64_t ticks_per_second);
void live_clock_free(struct live_clock *clock);

/* Takes a sample; one that is not behind the last is dropped. */
void live_clock_add(struct live_clock *clock, const struct rbwp_clock_sample *sample);

/* Any ticks, from 0 to 2^62 - 1 ns. There must be a sample. */
int64_t live_clock_ns(const struct live_clock *clock, uint64_t ticks);

#endif /* LIVE_LOG_H */
