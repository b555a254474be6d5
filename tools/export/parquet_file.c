/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages, row groups and the footer, after the public specification of the
 * format (version 2 of the metadata, version 1 of data pages, which every
 * reader knows).
 *
 * A column is packed as a job, which encodes numbers before; what the file says of it
 * is known when it is written, in its turn.
 */
#include "parquet_file.h"

#include "rbwp_format.h"

#include <stdlib.h>
#include <zlib.h>

/* ---- writes Thrift's compact protocol, as far as Parquet's metadata needs it ----------------- */
/*
 * A struct is a run of fields with ascending ids, each of which says by how
 * much its id is above the one before; hence the stack of last ids.
 *
 * The compact protocol: an id's step and a type share a byte, integers are zigzag varints.
 */

enum thrift_type {
    THRIFT_I8 = 3,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_STRUCT = 12
};

enum { THRIFT_DEPTH = 8 };

struct thrift {
    struct buffer *to;
    int last_id[THRIFT_DEPTH];
    int depth;
};

enum { TYPE_TRUE = 1, TYPE_FALSE = 2, TYPE_LIST = 9, STEP_MAX = 15 };

static void field(struct thrift *thrift, int id, int type)
{
    int *last = &thrift->last_id[thrift->depth - 1], step = id - *last;
    *last = id;
    if (step > 0 && step <= STEP_MAX) {
        buffer_le(thrift->to, (uint8_t)(step << 4 | type), 1);
        return;
    }
    buffer_le(thrift->to, (uint8_t)type, 1);
    buffer_varint(thrift->to, zigzag(id));
}

/* Inside a list or at the top: no field stands before it. */
static void thrift_begin(struct thrift *thrift)
{
    thrift->last_id[thrift->depth++] = 0;
}

static void thrift_end(struct thrift *thrift)
{
    buffer_le(thrift->to, 0, 1);
    thrift->depth--;
}

/* then its fields and thrift_end */
static void thrift_struct(struct thrift *thrift, int id)
{
    field(thrift, id, THRIFT_STRUCT);
    thrift_begin(thrift);
}

static void thrift_i8(struct thrift *thrift, int id, int8_t value)
{
    field(thrift, id, THRIFT_I8);
    buffer_le(thrift->to, (uint8_t)value, 1);
}

static void thrift_i32(struct thrift *thrift, int id, int32_t value)
{
    field(thrift, id, THRIFT_I32);
    buffer_varint(thrift->to, zigzag(value));
}

static void thrift_i64(struct thrift *thrift, int id, int64_t value)
{
    field(thrift, id, THRIFT_I64);
    buffer_varint(thrift->to, zigzag(value));
}

static void thrift_bool(struct thrift *thrift, int id, bool value)
{
    field(thrift, id, value ? TYPE_TRUE : TYPE_FALSE);
}

static void binary(struct thrift *thrift, const void *bytes, size_t count)
{
    buffer_varint(thrift->to, count);
    buffer_append(thrift->to, bytes, count);
}

static void thrift_binary(struct thrift *thrift, int id, const void *bytes, size_t count)
{
    field(thrift, id, THRIFT_BINARY);
    binary(thrift, bytes, count);
}

static void thrift_text(struct thrift *thrift, int id, const char *text)
{
    thrift_binary(thrift, id, text, strlen(text));
}

/* Then count elements. */
static void thrift_list(struct thrift *thrift, int id, enum thrift_type type, size_t count)
{
    field(thrift, id, TYPE_LIST);
    if (count < 15) {
        buffer_le(thrift->to, (uint8_t)(count << 4 | type), 1);
        return;
    }
    buffer_le(thrift->to, (uint8_t)(0xf0 | type), 1);
    buffer_varint(thrift->to, count);
}

static void thrift_i32_element(struct thrift *thrift, int32_t value)
{
    buffer_varint(thrift->to, zigzag(value));
}

/* ---- parquet file ---------------------------------------------------------------------------- */

