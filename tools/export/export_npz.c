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
#include "export.h"
#include "message.h"
#include "span_columns.h"
#include "spool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* ---- writes NumPy arrays as an .npz file ----------------------------------------------------- */
/*
 * A ZIP archive whose members are .npy files.
 *
 * All arrays grow at the same time and are written at the end (spool.h). Members
 * are stored as they are, and their data begin at multiples of 64 bytes of the
 * file, so that whoever maps the file has the arrays without a copy.
 *
 * Every member is in ZIP64's way, however small it is: so there is one way, which every file
 * takes. Its header is filled with an extra field up to the next multiple of 64; NumPy's own
 * header, which comes next, is a multiple of 64 by itself.
 */

enum { NPZ_MEMBERS_MAX = 128, NPZ_NAME_BYTES = 48 };

struct npz_member {
    char name[NPZ_NAME_BYTES]; /* terminated; without ".npy" */
    const char *type;          /* as NumPy spells it: "<i8" */
    size_t item_bytes;
    uint64_t bytes;
    uint32_t crc32;
    bool absent;     /* not to be written after all */
    uint64_t offset; /* in the file, when it is written */
};

/* Does not move while it is in use. */
struct npz {
    struct spool spool;
    struct npz_member members[NPZ_MEMBERS_MAX];
    uint32_t count;
};

enum {
    ALIGNMENT = 64,
    NPZ_PIECE_BYTES = 256 << 10,
    NPY_HEADER_BYTES = 128,
    VERSION_ZIP64 = 45,
    DATE_1980 = 0x21, /* January 1st, the first that ZIP knows: files are the same each time */
    LOCAL_BYTES = 30,
    LOCAL_EXTRA_BYTES = 20,  /* both sizes */
    FILLER_BYTES = 4,        /* of the extra field that fills up, at least */
    FILLER = 0xd935,         /* its kind, as other programs that align members have it */
    CENTRAL_EXTRA_BYTES = 28 /* both sizes and the offset */
};

/* A header that is put together: little endian, as all of ZIP. */
struct header {
    uint8_t bytes[2 * ALIGNMENT + LOCAL_BYTES + NPZ_NAME_BYTES + CENTRAL_EXTRA_BYTES];
    size_t count;
};
static void export_npz_put(struct header *header, uint64_t value, size_t bytes)
{
    for (; bytes; bytes--, value >>= 8)
        header->bytes[header->count++] = (uint8_t)value;
}
static void npz_put_name(struct header *header, const struct npz_member *member)
{
    int count = snprintf((char *)header->bytes + header->count,
                         sizeof header->bytes - header->count, "%s.npy", member->name);
    header->count += (size_t)count;
}

/* The number of a new member, NAME followed by SUFFIX. There must be room for it. */
static uint32_t npz_add(struct npz *npz, const char *name, const char *suffix, const char *type,
                        size_t item_bytes)
{
    struct npz_member *member = &npz->members[npz->count];
    *member = (struct npz_member){.type = type, .item_bytes = item_bytes};
    snprintf(member->name, sizeof member->name, "%s%s", name, suffix);
    (void)spool_add_stream(&npz->spool); /* of the same number; a failure is remembered */
    return npz->count++;
}

static void npz_put(struct npz *npz, uint32_t number, const void *bytes, size_t count)
{
    struct npz_member *member = &npz->members[number];
    const uint8_t *from = bytes;
    while (count) {
        size_t some = count < NPZ_PIECE_BYTES ? count : NPZ_PIECE_BYTES;
        char *room = spool_room(&npz->spool, number, some);
        if (!room)
            return;
        memcpy(room, from, some);
        spool_end(&npz->spool, number, room + some);
        member->crc32 = (uint32_t)crc32(member->crc32, from, (uInt)some);
        member->bytes += some;
        from += some;
        count -= some;
    }
}

/* count bytes of this value. */
static void npz_pad(struct npz *npz, uint32_t member, uint8_t byte, uint64_t count)
{
    uint8_t block[4096];
    memset(block, byte, sizeof block);
    for (uint64_t some; count && !npz->spool.failed; count -= some) {
        some = count < sizeof block ? count : sizeof block;
        npz_put(npz, member, block, (size_t)some);
    }
}

/* ---- the archive ---------------------------------------------------------------------- */

/* What NumPy wants before the items. */
static void make_npy_header(const struct npz_member *member, char header[NPY_HEADER_BYTES])
{
    static const char magic[] = "\x93NUMPY\x01";
    memset(header, ' ', NPY_HEADER_BYTES);
    memcpy(header, magic, sizeof magic); /* and a zero, the minor version */
    header[8] = (char)(NPY_HEADER_BYTES - 10);
    header[9] = 0;
    int count = snprintf(header + 10, NPY_HEADER_BYTES - 10,
                         "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
                         member->type, member->bytes / member->item_bytes);
    header[10 + count] = ' ';
    header[NPY_HEADER_BYTES - 1] = '\n';
}

