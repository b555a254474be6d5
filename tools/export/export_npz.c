/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as NumPy arrays in one .npz file: an array a column, to be mapped rather than read.
 *
 * Of a column of texts the array is their numbers, from 0; COLUMN.texts has the
 * texts one behind the other, as they are, and COLUMN.ends where each ends.
 * Where only some spans have a value, the others have 0, and COLUMN.known says
 * which; a column that no span has is not there. Facts about the trace are texts in
 * pairs, key and value. Filters may leave nothing: then arrays are empty.
 */
#include "bytes.h"
#include "export.h"
#include "left_out.h"
#include "message.h"
#include "npz_file.h"
#include "span_columns.h"
#include "thread_map.h"

#include <stdlib.h>
#include <unistd.h>

/* Members of texts. */
struct npz_texts {
    uint32_t texts, ends;
    uint64_t bytes;
    uint32_t count;
};

struct npz_column {
    uint32_t values, known; /* members */
    struct npz_texts texts;
    uint32_t *codes; /* by the trace's number of a text, plus 1; 0: it has not come */
    uint32_t room;
    bool any_known, any_null;
};

struct npz_export {
    struct trace_pass *pass;
    struct span_columns columns;
    struct npz npz;
    struct npz_column list[SPAN_COLUMNS_MAX];
    struct npz_texts facts;
    uint8_t *packed; /* values of a group as the array has them */
    uint64_t rows;   /* of the groups before */
    uint64_t losses;
    struct left_out left_out;
    bool failed;
};

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [SPAN_COLUMN_TEXT] = {"<u4", 4},   [SPAN_COLUMN_TIME] = {"<i8", 8},
    [SPAN_COLUMN_LENGTH] = {"<i8", 8}, [SPAN_COLUMN_ID] = {"<u8", 8},
    [SPAN_COLUMN_NUMBER] = {"<u4", 4}, [SPAN_COLUMN_YES_OR_NO] = {"|b1", 1},
};

static void fail(struct npz_export *export)
{
    if (!export->failed)
        message("out of memory; the file of arrays cannot be finished");
    export->failed = true;
}

/* ---- texts ---------------------------------------------------------------------------- */

static void add_texts(struct npz *npz, struct npz_texts *texts, const char *name)
{
    texts->texts = npz_add(npz, name, ".texts", "|u1", 1);
    texts->ends = npz_add(npz, name, ".ends", "<u8", 8);
}

/* The number of the text, which is a new one. */
static uint32_t put_text(struct npz *npz, struct npz_texts *texts, struct trace_text text)
{
    uint8_t end[8];
    texts->bytes += text.bytes;
    store_le64(end, texts->bytes);
    npz_put(npz, texts->texts, text.text, text.bytes);
    npz_put(npz, texts->ends, end, sizeof end);
    return texts->count++;
}

static uint32_t code_of(struct npz_export *export, int c, uint32_t number)
{
    struct npz_column *column = &export->list[c];
    if (!span_column_lasts(c))
        return put_text(&export->npz, &column->texts,
                        span_columns_text(&export->columns, c, number));
    if (!thread_array_grow(&column->codes, &column->room, number + 1, sizeof *column->codes)) {
        fail(export);
        return 0;
    }
    if (!column->codes[number])
        column->codes[number] = 1 + put_text(&export->npz, &column->texts,
                                             span_columns_text(&export->columns, c, number));
    return column->codes[number] - 1;
}

/* ---- columns -------------------------------------------------------------------------- */

static void put_values(struct npz_export *export, int c, const struct span_column_part *part)
{
    const struct span_column *column = span_column(c);
    size_t bytes = types[column->type].bytes;
    uint8_t *to = export->packed;
    for (size_t i = 0; i < export->columns.count; i++, to += bytes) {
        bool null = column->optional && part->there && !part->there[i];
        uint64_t value = null ? 0 : (uint64_t)part->values[i];
        if (column->type == SPAN_COLUMN_TEXT && !null)
            value = code_of(export, c, (uint32_t)value);
        if (bytes == 8)
            store_le64(to, value);
        else if (bytes == 4)
            store_le32(to, (uint32_t)value);
        else
            *to = (uint8_t)value;
    }
    npz_put(&export->npz, export->list[c].values, export->packed, (size_t)(to - export->packed));
}

static void put_constant(struct npz_export *export, int c, int64_t value)
{
    struct span_column_part part = {.values = export->columns.values};
    for (size_t i = 0; i < export->columns.count; i++)
        part.values[i] = value;
    put_values(export, c, &part);
}

static void put_known(struct npz_export *export, int c, const struct span_column_part *part)
{
    for (size_t i = 0; i < export->columns.count; i++)
        export->packed[i] = part->form == SPAN_COLUMN_CONSTANT ||
                            (part->form == SPAN_COLUMN_VALUES && part->there[i]);
    npz_put(&export->npz, export->list[c].known, export->packed, export->columns.count);
}

static bool has_null(const struct npz_export *export, int c, const struct span_column_part *part)
{
    if (part->form != SPAN_COLUMN_VALUES || !span_column(c)->optional)
        return part->form == SPAN_COLUMN_NULLS;
    for (size_t i = 0; i < export->columns.count; i++)
        if (!part->there[i])
            return true;
    return false;
}

/* An array begins when a value is known, and one of what is known when a null has come, too: they
 * get what was before. */