enum { TYPE_BOOLEAN = 0, TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };
enum { CODEC_GZIP = 2, FORMAT_VERSION = 2 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_32 = 13, CONVERTED_UINT_64 = 14, CONVERTED_NONE = -1 };
/* Fields of the union LogicalType. */
enum { LOGICAL_STRING = 1, LOGICAL_TIMESTAMP = 8, LOGICAL_INTEGER = 10, LOGICAL_NONE = 0 };
enum { GZIP_WINDOW = 15 + 16, DEFLATE_LEVEL = 4, DEFLATE_MEMORY = 9, STATISTICS_TEXT_MAX = 256 };

static const struct parquet_file_kind {
    int type, encoding, converted, logical;
    int strategy; /* bytes of times hardly ever come again: looking for them takes thrice as long
                     for 8 % */
} kinds[] = {
    [PARQUET_TEXT] = {TYPE_BYTE_ARRAY, ENCODING_DICTIONARY, CONVERTED_UTF8, LOGICAL_STRING,
                      Z_DEFAULT_STRATEGY},
    [PARQUET_TIME] = {TYPE_INT64, ENCODING_DELTA, CONVERTED_NONE, LOGICAL_TIMESTAMP,
                      Z_HUFFMAN_ONLY},
    [PARQUET_LENGTH] = {TYPE_INT64, ENCODING_DELTA, CONVERTED_NONE, LOGICAL_NONE, Z_HUFFMAN_ONLY},
    [PARQUET_ID] = {TYPE_INT64, ENCODING_DELTA, CONVERTED_UINT_64, LOGICAL_INTEGER,
                    Z_DEFAULT_STRATEGY},
    [PARQUET_NUMBER] = {TYPE_INT32, ENCODING_DELTA, CONVERTED_UINT_32, LOGICAL_INTEGER,
                        Z_DEFAULT_STRATEGY},
    [PARQUET_REAL] = {TYPE_DOUBLE, ENCODING_PLAIN, CONVERTED_NONE, LOGICAL_NONE,
                      Z_DEFAULT_STRATEGY},
    [PARQUET_BLOB] = {TYPE_BYTE_ARRAY, ENCODING_DICTIONARY, CONVERTED_NONE, LOGICAL_NONE,
                      Z_DEFAULT_STRATEGY},
    [PARQUET_YES_OR_NO] = {TYPE_BOOLEAN, ENCODING_PLAIN, CONVERTED_NONE, LOGICAL_NONE,
                           Z_DEFAULT_STRATEGY},
};

/* What the footer says of a column in a row group. */
struct parquet_file_chunk {
    uint64_t offset, bytes, packed_bytes, dictionary_bytes;
    uint64_t values, nulls;
    bool has_dictionary, has_bounds;
    int encoding;
    struct trace_text least, most; /* as PLAIN */
};

struct page {
    int kind, encoding;
    uint64_t values;
    struct buffer plain, packed, header;
};

/* A column of a row group on its way into the file. */
struct column_job {
    int column, strategy;
    enum parquet_type type;
    bool optional;
    const int64_t *there; /* see parquet_take_integers */
    struct parquet_arrays arrays;
    bool to_encode; /* the arrays */
    struct page pages[2];
    int page_count;
    struct parquet_file_chunk chunk;
    char least[STATISTICS_TEXT_MAX], most[STATISTICS_TEXT_MAX]; /* its bounds */
    z_stream deflate;
    bool has_deflate, failed;
};

static void parquet_file_put(struct parquet *parquet, const struct buffer *bytes)
{
    if (bytes->count)
        out_bytes(parquet->out, (const char *)bytes->bytes, bytes->count);
    parquet->offset += bytes->count;
}

static void put_magic(struct parquet *parquet)
{
    out_bytes(parquet->out, "PAR1", 4);
    parquet->offset += 4;
}

bool parquet_failed(const struct parquet *parquet)
{
    return parquet->failed || parquet->chunks.failed || parquet->group_list.failed ||
           parquet->fact_list.failed;
}

/* ---- numbers, on any thread ----------------------------------------------------------- */

/* In the order of the column's type: ids and numbers have no sign. */
static void find_bounds(const int64_t *values, size_t count, enum parquet_type type,
                        int64_t *least_out, int64_t *most_out)
{
    bool has_sign = type == PARQUET_TIME || type == PARQUET_LENGTH;
    uint64_t turn = has_sign ? UINT64_C(1) << 63 : 0, least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = (uint64_t)values[i] ^ turn;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    *least_out = (int64_t)(least ^ turn);
    *most_out = (int64_t)(most ^ turn);
}

