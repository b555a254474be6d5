/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as a SQLite database; its tables and views are in sqlite_*.sql.
 *
 * The database is built under a name with ".tmp" behind it, in one
 * transaction, and gets its own name when it is whole; so it needs no journal
 * and never waits for the disk. Texts become UTF-8 (utf8.h), and a zero
 * byte, at which SQLite's functions end a text, U+FFFD as well.
 */
#include "export.h"
#include "message.h"
#include "span_value.h"
#include "sqlite_database.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The tables, indices and views of the SQLite export, described in docs/design/export-tables.md;
 * most of them are in sqlite_*.sql.
 *
 * Tables hold what the trace says: numbers of texts, times in nanoseconds
 * since 1970. Views are for people: texts. A name that ends in _ns means the
 * same in both; at_ns is the time from the beginning of the trace. */

static const char cpu_table[] = "CREATE TABLE span_cpu(span INTEGER PRIMARY KEY REFERENCES span,"
                                " running_ns INTEGER, runnable_ns INTEGER, waiting_ns INTEGER);\n";

/* Behind it: sorting once is faster than keeping in order. For what lies in a part of a track's
 * time, and for all that one function did. Nothing else is
 * asked for by the views; an index more is a tenth of the file and of the time. */
static const char sqlite_indices[] = "CREATE INDEX span_track_start ON span(track, start_ns);\n"
                                     "CREATE INDEX span_name ON span(name);\n"
                                     "CREATE INDEX arg_span ON arg(span);\n";

/* Of a span: it makes no track busy, and what it encloses is outermost all the same. */
#define IS_NO_WORK                                                                                 \
    "(span.waits OR span.category IN (SELECT id FROM category"                                     \
    " WHERE name IN ('range', 'annotation', 'queued')))"

/* As busy_cells.h has it. The outermost spans of several lanes may overlap, waits lie in one
 * another: of each only what reaches beyond all earlier ones counts. off_: takes off the
 * time of a piece in which its thread is known to have had no CPU; waits for which inside_ does not
 * hold are part of that. */
#define TRACK_BUSY(off_, join_, inside_)                                                           \
    "CREATE VIEW track_busy AS WITH RECURSIVE above(id, parent) AS ("                              \
    "SELECT id, parent FROM span WHERE depth > 0 UNION ALL SELECT above.id, span.parent"           \
    " FROM above JOIN span ON span.id = above.parent WHERE " IS_NO_WORK "),"                       \
    " outer_span AS (SELECT id, track, start_ns, start_ns + duration_ns AS stop_ns, waits,"        \
    " depth = 0 OR id IN (SELECT id FROM above WHERE parent IS NULL) AS outermost"                 \
    " FROM span WHERE waits" inside_ " OR outermost AND NOT " IS_NO_WORK "),"                      \
    " piece AS (SELECT *, max(0, stop_ns - max(start_ns, ifnull(max(stop_ns) OVER (PARTITION BY"   \
    " track, waits ORDER BY start_ns, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),"       \
    " start_ns))) AS new_ns FROM outer_span),"                                                     \
    " sums AS (SELECT track, sum(NOT waits) AS spans, min(start_ns) AS first_ns,"                  \
    " max(stop_ns) AS last_ns, max(0, sum(CASE WHEN NOT waits THEN new_ns" off_                    \
    " WHEN outermost THEN 0 ELSE -new_ns END)) AS busy_ns FROM piece" join_ " GROUP BY track)"     \
    " SELECT process.name AS process, track.name AS track, track.kind AS track_kind,"              \
    " spans, first_ns, last_ns, busy_ns,"                                                          \
    " round(1.0 * busy_ns / nullif(last_ns - first_ns, 0), 4) AS busy_share"                       \
    " FROM sums JOIN track ON track.id = sums.track"                                               \
    " JOIN process ON process.id = track.process;\n"

