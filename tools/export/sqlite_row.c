/* SPDX-License-Identifier: Apache-2.0 */
/* Values of one row, one after the other. */
#include "sqlite_database.h"

#include "message.h"
#include "utf8_repair.h"

#include <math.h>
#include <stdlib.h>

void sqlite_fail(struct database *database, const char *why)
{
    if (!database->failed)
        message("%s: cannot be written: %s", database->path, why);
    database->failed = true;
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

void sqlite_blob(struct sqlite_row *row, struct rbwp_text bytes)
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
