/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables whose schema says not how to show them: rows_NAME with a column for
 * each of theirs, the process and the row's number before them.
 *
 * Processes whose tables have the same name and columns share one. SQLite
 * compares names without regard to case: what repeats gets a number behind it.
 */
#include "sqlite_database.h"

#include "message.h"
#include "utf8.h"

#include <math.h>
#include <stdlib.h>

/* Values of one row, one after the other. */

void sqlite_fail(struct database *database, const char *why)
{
    message_once(&database->failed, "%s: cannot be written: %s", database->path, why);
}

void sqlite_number(struct sqlite_row *row, int64_t value)
{
    sqlite3_bind_int64(row->insert, ++row->column, value);
}

void sqlite_number_or_null(struct sqlite_row *row, bool there, int64_t value)
{
    ++row->column;
    if (there)
        sqlite3_bind_int64(row->insert, row->column, value);
    else
        sqlite3_bind_null(row->insert, row->column);
}

void sqlite_unsigned(struct sqlite_row *row, uint64_t value)
{
    if (value > INT64_MAX)
        sqlite_real(row, (double)value);
    else
        sqlite_number(row, (int64_t)value);
}

void sqlite_real(struct sqlite_row *row, double value)
{
    if (isnan(value))
        sqlite_text(row, trace_text("NaN"));
    else
        sqlite3_bind_double(row->insert, ++row->column, value);
}

/* A zero byte becomes a space in a command line, whose arguments it parts. */
static void text_with(struct sqlite_row *row, struct trace_text value, bool is_command)
{
    char *repaired = malloc(UTF8_REPAIR_GROWTH * (size_t)value.bytes + 1);
    ++row->column;
    if (!repaired) {
        sqlite_fail(row->database, "out of memory");
        return;
    }
    size_t bytes =
        utf8_repair(value.text, value.bytes, is_command ? " " : UTF8_REPLACEMENT, repaired);
    if (sqlite3_bind_text64(row->insert, row->column, repaired, bytes, free, SQLITE_UTF8) !=
        SQLITE_OK)
        sqlite_fail(row->database, sqlite3_errmsg(row->database->db));
}

void sqlite_text(struct sqlite_row *row, struct trace_text value)
{
    text_with(row, value, false);
}

void sqlite_text_or_null(struct sqlite_row *row, struct trace_text value, bool is_command)
{
    if (value.bytes)
        text_with(row, value, is_command);
    else
        sqlite3_bind_null(row->insert, ++row->column);
}

static void sqlite_blob(struct sqlite_row *row, struct rbwp_text bytes)
{
    if (sqlite3_bind_blob64(row->insert, ++row->column, bytes.bytes ? bytes.text : "", bytes.bytes,
                            SQLITE_TRANSIENT) != SQLITE_OK)
        sqlite_fail(row->database, sqlite3_errmsg(row->database->db));
}

void sqlite_end_row(struct sqlite_row *row)
{
    if (!row->database->failed && sqlite3_step(row->insert) != SQLITE_DONE)
        sqlite_fail(row->database, sqlite3_errmsg(row->database->db));
    sqlite3_reset(row->insert);
}

struct sqlite_table {
    char *name;      /* in SQL */
    char *signature; /* what the schema is, as a text */
    sqlite3_stmt *insert;
};

struct sqlite_table_place {
    uint32_t table, process;
};

/* ---- names ----------------------------------------------------------------------------- */

/* As SQLite has it, with a number behind it from the second try on; in memory of sqlite3_free. NULL
 * without memory. */
static char *name_for(const char *prefix, const char *text, uint32_t bytes, uint32_t tried)
{
    char *repaired = malloc(UTF8_REPAIR_GROWTH * (size_t)bytes + 1);
    if (!repaired)
        return NULL;
    repaired[utf8_repair(text, bytes, UTF8_REPLACEMENT, repaired)] = '\0';
    char *name = tried ? sqlite3_mprintf("%s%s_%u", prefix, repaired, (unsigned)tried + 1)
                       : sqlite3_mprintf("%s%s", prefix, repaired);
    free(repaired);
    return name;
}