static const char busy_view[] = TRACK_BUSY("", "", "");
static const char busy_view_of_cpu[] =
    TRACK_BUSY(" - CASE WHEN running_ns IS NULL OR runnable_ns IS NULL THEN ifnull(runnable_ns, 0)"
               " ELSE stop_ns - start_ns - running_ns END",
               " LEFT JOIN span_cpu ON span_cpu.span = piece.id",
               " AND ifnull(parent, 0) NOT IN (SELECT span FROM span_cpu"
               " WHERE running_ns + runnable_ns IS NOT NULL)");

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
    COLUMN,
    SPAN_CPU, /* where the sources say whether calls ran */
    STATEMENTS
};
_Static_assert((int)STATEMENTS <= (int)SQLITE_STATEMENTS_MAX, "they have room");

static const char *const statements[STATEMENTS] = {
    [PROCESS] = "INSERT INTO process VALUES(?,?,?,?,?,?,?)",
    [TRACK] = "INSERT INTO track VALUES(?,?,?,?,?,?,?,?)",
    [NAME] = "INSERT INTO name VALUES(?,?)",
    [SPAN] = "INSERT INTO span VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [LINK] = "INSERT INTO link VALUES(?,?,?,?,?,?,?,?,?)",
    [LOSS] = "INSERT INTO loss VALUES(?,?,?,?,?,?,?,?)",
    [FACT] = "INSERT INTO fact VALUES(?,?)",
    [CATEGORY] = "INSERT INTO category VALUES(?,?)",
    [DETAIL] = "INSERT INTO detail VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
    [SPAN_CPU] = "INSERT INTO span_cpu VALUES(?,?,?,?)",
    [ARG] = "INSERT INTO arg VALUES(?,?,?,?)",
    [COUNTER] = "INSERT INTO counter VALUES(?,?,?)",
    [COLUMN] = "INSERT INTO table_column VALUES(?,?,?,?,?,?,?)",
};

