/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables hold what the trace says: numbers of texts, times in nanoseconds
 * since 1970. Views are for people: texts. A name that ends in _ns means the
 * same in both; at_ns is the time from the beginning of the trace.
 */
#include "sqlite_schema.h"

const char sqlite_tables[] =
    "CREATE TABLE process(id INTEGER PRIMARY KEY, node INTEGER NOT NULL, os_id INTEGER,"
    " name TEXT NOT NULL UNIQUE, host TEXT, command TEXT, source TEXT);\n"
    "CREATE TABLE track(id INTEGER PRIMARY KEY, process INTEGER NOT NULL REFERENCES process,"
    " kind TEXT NOT NULL, source_id TEXT NOT NULL, os_id INTEGER, name TEXT NOT NULL,"
    " parent INTEGER REFERENCES track, unit TEXT);\n"
    "CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);\n"
    "CREATE TABLE name(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
    "CREATE TABLE span(id INTEGER PRIMARY KEY, track INTEGER NOT NULL REFERENCES track,"
    " category INTEGER NOT NULL REFERENCES category, name INTEGER NOT NULL REFERENCES name,"
    " start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, parent INTEGER REFERENCES span,"
    " depth INTEGER NOT NULL, lane INTEGER NOT NULL, item INTEGER NOT NULL,"
    " finished INTEGER NOT NULL, instant INTEGER NOT NULL, open INTEGER NOT NULL,"
    " waits INTEGER NOT NULL);\n"
    "CREATE TABLE link(id INTEGER PRIMARY KEY, from_track INTEGER NOT NULL REFERENCES track,"
    " from_ns INTEGER NOT NULL, to_track INTEGER NOT NULL REFERENCES track,"
    " to_ns INTEGER NOT NULL, to_span INTEGER REFERENCES span, kind TEXT NOT NULL, label TEXT,"
    " from_span INTEGER REFERENCES span);\n"
    "CREATE TABLE detail(span INTEGER PRIMARY KEY REFERENCES span, own_category TEXT,"
    " stream INTEGER, correlation INTEGER, launch_ns INTEGER, launch_thread TEXT,"
    " launch_track INTEGER REFERENCES track, launch_span INTEGER REFERENCES span,"
    " launch_inferred INTEGER, start_uncertain_ns INTEGER, stop_uncertain_ns INTEGER,"
    " certain_ns INTEGER);\n"
    "CREATE TABLE arg(span INTEGER NOT NULL REFERENCES span, name INTEGER NOT NULL REFERENCES name,"
    " type TEXT NOT NULL, value);\n"
    "CREATE TABLE counter(track INTEGER NOT NULL REFERENCES track, time_ns INTEGER NOT NULL,"
    " value NUMERIC NOT NULL);\n"
    "CREATE TABLE table_column(table_name TEXT NOT NULL, sql_table TEXT NOT NULL,"
    " column_name TEXT NOT NULL, sql_column TEXT NOT NULL, type TEXT NOT NULL, role TEXT,"
    " unit TEXT);\n"
    "CREATE TABLE loss(process INTEGER NOT NULL REFERENCES process,"
    " track INTEGER REFERENCES track, cause TEXT NOT NULL, records INTEGER NOT NULL,"
    " first_ns INTEGER, last_ns INTEGER, bytes INTEGER, calls INTEGER);\n"
    "CREATE TABLE fact(key TEXT NOT NULL, value TEXT NOT NULL);\n";

/* For what lies in a stretch of a track's time, and for all that one function did. Nothing else is
 * asked for by the views; an index more is a tenth of the file and of the time. */
const char sqlite_indices[] = "CREATE INDEX span_track_start ON span(track, start_ns);\n"
                              "CREATE INDEX span_name ON span(name);\n"
                              "CREATE INDEX arg_span ON arg(span);\n";

#define ORIGIN_NS "(SELECT CAST(value AS INTEGER) FROM fact WHERE key = 'origin_ns')"

/* Of a span: it makes no track busy, and what it encloses is outermost all the same. */
#define IS_NO_WORK                                                                                 \
    "(span.waits OR span.category IN (SELECT id FROM category"                                     \
    " WHERE name IN ('range', 'annotation', 'queued')))"

