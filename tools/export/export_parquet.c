/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as a Parquet file: one row a span, in the order in which they come.
 *
 * A group of rows (span_columns.h) is a row group, which is all that memory holds. Times are in
 * UTC, but not marked as such: DuckDB has nanoseconds for unmarked times alone and would round
 * marked ones to microseconds. Names become UTF-8 (utf8.h). Of a column that is null all
 * over a row group only that is written. Counters, and links other than launches, have no place in
 * one table of spans: the SQLite export has them.
 */
#include "export.h"
#include "message.h"
#include "parquet_file.h"
#include "span_columns.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* ---- tables whose schema says not how to show them, each as a Parquet file ------------------- */
/*
 * Beside OUT.parquet is OUT.NAME.parquet, with the process and the row's number before
 * the table's own columns. A row group is a block of the file, so nothing is kept.
 *
 * Blocks of rows as row groups.
 */

enum { PARQUET_TABLES_MAX = 64 }; /* files open at once; rows of more are dropped */

/* Zero is none. */
struct parquet_tables {
    struct trace_pass *pass;
    struct parquet_table *tables; /* by the trace's number of a table */
    uint32_t count, open;
    int64_t *values, *there; /* of a column of a block */
    uint32_t *places;
    struct trace_text *texts;
    uint32_t value_room, there_room, place_room, text_room;
    struct buffer repaired;
    uint64_t dropped; /* rows */
    bool failed;      /* a message was given */
};

struct parquet_table {
    char *path;
    struct out out;
    struct parquet parquet;
    struct parquet_column *columns; /* process and row before the table's own */
    uint32_t process, column_count;
    bool open;
};

static bool parquet_tables_fail(struct parquet_tables *tables)
{
    return message_once(&tables->failed, "out of memory; tables are dropped");
}

/* ---- names of files ------------------------------------------------------------------ */

static bool path_is_taken(const struct parquet_tables *tables, const char *path)
{
    for (uint32_t i = 0; i < tables->count; i++)
        if (tables->tables[i].path && strcmp(tables->tables[i].path, path) == 0)
            return true;
    return false;
}

/* Length of the output's name without ".parquet" and ".gz". */
static int base_bytes(const char *path)
{
    static const char *const suffixes[] = {".gz", ".parquet"};
    size_t bytes = strlen(path);
    for (int i = 0; i < 2; i++) {
        size_t suffix = strlen(suffixes[i]);
        if (bytes > suffix && memcmp(path + bytes - suffix, suffixes[i], suffix) == 0)
            bytes -= suffix;
    }
    return (int)bytes;
}

