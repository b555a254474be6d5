/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as a SQLite database; its tables and views are in sqlite_schema.c.
 *
 * The database is built under a name with ".tmp" behind it, in one
 * transaction, and gets its own name when it is whole; so it needs no journal
 * and never waits for the disk. Texts become UTF-8 (utf8_repair.h), and a zero
 * byte, at which SQLite's functions end a text, U+FFFD as well.
 */
#include "export.h"
#include "left_out.h"
#include "message.h"
#include "span_facts.h"
#include "sqlite_schema.h"
#include "utf8_repair.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum statement {
    PROCESS,
    TRACK,
    NAME,
    SPAN,
    LINK,
    LOSS,
    FACT,
    CATEGORY,
    DETAIL,
    ARG,
    COUNTER,
    STATEMENTS
};

static const char *const statements[STATEMENTS] = {
    [PROCESS] = "INSERT INTO process VALUES(?,?,?,?,?,?,?)",
    [TRACK] = "INSERT INTO track VALUES(?,?,?,?,?,?,?,?)",
    [NAME] = "INSERT INTO name VALUES(?,?)",
    [SPAN] = "INSERT INTO span VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [LINK] = "INSERT INTO link VALUES(?,?,?,?,?,?,?,?,?)",
    [LOSS] = "INSERT INTO loss VALUES(?,?,?,?,?,?,?)",
    [FACT] = "INSERT INTO fact VALUES(?,?)",
    [CATEGORY] = "INSERT INTO category VALUES(?,?)",
    [DETAIL] = "INSERT INTO detail VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
    [ARG] = "INSERT INTO arg VALUES(?,?,?,?)",
    [COUNTER] = "INSERT INTO counter VALUES(?,?,?)",
};