/* As PLAIN: the low bytes of the value in room, as many as the type has. */
static struct trace_text integer_bound(char *room, int64_t value, int type)
{
    for (int i = 0; i < 8; i++)
        room[i] = (char)((uint64_t)value >> 8 * i);
    return (struct trace_text){room, type == TYPE_INT64 ? 8 : type == TYPE_INT32 ? 4 : 1};
}

static void encode_integers(struct buffer *plain, const int64_t *values, size_t count,
                            const struct parquet_file_kind *kind)
{
    if (kind->encoding == ENCODING_DELTA)
        encode_delta(plain, values, count, kind->type == TYPE_INT64 ? 64 : 32);
    else if (kind->type == TYPE_DOUBLE)
        encode_words(plain, values, count);
    else
        encode_bits(plain, values, count);
}

/* Definition levels with their length before them: all or none are not null if there is NULL. */
static void put_levels(struct buffer *plain, const int64_t *there, bool all, size_t rows)
{
    size_t at = plain->count;
    buffer_le(plain, 0, 4);
    if (there)
        encode_level_bits(plain, there, rows);
    else
        encode_level_run(plain, all, rows);
    if (!plain->failed)
        store_le32(plain->bytes + at, (uint32_t)(plain->count - at - 4));
}

/* How many values of an optional column are not null. Puts its levels. */
static size_t put_levels_of(struct buffer *plain, const int64_t *there, size_t rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows; i++)
        count += there[i] != 0;
    put_levels(plain, count < rows ? there : NULL, true, rows);
    return count;
}

/* Of numbers, whose page was made: they lie between these. */
static void write_bounds(struct column_job *job, int64_t least, int64_t most)
{
    int type = kinds[job->type].type;
    job->chunk.has_bounds = job->type != PARQUET_REAL; /* not by its bits */
    job->chunk.least = integer_bound(job->least, least, type);
    job->chunk.most = integer_bound(job->most, most, type);
}

static void make_integers(struct column_job *job, int64_t *values, const int64_t *there)
{
    struct buffer *plain = &job->pages[0].plain;
    size_t rows = job->chunk.values;
    int64_t least, most;
    size_t count = job->optional ? put_levels_of(plain, there, rows) : rows;
    /* What is not null comes to the front. there may be values. */
    if (count < rows) {
        size_t left = 0;
        for (size_t i = 0; i < rows; i++)
            if (there[i])
                values[left++] = values[i];
    }
    job->chunk.nulls = rows - count;
    find_bounds(values, count, job->type, &least, &most);
    encode_integers(plain, values, count, &kinds[job->type]);
    write_bounds(job, least, most);
}

/* ---- pages, on any thread ------------------------------------------------------------- */

/* plain to packed. Also where that makes a small page larger: the codec is the whole column's. */
static void parquet_file_pack(struct column_job *job, struct page *page)
{
    const struct buffer *plain = &page->plain;
    z_stream *stream = &job->deflate;
    deflateReset(stream); /* before the bound, which is too low for a stream that has ended */
    deflateParams(stream, DEFLATE_LEVEL, job->strategy);
    size_t room = deflateBound(stream, plain->count);
    page->packed.count = 0;
    uint8_t *packed = buffer_reserve(&page->packed, room);
    if (!packed || plain->failed)
        return;
    stream->next_in = plain->bytes;
    stream->avail_in = (uInt)plain->count;
    stream->next_out = packed;
    stream->avail_out = (uInt)room;
    (void)deflate(stream, Z_FINISH); /* there is room for all */
    buffer_end(&page->packed, stream->next_out);
}

static void make_page_header(struct page *page)
{
    struct thrift thrift = {.to = &page->header};
    const struct buffer *packed = &page->packed;
    page->header.count = 0;
    thrift_begin(&thrift);
    thrift_i32(&thrift, 1, page->kind);
    thrift_i32(&thrift, 2, (int32_t)page->plain.count);
    thrift_i32(&thrift, 3, (int32_t)packed->count);
    thrift_i32(&thrift, 4, (int32_t)crc32_z(0, packed->bytes, packed->count));
    thrift_struct(&thrift, page->kind == PAGE_DATA ? 5 : 7);
    thrift_i32(&thrift, 1, (int32_t)page->values);
    thrift_i32(&thrift, 2, page->encoding);
    if (page->kind == PAGE_DATA) {
        thrift_i32(&thrift, 3, ENCODING_RLE); /* of definition levels */
        thrift_i32(&thrift, 4, ENCODING_RLE); /* of repetition levels */
    }
    thrift_end(&thrift);
    thrift_end(&thrift);
}

