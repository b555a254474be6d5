/* SPDX-License-Identifier: Apache-2.0 */
#include "legion_log.h"
#include "legion_layout.h"
#include "message.h"
#include "grow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_MAX_BYTES = 16 << 10, NEWEST_VERSION = 1011 };

/* ---- declarations ---------------------------------------------------------------- */

static bool refuse(const struct legion_log *log, const char *what, const char *where)
{
    message("%s: no Legion Prof log that can be read: %s%s%.60s", log->name, what,
            *where ? " in: " : "", where);
    return false;
}

/* Terminated, without the line feed; false when there is none. */
static bool read_line(struct legion_log *log, char *line)
{
    for (size_t bytes = 0; bytes < LINE_MAX_BYTES; bytes++) {
        int byte = unpack_byte(&log->bytes);
        if (byte <= 0)
            return refuse(log, "its declarations are cut", "");
        line[bytes] = (char)byte;
        if (byte == '\n') {
            line[bytes] = '\0';
            return true;
        }
    }
    return refuse(log, "a line of its declarations does not end", "");
}

static bool add_declaration(struct legion_log *log, const char *line)
{
    if (log->layout_count == LEGION_KINDS_MAX)
        return refuse(log, "too many record kinds", "");
    if (!grow_array32(&log->layouts, &log->layout_room, log->layout_count + 1,
                      sizeof *log->layouts))
        return refuse(log, "out of memory", "");
    const char *wrong = legion_layout_parse(line, log->version, &log->layouts[log->layout_count++]);
    return !wrong || refuse(log, wrong, line);
}

static int by_id(const void *a, const void *b)
{
    const struct legion_layout *left = a, *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

static bool read_head(struct legion_log *log, char *line)
{
    if (!read_line(log, line))
        return false;
    const char *version = line + strlen(LEGION_MAGIC);
    if (strncmp(line, LEGION_MAGIC, strlen(LEGION_MAGIC)) != 0)
        return refuse(log, "it does not begin with " LEGION_MAGIC, "");
    log->dialect_b = !strchr(version, '.');
    if (!log->dialect_b)
        return true;
    char *end;
    unsigned long number = strtoul(version, &end, 10);
    if (*version < '0' || *version > '9' || *end || number > UINT32_MAX)
        return refuse(log, "its version is no number", line);
    log->version = (uint32_t)number;
    return read_line(log, line); /* free text: which Legion it was */
}

static bool read_declarations(struct legion_log *log)
{
    char *line = malloc(LINE_MAX_BYTES);
    if (!line) {
        message("out of memory");
        return false;
    }
    bool good = read_head(log, line);
    while (good && (good = read_line(log, line)) && *line)
        good = add_declaration(log, line);
    free(line);
    if (!good)
        return false;
    if (log->layout_count)
        qsort(log->layouts, log->layout_count, sizeof *log->layouts, by_id);
    for (uint32_t i = 1; i < log->layout_count; i++)
        if (log->layouts[i].id == log->layouts[i - 1].id)
            return refuse(log, "two record kinds have the same number", "");
    return true;
}

bool legion_log_open(struct legion_log *log, int fd, const char *name)
{
    *log = (struct legion_log){.name = name, .max_dim = 3};
    log->text = malloc(LEGION_TEXT_MAX);
    if (!log->text || !unpack_start(&log->bytes, fd)) {
        free(log->text);
        message("out of memory");
        return false;
    }
    if (read_declarations(log))
        return true;
    legion_log_close(log);
    return false;
}

void legion_log_close(struct legion_log *log)
{
    for (uint32_t i = 0; i < log->layout_count; i++)
        free(log->layouts[i].steps);
    free(log->layouts);
    free(log->text);
    unpack_stop(&log->bytes);
}

/* ---- records --------------------------------------------------------------------- */

static uint64_t little_endian(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static bool read_text(struct legion_log *log, struct legion_record *record, bool wanted)
{
    uint32_t bytes = 0;
    for (int byte; (byte = unpack_byte(&log->bytes)) != 0;) {
        if (byte < 0)
            return false;
        if (bytes < LEGION_TEXT_MAX && wanted)
            log->text[bytes++] = (char)byte;
    }
    if (wanted)
        record->text = (struct trace_text){log->text, bytes};
    return true;
}

static bool read_fixed(struct legion_log *log, struct legion_record *record,
                       const struct step *step, uint64_t *last)
{
    uint8_t bytes[8];
    if (step->bytes > sizeof bytes)
        return unpack_skip(&log->bytes, step->bytes);
    if (!unpack_bytes(&log->bytes, bytes, step->bytes))
        return false;
    *last = little_endian(bytes, step->bytes);
    if (step->field != STEP_NOT_WANTED)
        record->value[step->field] = *last;
    return true;
}

/* A uuid has as many bytes as the number before it says. */
static bool read_fields(struct legion_log *log, const struct legion_layout *layout,
                        struct legion_record *record)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct step *step = &layout->steps[i];
        bool good = true;
        if (step->only_reduce && record->value[LEGION_PRIVILEGE] != 4)
            continue;
        switch ((enum step_shape)step->shape) {
        case STEP_FIXED:
            good = read_fixed(log, record, step, &last);
            break;
        case STEP_TEXT:
            good = read_text(log, record, step->field == STEP_WANTED_TEXT);
            break;
        case STEP_POINT:
            good = unpack_skip(&log->bytes, UINT64_C(8) * log->max_dim);
            break;
        case STEP_ARRAY:
            good = unpack_skip(&log->bytes, UINT64_C(16) * log->max_dim);
            break;
        case STEP_UUID:
            good = unpack_skip(&log->bytes, last);
            break;
        }
        if (!good)
            return false;
    }
    return true;
}