/* Memory is bounded by the cache; the sorting of indices uses as much again, and then files. */
static const char pragmas[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                              "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -32768;"
                              "PRAGMA page_size = 8192; PRAGMA application_id = 0x52425750;"
                              "PRAGMA user_version = 2; BEGIN;";

static bool execute(struct database *database, const char *sql)
{
    if (!database->failed && sqlite3_exec(database->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        sqlite_fail(database, sqlite3_errmsg(database->db));
    return !database->failed;
}

static struct sqlite_row begin_row(struct database *database, enum statement statement)
{
    return (struct sqlite_row){database, database->inserts[statement], 0};
}

/* ---- the sink ------------------------------------------------------------------------- */

static void sqlite_on_process(void *context, const struct trace_process *process)
{
    struct sqlite_row row = begin_row(context, PROCESS);
    sqlite_number(&row, process->number);
    sqlite_number(&row, process->node);
    sqlite_number_or_null(&row, process->os_id, (int64_t)process->os_id);
    sqlite_text(&row, process->name);
    sqlite_text_or_null(&row, process->host, false);
    sqlite_text_or_null(&row, process->command, true);
    sqlite_text_or_null(&row, process->source, false);
    sqlite_end_row(&row);
}

static void sqlite_on_track(void *context, const struct trace_track *track)
{
    char id[32];
    struct sqlite_row row = begin_row(context, TRACK);
    snprintf(id, sizeof id, "0x%" PRIx64, track->id); /* above what INTEGER holds */
    sqlite_number(&row, track->number);
    sqlite_number(&row, track->process);
    sqlite_text(&row, trace_text(trace_track_kind_name[track->kind]));
    sqlite_text(&row, trace_text(id));
    sqlite_number_or_null(&row, track->os_id, (int64_t)track->os_id);
    sqlite_text(&row, track->name);
    sqlite_number_or_null(&row, track->parent != TRACE_NONE, track->parent);
    sqlite_text_or_null(&row, track->unit, false);
    sqlite_end_row(&row);
}

static void sqlite_on_name(void *context, uint32_t name, struct trace_text value)
{
    struct sqlite_row row = begin_row(context, NAME);
    sqlite_number(&row, name);
    sqlite_text(&row, value);
    sqlite_end_row(&row);
}

static void sqlite_put_span(struct database *database, const struct trace_span *span)
{
    struct sqlite_row row = begin_row(database, SPAN);
    for (int c = 0; c < database->span_column_count; c++) {
        const struct span_column *column = database->span_columns[c];
        uint64_t value;
        bool known = span_column_value(column, database->pass->trace, span, NULL, &value);
        if (column->type == SPAN_COLUMN_LENGTH && value > INT64_MAX)
            value = INT64_MAX;
        sqlite_number_or_null(&row, known, (int64_t)value);
    }
    sqlite_number(&row, trace_is_waiting(span));
    sqlite_end_row(&row);
}

static void sqlite_put_fact(struct sqlite_row *row, const struct span_facts *facts,
                            enum span_fact fact)
{
    sqlite_number_or_null(row, span_facts_has(facts, fact), (int64_t)facts->value[fact]);
}

static void put_cpu(struct database *database, const struct trace_span *span,
                    const struct trace_detail *detail)
{
    struct span_facts facts = {0};
    span_facts_of_span(database->pass->trace, span, detail, &facts);
    if (!span_facts_has(&facts, FACT_RUNNING) && !span_facts_has(&facts, FACT_RUNNABLE))
        return;
    struct sqlite_row row = begin_row(database, SPAN_CPU);
    sqlite_number(&row, (int64_t)span->id);
    for (int fact = FACT_RUNNING; fact <= FACT_WAITING; fact++)
        sqlite_put_fact(&row, &facts, (enum span_fact)fact);
    sqlite_end_row(&row);
}

static void put_detail(struct database *database, const struct trace_span *span,
                       const struct trace_detail *detail)
{
    const struct trace *trace = database->pass->trace;
    struct span_facts facts = {0};
    char thread[32];
    span_facts_of_span(trace, span, detail, &facts);
    snprintf(thread, sizeof thread, "0x%" PRIx64, detail->thread_id);
    struct sqlite_row row = begin_row(database, DETAIL);
    sqlite_number(&row, (int64_t)span->id);
    sqlite_text_or_null(&row, trace_label_of(trace, detail->category), false);
    sqlite_put_fact(&row, &facts, FACT_STREAM);
    sqlite_put_fact(&row, &facts, FACT_CORRELATION);
    sqlite_put_fact(&row, &facts, FACT_LAUNCH);
    sqlite_text_or_null(&row, trace_text(detail->thread_id ? thread : ""), false);
    sqlite_number_or_null(&row, detail->launch_track != TRACE_NONE, detail->launch_track);
    for (int fact = FACT_LAUNCH_SPAN; fact <= FACT_CERTAIN; fact++)
        sqlite_put_fact(&row, &facts, (enum span_fact)fact);
    sqlite_end_row(&row);
}

static void sqlite_put_arg(struct database *database, const struct trace_span *span,
                           const struct trace_detail *detail, const struct trace_arg *arg)
{
    static const char *const types[] = {
        [TRACE_ARG_U64] = "u64",           [TRACE_ARG_I64] = "i64",   [TRACE_ARG_F64] = "f64",
        [TRACE_ARG_BOOL] = "bool",         [TRACE_ARG_TIME] = "time", [TRACE_ARG_TEXT] = "text",
        [TRACE_ARG_DURATION] = "duration", [TRACE_ARG_NAME] = "text", [TRACE_ARG_JSON] = "json",
    };
    struct sqlite_row row = begin_row(database, ARG);
    sqlite_number(&row, (int64_t)span->id);
    sqlite_number(&row, arg->key);
    sqlite_text(&row, trace_text(types[arg->type]));
    if (arg->type == TRACE_ARG_TEXT || arg->type == TRACE_ARG_JSON)
        sqlite_text(&row, trace_arg_text(detail, arg));
    else if (arg->type == TRACE_ARG_NAME)
        sqlite_text(&row, trace_name_of(database->pass->trace, (uint32_t)arg->value.u64));
    else if (arg->type == TRACE_ARG_F64)
        sqlite_real(&row, arg->value.f64);
    else if (arg->type == TRACE_ARG_U64)
        sqlite_unsigned(&row, arg->value.u64);
    else
        sqlite_number(&row, arg->value.i64);
    sqlite_end_row(&row);
}

static void sqlite_on_spans(void *context, const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    struct database *database = context;
    for (size_t i = 0; i < count && !database->failed; i++) {
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        sqlite_put_span(database, &spans[i]);
        if (database->pass->knows_cpu)
            put_cpu(database, &spans[i], detail);
        if (detail)
            put_detail(database, &spans[i], detail);
        for (uint32_t arg = 0; detail && arg < detail->arg_count; arg++)
            sqlite_put_arg(database, &spans[i], detail, &trace_args_of(detail)[arg]);
    }
}

static void sqlite_on_samples(void *context, uint32_t track, const struct trace_sample *samples,
                              size_t count)
{
    struct database *database = context;
    for (size_t i = 0; i < count && !database->failed; i++) {
        struct sqlite_row row = begin_row(database, COUNTER);
        sqlite_number(&row, track);
        sqlite_number(&row, samples[i].time_ns);
        if (samples[i].whole)
            sqlite_number(&row, samples[i].value.i64);
        else
            sqlite_real(&row, samples[i].value.f64);
        sqlite_end_row(&row);
    }
}

static void sqlite_on_link(void *context, const struct trace_link *link)
{
    const struct database *database = context;
    struct sqlite_row row = begin_row(context, LINK);
    sqlite_number(&row, (int64_t)link->id);
    sqlite_number(&row, link->from_track);
    sqlite_number(&row, link->from_ns);
    sqlite_number(&row, link->to_track);
    sqlite_number(&row, link->to_ns);
    sqlite_number_or_null(&row, link->to_span, (int64_t)link->to_span);
    sqlite_text(&row, trace_text(trace_link_kind_name[link->kind]));
    sqlite_text_or_null(&row, trace_label_of(database->pass->trace, link->label), false);
    sqlite_number_or_null(&row, link->from_span, (int64_t)link->from_span);
    sqlite_end_row(&row);
}

static void sqlite_on_loss(void *context, const struct trace_loss *loss)
{
    struct sqlite_row row = begin_row(context, LOSS);
    bool timed = loss->first_ns || loss->last_ns;
    sqlite_number(&row, loss->process);
    sqlite_number_or_null(&row, loss->track != TRACE_NONE, loss->track);
    sqlite_text(&row, loss->cause);
    sqlite_number(&row, loss->refused ? 0 : (int64_t)loss->count);
    sqlite_number_or_null(&row, timed, loss->first_ns);
    sqlite_number_or_null(&row, timed, loss->last_ns);
    sqlite_number_or_null(&row, loss->bytes, (int64_t)loss->bytes);
    sqlite_number_or_null(&row, loss->refused, (int64_t)loss->count);
    sqlite_end_row(&row);
}

static void sqlite_on_fact(void *context, const char *key, struct trace_text value)
{
    struct sqlite_row row = begin_row(context, FACT);
    sqlite_text(&row, trace_text(key));
    sqlite_text(&row, value);
    sqlite_end_row(&row);
}

void sqlite_put_column(struct database *database, const struct rbwp_schema *schema,
                       const char *sql_table, uint32_t number, const char *sql_column)
{
    const struct rbwp_column *column = &schema->columns[number];
    struct sqlite_row row = begin_row(database, COLUMN);
    sqlite_text(&row, (struct trace_text){schema->name, schema->name_bytes});
    sqlite_text(&row, trace_text(sql_table));
    sqlite_text(&row, (struct trace_text){column->name, column->name_bytes});
    sqlite_text(&row, trace_text(sql_column));
    sqlite_text(&row, trace_text(rbwp_column_type_name(column->type)));
    sqlite_text_or_null(&row, trace_text(rbwp_column_role_name(column->role)), false);
    sqlite_text_or_null(&row, (struct trace_text){column->unit, column->unit_bytes}, false);
    sqlite_end_row(&row);
}

static bool sqlite_is_full(void *context)
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
        return message_fail("out of memory");
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

static bool sqlite_prepare(struct database *database)
{
    enum { FLAGS = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX }; /* it is one thread's */
    if (sqlite3_open_v2(database->tmp, &database->db, FLAGS, NULL) != SQLITE_OK) {
        sqlite_fail(database, database->db ? sqlite3_errmsg(database->db) : "out of memory");
        return false;
    }
    const bool knows_cpu = database->pass->knows_cpu;
    if (!execute(database, pragmas) || !execute(database, sqlite_tables) ||
        (knows_cpu && !execute(database, cpu_table)))
        return false;
    /* Of the sorting of indices, half of all time. */
    int helpers = (int)job_threads_count(database->pass->threads) - 1;
    (void)sqlite3_limit(database->db, SQLITE_LIMIT_WORKER_THREADS, helpers);
    for (int i = 0; i < STATEMENTS; i++)
        if ((i != SPAN_CPU || knows_cpu) &&
            sqlite3_prepare_v3(database->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &database->inserts[i], NULL) != SQLITE_OK) {
            sqlite_fail(database, sqlite3_errmsg(database->db));
            return false;
        }
    return true;
}

/* Columns of the table of spans, all but its last. */
static void find_span_columns(struct database *database)
{
    static const char *const names[] = {"id",          "track",   "category", "name", "start",
                                        "duration_ns", "parent",  "depth",    "lane", "item",
                                        "finished",    "instant", "open"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        database->span_columns[database->span_column_count++] =
            span_column(span_column_named(names[i], strlen(names[i])));
}

/* Closes the database, and removes it unless it is whole. */
static void close_database(struct database *database)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(database->inserts[i]);
    sqlite_tables_free(database);
    if (sqlite3_close(database->db) != SQLITE_OK)
        sqlite_fail(database, "it cannot be closed");
    if (database->failed || database->pass->nothing)
        unlink(database->tmp);
    else if (rename(database->tmp, database->path) != 0)
        sqlite_fail(database, strerror(errno));
    free(database->tmp);
}

static bool sqlite_begin(struct trace_pass *pass)
{
    if (!out_may_create(&pass->options->output, pass->inputs))
        return false;
    struct database *database = calloc(1, sizeof *database);
    if (!database)
        return message_fail("out of memory");
    *database = (struct database){.pass = pass, .path = pass->options->output.path};
    if (!create_file(database)) {
        free(database->tmp);
        free(database);
        return false;
    }
    if (!sqlite_prepare(database)) {
        close_database(database);
        free(database);
        return false;
    }
    for (int i = 0; i < TRACE_CATEGORIES; i++) {
        struct sqlite_row row = begin_row(database, CATEGORY);
        sqlite_number(&row, i);
        sqlite_text(&row, trace_text(trace_category_name[i]));
        sqlite_end_row(&row);
    }
    find_span_columns(database);
    pass->state = database;
    pass->sink = (struct trace_sink){.context = database,
                                     .process = sqlite_on_process,
                                     .track = sqlite_on_track,
                                     .name = sqlite_on_name,
                                     .spans = sqlite_on_spans,
                                     .samples = sqlite_on_samples,
                                     .link = sqlite_on_link,
                                     .table = sqlite_take_table,
                                     .rows = sqlite_take_rows,
                                     .loss = sqlite_on_loss,
                                     .fact = sqlite_on_fact,
                                     .full = sqlite_is_full};
    return true;
}

static enum exit_code sqlite_end(struct trace_pass *pass)
{
    struct database *database = pass->state;
    (void)(execute(database, sqlite_indices) && execute(database, sqlite_span_views) &&
           execute(database, pass->knows_cpu ? busy_view_of_cpu : busy_view) &&
           execute(database, sqlite_views) && execute(database, "COMMIT; PRAGMA optimize;"));
    close_database(database);
    dropped_report(pass, "sqlite", (struct dropped){0});
    enum exit_code code = database->failed ? EXIT_BAD_DATA : EXIT_GOOD;
    free(database);
    return code;
}

const struct exporter exporter_sqlite = {
    .name = "sqlite",
    .suffixes = ".sqlite .db",
    .summary = "a database with tables and views",
    .maker.own_output = true,
    .maker.stacks = TRACE_STACK_ARGUMENTS,
    .maker.begin = sqlite_begin,
    .maker.end = sqlite_end,
};