/* What both headers have in common, from the version that is needed on. */
static void npz_put_facts(struct header *header, const struct npz_member *member,
                          size_t extra_bytes)
{
    export_npz_put(header, VERSION_ZIP64, 2);
    export_npz_put(header, 0, 2); /* flags */
    export_npz_put(header, 0, 2); /* stored */
    export_npz_put(header, 0, 2); /* time */
    export_npz_put(header, DATE_1980, 2);
    export_npz_put(header, member->crc32, 4);
    export_npz_put(header, UINT32_MAX, 4); /* sizes: see the extra field */
    export_npz_put(header, UINT32_MAX, 4);
    export_npz_put(header, strlen(member->name) + strlen(".npy"), 2);
    export_npz_put(header, extra_bytes, 2);
}

static void put_sizes(struct header *header, const struct npz_member *member, size_t more_bytes)
{
    export_npz_put(header, 1, 2); /* ZIP64 */
    export_npz_put(header, 16 + more_bytes, 2);
    export_npz_put(header, member->bytes + NPY_HEADER_BYTES, 8);
    export_npz_put(header, member->bytes + NPY_HEADER_BYTES, 8);
}

static void put_local_header(struct header *header, const struct npz_member *member)
{
    size_t bytes = LOCAL_BYTES + strlen(member->name) + strlen(".npy") + LOCAL_EXTRA_BYTES;
    size_t fill = (size_t) - (member->offset + bytes + FILLER_BYTES) % ALIGNMENT;
    export_npz_put(header, 0x04034b50, 4);
    npz_put_facts(header, member, LOCAL_EXTRA_BYTES + FILLER_BYTES + fill);
    npz_put_name(header, member);
    put_sizes(header, member, 0);
    export_npz_put(header, FILLER, 2);
    export_npz_put(header, fill, 2);
    while (fill--)
        export_npz_put(header, 0, 1);
}

static void put_central_header(struct header *header, const struct npz_member *member)
{
    export_npz_put(header, 0x02014b50, 4);
    export_npz_put(header, VERSION_ZIP64, 2); /* made by */
    npz_put_facts(header, member, CENTRAL_EXTRA_BYTES);
    export_npz_put(header, 0, 2 + 2 + 2 + 4); /* comment, disk, attributes */
    export_npz_put(header, UINT32_MAX, 4);    /* offset */
    npz_put_name(header, member);
    put_sizes(header, member, 8);
    export_npz_put(header, member->offset, 8);
}

static void npz_put_end(struct header *header, uint64_t members, uint64_t offset, uint64_t bytes)
{
    export_npz_put(header, 0x06064b50, 4);
    export_npz_put(header, 44, 8); /* what follows of it */
    export_npz_put(header, VERSION_ZIP64, 2);
    export_npz_put(header, VERSION_ZIP64, 2);
    export_npz_put(header, 0, 4 + 4); /* disks */
    export_npz_put(header, members, 8);
    export_npz_put(header, members, 8);
    export_npz_put(header, bytes, 8);
    export_npz_put(header, offset, 8);
    export_npz_put(header, 0x07064b50, 4); /* where that is */
    export_npz_put(header, 0, 4);
    export_npz_put(header, offset + bytes, 8);
    export_npz_put(header, 1, 4);
    export_npz_put(header, 0x06054b50, 4); /* the end of old, which refers to the above */
    export_npz_put(header, 0, 2 + 2);
    export_npz_put(header, UINT16_MAX, 2);
    export_npz_put(header, UINT16_MAX, 2);
    export_npz_put(header, UINT32_MAX, 4);
    export_npz_put(header, UINT32_MAX, 4);
    export_npz_put(header, 0, 2);
}

static uint64_t npz_write_header(struct out *out, const struct header *header)
{
    out_bytes(out, (const char *)header->bytes, header->count);
    return header->count;
}

/* Its bytes in the file. */
static uint64_t write_member(struct npz *npz, uint32_t number, struct out *out)
{
    struct npz_member *member = &npz->members[number];
    char npy[NPY_HEADER_BYTES];
    make_npy_header(member, npy);
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)npy, sizeof npy);
    member->crc32 = (uint32_t)crc32_combine(crc, member->crc32, (z_off_t)member->bytes);
    struct header header = {.count = 0};
    put_local_header(&header, member);
    uint64_t bytes = npz_write_header(out, &header);
    out_bytes(out, npy, sizeof npy);
    spool_copy(&npz->spool, number, out);
    return bytes + sizeof npy + member->bytes;
}