const char sqlite_views[] =
    "CREATE VIEW span_view AS SELECT span.id, process.name AS process, track.name AS track,"
    " track.kind AS track_kind, category.name AS category, name.name AS name, span.item,"
    " span.start_ns, span.start_ns + span.duration_ns AS stop_ns,"
    " span.start_ns - " ORIGIN_NS " AS at_ns,"
    " span.duration_ns, span.depth, span.lane, span.parent, span.finished, span.instant, span.open,"
    " span.waits"
    " FROM span JOIN track ON track.id = span.track JOIN process ON process.id = track.process"
    " JOIN category ON category.id = span.category JOIN name ON name.id = span.name;\n"

    "CREATE VIEW summary AS SELECT category.name AS category, span.item, name.name AS name,"
    " count(*) AS calls, sum(span.duration_ns) AS total_ns, avg(span.duration_ns) AS mean_ns,"
    " min(span.duration_ns) AS min_ns, max(span.duration_ns) AS max_ns,"
    " count(DISTINCT span.track) AS tracks, sum(span.finished = 0) AS unfinished"
    " FROM span JOIN category ON category.id = span.category JOIN name ON name.id = span.name"
    " GROUP BY span.category, span.item, span.name;\n"
    "CREATE VIEW slot_summary AS SELECT item AS slot, name, calls, total_ns, mean_ns, min_ns,"
    " max_ns, tracks, unfinished FROM summary WHERE category = 'bgwork';\n"

    /* As work_depth.h and busy.h have it. The outermost spans of several lanes may overlap, waits
     * lie in one another: of each only what reaches beyond all earlier ones counts. */
    "CREATE VIEW track_busy AS WITH RECURSIVE above(id, parent) AS ("
    "SELECT id, parent FROM span WHERE depth > 0 UNION ALL SELECT above.id, span.parent"
    " FROM above JOIN span ON span.id = above.parent WHERE " IS_NO_WORK "),"
    " outer_span AS (SELECT id, track, start_ns, start_ns + duration_ns AS stop_ns, waits,"
    " depth = 0 OR id IN (SELECT id FROM above WHERE parent IS NULL) AS outermost"
    " FROM span WHERE waits OR outermost AND NOT " IS_NO_WORK "),"
    " piece AS (SELECT *, max(0, stop_ns - max(start_ns, ifnull(max(stop_ns) OVER (PARTITION BY"
    " track, waits ORDER BY start_ns, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),"
    " start_ns))) AS new_ns FROM outer_span),"
    " sums AS (SELECT track, sum(NOT waits) AS spans, min(start_ns) AS first_ns,"
    " max(stop_ns) AS last_ns, max(0, sum(CASE WHEN NOT waits THEN new_ns"
    " WHEN outermost THEN 0 ELSE -new_ns END)) AS busy_ns FROM piece GROUP BY track)"
    " SELECT process.name AS process, track.name AS track, track.kind AS track_kind,"
    " spans, first_ns, last_ns, busy_ns,"
    " round(1.0 * busy_ns / nullif(last_ns - first_ns, 0), 4) AS busy_share"
    " FROM sums JOIN track ON track.id = sums.track"
    " JOIN process ON process.id = track.process;\n"
    "CREATE VIEW thread_busy AS SELECT process, track AS thread, spans, first_ns, last_ns,"
    " busy_ns, busy_share FROM track_busy WHERE track_kind = 'thread';\n"
    "CREATE VIEW gpu_busy AS SELECT process, track AS gpu, spans, first_ns, last_ns, busy_ns,"
    " busy_share FROM track_busy WHERE track_kind = 'gpu';\n"

    "CREATE VIEW longest_calls AS SELECT * FROM span_view WHERE category = 'bgwork'"
    " ORDER BY duration_ns DESC, id LIMIT 100;\n"

    "CREATE VIEW arg_view AS SELECT arg.span, name.name AS name, arg.type, arg.value FROM arg"
    " JOIN name ON name.id = arg.name;\n"
    "CREATE VIEW counter_view AS SELECT process.name AS process, above.name AS parent,"
    " track.name AS counter, track.unit, counter.time_ns, counter.time_ns - " ORIGIN_NS " AS at_ns,"
    " counter.value FROM counter JOIN track ON track.id = counter.track"
    " JOIN process ON process.id = track.process LEFT JOIN track AS above ON above.id ="
    " track.parent;\n"

    /* The innermost span around the place from which a link leads. */
    "CREATE VIEW gpu_launch AS WITH launch AS (SELECT link.id, link.from_ns, link.to_span,"
    " (SELECT span.id FROM span WHERE span.track = link.from_track"
    " AND span.start_ns <= link.from_ns AND span.start_ns + span.duration_ns >= link.from_ns"
    " ORDER BY span.start_ns DESC, span.depth DESC LIMIT 1) AS from_span FROM link"
    " WHERE link.kind = 'launch')"
    " SELECT launch.from_span AS launch, host.track AS thread, host.name AS launch_name,"
    " launch.to_span AS work, gpu.track AS gpu, gpu.name AS work_name, host.start_ns AS launch_ns,"
    " gpu.start_ns AS work_ns, gpu.start_ns - host.start_ns AS delay_ns, gpu.duration_ns,"
    " max(0, min(host.stop_ns, gpu.stop_ns) - max(host.start_ns, gpu.start_ns)) AS overlap_ns"
    " FROM launch JOIN span_view AS gpu ON gpu.id = launch.to_span"
    " JOIN span_view AS host ON host.id = launch.from_span;\n";