/* The end came inside a record, which began at start. */
static bool cut(struct legion_log *log, uint64_t start)
{
    log->cut_bytes = unpack_offset(&log->bytes) - start;
    snprintf(log->problem, sizeof log->problem,
             "cut: the last %" PRIu64 " bytes are no whole record%s%s", log->cut_bytes,
             log->bytes.problem ? "; " : "", log->bytes.problem ? log->bytes.problem : "");
    return false;
}

static bool undeclared(struct legion_log *log, uint32_t id, uint64_t start)
{
    snprintf(log->problem, sizeof log->problem,
             "record kind %" PRIu32 " at byte %" PRIu64
             " is not declared; what follows cannot be read",
             id, start);
    return false;
}

bool legion_log_next(struct legion_log *log, struct legion_record *record)
{
    uint8_t bytes[4];
    uint64_t start = unpack_offset(&log->bytes);
    if (unpack_peek(&log->bytes) < 0) {
        if (log->bytes.problem)
            snprintf(log->problem, sizeof log->problem, "%s", log->bytes.problem);
        return false;
    }
    if (!unpack_bytes(&log->bytes, bytes, sizeof bytes))
        return cut(log, start);
    struct legion_layout key = {.id = (uint32_t)little_endian(bytes, sizeof bytes)};
    struct legion_layout *layout =
        log->layout_count
            ? bsearch(&key, log->layouts, log->layout_count, sizeof *log->layouts, by_id)
            : NULL;
    if (!layout)
        return undeclared(log, key.id, start);
    memset(record->value, 0, sizeof record->value);
    record->kind = layout->kind;
    record->text = (struct trace_text){"", 0};
    if (!read_fields(log, layout, record))
        return cut(log, start);
    log->records++;
    layout->records++;
    log->skipped += layout->kind == LEGION_OTHER;
    if (layout->kind == LEGION_MAX_DIM)
        log->max_dim = (uint32_t)record->value[LEGION_VALUE];
    if (layout->kind == LEGION_MACHINE && !log->dialect_b)
        log->version = (uint32_t)record->value[LEGION_VERSION];
    return true;
}

void legion_log_tell(const struct legion_log *log)
{
    if (log->version > NEWEST_VERSION)
        message("%s: version %" PRIu32 " is newer than what is known (%d): it is read by what it "
                "declares",
                log->name, log->version, NEWEST_VERSION);
    legion_layouts_tell(log->name, log->layouts, log->layout_count);
}