static void put_column(struct npz_export *export, int c)
{
    struct npz_column *column = &export->list[c];
    struct span_column_part part = span_columns_part(&export->columns, c);
    size_t bytes = types[span_column(c)->type].bytes;
    bool null = has_null(export, c, &part);
    if (part.form != SPAN_COLUMN_NULLS && !column->any_known) {
        npz_pad(&export->npz, column->values, 0, export->rows * bytes);
        npz_pad(&export->npz, column->known, 0, column->any_null ? export->rows : 0);
        column->any_known = true;
    } else if (null && column->any_known && !column->any_null) {
        npz_pad(&export->npz, column->known, 1, export->rows);
    }
    column->any_null |= null;
    if (!column->any_known)
        return;
    if (column->any_null)
        put_known(export, c, &part); /* first: part may have its values there */
    if (part.form == SPAN_COLUMN_VALUES)
        put_values(export, c, &part);
    else
        put_constant(export, c, part.constant); /* of nulls: 0 */
}

static void put_group(void *context)
{
    struct npz_export *export = context;
    for (int c = 0; c < span_column_count() && !export->failed; c++)
        if (span_columns_wants(&export->columns, c))
            put_column(export, c);
    export->rows += export->columns.count;
}

/* ---- the sink ------------------------------------------------------------------------- */

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct npz_export *export = context;
    span_columns_take(&export->columns, spans, count, details);
}

/* Launches are columns of what was launched. */
static void take_link(void *context, const struct trace_link *link)
{
    struct npz_export *export = context;
    export->left_out.links += link->kind != TRACE_LAUNCH;
}

static void take_fact(void *context, const char *key, struct trace_text value)
{
    struct npz_export *export = context;
    (void)put_text(&export->npz, &export->facts, trace_text(key));
    (void)put_text(&export->npz, &export->facts, value);
}

static void take_loss(void *context, const struct trace_loss *loss)
{
    struct npz_export *export = context;
    struct span_loss_text text;
    span_loss_text(&text, loss, export->losses++);
    take_fact(export, text.key, trace_text(text.value));
}

static bool is_full(void *context)
{
    const struct npz_export *export = context;
    return export->failed || export->columns.failed || npz_failed(&export->npz) ||
           out_failed(&export->pass->out);
}

static void free_export(struct npz_export *export)
{
    for (int c = 0; c < span_column_count(); c++)
        free(export->list[c].codes);
    span_columns_free(&export->columns);
    npz_free(&export->npz);
    free(export->packed);
    free(export);
}

static void add_columns(struct npz_export *export)
{
    for (int c = 0; c < span_column_count(); c++) {
        const struct span_column *column = span_column(c);
        struct npz_column *made = &export->list[c];
        if (!span_columns_wants(&export->columns, c))
            continue;
        made->values = npz_add(&export->npz, column->name, "", types[column->type].name,
                               types[column->type].bytes);
        made->known = npz_add(&export->npz, column->name, ".known", "|b1", 1);
        if (column->type == SPAN_COLUMN_TEXT)
            add_texts(&export->npz, &made->texts, column->name);
    }
    add_texts(&export->npz, &export->facts, "facts");
}

static bool begin(struct trace_pass *pass)
{
    struct npz_export *export = calloc(1, sizeof *export);
    if (export) {
        export->pass = pass;
        npz_start(&export->npz);
        export->packed = malloc(SPAN_GROUP_ROWS * sizeof(uint64_t));
    }
    if (!export || !span_columns_make(&export->columns, pass, put_group, export) ||
        !export->packed) {
        message("out of memory");
        if (export)
            free_export(export);
        return false;
    }
    add_columns(export);
    pass->state = export;
    pass->sink = (struct trace_sink){.context = export,
                                     .spans = take_spans,
                                     .link = take_link,
                                     .loss = take_loss,
                                     .fact = take_fact,
                                     .full = is_full};
    return true;
}

/* Columns that no span has. */
static void leave_out_columns(struct npz_export *export)
{
    for (int c = 0; c < span_column_count(); c++) {
        const struct npz_column *column = &export->list[c];
        if (!span_columns_wants(&export->columns, c))
            continue;
        bool absent = span_column(c)->optional && !column->any_known;
        export->npz.members[column->values].absent = absent;
        export->npz.members[column->known].absent = absent || !column->any_null;
        if (span_column(c)->type == SPAN_COLUMN_TEXT) {
            export->npz.members[column->texts.texts].absent = absent;
            export->npz.members[column->texts.ends].absent = absent;
        }
    }
}

/* What cannot be finished is not written, so that it is not taken for whole. */
static enum exit_code end(struct trace_pass *pass)
{
    struct npz_export *export = pass->state;
    span_columns_finish(&export->columns);
    bool failed = export->failed || export->columns.failed || npz_failed(&export->npz);
    if (!failed) {
        leave_out_columns(export);
        npz_write(&export->npz, &pass->out);
        failed = npz_failed(&export->npz);
    }
    if (failed)
        out_discard(&pass->out);
    left_out_tell(pass, "npz", export->left_out);
    free_export(export);
    return failed ? EXIT_BAD_DATA : EXIT_GOOD;
}

const struct exporter exporter_npz = {
    .name = "npz",
    .suffixes = ".npz",
    .summary = "arrays for NumPy, which can be mapped",
    .binary = true,
    .has_columns = true,
    .has_parts = true,
    .maker = {.empty_is_good = true, .begin = begin, .end = end},
};