static bool has_table(const struct database *database, const char *name)
{
    for (uint32_t i = 0; i < database->table_count; i++)
        if (sqlite3_stricmp(database->tables[i].name, name) == 0)
            return true;
    return false;
}

static bool has_column(char *const *names, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (sqlite3_stricmp(names[i], name) == 0)
            return true;
    return name[0] == '\0' || sqlite3_stricmp(name, "process") == 0 ||
           sqlite3_stricmp(name, "row") == 0;
}

static char *table_name(const struct database *database, const struct rbwp_schema *schema)
{
    char *name = NULL;
    uint32_t tried = 0;
    do {
        sqlite3_free(name);
        name = name_for("rows_", schema->name, schema->name_bytes, tried++);
    } while (name && has_table(database, name));
    return name;
}

static char *sqlite_tables_column_name(char *const *names, uint32_t count,
                                       const struct rbwp_column *column)
{
    char *name = NULL;
    uint32_t tried = 0;
    do {
        sqlite3_free(name);
        name = name_for("", column->name, column->name_bytes, tried++);
    } while (name && has_column(names, count, name));
    return name;
}

/* Name, types and names of columns: two schemas that say the same are one table. */
static char *signature_of(const struct rbwp_schema *schema)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (uint32_t i = 0; i < schema->name_bytes; i++)
        sqlite3_str_appendf(text, "%02x", (unsigned char)schema->name[i]);
    for (uint32_t c = 0; c < schema->column_count; c++) {
        const struct rbwp_column *column = &schema->columns[c];
        sqlite3_str_appendf(text, ",%u:", (unsigned)column->type);
        for (uint32_t i = 0; i < column->name_bytes; i++)
            sqlite3_str_appendf(text, "%02x", (unsigned char)column->name[i]);
    }
    return sqlite3_str_finish(text);
}

/* ---- making one -------------------------------------------------------------------------- */

static const char *sql_type(unsigned type)
{
    return type == RBWP_COLUMN_F64     ? "REAL"
           : type == RBWP_COLUMN_NAME  ? "TEXT"
           : type == RBWP_COLUMN_BYTES ? "BLOB"
                                       : "INTEGER";
}

/* names: of the columns. */
static bool create(struct database *database, const struct rbwp_schema *schema,
                   struct sqlite_table *table, char *const *names)
{
    sqlite3_str *made = sqlite3_str_new(database->db), *insert = sqlite3_str_new(database->db);
    sqlite3_str_appendf(
        made,
        "CREATE TABLE \"%w\"(process INTEGER NOT NULL REFERENCES process, row INTEGER"
        " NOT NULL",
        table->name);
    sqlite3_str_appendf(insert, "INSERT INTO \"%w\" VALUES(?,?", table->name);
    for (uint32_t c = 0; c < schema->column_count; c++) {
        sqlite3_str_appendf(made, ",\"%w\" %s", names[c], sql_type(schema->columns[c].type));
        sqlite3_str_appendf(insert, ",?");
    }
    sqlite3_str_appendf(made, ")");
    sqlite3_str_appendf(insert, ")");
    char *made_text = sqlite3_str_finish(made), *insert_text = sqlite3_str_finish(insert);
    bool good = made_text && insert_text &&
                sqlite3_exec(database->db, made_text, NULL, NULL, NULL) == SQLITE_OK &&
                sqlite3_prepare_v3(database->db, insert_text, -1, SQLITE_PREPARE_PERSISTENT,
                                   &table->insert, NULL) == SQLITE_OK;
    if (!good)
        sqlite_fail(database, sqlite3_errmsg(database->db));
    sqlite3_free(made_text);
    sqlite3_free(insert_text);
    return good;
}