/* Writes the archive. */
static void npz_write(struct npz *npz, struct out *out)
{
    uint64_t at = 0, members = 0, central = 0;
    for (uint32_t i = 0; i < npz->count; i++)
        if (!npz->members[i].absent) {
            npz->members[i].offset = at;
            at += write_member(npz, i, out);
            members++;
        }
    for (uint32_t i = 0; i < npz->count; i++)
        if (!npz->members[i].absent) {
            struct header header = {.count = 0};
            put_central_header(&header, &npz->members[i]);
            central += npz_write_header(out, &header);
        }
    struct header end = {.count = 0};
    npz_put_end(&end, members, at, central);
    (void)npz_write_header(out, &end);
}

/* ---- export npz ------------------------------------------------------------------------------ */

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
    struct span_columns columns;
    struct npz npz;
    struct npz_column list[SPAN_COLUMNS_MAX];
    struct npz_texts facts;
    uint8_t *packed; /* values of a group as the array has them */
    uint64_t rows;   /* of the groups before */
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

/* ---- texts ---------------------------------------------------------------------------- */

static void add_texts(struct npz *npz, struct npz_texts *texts, const char *name)
{
    texts->texts = npz_add(npz, name, ".texts", "|u1", 1);
    texts->ends = npz_add(npz, name, ".ends", "<u8", 8);
}

/* The number of the text, which is a new one. */
static uint32_t npz_put_text(struct npz *npz, struct npz_texts *texts, struct trace_text text)
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
        return npz_put_text(&export->npz, &column->texts,
                            span_columns_text(&export->columns, c, number));
    if (!GROW_ZEROED(column->codes, column->room, number + 1)) {
        message_once(&export->failed, "out of memory; the file of arrays cannot be finished");
        return 0;
    }
    if (!column->codes[number])
        column->codes[number] = 1 + npz_put_text(&export->npz, &column->texts,
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
static void npz_put_column(struct npz_export *export, int c)
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
    /* First: part may have its values there. */
    if (column->any_null) {
        for (size_t i = 0; i < export->columns.count; i++)
            export->packed[i] = part.form == SPAN_COLUMN_CONSTANT ||
                                (part.form == SPAN_COLUMN_VALUES && part.there[i]);
        npz_put(&export->npz, export->list[c].known, export->packed, export->columns.count);
    }
    if (part.form == SPAN_COLUMN_VALUES)
        put_values(export, c, &part);
    else
        put_constant(export, c, part.constant); /* of nulls: 0 */
}

static void npz_put_group(void *context)
{
    struct npz_export *export = context;
    for (int c = 0; c < span_column_count() && !export->failed; c++)
        if (span_columns_wants(&export->columns, c))
            npz_put_column(export, c);
    export->rows += export->columns.count;
}

/* ---- begin and end -------------------------------------------------------------------- */

static void npz_put_fact(void *context, const char *key, struct trace_text value)
{
    struct npz_export *export = context;
    (void)npz_put_text(&export->npz, &export->facts, trace_text(key));
    (void)npz_put_text(&export->npz, &export->facts, value);
}

static bool npz_has_failed(const void *context)
{
    const struct npz_export *export = context;
    return export->failed || export->npz.spool.failed;
}

static void free_export(struct npz_export *export)
{
    for (int c = 0; c < span_column_count(); c++)
        free(export->list[c].codes);
    span_columns_free(&export->columns);
    spool_free(&export->npz.spool);
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

static bool npz_begin(struct trace_pass *pass)
{
    struct npz_export *export = calloc(1, sizeof *export);
    const struct span_columns_user user = {export, npz_put_group, npz_put_fact, npz_has_failed};
    if (export) {
        export->npz.spool = SPOOL_EMPTY;
        export->npz.spool.piece_bytes = NPZ_PIECE_BYTES;
        export->npz.count = 0;
        export->packed = malloc(SPAN_GROUP_ROWS * sizeof(uint64_t));
    }
    if (!export || !span_columns_make(&export->columns, pass, &user) || !export->packed) {
        message("out of memory");
        if (export)
            free_export(export);
        return false;
    }
    add_columns(export);
    pass->state = export;
    pass->sink = span_columns_sink(&export->columns);
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
static enum exit_code npz_end(struct trace_pass *pass)
{
    struct npz_export *export = pass->state;
    span_columns_finish(&export->columns);
    bool failed = export->columns.failed || npz_has_failed(export);
    if (!failed) {
        leave_out_columns(export);
        npz_write(&export->npz, &pass->out);
        failed = export->npz.spool.failed;
    }
    if (failed)
        out_discard(&pass->out);
    dropped_report(pass, "npz", export->columns.dropped);
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
    .maker = {.empty_is_good = true, .begin = npz_begin, .end = npz_end},
};