/* Memory is bounded by the cache; the sorting of indices uses as much again, and then files. */
static const char pragmas[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                              "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -32768;"
                              "PRAGMA page_size = 8192; PRAGMA application_id = 0x52425750;"
                              "PRAGMA user_version = 2; BEGIN;";

struct database {
    struct trace_pass *pass;
    const char *path;
    char *tmp; /* name while it is built */
    sqlite3 *db;
    sqlite3_stmt *inserts[STATEMENTS];
    bool failed;
};

static void fail(struct database *database, const char *why)
{
    if (!database->failed)
        message("%s: cannot be written: %s", database->path, why);
    database->failed = true;
}

static bool execute(struct database *database, const char *sql)
{
    if (!database->failed && sqlite3_exec(database->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(database, sqlite3_errmsg(database->db));
    return !database->failed;
}

/* ---- one row -------------------------------------------------------------------------- */

struct row {
    struct database *database;
    sqlite3_stmt *insert;
    int column;
};

static struct row begin_row(struct database *database, enum statement statement)
{
    return (struct row){database, database->inserts[statement], 0};
}

static void number(struct row *row, int64_t value)
{
    sqlite3_bind_int64(row->insert, ++row->column, value);
}

static void number_or_null(struct row *row, bool there, int64_t value)
{
    ++row->column;
    if (there)
        sqlite3_bind_int64(row->insert, row->column, value);
    else
        sqlite3_bind_null(row->insert, row->column);
}

/* A zero byte becomes a space in a command line, whose arguments it parts. */
static void text_with(struct row *row, struct trace_text value, bool is_command)
{
    char *repaired = malloc(UTF8_REPAIR_GROWTH * (size_t)value.bytes + 1);
    ++row->column;
    if (!repaired) {
        fail(row->database, "out of memory");
        return;
    }
    size_t bytes =
        utf8_repair(value.text, value.bytes, is_command ? " " : UTF8_REPLACEMENT, repaired);
    if (sqlite3_bind_text64(row->insert, row->column, repaired, bytes, free, SQLITE_UTF8) !=
        SQLITE_OK)
        fail(row->database, sqlite3_errmsg(row->database->db));
}

static void text(struct row *row, struct trace_text value)
{
    text_with(row, value, false);
}

static void text_or_null(struct row *row, struct trace_text value, bool is_command)
{
    if (value.bytes)
        text_with(row, value, is_command);
    else
        sqlite3_bind_null(row->insert, ++row->column);
}

static void end_row(struct row *row)
{
    if (!row->database->failed && sqlite3_step(row->insert) != SQLITE_DONE)
        fail(row->database, sqlite3_errmsg(row->database->db));
    sqlite3_reset(row->insert);
}

/* ---- the sink ------------------------------------------------------------------------- */

static void take_process(void *context, const struct trace_process *process)
{
    struct row row = begin_row(context, PROCESS);
    number(&row, process->number);
    number(&row, process->node);
    number_or_null(&row, process->os_id, (int64_t)process->os_id);
    text(&row, process->name);
    text_or_null(&row, process->host, false);
    text_or_null(&row, process->command, true);
    text_or_null(&row, process->source, false);
    end_row(&row);
}

static void take_track(void *context, const struct trace_track *track)
{
    char id[32];
    struct row row = begin_row(context, TRACK);
    snprintf(id, sizeof id, "0x%" PRIx64, track->id); /* above what INTEGER holds */
    number(&row, track->number);
    number(&row, track->process);
    text(&row, trace_text(trace_track_kind_name[track->kind]));
    text(&row, trace_text(id));
    number_or_null(&row, track->os_id, (int64_t)track->os_id);
    text(&row, track->name);
    number_or_null(&row, track->parent != TRACE_NONE, track->parent);
    text_or_null(&row, track->unit, false);
    end_row(&row);
}

static void take_name(void *context, uint32_t name, struct trace_text value)
{
    struct row row = begin_row(context, NAME);
    number(&row, name);
    text(&row, value);
    end_row(&row);
}

static void put_span(struct database *database, const struct trace_span *span)
{
    struct row row = begin_row(database, SPAN);
    number(&row, (int64_t)span->id);
    number(&row, span->track);
    number(&row, span->category);
    number(&row, span->name);
    number(&row, span->start_ns);
    number(&row, trace_signed_duration_ns(span));
    number_or_null(&row, span->parent, (int64_t)span->parent);
    number(&row, span->depth);
    number(&row, span->row);
    number(&row, span->item);
    number(&row, !(span->flags & TRACE_UNFINISHED));
    number(&row, (span->flags & TRACE_INSTANT) != 0);
    number(&row, (span->flags & TRACE_OPEN) != 0);
    end_row(&row);
}

static void put_fact(struct row *row, const struct span_facts *facts, enum span_fact fact)
{
    number_or_null(row, span_facts_has(facts, fact), (int64_t)facts->value[fact]);
}

static void put_detail(struct database *database, const struct trace_span *span,
                       const struct trace_detail *detail)
{
    const struct trace *trace = database->pass->trace;
    struct span_facts facts = {0};
    char thread[32];
    span_facts_of_detail(trace, detail, &facts);
    snprintf(thread, sizeof thread, "0x%" PRIx64, detail->thread_id);
    struct row row = begin_row(database, DETAIL);
    number(&row, (int64_t)span->id);
    text_or_null(&row, trace_label_of(trace, detail->category), false);
    put_fact(&row, &facts, FACT_STREAM);
    put_fact(&row, &facts, FACT_CORRELATION);
    put_fact(&row, &facts, FACT_LAUNCH);
    text_or_null(&row, trace_text(detail->thread_id ? thread : ""), false);
    number_or_null(&row, detail->launch_track != TRACE_NONE, detail->launch_track);
    for (int fact = FACT_LAUNCH_SPAN; fact < SPAN_FACTS; fact++)
        put_fact(&row, &facts, (enum span_fact)fact);
    end_row(&row);
}

static void real(struct row *row, double value)
{
    sqlite3_bind_double(row->insert, ++row->column, value);
}

static void put_arg(struct database *database, const struct trace_span *span,
                    const struct trace_detail *detail, const struct trace_arg *arg)
{
    static const char *const types[] = {
        [TRACE_ARG_U64] = "u64",           [TRACE_ARG_I64] = "i64",   [TRACE_ARG_F64] = "f64",
        [TRACE_ARG_BOOL] = "bool",         [TRACE_ARG_TIME] = "time", [TRACE_ARG_TEXT] = "text",
        [TRACE_ARG_DURATION] = "duration", [TRACE_ARG_NAME] = "text", [TRACE_ARG_JSON] = "json",
    };
    struct row row = begin_row(database, ARG);
    number(&row, (int64_t)span->id);
    number(&row, arg->key);
    text(&row, trace_text(types[arg->type]));
    if (arg->type == TRACE_ARG_TEXT || arg->type == TRACE_ARG_JSON)
        text(&row, trace_arg_text(detail, arg));
    else if (arg->type == TRACE_ARG_NAME)
        text(&row, trace_name_of(database->pass->trace, (uint32_t)arg->value.u64));
    else if (arg->type == TRACE_ARG_F64 ||
             (arg->type == TRACE_ARG_U64 && arg->value.u64 > INT64_MAX))
        real(&row, arg->type == TRACE_ARG_F64 ? arg->value.f64 : (double)arg->value.u64);
    else
        number(&row, arg->value.i64);
    end_row(&row);
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct database *database = context;
    for (size_t i = 0; i < count && !database->failed; i++) {
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        put_span(database, &spans[i]);
        if (detail)
            put_detail(database, &spans[i], detail);
        for (uint32_t arg = 0; detail && arg < detail->arg_count; arg++)
            put_arg(database, &spans[i], detail, &trace_args_of(detail)[arg]);
    }
}

static void take_samples(void *context, uint32_t track, const struct trace_sample *samples,
                         size_t count)
{
    struct database *database = context;
    for (size_t i = 0; i < count && !database->failed; i++) {
        struct row row = begin_row(database, COUNTER);
        number(&row, track);
        number(&row, samples[i].time_ns);
        if (samples[i].whole)
            number(&row, samples[i].value.i64);
        else if (isnan(samples[i].value.f64)) /* which SQLite would store as NULL */
            text(&row, trace_text("NaN"));
        else
            real(&row, samples[i].value.f64);
        end_row(&row);
    }
}

static void take_link(void *context, const struct trace_link *link)
{
    const struct database *database = context;
    struct row row = begin_row(context, LINK);
    number(&row, (int64_t)link->id);
    number(&row, link->from_track);
    number(&row, link->from_ns);
    number(&row, link->to_track);
    number(&row, link->to_ns);
    number_or_null(&row, link->to_span, (int64_t)link->to_span);
    text(&row, trace_text(trace_link_kind_name[link->kind]));
    text_or_null(&row, trace_label_of(database->pass->trace, link->label), false);
    number_or_null(&row, link->from_span, (int64_t)link->from_span);
    end_row(&row);
}

static void take_loss(void *context, const struct trace_loss *loss)
{
    struct row row = begin_row(context, LOSS);
    bool timed = loss->first_ns || loss->last_ns;
    number(&row, loss->process);
    number_or_null(&row, loss->track != TRACE_NONE, loss->track);
    text(&row, loss->cause);
    number(&row, (int64_t)loss->count);
    number_or_null(&row, timed, loss->first_ns);
    number_or_null(&row, timed, loss->last_ns);
    number_or_null(&row, loss->bytes, (int64_t)loss->bytes);
    end_row(&row);
}

static void take_fact(void *context, const char *key, struct trace_text value)
{
    struct row row = begin_row(context, FACT);
    text(&row, trace_text(key));
    text(&row, value);
    end_row(&row);
}

static bool is_full(void *context)
{
    const struct database *database = context;
    return database->failed;
}

/* ---- its file ------------------------------------------------------------------------- */

/* The file of the name with ".tmp", empty. */
static bool create_file(struct database *database)
{
    bool force = database->pass->options->output.force;
    if (asprintf(&database->tmp, "%s.tmp", database->path) < 0) {
        database->tmp = NULL;
        message("out of memory");
        return false;
    }
    if (force)
        unlink(database->tmp);
    int fd = open(database->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0)
        return close(fd) == 0;
    if (errno == EEXIST)
        message("%s: exists, perhaps from an export that was interrupted; remove it or give -f",
                database->tmp);
    else
        message("%s: cannot be created: %s", database->tmp, strerror(errno));
    return false;
}

static bool prepare(struct database *database)
{
    enum { FLAGS = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX }; /* it is one thread's */
    if (sqlite3_open_v2(database->tmp, &database->db, FLAGS, NULL) != SQLITE_OK) {
        fail(database, database->db ? sqlite3_errmsg(database->db) : "out of memory");
        return false;
    }
    if (!execute(database, pragmas) || !execute(database, sqlite_tables))
        return false;
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(database->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &database->inserts[i], NULL) != SQLITE_OK) {
            fail(database, sqlite3_errmsg(database->db));
            return false;
        }
    return true;
}

static void put_categories(struct database *database)
{
    for (int i = 0; i < TRACE_CATEGORIES; i++) {
        struct row row = begin_row(database, CATEGORY);
        number(&row, i);
        text(&row, trace_text(trace_category_name[i]));
        end_row(&row);
    }
}

/* Closes the database, and removes it unless it is whole. */
static void close_database(struct database *database)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(database->inserts[i]);
    if (sqlite3_close(database->db) != SQLITE_OK)
        fail(database, "it cannot be closed");
    if (database->failed || database->pass->nothing)
        unlink(database->tmp);
    else if (rename(database->tmp, database->path) != 0)
        fail(database, strerror(errno));
    free(database->tmp);
}

static bool begin(struct trace_pass *pass)
{
    if (!out_may_create(&pass->options->output, pass->inputs))
        return false;
    struct database *database = calloc(1, sizeof *database);
    if (!database) {
        message("out of memory");
        return false;
    }
    *database = (struct database){.pass = pass, .path = pass->options->output.path};
    if (!create_file(database)) {
        free(database->tmp);
        free(database);
        return false;
    }
    if (!prepare(database)) {
        close_database(database);
        free(database);
        return false;
    }
    put_categories(database);
    pass->state = database;
    pass->sink = (struct trace_sink){.context = database,
                                     .process = take_process,
                                     .track = take_track,
                                     .name = take_name,
                                     .spans = take_spans,
                                     .samples = take_samples,
                                     .link = take_link,
                                     .loss = take_loss,
                                     .fact = take_fact,
                                     .full = is_full};
    return true;
}

static enum exit_code end(struct trace_pass *pass)
{
    struct database *database = pass->state;
    (void)(execute(database, sqlite_indices) && execute(database, sqlite_views) &&
           execute(database, "COMMIT; PRAGMA optimize;"));
    close_database(database);
    left_out_tell(pass, "sqlite", (struct left_out){0});
    enum exit_code code = database->failed ? EXIT_BAD_DATA : EXIT_GOOD;
    free(database);
    return code;
}

const struct exporter exporter_sqlite = {
    .name = "sqlite",
    .suffixes = ".sqlite .db",
    .summary = "a database with tables and views",
    .maker.own_output = true,
    .maker.begin = begin,
    .maker.end = end,
};