static void sqlite_tables_make_table(struct database *database, const struct rbwp_schema *schema,
                                     struct sqlite_table *table)
{
    char *names[RBWP_COLUMNS_MAX] = {0};
    bool good = (table->name = table_name(database, schema)) != NULL;
    for (uint32_t c = 0; good && c < schema->column_count; c++)
        good = (names[c] = sqlite_tables_column_name(names, c, &schema->columns[c])) != NULL;
    if (!good)
        sqlite_fail(database, "out of memory");
    good = good && create(database, schema, table, names);
    for (uint32_t c = 0; c < schema->column_count; c++) {
        if (good)
            sqlite_put_column(database, schema, table->name, c, names[c]);
        sqlite3_free(names[c]);
    }
}

/* The number of the table that the schema's rows go into; of no use if the database has failed. */
static uint32_t table_of(struct database *database, const struct rbwp_schema *schema)
{
    char *signature = signature_of(schema);
    for (uint32_t i = 0; signature && i < database->table_count; i++)
        if (strcmp(database->tables[i].signature, signature) == 0) {
            sqlite3_free(signature);
            return i;
        }
    struct sqlite_table table = {.signature = signature};
    if (!signature ||
        !GROW_ZEROED(database->tables, database->table_room, database->table_count + 1)) {
        sqlite_fail(database, "out of memory");
        sqlite3_free(signature);
        return database->table_count;
    }
    sqlite_tables_make_table(database, schema, &table);
    database->tables[database->table_count] = table;
    return database->table_count++;
}

void sqlite_take_table(void *context, const struct trace_table *table)
{
    struct database *database = context;
    if (database->failed)
        return;
    uint32_t number = table_of(database, table->schema);
    if (!GROW_ZEROED(database->places, database->place_room, table->number + 1))
        sqlite_fail(database, "out of memory");
    else
        database->places[table->number] = (struct sqlite_table_place){number, table->process};
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void put_cell(struct sqlite_row *row, const struct trace_rows *rows, uint32_t column,
                     uint64_t cell)
{
    double real;
    struct rbwp_text name;
    switch (rows->rows->schema->columns[column].type) {
    case RBWP_COLUMN_I64:
        sqlite_number(row, (int64_t)cell);
        break;
    case RBWP_COLUMN_F64:
        memcpy(&real, &cell, sizeof real);
        sqlite_real(row, real);
        break;
    case RBWP_COLUMN_TIME:
        sqlite_number(row, trace_on_axis(rows->axis, (int64_t)cell));
        break;
    case RBWP_COLUMN_NAME:
        name = rbwp_catalog_name(rows->catalog, cell);
        if (cell)
            sqlite_text(row, (struct trace_text){name.text, name.bytes});
        else
            sqlite_number_or_null(row, false, 0);
        break;
    case RBWP_COLUMN_ROW:
        sqlite_number_or_null(row, cell != 0, (int64_t)cell);
        break;
    case RBWP_COLUMN_BYTES:
        sqlite_blob(row, rbwp_rows_bytes(rows->rows, cell));
        break;
    default:
        sqlite_unsigned(row, cell);
        break;
    }
}

void sqlite_take_rows(void *context, const struct trace_rows *rows)
{
    struct database *database = context;
    if (database->failed)
        return;
    const struct sqlite_table_place *place = &database->places[rows->table];
    const struct rbwp_rows *these = rows->rows;
    for (uint32_t i = 0; i < these->rows && !database->failed; i++) {
        struct sqlite_row row = {database, database->tables[place->table].insert, 0};
        sqlite_number(&row, place->process);
        sqlite_unsigned(&row, these->first_row + i);
        for (uint32_t c = 0; c < these->schema->column_count; c++)
            put_cell(&row, rows, c, these->cells[c][i]);
        sqlite_end_row(&row);
    }
}

void sqlite_tables_free(struct database *database)
{
    for (uint32_t i = 0; i < database->table_count; i++) {
        sqlite3_finalize(database->tables[i].insert);
        sqlite3_free(database->tables[i].name);
        sqlite3_free(database->tables[i].signature);
    }
    free(database->tables);
    free(database->places);
}
