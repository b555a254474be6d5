/* SPDX-License-Identifier: Apache-2.0 */
#include "live_log.h"

#include "grow.h"
#include "rules.h"
#include "table_schema.h"

#include <stdlib.h>
#include <string.h>

void live_tables_free(struct live_tables *tables)
{
    for (uint32_t i = 0; i < tables->schema_count; i++)
        free(tables->schemas[i]);
    for (uint32_t i = 0; i < tables->name_count; i++)
        free((char *)(uintptr_t)tables->names[i].text);
    free(tables->schemas);
    free(tables->names);
    *tables = (struct live_tables){0};
}

const struct rbwp_schema *live_tables_find(const struct live_tables *tables, uint32_t table)
{
    for (uint32_t i = 0; i < tables->schema_count; i++)
        if (tables->schemas[i]->table == table)
            return tables->schemas[i];
    return NULL;
}

static enum rbwp_status keep_schema(struct live_tables *tables, const struct rbwp_schema *schema)
{
    if (!grow_array32(&tables->schemas, &tables->schema_room, tables->schema_count + 1,
                      sizeof(struct rbwp_schema *)))
        return RBWP_E_MEMORY;
    struct rbwp_schema *own = schema_copy(schema);
    if (!own)
        return RBWP_E_MEMORY;
    tables->schemas[tables->schema_count++] = own;
    return RBWP_OK;
}

enum rbwp_status live_tables_schema(struct live_tables *tables, const uint8_t *payload,
                                    size_t count)
{
    bool memory;
    struct rbwp_schema *schema = schema_decode(payload, count, &memory);
    if (!schema)
        return memory ? RBWP_E_MEMORY : RBWP_E_CORRUPT;
    enum rbwp_status status = RBWP_OK;
    bool known = live_tables_find(tables, schema->table);
    if (!known && count > LIVE_SCHEMA_BYTES_MAX - tables->schema_bytes)
        status = RBWP_E_LIMIT;
    else if (!known)
        status = keep_schema(tables, schema);
    if (!known && status == RBWP_OK)
        tables->schema_bytes += count;
    free(schema);
    return status;
}

/* Room for a name of this number; those below it that never came are not known. */
static bool live_tables_reach(struct live_tables *tables, uint32_t number)
{
    if (!grow_array32(&tables->names, &tables->name_room, number, sizeof *tables->names))
        return false;
    for (; tables->name_count < number; tables->name_count++)
        tables->names[tables->name_count] = (struct rbwp_text){0};
    return true;
}

enum rbwp_status live_tables_name(struct live_tables *tables, const uint8_t *payload, size_t count)
{
    uint32_t number;
    if (count < sizeof number || count > sizeof number + RBWP_NAME_BYTES_MAX)
        return RBWP_E_CORRUPT;
    memcpy(&number, payload, sizeof number);
    size_t bytes = count - sizeof number;
    if (number < 1)
        return RBWP_E_CORRUPT;
    if (number <= tables->name_count && tables->names[number - 1].text)
        return RBWP_OK; /* said twice */
    if (number > LIVE_NAMES_MAX || bytes > LIVE_TABLE_NAME_BYTES_MAX - tables->name_bytes)
        return RBWP_E_LIMIT;
    char *text = malloc(bytes + 1);
    if (!text || !live_tables_reach(tables, number)) {
        free(text);
        return RBWP_E_MEMORY;
    }
    memcpy(text, payload + sizeof number, bytes);
    tables->names[number - 1] = (struct rbwp_text){text, (uint32_t)bytes};
    tables->name_bytes += bytes;
    return RBWP_OK;
}

/* Bounded as the runtime's own line: when full, it is thinned. */

#define NS_MOST 1e18 /* from a sample, 31 years: ticks of a clock gone wild do no harm */

enum rbwp_status live_clock_init(struct live_clock *clock, uint64_t ticks_per_second)
{
    *clock = (struct live_clock){.ns_per_tick = 1};
    if (ticks_per_second)
        clock->ns_per_tick = 1e9 / (double)ticks_per_second;
    clock->samples = calloc(LIVE_SAMPLES_MAX, sizeof *clock->samples);
    return clock->samples ? RBWP_OK : RBWP_E_MEMORY;
}

void live_clock_free(struct live_clock *clock)
{
    free(clock->samples);
    *clock = (struct live_clock){0};
}

static bool possible(int64_t time_ns)
{
    return time_ns >= 0 && (uint64_t)time_ns <= TIME_MASK;
}

/* Every second sample goes, but for the first. */
static void thin_out(struct live_clock *clock)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < clock->count; i += 2)
        clock->samples[kept++] = clock->samples[i];
    clock->count = kept;
}

void live_clock_add(struct live_clock *clock, const struct rbwp_clock_sample *sample)
{
    const struct rbwp_clock_sample *last = clock->count ? &clock->samples[clock->count - 1] : NULL;
    if (!possible(sample->time_ns) ||
        (last && (sample->ticks <= last->ticks || sample->time_ns < last->time_ns)))
        return;
    if (clock->count == LIVE_SAMPLES_MAX)
        thin_out(clock);
    clock->samples[clock->count++] = *sample;
}

static double rate(const struct rbwp_clock_sample *a, const struct rbwp_clock_sample *b)
{
    return (double)(b->time_ns - a->time_ns) / (double)(b->ticks - a->ticks);
}

/* The last sample at or before ticks, else the first one. */
static uint32_t find_sample(const struct live_clock *clock, uint64_t ticks)
{
    uint32_t low = 0, high = clock->count; /* samples before low are not behind ticks */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (clock->samples[middle].ticks <= ticks)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

int64_t live_clock_ns(const struct live_clock *clock, uint64_t ticks)
{
    uint32_t at = find_sample(clock, ticks), last = clock->count - 1;
    const struct rbwp_clock_sample *sample = &clock->samples[at];
    double ns_per_tick = clock->ns_per_tick;
    if (at < last)
        ns_per_tick = rate(sample, sample + 1);
    else if (last > 0)
        ns_per_tick = rate(&clock->samples[0], sample);
    double ns = ticks >= sample->ticks ? (double)(ticks - sample->ticks) * ns_per_tick
                                       : -(double)(sample->ticks - ticks) * ns_per_tick;
    ns = ns < NS_MOST ? ns : NS_MOST;
    ns = ns > -NS_MOST ? ns : -NS_MOST;
    int64_t time_ns = sample->time_ns + (int64_t)ns; /* below 2^62 + 2^60 */
    time_ns = time_ns > 0 ? time_ns : 0;
    return time_ns < (int64_t)TIME_MASK ? time_ns : (int64_t)TIME_MASK;
}