/* OUT.NAME.parquet, with a number behind NAME where it is taken. NULL without memory. */
static char *path_for(const struct parquet_tables *tables, const struct rbwp_schema *schema)
{
    enum { NAME_BYTES = 64 };
    static const char plain[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";
    const char *output = tables->pass->options->output.path;
    char name[NAME_BYTES + 1] = "", *path = NULL;
    for (uint32_t i = 0; i < schema->name_bytes && i < NAME_BYTES; i++)
        name[i] = schema->name[i] && strchr(plain, schema->name[i]) ? schema->name[i] : '_';
    for (uint32_t tried = 1; !path; tried++) {
        char number[16] = "";
        if (tried > 1)
            snprintf(number, sizeof number, "-%" PRIu32, tried);
        if (asprintf(&path, "%.*s.%s%s.parquet", base_bytes(output), output, name, number) < 0)
            return NULL;
        if (path_is_taken(tables, path)) {
            free(path);
            path = NULL;
        }
    }
    return path;
}

/* ---- beginning one --------------------------------------------------------------------- */

/* Readers take names without regard to case, and none for an empty one. */
static bool name_is_good(const struct parquet_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        if (strcasecmp(table->columns[i].name, name) == 0)
            return false;
    return name[0] != '\0';
}

/* What is taken gets a number behind it. NULL without memory. */
static char *parquet_column_name(const struct parquet_table *table,
                                 const struct rbwp_column *column)
{
    char *repaired = malloc(UTF8_REPAIR_GROWTH * (size_t)column->name_bytes + 1), *name = NULL;
    if (!repaired)
        return NULL;
    repaired[utf8_repair(column->name, column->name_bytes, UTF8_REPLACEMENT, repaired)] = '\0';
    if (name_is_good(table, repaired))
        return repaired;
    for (unsigned tried = 2; !name; tried++) {
        if (asprintf(&name, "%s_%u", repaired, tried) < 0) {
            name = NULL;
            break;
        }
        if (!name_is_good(table, name)) {
            free(name);
            name = NULL;
        }
    }
    free(repaired);
    return name;
}

static struct parquet_column column_of(const struct parquet_table *table,
                                       const struct rbwp_column *column)
{
    static const struct parquet_column kinds[] = {
        [RBWP_COLUMN_U64] = {.type = PARQUET_ID},
        [RBWP_COLUMN_I64] = {.type = PARQUET_LENGTH},
        [RBWP_COLUMN_F64] = {.type = PARQUET_REAL},
        [RBWP_COLUMN_TIME] = {.type = PARQUET_TIME},
        [RBWP_COLUMN_DURATION] = {.type = PARQUET_ID},
        [RBWP_COLUMN_NAME] = {.type = PARQUET_TEXT, .optional = true},
        [RBWP_COLUMN_ROW] = {.type = PARQUET_ID, .optional = true},
        [RBWP_COLUMN_BYTES] = {.type = PARQUET_BLOB}};
    struct parquet_column made = kinds[column->type];
    made.name = parquet_column_name(table, column);
    return made;
}

static bool make_columns(struct parquet_table *table, const struct rbwp_schema *schema)
{
    table->columns = calloc(schema->column_count + 2u, sizeof *table->columns);
    if (!table->columns)
        return false;
    table->columns[0] = (struct parquet_column){"process", PARQUET_TEXT, false};
    table->columns[1] = (struct parquet_column){"row", PARQUET_ID, false};
    table->column_count = 2;
    for (uint32_t c = 0; c < schema->column_count; c++) {
        struct parquet_column column = column_of(table, &schema->columns[c]);
        if (!column.name)
            return false;
        table->columns[table->column_count++] = column;
    }
    return true;
}

/* What a column's type does not say. */
static void parquet_put_facts(struct parquet_table *table, const struct rbwp_schema *schema)
{
    char key[64], text[UTF8_REPAIR_GROWTH * UINT8_MAX];
    for (uint32_t c = 0; c < schema->column_count; c++) {
        const struct rbwp_column *column = &schema->columns[c];
        const char *role = rbwp_column_role_name(column->role);
        snprintf(key, sizeof key, "column.%" PRIu32 ".unit", c + 2);
        size_t bytes = utf8_repair(column->unit, column->unit_bytes, NULL, text);
        if (column->unit_bytes)
            parquet_fact(&table->parquet, key, (struct trace_text){text, (uint32_t)bytes});
        snprintf(key, sizeof key, "column.%" PRIu32 ".role", c + 2);
        if (*role)
            parquet_fact(&table->parquet, key, trace_text(role));
    }
}

static void parquet_tables_add(struct parquet_tables *tables, const struct trace_table *added)
{
    if (out_is_standard(&tables->pass->options->output) || tables->open == PARQUET_TABLES_MAX ||
        tables->failed)
        return;
    if (!GROW_ZEROED(tables->tables, tables->count, added->number + 1)) {
        parquet_tables_fail(tables);
        return;
    }
    struct parquet_table *table = &tables->tables[added->number];
    char *path = path_for(tables, added->schema);
    table->path = path;
    table->process = added->process;
    if (!path || !make_columns(table, added->schema)) {
        parquet_tables_fail(tables);
        return;
    }
    const struct out_options output = {.path = path, .force = tables->pass->options->output.force};
    if (!out_open(&table->out, &output, tables->pass->inputs)) {
        tables->failed = true;
        return;
    }
    tables->open++;
    table->open = true;
}

/* ---- columns ------------------------------------------------------------------------------ */

static void parquet_tables_put_numbers(struct parquet_tables *tables, struct parquet *parquet,
                                       const struct trace_rows *rows, uint32_t column)
{
    const uint64_t *cells = rows->rows->cells[column];
    bool times = rows->rows->schema->columns[column].type == RBWP_COLUMN_TIME;
    for (uint32_t i = 0; i < rows->rows->rows; i++)
        tables->values[i] =
            times ? trace_on_axis(rows->axis, (int64_t)cells[i]) : (int64_t)cells[i];
    parquet_integers(parquet, tables->values, tables->values);
}

/* The texts of the block's names, each once; in UTF-8. How many values there are, UINT32_MAX
 * without memory. */
static uint32_t find_names(struct parquet_tables *tables, const struct trace_rows *rows,
                           const uint64_t *cells, struct thread_map *names)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < rows->rows->rows; i++) {
        tables->there[i] = cells[i] != 0;
        if (!cells[i])
            continue;
        uint32_t place = thread_map_place(names, cells[i], &tables->texts, &tables->text_room,
                                          sizeof *tables->texts);
        if (place == THREAD_NONE)
            return UINT32_MAX;
        struct rbwp_text text = rbwp_catalog_name(rows->catalog, cells[i]);
        tables->texts[place] = (struct trace_text){text.text, text.bytes};
        tables->places[found++] = place;
    }
    return found;
}

