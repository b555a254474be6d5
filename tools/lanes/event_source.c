/* SPDX-License-Identifier: Apache-2.0 */
#include "event_source.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

/* ---- the three kinds of file ---------------------------------------------------- */

static bool open_dump(struct event_file *file)
{
    struct rbwp_events_dump dump = {.size = sizeof dump};
    struct rbwp_error error;
    if (rbwp_events_decode_dump(file->dump.bytes, file->dump.count, &dump, &file->source, &error) !=
        RBWP_OK)
        return message_fail("%s: %s", file->dump.name, error.text);
    uint64_t stored = dump.counter < dump.max_events ? dump.counter : dump.max_events;
    file->rank = dump.rank;
    file->ranks = dump.ranks;
    file->max_events = dump.max_events;
    file->missing = stored > file->source.max_events ? stored - file->source.max_events : 0;
    file->bound_ns = dump.offset_bound_ns;
    file->has_offset = dump.offset_ns || dump.offset_bound_ns;
    return true;
}

static const struct dump_field *field_named(const struct dump_bytes *dump, const char *name)
{
    for (uint32_t i = 0; i < dump->field_count; i++)
        if (strcmp(dump->fields[i].name, name) == 0)
            return &dump->fields[i];
    return NULL;
}

/* Then a record has room for an event at least. */
static bool has_fields(const struct dump_bytes *dump)
{
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        const struct dump_field *field = field_named(dump, rbwp_events_column_name(i));
        if (!field || field->bytes != rbwp_events_column_bytes(i))
            return message_fail("%s: its records have no field %s of %u bytes", dump->name,
                                rbwp_events_column_name(i), rbwp_events_column_bytes(i));
    }
    return true;
}

/* Records into arrays; little-endian both, so bytes move as they are. */
static bool open_records(struct event_file *file)
{
    const struct dump_bytes *dump = &file->dump;
    size_t count = dump->count / dump->record_bytes;
    if (!has_fields(dump))
        return false;
    file->columns = malloc(count ? count * RBWP_EVENTS_BYTES : 1);
    if (!file->columns)
        return message_fail("out of memory");
    uint8_t *to = file->columns;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        const struct dump_field *field = field_named(dump, rbwp_events_column_name(i));
        file->source.columns[i] = to;
        for (size_t k = 0; k < count; k++, to += field->bytes)
            memcpy(to, dump->bytes + k * dump->record_bytes + field->offset, field->bytes);
    }
    file->source.max_events = count;
    return true;
}

static bool open_arrays(struct event_file *file, uint32_t max_events)
{
    const uint8_t *at = file->dump.bytes;
    uint64_t count = max_events ? max_events : file->dump.count / RBWP_EVENTS_BYTES;
    if (count * RBWP_EVENTS_BYTES > file->dump.count ||
        (!max_events && file->dump.count % RBWP_EVENTS_BYTES))
        return message_fail("%s: %zu bytes are not 13 arrays of %s events, nor does it begin "
                            "with " RBWP_EVENTS_DUMP_MAGIC,
                            file->dump.name, file->dump.count,
                            max_events ? "so many" : "64 bytes of");
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        file->source.columns[i] = at;
        at += count * rbwp_events_column_bytes(i);
    }
    file->source.max_events = count;
    return true;
}

/* Without a counter, the events are those that have a time. */
static uint32_t count_events(const struct event_file *file)
{
    uint64_t count = file->source.max_events;
    const uint8_t *times = file->source.columns[RBWP_EVENTS_TIMESTAMP];
    static const uint8_t none[8];
    while (count && memcmp(times + (count - 1) * 8, none, 8) == 0)
        count--;
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static bool open_bare(struct event_file *file, uint32_t number,
                      const struct events_options *options)
{
    if (!(file->dump.field_count ? open_records(file) : open_arrays(file, options->max_events)))
        return false;
    file->max_events = file->source.max_events;
    file->source.counter = options->has_count ? options->count : count_events(file);
    file->rank = number;
    if (options->has_rank)
        file->rank += options->rank;
    file->source.rank = (int32_t)file->rank;
    return true;
}

/* ---- what the command line says --------------------------------------------------- */

/* "RANK=NS:BOUND" */
static void apply_offset(struct event_file *file, const char *text)
{
    char *end;
    if (strtoul(text, &end, 10) != file->rank)
        return;
    file->source.offset_ns = strtoll(end + 1, &end, 10);
    file->bound_ns = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    file->source.drift_ppb = 0;
    file->has_offset = true;
}

static bool event_source_look_at(struct event_file *file)
{
    struct rbwp_error error;
    if (rbwp_events_decode(&file->source, NULL, NULL, &file->stats, &error) == RBWP_OK)
        return true;
    return message_fail("%s: %s", file->dump.name, error.text);
}

bool event_file_open(struct event_file *file, const char *path, uint32_t number,
                     const struct events_options *options)
{
    *file = (struct event_file){.source = {.size = sizeof file->source}};
    if (!dump_bytes_read(&file->dump, path))
        return false;
    bool is_dump =
        file->dump.count >= 8 && memcmp(file->dump.bytes, RBWP_EVENTS_DUMP_MAGIC, 8) == 0;
    if (is_dump ? open_dump(file) : open_bare(file, number, options)) {
        if (options->kernel.clock_hz)
            file->source.clock_hz = options->kernel.clock_hz;
        if (options->ranks)
            file->ranks = options->ranks;
        for (unsigned i = 0; i < options->offset_count; i++)
            apply_offset(file, options->offsets[i]);
        if (event_source_look_at(file))
            return true;
    }
    event_file_close(file);
    return false;
}

void event_file_close(struct event_file *file)
{
    free(file->columns);
    dump_bytes_free(&file->dump);
    *file = (struct event_file){0};
}