static void run_column(void *context)
{
    struct column_job *job = context;
    if (job->to_encode)
        make_integers(job, job->arrays.values, job->there);
    if (!job->has_deflate)
        job->has_deflate = deflateInit2(&job->deflate, DEFLATE_LEVEL, Z_DEFLATED, GZIP_WINDOW,
                                        DEFLATE_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
    job->failed = !job->has_deflate;
    for (int i = 0; i < job->page_count && !job->failed; i++) {
        struct page *page = &job->pages[i];
        parquet_file_pack(job, page);
        make_page_header(page);
        job->failed = page->plain.failed || page->packed.failed || page->header.failed;
    }
}

static void stop_column(void *context)
{
    struct column_job *job = context;
    if (job->has_deflate)
        deflateEnd(&job->deflate);
    free(job->arrays.values);
    free(job->arrays.there);
    for (int i = 0; i < 2; i++) {
        buffer_free(&job->pages[i].plain);
        buffer_free(&job->pages[i].packed);
        buffer_free(&job->pages[i].header);
    }
}

bool parquet_start(struct parquet *parquet, struct out *out, const struct parquet_column *columns,
                   int count, struct job_threads *threads)
{
    *parquet = (struct parquet){.out = out, .columns = columns, .column_count = count};
    if (threads)
        parquet->jobs = ordered_jobs_new(threads, sizeof(struct column_job), run_column);
    else
        parquet->single = calloc(1, sizeof *parquet->single);
    bool started = parquet->jobs || parquet->single;
    if (started)
        put_magic(parquet);
    return started;
}

void parquet_free(struct parquet *parquet)
{
    ordered_jobs_free(parquet->jobs, stop_column);
    if (parquet->single)
        stop_column(parquet->single);
    free(parquet->single);
    buffer_free(&parquet->chunks);
    buffer_free(&parquet->group_list);
    buffer_free(&parquet->fact_list);
}

/* ---- statistics ----------------------------------------------------------------------- */

static void put_bound(struct thrift *thrift, int id, struct trace_text bound)
{
    if (bound.bytes <= STATISTICS_TEXT_MAX)
        thrift_binary(thrift, id, bound.text, bound.bytes);
}

static void put_statistics(struct thrift *thrift, int id, const struct parquet_file_chunk *chunk)
{
    thrift_struct(thrift, id);
    thrift_i64(thrift, 3, (int64_t)chunk->nulls);
    if (chunk->has_bounds && chunk->nulls < chunk->values) {
        put_bound(thrift, 5, chunk->most);
        put_bound(thrift, 6, chunk->least);
    }
    thrift_end(thrift);
}

/* ---- columns of a row group ----------------------------------------------------------- */

void parquet_group_begin(struct parquet *parquet, size_t rows)
{
    parquet->group_rows = rows;
    parquet->column = 0;
}

static void end_written(struct parquet *parquet, uint64_t rows)
{
    struct thrift thrift = {.to = &parquet->group_list};
    thrift_begin(&thrift);
    thrift_list(&thrift, 1, THRIFT_STRUCT, (size_t)parquet->column_count);
    buffer_append(&parquet->group_list, parquet->chunks.bytes, parquet->chunks.count);
    thrift_i64(&thrift, 2, (int64_t)parquet->group_bytes);
    thrift_i64(&thrift, 3, (int64_t)rows);
    thrift_i64(&thrift, 5, (int64_t)parquet->group_offset);
    thrift_i64(&thrift, 6, (int64_t)parquet->group_packed_bytes);
    thrift_end(&thrift);
    parquet->rows += rows;
    parquet->groups++;
}

/* What the footer says of a column that was written. */
static void write_chunk(struct parquet *parquet, const struct parquet_column *column,
                        const struct parquet_file_chunk *chunk)
{
    const struct parquet_file_kind *kind = &kinds[column->type];
    struct thrift thrift = {.to = &parquet->chunks};
    thrift_begin(&thrift);
    thrift_i64(&thrift, 2, 0); /* no metadata besides that in the footer */
    thrift_struct(&thrift, 3);
    thrift_i32(&thrift, 1, kind->type);
    thrift_list(&thrift, 2, THRIFT_I32, chunk->has_dictionary ? 3 : 2);
    thrift_i32_element(&thrift, chunk->encoding);
    thrift_i32_element(&thrift, ENCODING_RLE);
    if (chunk->has_dictionary)
        thrift_i32_element(&thrift, ENCODING_PLAIN);
    thrift_list(&thrift, 3, THRIFT_BINARY, 1);
    binary(&thrift, column->name, strlen(column->name));
    thrift_i32(&thrift, 4, CODEC_GZIP);
    thrift_i64(&thrift, 5, (int64_t)chunk->values);
    thrift_i64(&thrift, 6, (int64_t)chunk->bytes);
    thrift_i64(&thrift, 7, (int64_t)chunk->packed_bytes);
    thrift_i64(&thrift, 9, (int64_t)(chunk->offset + chunk->dictionary_bytes));
    if (chunk->has_dictionary)
        thrift_i64(&thrift, 11, (int64_t)chunk->offset);
    put_statistics(&thrift, 12, chunk);
    thrift_end(&thrift);
    thrift_end(&thrift);
    parquet->group_bytes += chunk->bytes;
    parquet->group_packed_bytes += chunk->packed_bytes;
}

/* The next one in the file. */
static void write_column(struct parquet *parquet, struct column_job *job)
{
    struct parquet_file_chunk *chunk = &job->chunk;
    parquet->failed |= job->failed;
    /* The columns of a row group are written, maybe while those of the next one are made. */
    if (job->column == 0) {
        parquet->group_bytes = parquet->group_packed_bytes = 0;
        parquet->group_offset = parquet->offset;
        parquet->chunks.count = 0;
    }
    chunk->offset = parquet->offset;
    for (int i = 0; i < job->page_count && !parquet->failed; i++) {
        struct page *page = &job->pages[i];
        chunk->bytes += page->header.count + page->plain.count;
        chunk->packed_bytes += page->header.count + page->packed.count;
        if (page->kind == PAGE_DICTIONARY)
            chunk->dictionary_bytes = chunk->packed_bytes;
        parquet_file_put(parquet, &page->header);
        parquet_file_put(parquet, &page->packed);
    }
    write_chunk(parquet, &parquet->columns[job->column], chunk);
    if (job->column + 1 == parquet->column_count)
        end_written(parquet, chunk->values);
}

static struct parquet_file_chunk *begin_chunk(struct parquet *parquet)
{
    const struct parquet_column *column = &parquet->columns[parquet->column];
    struct column_job *job = parquet->single;
    while (parquet->jobs && !(job = ordered_jobs_next(parquet->jobs)))
        write_column(parquet, ordered_jobs_take(parquet->jobs));
    job->column = parquet->column;
    job->strategy = kinds[column->type].strategy;
    job->type = column->type;
    job->optional = column->optional;
    job->to_encode = false;
    job->page_count = 0;
    job->chunk = (struct parquet_file_chunk){.values = parquet->group_rows,
                                             .encoding = kinds[column->type].encoding};
    parquet->job = job;
    parquet->plain = &job->pages[0].plain;
    parquet->plain->count = 0;
    return &job->chunk;
}

/* What is in plain is a page; the next one begins. */
static void put_page(struct parquet *parquet, int kind, uint64_t values, int encoding)
{
    struct column_job *job = parquet->job;
    struct page *page = &job->pages[job->page_count++];
    page->kind = kind;
    page->values = values;
    page->encoding = encoding;
    if (job->page_count < 2) {
        parquet->plain = &job->pages[job->page_count].plain;
        parquet->plain->count = 0;
    }
}

/* What it points to may be gone when it is written. */
static void keep_bound(char *room, struct trace_text *bound)
{
    if (bound->bytes && bound->bytes <= STATISTICS_TEXT_MAX && bound->text != room)
        memcpy(room, bound->text, bound->bytes);
    bound->text = room;
}

static void end_chunk(struct parquet *parquet)
{
    struct column_job *job = parquet->job;
    keep_bound(job->least, &job->chunk.least);
    keep_bound(job->most, &job->chunk.most);
    parquet->column++;
    if (parquet->jobs) {
        ordered_jobs_submit(parquet->jobs);
        return;
    }
    run_column(job);
    write_column(parquet, job);
}

void parquet_integers(struct parquet *parquet, int64_t *values, const int64_t *there)
{
    struct parquet_file_chunk *chunk = begin_chunk(parquet);
    make_integers(parquet->job, values, there);
    put_page(parquet, PAGE_DATA, chunk->values, chunk->encoding);
    end_chunk(parquet);
}

/* Those of the job, made if it has none yet, and the caller's change places. */
static bool swap_array(int64_t **ours, int64_t **theirs, size_t room)
{
    int64_t *given = *theirs;
    if (!*ours && !(*ours = malloc(room * sizeof **ours)))
        return false;
    *theirs = *ours;
    *ours = given;
    return true;
}

void parquet_take_integers(struct parquet *parquet, struct parquet_arrays *arrays,
                           const int64_t *there)
{
    struct parquet_file_chunk *chunk = begin_chunk(parquet);
    struct column_job *job = parquet->job;
    bool apart = there && there == arrays->there;
    bool both = there && there == arrays->values;
    if (!swap_array(&job->arrays.values, &arrays->values, arrays->room) ||
        (apart && !swap_array(&job->arrays.there, &arrays->there, arrays->room))) {
        parquet->failed = true;
        return;
    }
    job->there = both ? job->arrays.values : apart ? job->arrays.there : NULL;
    job->to_encode = true;
    put_page(parquet, PAGE_DATA, chunk->values, chunk->encoding);
    end_chunk(parquet);
}

void parquet_constant(struct parquet *parquet, int64_t value)
{
    const struct parquet_column *column = &parquet->columns[parquet->column];
    const struct parquet_file_kind *kind = &kinds[column->type];
    struct parquet_file_chunk *chunk = begin_chunk(parquet);
    if (column->optional)
        put_levels(parquet->plain, NULL, true, chunk->values);
    if (kind->encoding == ENCODING_DELTA)
        encode_delta_run(parquet->plain, value, chunk->values, kind->type == TYPE_INT64 ? 64 : 32);
    else
        encode_bit_run(parquet->plain, value != 0, chunk->values);
    write_bounds(parquet->job, value, value);
    put_page(parquet, PAGE_DATA, chunk->values, chunk->encoding);
    end_chunk(parquet);
}

/* Levels alone: a run of them. */
void parquet_nulls(struct parquet *parquet)
{
    struct parquet_file_chunk *chunk = begin_chunk(parquet);
    chunk->nulls = chunk->values;
    chunk->encoding = ENCODING_PLAIN;
    put_levels(parquet->plain, NULL, false, chunk->values);
    put_page(parquet, PAGE_DATA, chunk->values, chunk->encoding);
    end_chunk(parquet);
}

void parquet_texts(struct parquet *parquet, const uint32_t *places,
                   struct parquet_dictionary dictionary, const int64_t *there)
{
    struct parquet_file_chunk *chunk = begin_chunk(parquet);
    struct buffer *plain = parquet->plain;
    const struct trace_text *texts = dictionary.texts;
    chunk->least = chunk->most = texts[0];
    chunk->has_bounds = true;
    chunk->has_dictionary = true;
    for (uint32_t i = 0; i < dictionary.count; i++) {
        buffer_le(plain, texts[i].bytes, 4);
        buffer_append(plain, texts[i].text, texts[i].bytes);
        chunk->least = trace_text_compare(texts[i], chunk->least) < 0 ? texts[i] : chunk->least;
        chunk->most = trace_text_compare(texts[i], chunk->most) > 0 ? texts[i] : chunk->most;
    }
    put_page(parquet, PAGE_DICTIONARY, dictionary.count, ENCODING_PLAIN);
    plain = parquet->plain;
    unsigned bytes = dictionary.count <= 1u << 8 ? 1 : dictionary.count <= 1u << 16 ? 2 : 4;
    size_t rows = parquet->group_rows;
    size_t count = parquet->job->optional ? put_levels_of(plain, there, rows) : rows;
    chunk->nulls = chunk->values - count;
    buffer_le(plain, (uint8_t)(8 * bytes), 1);
    encode_hybrid(plain, places, count, bytes);
    put_page(parquet, PAGE_DATA, chunk->values, ENCODING_DICTIONARY);
    end_chunk(parquet);
}

/* ---- footer --------------------------------------------------------------------------- */

void parquet_fact(struct parquet *parquet, const char *key, struct trace_text value)
{
    struct thrift thrift = {.to = &parquet->fact_list};
    thrift_begin(&thrift);
    thrift_text(&thrift, 1, key);
    thrift_binary(&thrift, 2, value.text, value.bytes);
    thrift_end(&thrift);
    parquet->facts++;
}

static void put_logical_type(struct thrift *thrift, int id, const struct parquet_file_kind *kind)
{
    if (kind->logical == LOGICAL_NONE)
        return;
    thrift_struct(thrift, id);
    thrift_struct(thrift, kind->logical);
    if (kind->logical == LOGICAL_TIMESTAMP) {
        thrift_bool(thrift, 1, false); /* see export_parquet.c */
        thrift_struct(thrift, 2);
        thrift_struct(thrift, 3); /* nanoseconds */
        thrift_end(thrift);
        thrift_end(thrift);
    } else if (kind->logical == LOGICAL_INTEGER) {
        thrift_i8(thrift, 1, kind->type == TYPE_INT64 ? 64 : 32);
        thrift_bool(thrift, 2, false); /* no sign */
    }
    thrift_end(thrift);
    thrift_end(thrift);
}

static void parquet_file_put_schema(struct thrift *thrift, int id, const struct parquet *parquet)
{
    thrift_list(thrift, id, THRIFT_STRUCT, (size_t)parquet->column_count + 1);
    thrift_begin(thrift);
    thrift_text(thrift, 4, "span");
    thrift_i32(thrift, 5, parquet->column_count);
    thrift_end(thrift);
    for (int i = 0; i < parquet->column_count; i++) {
        const struct parquet_column *column = &parquet->columns[i];
        const struct parquet_file_kind *kind = &kinds[column->type];
        thrift_begin(thrift);
        thrift_i32(thrift, 1, kind->type);
        thrift_i32(thrift, 3, column->optional); /* required or optional */
        thrift_text(thrift, 4, column->name);
        if (kind->converted != CONVERTED_NONE)
            thrift_i32(thrift, 6, kind->converted);
        put_logical_type(thrift, 10, kind);
        thrift_end(thrift);
    }
}

/* Bounds are valid by the order of the column's type. */
static void put_column_orders(struct thrift *thrift, int id, int columns)
{
    thrift_list(thrift, id, THRIFT_STRUCT, (size_t)columns);
    for (int i = 0; i < columns; i++) {
        thrift_begin(thrift);
        thrift_struct(thrift, 1);
        thrift_end(thrift);
        thrift_end(thrift);
    }
}

void parquet_finish(struct parquet *parquet)
{
    struct buffer made = {0}, *footer = &made;
    struct thrift thrift = {.to = footer};
    struct column_job *job;
    while (parquet->jobs && (job = ordered_jobs_take(parquet->jobs)))
        write_column(parquet, job);
    thrift_begin(&thrift);
    thrift_i32(&thrift, 1, FORMAT_VERSION);
    parquet_file_put_schema(&thrift, 2, parquet);
    thrift_i64(&thrift, 3, (int64_t)parquet->rows);
    thrift_list(&thrift, 4, THRIFT_STRUCT, parquet->groups);
    buffer_append(footer, parquet->group_list.bytes, parquet->group_list.count);
    thrift_list(&thrift, 5, THRIFT_STRUCT, parquet->facts);
    buffer_append(footer, parquet->fact_list.bytes, parquet->fact_list.count);
    thrift_text(&thrift, 6, "rbwp version " RBWP_VERSION_STRING);
    put_column_orders(&thrift, 7, parquet->column_count);
    thrift_end(&thrift);
    buffer_le(footer, (uint32_t)footer->count, 4);
    parquet->failed |= made.failed;
    parquet_file_put(parquet, footer);
    put_magic(parquet);
    buffer_free(&made);
}