/* Those that are not UTF-8. Room for all of them first, so that none of them moves. */
static bool repair(struct trace_text *texts, uint32_t count, struct buffer *repaired)
{
    size_t bytes = 1;
    for (uint32_t i = 0; i < count; i++)
        bytes += UTF8_REPAIR_GROWTH * (size_t)texts[i].bytes;
    repaired->count = 0;
    char *to = (char *)buffer_reserve(repaired, bytes);
    for (uint32_t i = 0; to && i < count; i++) {
        struct trace_text *text = &texts[i];
        if (utf8_valid(text->text, text->bytes))
            continue;
        text->bytes = (uint32_t)utf8_repair(text->text, text->bytes, NULL, to);
        text->text = to;
        to += text->bytes;
    }
    return to != NULL;
}

static void put_names(struct parquet_tables *tables, struct parquet *parquet,
                      const struct trace_rows *rows, uint32_t column)
{
    struct thread_map names = {0};
    uint32_t found = find_names(tables, rows, rows->rows->cells[column], &names);
    if (found == 0)
        parquet_nulls(parquet);
    else if (found != UINT32_MAX && repair(tables->texts, names.count, &tables->repaired))
        parquet_texts(parquet, tables->places,
                      (struct parquet_dictionary){tables->texts, names.count}, tables->there);
    else
        parquet_tables_fail(tables);
    thread_map_free(&names);
}

static void put_blobs(struct parquet_tables *tables, struct parquet *parquet,
                      const struct trace_rows *rows, uint32_t column)
{
    uint32_t count = rows->rows->rows;
    if (!GROW_ZEROED(tables->texts, tables->text_room, count)) {
        parquet_tables_fail(tables);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct rbwp_text text = rbwp_rows_bytes(rows->rows, rows->rows->cells[column][i]);
        tables->texts[i] = (struct trace_text){text.text, text.bytes};
        tables->places[i] = i;
    }
    parquet_texts(parquet, tables->places, (struct parquet_dictionary){tables->texts, count}, NULL);
}

/* Process and row number. */
static void put_place(struct parquet_tables *tables, struct parquet_table *table,
                      const struct rbwp_rows *rows)
{
    if (!GROW_ZEROED(tables->texts, tables->text_room, 1)) {
        parquet_tables_fail(tables);
        return;
    }
    tables->texts[0] = trace_process_of(tables->pass->trace, table->process)->name;
    memset(tables->places, 0, rows->rows * sizeof *tables->places);
    if (repair(tables->texts, 1, &tables->repaired))
        parquet_texts(&table->parquet, tables->places,
                      (struct parquet_dictionary){tables->texts, 1}, NULL);
    for (uint32_t i = 0; i < rows->rows; i++)
        tables->values[i] = (int64_t)(rows->first_row + i);
    parquet_integers(&table->parquet, tables->values, tables->values);
}

static bool parquet_make_room(struct parquet_tables *tables, uint32_t rows)
{
    return (GROW_ZEROED(tables->values, tables->value_room, rows) &&
            GROW_ZEROED(tables->there, tables->there_room, rows) &&
            GROW_ZEROED(tables->places, tables->place_room, rows)) ||
           parquet_tables_fail(tables);
}

/* The first rows of a table begin its file. */
static bool begin_file(struct parquet_tables *tables, struct parquet_table *table,
                       const struct rbwp_schema *schema)
{
    if (table->parquet.single)
        return true;
    if (!parquet_start(&table->parquet, &table->out, table->columns, (int)table->column_count,
                       NULL))
        return parquet_tables_fail(tables);
    parquet_put_facts(table, schema);
    return true;
}

static void parquet_tables_take(struct parquet_tables *tables, const struct trace_rows *rows)
{
    const struct rbwp_rows *these = rows->rows;
    if (these->rows == 0)
        return;
    struct parquet_table *table = rows->table < tables->count ? &tables->tables[rows->table] : NULL;
    if (!table || !table->open || tables->failed || !parquet_make_room(tables, these->rows) ||
        !begin_file(tables, table, these->schema)) {
        tables->dropped += these->rows;
        return;
    }
    struct parquet *parquet = &table->parquet;
    parquet_group_begin(parquet, these->rows);
    put_place(tables, table, these);
    for (uint32_t c = 0; c < these->schema->column_count && !tables->failed; c++) {
        unsigned type = these->schema->columns[c].type;
        if (type == RBWP_COLUMN_NAME)
            put_names(tables, parquet, rows, c);
        else if (type == RBWP_COLUMN_BYTES)
            put_blobs(tables, parquet, rows, c);
        else
            parquet_tables_put_numbers(tables, parquet, rows, c);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Without its footer a file is none. A table without rows has a file, too. */
static enum exit_code export_parquet_finish(struct parquet_tables *tables,
                                            struct parquet_table *table)
{
    bool whole = !tables->failed && (table->parquet.single ||
                                     parquet_start(&table->parquet, &table->out, table->columns,
                                                   (int)table->column_count, NULL));
    if (whole)
        parquet_finish(&table->parquet);
    whole = whole && !parquet_failed(&table->parquet);
    enum exit_code code = out_close(&table->out);
    return code != EXIT_GOOD || whole ? code : EXIT_PARTIAL;
}

/* Finishes the files. EXIT_GOOD, or EXIT_PARTIAL if one of them is not whole. */
static enum exit_code parquet_tables_finish(struct parquet_tables *tables)
{
    enum exit_code code = tables->failed ? EXIT_PARTIAL : EXIT_GOOD;
    for (uint32_t i = 0; i < tables->count; i++) {
        struct parquet_table *table = &tables->tables[i];
        if (table->open)
            code = exit_worse(code, export_parquet_finish(tables, table));
        parquet_free(&table->parquet);
        for (uint32_t c = 2; c < table->column_count; c++)
            free((char *)(uintptr_t)table->columns[c].name);
        free(table->columns);
        free(table->path);
    }
    buffer_free(&tables->repaired);
    free(tables->tables);
    free(tables->values);
    free(tables->there);
    free(tables->places);
    free(tables->texts);
    return code;
}

/* ---- export parquet -------------------------------------------------------------------------- */

/* Which texts a row group has, by the trace's numbers of them. */
struct numbered {
    uint32_t *places;  /* of a number in the dictionary, plus 1; 0: not in it */
    uint32_t *numbers; /* of a place */
    uint32_t count, place_room, number_room;
};

struct table {
    struct span_columns columns;
    struct parquet parquet;
    struct parquet_column column_list[SPAN_COLUMNS_MAX]; /* those that are wanted */
    uint32_t *places;                                    /* of a column of text */
    struct numbered *numbered;                           /* by column */
    struct trace_text *texts;                            /* of a dictionary */
    uint32_t text_room;
    struct buffer repaired;       /* those of them that are not UTF-8 */
    struct parquet_tables tables; /* a program's own */
    bool failed;
};

static void parquet_fail(struct table *table)
{
    message_once(&table->failed, "out of memory; the Parquet file cannot be finished");
}

/* ---- columns --------------------------------------------------------------------------- */

/* The place of a number that is not in the dictionary yet, plus 1; 0 without memory. */
static uint32_t parquet_add_number(struct numbered *numbered, uint32_t number)
{
    if (!GROW_ZEROED(numbered->places, numbered->place_room, number + 1) ||
        !GROW_ZEROED(numbered->numbers, numbered->number_room, numbered->count + 1))
        return 0;
    numbered->numbers[numbered->count++] = number;
    return numbered->places[number] = numbered->count;
}

/* Places of the values that are there. *found_out: how many these are. */
static bool find_places(struct table *table, struct numbered *numbered,
                        const struct span_column_part *part, bool optional, size_t *found_out)
{
    size_t found = 0;
    for (size_t i = 0; i < table->columns.count; i++) {
        uint32_t number = (uint32_t)part->values[i];
        if (optional && !number)
            continue;
        uint32_t place = number < numbered->place_room ? numbered->places[number] : 0;
        if (!place && !(place = parquet_add_number(numbered, number)))
            return false;
        table->places[found++] = place - 1;
    }
    *found_out = found;
    return true;
}

static void put_texts(struct table *table, int column, const struct span_column_part *part)
{
    struct numbered *numbered = &table->numbered[column];
    size_t found;
    if (!find_places(table, numbered, part, span_column(column)->optional, &found) ||
        !GROW_ZEROED(table->texts, table->text_room, numbered->count)) {
        parquet_fail(table);
        return;
    }
    for (uint32_t i = 0; i < numbered->count; i++) {
        table->texts[i] = span_columns_text(&table->columns, column, numbered->numbers[i]);
        numbered->places[numbered->numbers[i]] = 0; /* for the next row group */
    }
    if (repair(table->texts, numbered->count, &table->repaired))
        parquet_texts(&table->parquet, table->places,
                      (struct parquet_dictionary){table->texts, numbered->count}, part->there);
    else
        parquet_fail(table);
    numbered->count = 0;
}

/* By the arrays that the columns gather values in. */
static void put_numbers(struct table *table, const struct span_column_part *part)
{
    struct span_columns *columns = &table->columns;
    struct parquet_arrays arrays = {columns->values, columns->there, SPAN_GROUP_ROWS};
    parquet_take_integers(&table->parquet, &arrays, part->there);
    columns->values = arrays.values;
    columns->there = arrays.there;
}

static void parquet_put_column(struct table *table, int column)
{
    struct span_column_part part = span_columns_part(&table->columns, column);
    if (part.form == SPAN_COLUMN_NULLS)
        parquet_nulls(&table->parquet);
    else if (part.form == SPAN_COLUMN_CONSTANT)
        parquet_constant(&table->parquet, part.constant);
    else if (span_column(column)->type == SPAN_COLUMN_TEXT)
        put_texts(table, column, &part);
    else
        put_numbers(table, &part);
}

static void parquet_put_group(void *context)
{
    struct table *table = context;
    parquet_group_begin(&table->parquet, table->columns.count);
    for (int c = 0; c < span_column_count() && !table->failed; c++)
        if (span_columns_wants(&table->columns, c))
            parquet_put_column(table, c);
}

/* ---- the sink ------------------------------------------------------------------------- */

static void take_table(void *context, const struct trace_table *added)
{
    const struct span_columns *columns = context;
    struct table *table = columns->user.context;
    parquet_tables_add(&table->tables, added);
}

static void parquet_on_rows(void *context, const struct trace_rows *rows)
{
    const struct span_columns *columns = context;
    struct table *table = columns->user.context;
    parquet_tables_take(&table->tables, rows);
}

static void put_fact_of_trace(void *context, const char *key, struct trace_text value)
{
    struct table *table = context;
    char *repaired = malloc(UTF8_REPAIR_GROWTH * (size_t)value.bytes + 1);
    if (!repaired) {
        parquet_fail(table);
        return;
    }
    uint32_t bytes = (uint32_t)utf8_repair(value.text, value.bytes, NULL, repaired);
    parquet_fact(&table->parquet, key, (struct trace_text){repaired, bytes});
    free(repaired);
}

static bool parquet_has_failed(const void *context)
{
    const struct table *table = context;
    return table->failed || parquet_failed(&table->parquet);
}

static void free_table(struct table *table)
{
    for (int c = 0; table->numbered && c < span_column_count(); c++) {
        free(table->numbered[c].places);
        free(table->numbered[c].numbers);
    }
    free(table->numbered);
    span_columns_free(&table->columns);
    parquet_free(&table->parquet);
    buffer_free(&table->repaired);
    free(table->texts);
    free(table->places);
    free(table);
}

/* Those that are wanted, as Parquet has them; how many. */
static int list_columns(struct table *table)
{
    static const enum parquet_type type[] = {
        [SPAN_COLUMN_TEXT] = PARQUET_TEXT,     [SPAN_COLUMN_TIME] = PARQUET_TIME,
        [SPAN_COLUMN_LENGTH] = PARQUET_LENGTH, [SPAN_COLUMN_ID] = PARQUET_ID,
        [SPAN_COLUMN_NUMBER] = PARQUET_NUMBER, [SPAN_COLUMN_YES_OR_NO] = PARQUET_YES_OR_NO};
    int count = 0;
    for (int c = 0; c < span_column_count(); c++) {
        const struct span_column *column = span_column(c);
        if (span_columns_wants(&table->columns, c))
            table->column_list[count++] =
                (struct parquet_column){column->name, type[column->type], column->optional};
    }
    return count;
}

static struct table *parquet_make_table(struct trace_pass *pass)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    const struct span_columns_user user = {table, parquet_put_group, put_fact_of_trace,
                                           parquet_has_failed};
    table->tables.pass = pass;
    table->numbered = calloc((size_t)span_column_count(), sizeof *table->numbered);
    table->places = malloc(SPAN_GROUP_ROWS * sizeof *table->places);
    if (table->places && table->numbered && span_columns_make(&table->columns, pass, &user) &&
        parquet_start(&table->parquet, &pass->out, table->column_list, list_columns(table),
                      pass->threads))
        return table;
    free_table(table);
    return NULL;
}

static bool parquet_begin(struct trace_pass *pass)
{
    if (isatty(pass->out.fd))
        return message_fail("Parquet is no text for a terminal: give -o FILE");
    struct table *table = parquet_make_table(pass);
    if (!table)
        return message_fail("out of memory");
    pass->state = table;
    pass->sink = span_columns_sink(&table->columns);
    pass->sink.table = take_table;
    pass->sink.rows = parquet_on_rows;
    return true;
}

/* Without its footer a file is none, so that what failed is not taken for whole. */
static enum exit_code parquet_end(struct trace_pass *pass)
{
    struct table *table = pass->state;
    span_columns_finish(&table->columns);
    table->failed |= table->columns.failed; /* a message was given */
    if (!table->failed)
        parquet_finish(&table->parquet);
    if (parquet_failed(&table->parquet))
        parquet_fail(table);
    enum exit_code code = parquet_tables_finish(&table->tables);
    table->columns.dropped.rows = table->tables.dropped;
    dropped_report(pass, "parquet", table->columns.dropped);
    code = table->failed ? EXIT_BAD_DATA : code;
    free_table(table);
    return code;
}

const struct exporter exporter_parquet = {
    .name = "parquet",
    .suffixes = ".parquet",
    .summary = "typed columns for DuckDB, pandas, Spark",
    .binary = true,
    .has_columns = true,
    .has_parts = true,
    .maker.begin = parquet_begin,
    .maker.end = parquet_end,
};
